"""A fresh process per measurement: nothing that another one loaded or kept is there.

A task is a function of ``bench.ranking.scale.tasks``. It gets its arguments as JSON on standard input, and says what it
found as JSON on standard output.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def in_fresh_process(task: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the task found.

    Parameters
    ----------
    task : str
        Name of a function of ``bench.ranking.scale.tasks``.
    arguments : mapping of str to JSON value

    Raises
    ------
    subprocess.CalledProcessError
        The process failed; it said why on standard error.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench.ranking.scale.tasks", task],
        input=json.dumps(arguments),
        cwd=ROOT,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def keep(problem: object, file: Path) -> Path:
    """Write a problem where a task can load it; it is not read as JSON, because that would load the JSON library."""
    with open(file, "wb") as opened:
        pickle.dump(problem, opened, protocol=pickle.HIGHEST_PROTOCOL)
    return file


def load(file: str) -> Any:
    """What :func:`keep` wrote."""
    with open(file, "rb") as opened:
        return pickle.load(opened)


def peak_mib() -> float:
    """Most memory this process ever had in use, MiB."""
    try:
        # ru_maxrss starts with what the parent had in use, where the child was made by vfork.
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (2**20 if sys.platform == "darwin" else 2**10)
