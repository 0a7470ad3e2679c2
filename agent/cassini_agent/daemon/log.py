"""What the daemon says of itself: lines of JSON on stderr, and counts, which the metrics show."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

__all__ = ["LineWriter", "Log"]

QUEUE_LINES = 1024
REPEAT_S = 1.0
STDERR = 2


class LineWriter:
    """Writes lines in a thread: whoever logs never waits for a disk, a pipe or a journal.

    Parameters
    ----------
    descriptor : int
        Where they go.

    Attributes
    ----------
    dropped : int
        Lines that were lost: the queue was full, or the disk.
    """

    def __init__(self, descriptor: int = STDERR) -> None:
        self.dropped = 0
        self._descriptor = descriptor
        self._queue: queue.Queue[bytes | None] = queue.Queue(QUEUE_LINES)
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        try:
            self._queue.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def close(self, timeout_s: float = 1.0) -> None:
        """Write what waits, if that does not take long."""
        with suppress(queue.Full):
            self._queue.put(None, timeout=timeout_s)
            self._thread.join(timeout_s)

    def _write_all(self) -> None:
        while (line := self._queue.get()) is not None:
            try:
                if os.write(self._descriptor, line) < len(line):
                    self.dropped += 1  # a part of a line: the rest would not be JSON either
            except OSError:
                self.dropped += 1


class Log:
    """Counts what happens, and says it; what fails or is refused again and again at most once a second.

    Parameters
    ----------
    write : callable
        Takes each line.
    now : callable
        Seconds of a steady clock.

    Attributes
    ----------
    events, errors : Counter of str
        What happened, by kind; what failed inside the daemon, by place.
    refusals : Counter of (str, str)
        By place and reason. All are words of the program, never of a peer, so their number is bounded.
    """

    def __init__(self, write: Callable[[bytes], None], now: Callable[[], float] = time.monotonic) -> None:
        self.events: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.refusals: Counter[tuple[str, str]] = Counter()
        self._write = write
        self._now = now
        self._repeated: dict[tuple[str, str], tuple[float, int]] = {}

    def info(self, event: str, **values: object) -> None:
        self._say("info", event, values)

    def warning(self, event: str, **values: object) -> None:
        self._say("warning", event, values)

    def error(self, where: str, error: object) -> None:
        """Something failed; the others go on."""
        self.errors[where] += 1
        text = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
        self._say_seldom("error", "failed", where, where, {"error": text[:400]})

    def refused(self, where: str, reason: str, **details: object) -> None:
        """Somebody did not get what they asked for."""
        self.refusals[where, reason] += 1
        self._say_seldom("warning", "refused", where, reason, {"reason": reason, **details})

    def _say_seldom(self, level: str, event: str, where: str, kind: str, values: dict[str, object]) -> None:
        now = self._now()
        then, unsaid = self._repeated.get((where, kind), (-REPEAT_S, 0))
        if now - then < REPEAT_S:
            self._repeated[where, kind] = (then, unsaid + 1)
        else:
            self._repeated[where, kind] = (now, 0)
            self._say(level, event, {"where": where, "unsaid": unsaid, **values})

    def _say(self, level: str, event: str, values: dict[str, object]) -> None:
        line = {"timestamp": datetime.now(UTC).isoformat(), "level": level, "event": event, **values}
        self._write(msgspec.json.encode(line, enc_hook=repr) + b"\n")
