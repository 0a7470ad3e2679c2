"""Processes that are interrupted while they work."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time

__all__ = ["interrupted"]


def interrupted(script: str) -> tuple[str, float]:
    """What a script printed once it was interrupted, and the seconds of processor time that it took in all.

    It prints ``ready`` when its work begins, and gets SIGINT half a second later. It may import test modules.
    """
    before_s = _work_of_children_s()
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            rest = process.communicate(timeout=120)[0]
        finally:
            process.kill()
    return rest, _work_of_children_s() - before_s


def _work_of_children_s() -> float:
    """Processor time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
