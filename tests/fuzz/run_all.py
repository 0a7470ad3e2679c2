"""Runs all fuzz targets one after the other: ``python tests/fuzz/run_all.py SECONDS BUILD_FOLDER [TARGET ...]``.

``BUILD_FOLDER`` holds the targets of the kernel as ``csrc/fuzz/fuzz_*`` and takes logs (``NAME.log``), the inputs that
are new (``corpus/NAME``) and those that break something (``found/NAME-...``). Ends with 1 if there is one of those.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent.absolute()
KERNEL = HERE.parent.parent / "csrc" / "fuzz"
LIMITS = ("-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1")
_SEED = os.environ.get("FUZZ_SEED", "0")  # 0: another each time
_SHOWN_LINES = 60
_PROGRESS = re.compile(r"^#(\d+)\s.*cov: (\d+) ft: (\d+)", re.MULTILINE)
_FINDING = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Target:
    """A target and its committed inputs."""

    name: str
    command: tuple[str, ...]
    inputs: Path
    longest: int

    def replay(self, finding: str) -> str:
        """The command that runs one input."""
        return " ".join((*self.command, finding))


def targets(build: Path) -> list[Target]:
    """The kernel's, then Python's."""
    kernel = [
        Target(name, (str(build / "csrc" / "fuzz" / f"fuzz_{name}"),), KERNEL, 2048) for name in ("boundary", "search")
    ]
    engine = (sys.executable, str(HERE / "engine.py"))
    readers = ("problem_file", "kineto", "counters", "topology", "workload", "jobs", "tasks")
    return kernel + [Target(name, (*engine, name), HERE, 12000) for name in readers]


def fuzz(target: Target, seconds: int, build: Path) -> bool:
    """Whether nothing was found."""
    corpus = build / "corpus" / target.name
    corpus.mkdir(parents=True, exist_ok=True)
    (build / "found").mkdir(exist_ok=True)
    known = str(target.inputs / "corpus" / target.name)
    log = build / f"{target.name}.log"
    command = [*target.command, f"-max_total_time={seconds}", f"-max_len={target.longest}", f"-seed={_SEED}", *LIMITS]
    command += [f"-artifact_prefix={build}/found/{target.name}-", str(corpus), known]
    with log.open("wb") as stream, subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT) as process:
        began = time.monotonic()
        while process.poll() is None:
            _show(target, log, time.monotonic() - began, end="\r" if sys.stdout.isatty() else "")
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
    _show(target, log, time.monotonic() - began, end="\n")
    if process.returncode == 0:
        return True
    text = log.read_text(errors="replace")
    print(f"{target.name}: ended with status {process.returncode}; see {log}")
    lines = [line for line in text.splitlines() if not _PROGRESS.match(line)]
    print("\n".join(lines[-_SHOWN_LINES:]))
    for finding in _FINDING.findall(text):
        print(f"{target.name}: the input is {finding}\n  replay: {target.replay(finding)}")
        # The log may be all that is left of the machine.
        print(f"  its bytes: base64 -d <<< {base64.b64encode(Path(finding).read_bytes()).decode()}")
    return False


def _show(target: Target, log: Path, seconds: float, end: str) -> None:
    if not end:
        return
    progress = _PROGRESS.findall(log.read_text(errors="replace"))
    runs, edges, features = progress[-1] if progress else ("0", "0", "0")
    print(
        f"{target.name:<14}{seconds:6.0f} s {int(runs):10,} runs {edges:>7} edges {features:>7} features",
        end=end,
        flush=True,
    )


def main() -> int:
    """Everything asked for on the command line."""
    seconds, build = int(sys.argv[1]), Path(sys.argv[2]).absolute()
    wanted = [target for target in targets(build) if not sys.argv[3:] or target.name in sys.argv[3:]]
    good = [fuzz(target, seconds, build) for target in wanted]
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
