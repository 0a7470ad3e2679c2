"""Processes that are interrupted while they work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

__all__ = ["interrupted"]


def interrupted(script: str) -> tuple[str, float]:
    """What a script printed once it was interrupted, and the seconds from then to its end.

    It prints ``ready`` when its work begins, and gets SIGINT half a second later. It may import test modules.
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=30)[0]
        return rest, time.monotonic() - sent
