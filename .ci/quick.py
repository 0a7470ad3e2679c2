"""Lint, and the tests of what changed since this branch left main, or on main since the last commit.

Usage: quick.py JOBS

Tests lie in the same folders as what they test. What is not found by its folder is not tested here: ``make test`` runs
all tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
KERNEL = ("csrc/", "CMakeLists.txt", "cmake/")
DOCS = ("README.md", "CONTRIBUTING.md", "docs/", "examples/")


def git(*words: str) -> list[str]:
    """The lines that a git command prints; none if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed() -> list[str]:
    """Files that changed, and new ones, relative to the root."""
    (since,) = git("merge-base", "main", "HEAD") or ["HEAD"]
    return sorted({*git("diff", "--name-only", since), *git("ls-files", "--others", "--exclude-standard")})


def tests_of(name: str) -> list[Path]:
    """The test files and folders for one changed file."""
    path = PurePosixPath(name)
    if path.match("tests/*/test_*.py"):
        return [ROOT / path]
    if name.startswith("tests/support/"):
        uses = re.compile(rf"^(import|from) {path.stem}\b", re.MULTILINE)
        return [test for test in TESTS.rglob("test_*.py") if uses.search(test.read_text())]
    if name.startswith("src/cassini_core/"):
        return [TESTS / (path.parts[2] if len(path.parts) > 3 else "root")]
    if name.startswith("agent/cassini_agent/"):
        return [*(TESTS / "agent").glob(f"test_{PurePosixPath(path.parts[2]).stem}*.py")] or [TESTS / "agent"]
    if name.startswith("tests/agent/"):
        return [TESTS / "agent"]
    if name.startswith("bench/"):
        return [TESTS / "bench", TESTS / path.parts[1]] if len(path.parts) > 2 else [TESTS / "bench"]
    if name.startswith(DOCS):
        return [TESTS / "docs"]
    return [TESTS / "kernel"] if name.startswith(KERNEL) else []


def main() -> int:
    """The exit status of the first command that fails."""
    names = changed()
    tests = sorted({str(test.relative_to(ROOT)) for name in names for test in tests_of(name) if test.exists()})
    make = ["make", "--no-print-directory", f"JOBS={sys.argv[1]}"]
    commands = [[*make, "lint"]]
    if any(name.startswith(KERNEL) for name in names):
        commands.append([*make, "test-kernel"])
    if tests:
        commands.append([*make, "test-python", f"TESTS={' '.join(tests)}"])
    for command in commands:
        print("==", *command[3:], flush=True)
        if status := subprocess.run(command, cwd=ROOT, check=False).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
