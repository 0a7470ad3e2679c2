"""Writing what a sampler reads to a file, once a second, from a thread that the sampling never waits for.

A file is lines of JSON (``docs/agent.md``, section "Recording"), each written by one call as a gzip member of its own:
a writer that is killed loses at most one, and its checksum tells what was damaged.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from .sampler import Row, Sampler
from .sources import Channel
from .unwrap import BREAK

__all__ = ["Group", "Recorder", "end_line", "header_line", "sample_line"]

FORMAT = "cassini-counters/2"
MOST_ROWS = 1000
_PERIOD_S = 1.0


@dataclass(frozen=True, slots=True)
class Group:
    """Channels that were read together, every ``interval_ns``."""

    interval_ns: int
    channels: tuple[Channel, ...]


def header_line(groups: Sequence[Group], about: dict[str, Any]) -> bytes:
    """The first line of a file."""
    return _line({"format": FORMAT, "clock": "monotonic", "groups": [asdict(one) for one in groups], "about": about})


def sample_line(group: int, rows: Sequence[Row]) -> bytes:
    """Rows of a group, of each column its first value and then how much each is above the one before."""
    columns = zip(*rows, strict=True)
    return _line({"group": group, "columns": [[one[0], *(b - a for a, b in pairwise(one))] for one in columns]})


def end_line(reason: str) -> bytes:
    """The last line: why recording ended."""
    return _line({"ended": reason})


def _line(values: dict[str, Any]) -> bytes:
    return gzip.compress(json.dumps(values, separators=(",", ":")).encode() + b"\n", compresslevel=1, mtime=0)


class Recorder:
    """Records a sampler until it is stopped, the file is as large as it may be, or the disk is full.

    Whatever ends the recording, the sampler goes on, and the file holds whole lines.

    Parameters
    ----------
    sampler : Sampler
        Only what it reads from now on is recorded.
    path : str or path
        A new file; it is an error if it exists.
    about : dict
        What to say in the header about host and job: JSON values.
    most_bytes : int, optional
        The file does not grow beyond this, but for the last few bytes that say why it ended.

    Raises
    ------
    OSError
        The file exists, or cannot be made or written.
    """

    def __init__(
        self,
        sampler: Sampler,
        path: str | os.PathLike[str],
        *,
        about: dict[str, Any] | None = None,
        most_bytes: int | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.problem: str | None = None
        self.bytes = 0
        self.rows = 0
        self._most_bytes = most_bytes
        self._groups = (
            Group(sampler.interval_ns, sampler.fast_channels),
            Group(sampler.slow_interval_ns, sampler.slow_channels),
        )
        self._waiting = sampler.subscribe()
        self._seen = [_Seen(channel) for channel in sampler.fast_channels]
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            self._write(header_line(self._groups, about or {}))
        except OSError:
            os.close(self._fd)
            os.unlink(self.path)
            raise

    @property
    def recording(self) -> bool:
        """Whether it still writes."""
        return self._fd >= 0

    def start(self) -> None:
        """Write once a second from a thread."""
        self._thread = threading.Thread(target=self._run, name="counter-recorder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what is left and close the file. Nothing happens the second time."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()
        self._end("stopped")

    def flush(self) -> None:
        """Write what was sampled; never raises. After a failure :attr:`problem` says what it was."""
        with self._lock:
            for number, waiting in enumerate(self._waiting):
                while waiting and self.recording:
                    rows = [waiting.popleft() for _ in range(min(len(waiting), MOST_ROWS))]
                    if number == 0:
                        for seen, column in zip(self._seen, list(zip(*rows, strict=True))[1:], strict=True):
                            seen.take(column)
                    self._append(sample_line(number, rows), len(rows))

    def answers(self) -> list[tuple[Channel, str]]:
        """What each channel read at every tick came to: the total in its unit, or which kind of nothing it is.

        ``no traffic``: it was read and stood still; ``not known``: it was reset, or stands at its top; ``never
        readable``: its file holds no number or cannot be read; ``not there``: the device has no such counter. Only the
        first is a zero.
        """
        return [(one.channel, one.answer()) for one in self._seen]

    def _run(self) -> None:
        while not self._stopping.wait(_PERIOD_S) and self.recording:
            self.flush()

    def _append(self, line: bytes, rows: int) -> None:
        if self._most_bytes is not None and self.bytes + len(line) > self._most_bytes:
            self.problem = f"{self.path}: as large as it may be ({self._most_bytes} bytes); recording ended"
            self._end("full")
            return
        try:
            self._write(line)
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror or error}; recording ended"
            self._end("failed")
            return
        self.rows += rows

    def _write(self, line: bytes) -> None:
        view, begin = memoryview(line), self.bytes
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            # What fitted of the line is of no use, and would hide the end from the reader.
            os.ftruncate(self._fd, begin)
            os.lseek(self._fd, begin, os.SEEK_SET)
            raise
        self.bytes += len(line)

    def _end(self, reason: str) -> None:
        if self._fd < 0:
            return
        try:
            self._write(end_line(reason))
        except OSError:
            pass  # Then there was no room for it: the lines before it are whole all the same.
        finally:
            os.close(self._fd)
            self._fd = -1


@dataclass(slots=True)
class _Seen:
    """What a channel showed while it was recorded."""

    channel: Channel
    first: int | None = None
    last: int = 0
    broken: bool = False

    def take(self, column: Sequence[int]) -> None:
        totals = [value for value in column if value >= 0]
        if totals:
            self.first = totals[0] if self.first is None else self.first
            self.last = totals[-1]
        self.broken = self.broken or BREAK in column

    def answer(self) -> str:
        if self.first is not None and self.last > self.first:
            return f"{self.last - self.first} {self.channel.unit}"
        if self.broken:
            return "not known"
        if self.first is not None:
            return "no traffic"
        return "not there" if self.channel.absent else "never readable"
