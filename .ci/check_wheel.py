"""Install the built wheel in an empty environment outside the tree, look what it holds, and rank with it.

Usage: check_wheel.py DIST PROBLEM.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

IN_WHEEL = {
    "the extension": "cassini_core/_kernel",
    "the kernel library": "cassini_core/lib/libcassini",
    "the C header": "cassini_core/include/cassini/cassini.h",
    "the CMake package": "cassini_core/lib/cmake/cassini/cassiniConfig.cmake",
    "the pkg-config file": "cassini_core/lib/pkgconfig/cassini.pc",
    "the typing marker": "cassini_core/py.typed",
    "the agent": "cassini_agent/schedule.py",
    "the typing marker of the agent": "cassini_agent/py.typed",
}
IN_SDIST = ("CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "csrc/include/cassini/cassini.h")

PACKAGES = ("cassini_core", "cassini_agent")

PROBE = """
import cassini_agent.schedule, cassini_core, pathlib, sys
where = pathlib.Path(cassini_core.__file__).resolve()
assert pathlib.Path(sys.prefix).resolve() in where.parents, f"imported from {where}"
job = [cassini_core.Job(i, 100, [cassini_core.Phase(0, 50, 40)]) for i in "ab"]
solution = cassini_core.solve_link(job, capacity_gbps=50)
assert solution.optimal and solution.score == 1, solution
print("cassini-core", cassini_core.__version__, "imported from the wheel")
"""


def check_contents(wheel: Path, sdist: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    print(f"{wheel.name}: {len(names)} files")
    for what, start in IN_WHEEL.items():
        if not any(name.startswith(start) for name in names):
            sys.exit(f"{wheel.name}: expected {what} ({start}...)")
    if strays := [n for n in names if n.endswith((".pyx", ".cpp", ".o")) or not n.startswith(PACKAGES)]:
        sys.exit(f"{wheel.name}: unexpected files {strays[:5]}")
    with tarfile.open(sdist) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in members]:
        sys.exit(f"{sdist.name}: expected {missing}")


def check_use(wheel: Path, problem: Path) -> None:
    # Nothing of the caller's environment may help: no PYTHONPATH, another working directory.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        install = [python, "-m", "pip", "-qq", "--disable-pip-version-check", "install", str(wheel)]
        subprocess.run(install, check=True, cwd=folder, env=environment)
        subprocess.run([python, "-c", PROBE], check=True, cwd=folder, env=environment)
        command = [str(Path(folder, "bin", "cassini-core")), "rank", str(problem), "--json"]
        done = subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.PIPE)
    ranking = json.loads(done.stdout)
    if ranking["format"] != "cassini-ranking/1" or ranking["best"] is None:
        sys.exit(f"unexpected answer: {ranking}")
    print(f"ranked {problem.name}: best is {ranking['best']!r}")


def main() -> None:
    dist, problem = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    (wheel,), (sdist,) = list(dist.glob("*.whl")), list(dist.glob("*.tar.gz"))
    check_contents(wheel, sdist)
    check_use(wheel, problem)


if __name__ == "__main__":
    main()
