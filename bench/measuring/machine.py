"""What a figure must be read with: the machine, the versions, the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("cassini-core", "numpy", "numba", "ortools", "highspy")


def about() -> dict[str, str]:
    """Machine, versions, commit and load as text, in the order they are to be shown."""
    said = {
        "CPU": _cpu(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    said |= {name: _version(name) for name in PACKAGES}
    said["commit"] = _commit()
    if hasattr(os, "getloadavg"):
        said["load average at the start"] = " ".join(f"{load:.2f}" for load in os.getloadavg())
    return said


def _cpu() -> str:
    try:
        fields = dict(_field(line) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    except OSError:
        return platform.processor() or platform.machine()
    numbers = f"family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
    return f"{fields.get('model name', platform.machine())} ({numbers})"


def _field(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    def git(*arguments: str) -> str:
        root = Path(__file__).parents[2]
        return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()

    try:
        # The results themselves and notes do not change what is measured.
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "csrc", "src", "bench", ":!bench/results")
        return git("rev-parse", "--short=12", "HEAD") + (" with uncommitted changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
