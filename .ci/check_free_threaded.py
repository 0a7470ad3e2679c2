"""Build the package for a Python without the global lock, and share its objects between threads there.

Usage: check_free_threaded.py ROOT [PYTHON]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import interpreters

TESTS = "shared_objects collector_rest baseline executors host_process link_batch link_store ranker"
PROBE = """
import importlib, pkgutil, sys, cassini_core
for found in pkgutil.walk_packages(cassini_core.__path__, "cassini_core."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
sys.exit(sys._is_gil_enabled() and "the import of the package, or of what it needs, turned the global lock on")
"""


def main() -> int:
    """Exit status of the tests; 2 where there is no such Python."""
    root = Path(sys.argv[1]).resolve()
    asked = [interpreters.asked(Path(sys.argv[2]))] if len(sys.argv) > 2 else interpreters.found()
    usable = [each for each in asked if each is not None and interpreters.why_not_built_for(each) is None]
    free_threaded = [each for each in usable if each.free_threaded]
    if not free_threaded:
        print(
            "no free-threaded Python 3.14 or newer was found: make check-free-threaded FREE_THREADED=PATH",
            file=sys.stderr,
        )
        return 2
    newest = free_threaded[-1]
    print(f"Python {newest}: {newest.path}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory(prefix="free-threaded-") as folder:
        subprocess.run([newest.path, "-m", "venv", "--without-pip", folder], check=True, env=environment)
        own = str(Path(folder, "bin", "python"))
        pip = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--python", own]
        subprocess.run([*pip, "install", f"{root}[test]"], check=True, env=environment)
        subprocess.run([own, "-c", PROBE], check=True, env=environment)
        tests = [str(path) for name in TESTS.split() for path in (root / "tests").rglob(f"test_{name}.py")]
        command = [own, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests]
        return subprocess.run(command, cwd=root, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
