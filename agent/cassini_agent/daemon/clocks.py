"""The clocks of the host, read together, and what maps the coordinator's clock onto the host's monotonic clock.

On Linux both clocks run at the same, disciplined rate; only steps (settimeofday, a leap second, makestep of chrony)
move the wall clock against the monotonic one. So their difference is constant until somebody steps the wall clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["ClockMapping", "Clocks", "CoordinatorClock", "Reading", "SystemClocks", "boot_id"]

WALL_STEP_NS = 1_000_000
"""The wall clock moved this much against the monotonic clock: a step. Reading both takes less than 1 us."""

MAPPING_STEP_NS = 100_000_000
"""A mapping this far from the one before is a step of a clock, not drift: a day at 1 ppm is 86 ms."""

MAX_RATE_PPB = 1_000_000
"""Clocks further apart than 1000 ppm are broken; Linux itself corrects no more than 500."""

MAX_INSTANT_NS = 2**62

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


@dataclass(frozen=True, slots=True)
class ClockMapping:
    """``monotonic = coordinator + offset + rate_ppb * (coordinator - reference) / 1e9``, all ns.

    Raises
    ------
    ValueError
        An offset or reference beyond 2^62 ns or a rate beyond 1000 ppm.
    """

    offset_ns: int
    rate_ppb: float
    reference_ns: int

    def __post_init__(self) -> None:
        for key in ("offset_ns", "reference_ns"):
            value = getattr(self, key)
            if type(value) is not int or abs(value) > MAX_INSTANT_NS:
                raise ValueError(f"mapping.{key}: expected a whole number within 2^62, got {value!r}")
        if type(self.rate_ppb) not in (int, float) or not abs(self.rate_ppb) <= MAX_RATE_PPB:
            raise ValueError(f"mapping.rate_ppb: expected a number within {MAX_RATE_PPB}, got {self.rate_ppb!r}")

    def to_monotonic(self, coordinator_ns: int) -> int:
        return coordinator_ns + self.offset_ns + round(self.rate_ppb * (coordinator_ns - self.reference_ns) / 1e9)

    def to_coordinator(self, monotonic_ns: int) -> int:
        """The inverse, to the nanosecond or two."""
        elapsed = monotonic_ns - self.offset_ns - self.reference_ns
        slower = self.rate_ppb / (1e9 + self.rate_ppb)
        return self.reference_ns + elapsed - round(elapsed * slower)


class CoordinatorClock:
    """The mapping in force: the one the coordinator gave, or else the host's wall clock as it is now.

    Attributes
    ----------
    mapping : ClockMapping or None
        What the coordinator gave last.
    wall_steps : int
        How often the wall clock was seen to step.
    mapping_steps : int
        How often a new mapping was more than 0.1 s away from the one in force before.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.mapping: ClockMapping | None = None
        self.wall_steps = 0
        self.mapping_steps = 0
        first = clocks.read()
        self._wall_offset_ns = first.monotonic_ns - first.unix_ns

    def current(self) -> ClockMapping:
        """The mapping for a schedule that comes now."""
        return self.mapping or self._of_wall(self.observe())

    def now_ns(self) -> int:
        """Now on the coordinator's clock."""
        return self.current().to_coordinator(self.clocks.monotonic_ns())

    def observe(self) -> Reading:
        """Read the clocks and see whether the wall clock stepped since the last reading."""
        reading = self.clocks.read()
        offset = reading.monotonic_ns - reading.unix_ns
        if abs(offset - self._wall_offset_ns) > WALL_STEP_NS:
            self.wall_steps += 1
        self._wall_offset_ns = offset
        return reading

    def give(self, mapping: ClockMapping) -> bool:
        """Keep a mapping from the coordinator. True: it continues the one before, jobs that are held may follow it."""
        now = self.clocks.monotonic_ns()
        before = self.current()
        self.mapping = mapping
        follows = abs(mapping.to_coordinator(now) - before.to_coordinator(now)) <= MAPPING_STEP_NS
        self.mapping_steps += not follows
        return follows

    @staticmethod
    def _of_wall(reading: Reading) -> ClockMapping:
        return ClockMapping(reading.monotonic_ns - reading.unix_ns, 0, reading.unix_ns)
