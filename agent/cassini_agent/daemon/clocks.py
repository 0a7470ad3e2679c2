"""The clocks of the host, read together, and by how much its monotonic clock is ahead of the coordinator's.

On Linux both clocks run at the same, disciplined rate; only steps (settimeofday, a leap second, makestep of chrony)
move the wall clock against the monotonic one. So their difference is constant until somebody steps the wall clock, and
where NTP or PTP keeps the wall clock, the monotonic one runs as fast as that of all other hosts.
"""

from __future__ import annotations

import ctypes
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from ..schedule import MAX_TIME_NS

__all__ = [
    "OFFSET_STEP_NS",
    "Clocks",
    "CoordinatorClock",
    "OffsetNs",
    "Reading",
    "SystemClocks",
    "boot_id",
    "wall_clock_error_ns",
]

OffsetNs = Annotated[int, msgspec.Meta(ge=-MAX_TIME_NS, le=MAX_TIME_NS)]
"""Of the host's monotonic clock to the coordinator's."""

WALL_STEP_NS = 1_000_000
"""The wall clock moved this much against the monotonic clock: a step. Reading both takes less than 1 us."""

OFFSET_STEP_NS = 100_000_000
"""An offset this far from the one before is a step of a clock, not drift: a day at 1 ppm is 86 ms."""

# struct timex of adjtimex(2): modes, offset, freq, and maxerror, in us; 208 bytes on 64-bit machines.
_TIMEX, _TIMEX_BYTES = struct.Struct("@Illl"), 512
_UNKNOWN, _UNSYNCHRONISED = -1, 5  # what it returns where it fails, and TIME_ERROR

_READINGS = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """Both clocks of the host at one instant, ns."""

    monotonic_ns: int
    unix_ns: int


class Clocks(Protocol):
    """Where the daemon gets the time from; tests have another one."""

    def read(self) -> Reading: ...

    def monotonic_ns(self) -> int: ...


class SystemClocks:
    """``CLOCK_MONOTONIC`` and ``CLOCK_REALTIME``."""

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def read(self) -> Reading:
        """The tightest of a few readings: a process that is put to sleep between the two clocks would see a step."""
        best: tuple[int, Reading] | None = None
        for _ in range(_READINGS):
            before = time.monotonic_ns()
            unix = time.time_ns()
            after = time.monotonic_ns()
            if best is None or after - before < best[0]:
                best = (after - before, Reading((before + after) // 2, unix))
        assert best is not None
        return best[1]


def boot_id() -> str:
    """Names this boot of the host: monotonic times of another one mean nothing. Empty if the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class CoordinatorClock:
    """The clock that schedules are written on: as the coordinator said, or else the host's wall clock as it is now.

    Attributes
    ----------
    offset_ns : int or None
        The host's monotonic clock minus the coordinator's, as it said last.
    wall_steps : int
        How often the wall clock was seen to step.
    offset_steps : int
        How often a new offset was more than 0.1 s away from the one in force before.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.offset_ns: int | None = None
        self.wall_steps = 0
        self.offset_steps = 0
        first = clocks.read()
        self._wall_offset_ns = first.monotonic_ns - first.unix_ns

    def current(self) -> int:
        """The offset for a schedule that comes now: add it to times of the coordinator."""
        if self.offset_ns is None:
            self.observe()
            return self._wall_offset_ns
        return self.offset_ns

    def observe(self) -> Reading:
        """Read the clocks and see whether the wall clock stepped since the last reading."""
        reading = self.clocks.read()
        offset = reading.monotonic_ns - reading.unix_ns
        if abs(offset - self._wall_offset_ns) > WALL_STEP_NS:
            self.wall_steps += 1
        self._wall_offset_ns = offset
        return reading

    def give(self, offset_ns: int) -> None:
        """Keep an offset from the coordinator."""
        self.offset_steps += abs(offset_ns - self.current()) > OFFSET_STEP_NS
        self.offset_ns = offset_ns


def wall_clock_error_ns() -> int | None:
    """By how much the wall clock may be off, as the kernel has it from NTP or PTP; None if it does not say."""
    libc, timex = ctypes.CDLL(None), ctypes.create_string_buffer(_TIMEX_BYTES)
    try:
        state = libc.adjtimex(timex)  # with modes 0 it only reads
    except AttributeError:  # not Linux
        return None
    if state in (_UNKNOWN, _UNSYNCHRONISED):
        return None
    return 1000 * int(_TIMEX.unpack_from(timex)[3])
