"""Look what the built wheel holds, then use it outside the tree: import, rank, report, run fast tests.

The same with every other Python found, from the source distribution, which shows too that nothing is missing in it.

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

# What the layers above and below the extension do. Forks, Ctrl-C and benchmarks are tested once, in the tree.
FAST_TESTS = "bad_input link link_input model problem_file"
CONFIGURATION = """[pytest]
filterwarnings = error
pythonpath = tests tests/support
markers = slow
addopts = --strict-markers -p no:cacheprovider
"""
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
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        raise Failed(f"{what}: exit status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def use(python: Path, built: Path, problem: Path, tests: Path, folder: Path) -> list[str]:
    """What one Python makes of a wheel or source distribution, as cells of the table."""
    run("make an environment", [str(python), "-m", "venv", "--without-pip", "env"], folder)
    own = str(folder / "env" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--python", own, "install"]
    run(f"install {built.name}", [*pip, str(built)], folder)
    run("import", [own, "-c", PROBE], folder)
    command = str(folder / "env" / "bin" / "cassini-core")
    ranking = json.loads(run("rank", [command, "rank", str(problem), "--json"], folder))
    if ranking["format"] != "cassini-ranking/1" or ranking["best"] is None:
        raise Failed(f"rank: unexpected answer {ranking}")
    run("report", [command, "report", str(problem), "-o", "report.html"], folder)
    run("install the test tools", [*pip, "pytest", "hypothesis"], folder)
    shutil.copytree(tests, folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pytest.ini").write_text(CONFIGURATION)
    started = time.monotonic()
    names = [str(path) for name in FAST_TESTS.split() for path in (folder / "tests").rglob(f"test_{name}.py")]
    said = run("tests", [own, "-m", "pytest", "-q", "-m", "not slow", *names], folder)
    passed = re.search(r"(\d+) passed", said)
    return [repr(ranking["best"]), f"{passed[1] if passed else 0} passed in {time.monotonic() - started:.0f} s"]


def check_use(wheel: Path, sdist: Path, problem: Path, tests: Path) -> bool:
    """Prints a table, one Python a line; False if one of them failed."""
    rows = [["Python", "from", f"best of {problem.name}", "tests", "where"]]
    complaints = []
    for each in interpreters.found():
        built = wheel if f"-{each.tag}-{each.tag}-" in wheel.name else sdist
        why_not = interpreters.why_not_built_for(each) if built is sdist else None
        if why_not:
            cells = ["-", "-", why_not]
        else:
            with tempfile.TemporaryDirectory(prefix="wheel-", ignore_cleanup_errors=True) as folder:
                try:
                    cells = use(each.path, built, problem, tests, Path(folder).resolve())
                except (Failed, subprocess.TimeoutExpired) as failed:
                    complaints.append(f"Python {each}: {failed}")
                    cells = ["-", "FAILED"]
            cells = ["wheel" if built is wheel else "sdist", *cells]
        rows.append([str(each), *cells, str(each.path)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print("\n", *complaints, sep="\n", file=sys.stderr if complaints else sys.stdout)
    return not complaints


def main() -> None:
    """Exit status 1 if anything is not as it must be."""
    dist, problem, tests = (Path(argument).resolve() for argument in sys.argv[1:])
    (wheel,), (sdist,) = list(dist.glob("cassini_core-*.whl")), list(dist.glob("*.tar.gz"))
    wheel_contents.check(wheel, sdist)
    if not check_use(wheel, sdist, problem, tests):
        sys.exit(1)


if __name__ == "__main__":
    main()
