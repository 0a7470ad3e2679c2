"""Writing what a sampler reads to a file.

A file is lines of JSON (``docs/agent.md``, section "Recording"), each written by one call as a gzip member of its own:
a writer that is killed loses at most one, and its checksum tells what was damaged.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from .sampler import Row, Sampler
from .sources import Channel
from .unwrap import BREAK, MISSING

__all__ = ["Group", "Recorder", "end_line", "header_line", "sample_line"]

FORMAT = "cassini-counters/2"
MOST_ROWS = 1000


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
    """Records what a sampler reads at each tick, until it is stopped or the disk is full.

    Whatever ends the recording, the file holds whole lines. The recorder is the one who takes the sampler's rows.

    Parameters
    ----------
    sampler : Sampler
        Not started yet.
    path : str or path
        A new file; it is an error if it exists.
    about : dict
        What to say in the header about host and job: JSON values.

    Attributes
    ----------
    rows, bytes : int
        Written so far.
    problem : str or None
        Why it does not write any more.

    Raises
    ------
    OSError
        The file exists, or cannot be made or written.
    """

    def __init__(self, sampler: Sampler, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None) -> None:
        self.path = os.fspath(path)
        self.problem: str | None = None
        self.bytes = self.rows = 0
        self._sampler = sampler
        self._totals = [MISSING] * len(sampler.channels)
        self._broken = [False] * len(sampler.channels)
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            self._write(header_line([Group(sampler.interval_ns, sampler.channels)], about or {}))
        except OSError:
            self._close()
            os.unlink(self.path)
            raise

    def flush(self) -> None:
        """Write what was sampled; never raises. After a failure :attr:`problem` says what it was."""
        waiting = self._sampler.rows
        while waiting and self._fd >= 0:
            rows = [waiting.popleft() for _ in range(min(len(waiting), MOST_ROWS))]
            for number, column in enumerate(list(zip(*rows, strict=True))[1:]):
                self._totals[number] = max(self._totals[number], *column)
                self._broken[number] = self._broken[number] or BREAK in column
            try:
                self._write(sample_line(0, rows))
            except OSError as error:
                self.problem = f"{self.path}: {error.strerror or error}; recording ended"
                self._end("failed")
                return
            self.rows += len(rows)

    def stop(self) -> None:
        """Write what is left and close the file. Nothing happens the second time."""
        self.flush()
        self._end("stopped")

    def answers(self) -> list[tuple[Channel, str]]:
        """What each channel came to: the total in its unit, or which kind of nothing it is.

        ``no traffic``: it was read and stood still; ``not known``: it was reset, or stands at its top; ``never
        readable``: its file holds no number or cannot be read; ``not there``: the device has no such counter. Only the
        first is a zero.
        """
        found = zip(self._sampler.channels, self._totals, self._broken, strict=True)
        return [(channel, _answer(channel, total, broken)) for channel, total, broken in found]

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
            self._close()

    def _close(self) -> None:
        os.close(self._fd)
        self._fd = -1


def _answer(channel: Channel, total: int, broken: bool) -> str:
    if total > 0:
        return f"{total} {channel.unit}"
    if broken:
        return "not known"
    if total == 0:
        return "no traffic"
    return "not there" if channel.absent else "never readable"
