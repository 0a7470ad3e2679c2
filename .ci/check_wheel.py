"""Look what the built wheel holds, then use it outside the tree with every Python found: import, rank, run fast tests.

Usage: check_wheel.py DIST PROBLEM.json TESTS
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import interpreters
import wheel_contents

# What the layers above and below the extension do, in seconds; forks, Ctrl-C and benchmarks are tested once, in the tree.
FAST_TESTS = (
    "test_affinity.py test_bad_input.py test_block_anchor.py test_joint.py test_link.py test_link_batch.py test_link_input.py "
    "test_model.py test_per_job.py test_periods.py test_problem_file.py test_ranker.py test_ranking.py test_shifts.py"
).split()
CONFIGURATION = "[pytest]\nfilterwarnings = error\nmarkers = slow\naddopts = --strict-markers -p no:cacheprovider\n"
PROBE = """
import cassini_agent.schedule, cassini_core, pathlib, sys
where = pathlib.Path(cassini_core.__file__).resolve()
assert pathlib.Path(sys.prefix).resolve() in where.parents, f"imported from {where}"
job = [cassini_core.Job(i, 100, [cassini_core.Phase(0, 50, 40)]) for i in "ab"]
solution = cassini_core.solve_link(job, capacity_gbps=50)
assert solution.optimal and solution.score == 1, solution
"""


class Failed(Exception):
    """A step with one Python; the text says which, and what it printed."""


def run(what: str, command: list[str], folder: Path) -> str:
    """Standard output. Nothing of the caller's environment helps: no PYTHONPATH, another working directory."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"HYPOTHESIS_PROFILE": "ci"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Failed(f"{what}: exit status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def use(python: Path, wheel: Path, problem: Path, tests: Path, folder: Path) -> list[str]:
    """What one Python makes of the wheel, as cells of the table."""
    run("make an environment", [str(python), "-m", "venv", "--without-pip", "env"], folder)
    own = str(folder / "env" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--python", own, "install"]
    run("install the wheel", [*pip, str(wheel)], folder)
    run("import", [own, "-c", PROBE], folder)
    command = str(folder / "env" / "bin" / "cassini-core")
    ranking = json.loads(run("rank", [command, "rank", str(problem), "--json"], folder))
    if ranking["format"] != "cassini-ranking/1" or ranking["best"] is None:
        raise Failed(f"rank: unexpected answer {ranking}")
    run("install the test tools", [*pip, "pytest", "hypothesis"], folder)
    shutil.copytree(tests, folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pytest.ini").write_text(CONFIGURATION)
    started = time.monotonic()
    names = [f"tests/{name}" for name in FAST_TESTS]
    said = run("tests", [own, "-m", "pytest", "-q", "-m", "not slow", *names], folder)
    passed = re.search(r"(\d+) passed", said)
    return [repr(ranking["best"]), f"{passed[1] if passed else 0} passed in {time.monotonic() - started:.0f} s"]


def check_use(wheel: Path, problem: Path, tests: Path) -> bool:
    """Prints a table, one Python a line; False if one of them failed."""
    rows, complaints = [["Python", "best of " + problem.name, "tests", "where"]], []
    for each in interpreters.found():
        if each.free_threaded:  # has no stable ABI before 3.15: make check-free-threaded builds for it
            continue
        with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
            try:
                cells = use(each.path, wheel, problem, tests, Path(folder).resolve())
            except (Failed, subprocess.TimeoutExpired) as failed:
                complaints.append(f"Python {each}: {failed}")
                cells = ["-", "FAILED"]
        rows.append([str(each), *cells, str(each.path)])
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()
    print("\n".join(complaints), file=sys.stderr, end="")
    return not complaints


def main() -> None:
    """Exit status 1 if anything is not as it must be."""
    dist, problem, tests = (Path(argument).resolve() for argument in sys.argv[1:])
    (wheel,), (sdist,) = list(dist.glob("*.whl")), list(dist.glob("*.tar.gz"))
    wheel_contents.check(wheel, sdist)
    if not check_use(wheel, problem, tests):
        sys.exit(1)


if __name__ == "__main__":
    main()
