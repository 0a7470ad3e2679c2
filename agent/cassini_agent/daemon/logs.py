"""Logs as JSON lines, written by a thread: whoever logs never waits for a disk, a pipe or a journal.

What does not fit is dropped and counted. A refusal that comes again and again is logged once a second, with how many
more there were.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

__all__ = ["LogWriter", "RefusalLog", "make_logger"]

QUEUE_LINES = 1024
REPEAT_S = 1.0
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class LogWriter:
    """Writes lines to a file, or to stderr.

    Attributes
    ----------
    dropped : int
        Lines that were lost: the queue was full, or the disk.
    """

    def __init__(self, path: Path | None) -> None:
        self.dropped = 0
        self._path = path
        self._reopen = threading.Event()
        self._queue: queue.Queue[bytes | None] = queue.Queue(QUEUE_LINES)
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        try:
            self._queue.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def reopen(self) -> None:
        """The file was moved away (logrotate): begin a new one."""
        self._reopen.set()

    def close(self, timeout_s: float = 1.0) -> None:
        """Write what waits, if that does not take long."""
        while True:
            try:
                self._queue.put_nowait(None)
                break
            except queue.Full:
                with suppress(queue.Empty):
                    self._queue.get_nowait()
                    self.dropped += 1
        self._thread.join(timeout_s)

    def _write_all(self) -> None:
        descriptor: int | None = None
        while (line := self._queue.get()) is not None:
            try:
                if self._reopen.is_set() and descriptor is not None and self._path is not None:
                    os.close(descriptor)
                    descriptor = None
                self._reopen.clear()
                if descriptor is None:
                    descriptor = self._open()
                if os.write(descriptor, line) < len(line):
                    self.dropped += 1  # a part of a line: the rest would not be JSON either
            except OSError:
                self.dropped += 1
        if descriptor is not None and self._path is not None:
            os.close(descriptor)

    def _open(self) -> int:
        if self._path is None:
            return sys.stderr.fileno()
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)


class _Logger:
    """What structlog calls last."""

    def __init__(self, writer: LogWriter) -> None:
        self._write = writer.write

    def msg(self, message: bytes) -> None:
        self._write(message + b"\n")

    debug = info = warning = error = critical = msg


def make_logger(writer: LogWriter, level: str) -> Any:
    """A structlog logger: ``log.info("event", key=value)``."""
    import msgspec

    return structlog.wrap_logger(
        _Logger(writer),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=lambda event, **_: msgspec.json.encode(event, enc_hook=repr)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        cache_logger_on_first_use=True,
    )


class RefusalLog:
    """Logs refusals, each kind at most once a second."""

    def __init__(self, log: Any, now: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._now = now
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def __call__(self, where: str, reason: str, details: dict[str, object]) -> None:
        now = self._now()
        then, unsaid = self._kinds.get((where, reason), (-REPEAT_S, 0))
        if now - then < REPEAT_S:
            self._kinds[where, reason] = (then, unsaid + 1)
            return
        self._kinds[where, reason] = (now, 0)
        self._log.warning("refused", where=where, reason=reason, unsaid=unsaid, **details)
