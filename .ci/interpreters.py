"""The Pythons of this machine that the package is for: one of each version and kind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST = (3, 11)
NEWEST_MINOR = 20

ASK = """
import json, os, platform, sys, sysconfig, venv
print(json.dumps([
    platform.python_implementation(), sys.version_info[:3],
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), os.path.exists(sysconfig.get_path("include") + "/Python.h"),
]))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A CPython: where it lies, and which."""

    path: Path
    version: tuple[int, int, int]
    free_threaded: bool
    has_headers: bool

    @property
    def tag(self) -> str:
        """As wheels name it: ``cp312``, or ``cp314t`` of the free-threaded kind."""
        return f"cp{self.version[0]}{self.version[1]}{'t' * self.free_threaded}"

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.version))}{'t' * self.free_threaded}"


def found() -> list[Interpreter]:
    """The first of each version and kind, the running one before all, in the order of versions."""
    first: dict[str, Interpreter] = {}
    for path in candidates():
        interpreter = asked(path)
        if interpreter is not None:
            first.setdefault(interpreter.tag, interpreter)
    return sorted(first.values(), key=lambda each: (each.version, each.free_threaded))


def candidates() -> Iterator[Path]:
    """The running one; those on the path; those of pyenv, newest first; the system's."""
    yield Path(sys.executable)
    for minor in range(OLDEST[1], NEWEST_MINOR):
        for name in (f"python3.{minor}", f"python3.{minor}t"):
            if where := shutil.which(name):
                yield Path(where)
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    yield from sorted(versions.glob("3.*/bin/python3"), reverse=True)
    yield Path("/usr/bin/python3")


def asked(path: Path) -> Interpreter | None:
    """What the interpreter says of itself; None if it does not run, is too old or another kind.

    A name on the path may be a stand-in of a version manager that starts nothing.
    """
    try:
        command = [str(path), "-I", "-c", ASK]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
        kind, version, free_threaded, has_headers = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    major, minor, micro = version
    if kind != "CPython" or (major, minor) < OLDEST:
        return None
    return Interpreter(path, (major, minor, micro), free_threaded, has_headers)


def why_not_built_for(interpreter: Interpreter) -> str | None:
    """What keeps a package with an extension from being built; None if nothing does."""
    if not interpreter.has_headers:
        return "not tried: no Python.h"
    if interpreter.free_threaded and interpreter.version < (3, 14):
        return "not tried: no wheels of what it needs"
    return None


if __name__ == "__main__":
    for each in found():
        print(each.tag, each, each.path)
