"""One wheel for all Pythons (limited API, cp311-abi3) beside one for each: instructions and time per call, size.

    python -m bench.wheels.limited_api                  build both, time them in turns
    python -m bench.wheels.limited_api --instructions   count instructions too (valgrind; some ten minutes)

Needs the build tools of ``make .venv/.tools`` and NumPy. Times are medians over processes that take turns; the ratio is
the median of the ratios of neighbours, with its quartiles, so that a drift of the machine's speed meets both alike.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from bench import machine
from bench.tables import seconds, table

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "wheels"
KINDS: Mapping[str, tuple[str, ...]] = {"per version": (), "cp311-abi3": ("-Cwheel.py-api=cp311",)}
FEW, MANY = 100, 1_100


def built(kind: str) -> Path:
    """The wheel of a kind, built where it was built before, and unpacked beside."""
    where = BUILD / kind.replace(" ", "-")
    shutil.rmtree(where / "dist", ignore_errors=True)
    command = [sys.executable, "-m", "build", "-w", "--no-isolation", "--outdir", str(where / "dist")]
    done = subprocess.run(
        [*command, f"-Cbuild-dir={where / 'build'}", *KINDS[kind], "."], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"limited_api: the build of {kind} failed\n{done.stdout}{done.stderr}")
    (wheel,) = (where / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(where / "dist" / "unpacked")
    compileall.compile_dir(where / "dist" / "unpacked", quiet=2)
    return wheel


def command_of(wheel: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """How ``bench.wheels.calls`` runs with the package of a wheel: command and environment."""
    path = os.pathsep.join([str(wheel.parent / "unpacked"), str(ROOT)])
    # Threads of NumPy's BLAS spin when it is imported, which would be counted.
    steady = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    return [sys.executable, "-m", "bench.wheels.calls", *arguments], os.environ | steady | {"PYTHONPATH": path}


def timed(wheel: Path) -> dict[str, float]:
    """Seconds per call by name, of one fresh process."""
    command, environment = command_of(wheel)
    found = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    if not Path(found.pop("extension")).is_relative_to(wheel.parent):
        sys.exit(f"limited_api: {wheel.name} was not what was imported")
    return dict(found)


def instructions(wheel: Path, call: str) -> float:
    """Instructions per call: the difference of two runs, so that start-up does not count."""

    def counted(count: int) -> int:
        command, environment = command_of(wheel, call, str(count))
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
        said = subprocess.run(valgrind, env=environment, capture_output=True, text=True, check=True).stderr
        found = re.search(r"I\s+refs:\s+([\d,]+)", said)
        if found is None:
            sys.exit(f"limited_api: no instruction count in valgrind's output:\n{said}")
        return int(found[1].replace(",", ""))

    return (counted(MANY) - counted(FEW)) / (MANY - FEW)


def compared(first: list[float], second: list[float]) -> list[str]:
    """Two medians, and the median ratio with its quartiles."""
    low, middle, high = statistics.quantiles([b / a for a, b in zip(first, second, strict=True)], n=4)
    medians = [seconds(statistics.median(values)) for values in (first, second)]
    return [*medians, f"{middle:.2f} ({low:.2f} to {high:.2f})"]


def main() -> None:
    """Build, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21, help="processes of each kind, at least 2")
    parser.add_argument("--instructions", action="store_true", help="count instructions too")
    arguments = parser.parse_args()
    wheels = {kind: built(kind) for kind in KINDS}
    for what, said in machine.about().items():
        print(f"{what}: {said}")
    rows: dict[str, list[list[float]]] = {}
    for turn in range(arguments.rounds):
        for kind in list(KINDS)[:: 1 if turn % 2 else -1]:
            for call, value in timed(wheels[kind]).items():
                rows.setdefault(call, [[], []])[list(KINDS).index(kind)].append(value)
    print()
    print(table(["call", *KINDS, "ratio (quartiles)"], [[call, *compared(*both)] for call, both in rows.items()]))
    print(table(["", *KINDS], [["wheel, bytes", *(f"{wheel.stat().st_size:,}" for wheel in wheels.values())]]))
    if arguments.instructions:
        counts = {
            call: [instructions(wheel, call) for wheel in wheels.values()]
            for call in rows
            if not call.startswith("import")
        }
        lines = [[call, f"{a:,.0f}", f"{b:,.0f}", f"{b / a:.2f}"] for call, (a, b) in counts.items()]
        print(table(["instructions per call", *KINDS, "ratio"], lines))


if __name__ == "__main__":
    main()
