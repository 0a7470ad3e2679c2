"""Daemons forked from a process that has imported all that they need: that takes longer than what most tests ask."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fork_server import FORK_SERVER

__all__ = ["ForkedDaemon"]

HOUSEKEEPING_S = 0.1
"""What a daemon does once a second these do more often: tests wait for it."""


class ForkedDaemon:
    """``main(arguments)`` in a folder, its log in a file, and what tests do with a ``subprocess.Popen`` of it."""

    def __init__(
        self, main: Callable[[Sequence[str]], int | None], arguments: Sequence[str], folder: Path, log: Path
    ) -> None:
        self._process = FORK_SERVER.Process(target=_run, args=(main, arguments, folder, log, dict(os.environ)))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The status it ended with, or None."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The status it ends with."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("cassini-agent", timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Nothing if it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def _run(
    main: Callable[[Sequence[str]], int | None],
    arguments: Sequence[str],
    folder: Path,
    log: Path,
    environment: dict[str, str],
) -> None:
    os.chdir(folder)
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
    os.environ.clear()
    os.environ.update(environment)
    importlib.import_module("cassini_agent.daemon.service").HOUSEKEEPING_S = HOUSEKEEPING_S  # type: ignore[attr-defined]
    sys.exit(main(arguments))
