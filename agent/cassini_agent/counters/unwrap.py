"""From raw counter readings to a running total: wraps, resets and saturation.

What hardware does (Linux ``drivers/infiniband/core/sysfs.c`` and the drivers' ``mad.c``): ports with extended
counters show 64-bit values; the legacy set is 32 bits wide (discards 16) and mlx4, mlx5 and hfi1 *saturate* it: it
stays at all ones until somebody resets it. Other counters of 32 bits wrap. A driver that is reloaded, and a tool that
clears counters, reset them.

A decrease is read as a wrap if the link could have carried what was then counted, else as a reset. Where the traffic
between two readings cannot be known the reading is :data:`BREAK`: no rate may be taken across it. Unknown is said;
traffic that was not there is not.
"""

from __future__ import annotations

__all__ = ["BREAK", "MISSING", "Unwrapper"]

MISSING = -1
"""No value at this time; the next one continues the total, so what was counted meanwhile is not lost."""

BREAK = -2
"""The total goes on from here, but what was counted since the value before is not known."""

# A counter may lag: hardware counters are cached for 10 ms (`lifespan`), and a reading may be late itself.
_LAG_NS = 20_000_000
_ALLOWANCE = 1.25
_FASTEST_PER_SECOND = 100_000_000_000  # 800 Gbit/s, in bytes, where the speed of the link is not known


class Unwrapper:
    """The total of one counter, in units of ``scale``, since its first reading.

    Parameters
    ----------
    scale : int
        Units per count: 4 for InfiniBand data counters, which count 4-byte words whatever the lanes.
    width : int or None
        Bits of the counter; None: 32 or 64, to be found out (a value above 2^32 - 1 tells).

    Notes
    -----
    A call costs some 0.2 µs. Not thread-safe: one reader.
    """

    __slots__ = (
        "_at",
        "_blind_ns",
        "_broken",
        "_fastest",
        "_last",
        "_per_second",
        "_plain",
        "_scale",
        "_top",
        "_total",
        "_wide",
        "resets",
    )

    def __init__(self, scale: int = 1, width: int | None = None) -> None:
        self._scale = scale
        self._wide = width == 64
        self._top = (1 << (width or 32)) - 1
        self._last: int | None = None
        self._at = 0
        self._total = 0
        self._broken = False
        self.resets = 0
        # Whatever the speed of the link is said to be, a wide counter that gains more than this shows nonsense.
        self._fastest = _FASTEST_PER_SECOND / scale * _ALLOWANCE
        self._plain = int(self._fastest * _LAG_NS / 1e9)
        self.set_speed(None)

    def set_speed(self, per_second: float | None) -> None:
        """Say how many units the link can carry in a second; None: not known."""
        counts = (per_second or _FASTEST_PER_SECOND) / self._scale
        self._per_second = counts * _ALLOWANCE
        # A narrow counter that may have gone half way round since it was last read has an ambiguous value. Where the
        # speed is not known the counter is not declared blind: that would hide every total below 2^32.
        self._blind_ns = self._top / 2 / counts * 1e9 if per_second else float("inf")

    def lost(self) -> None:
        """The counter was gone: what it counts from now on has nothing to do with what it counted before."""
        self._broken = self._last is not None

    def advance(self, raw: int, now_ns: int) -> int:
        """The total at a reading, or :data:`BREAK`; ``now_ns`` must not decrease."""
        last = self._last
        if last is None:
            self._last, self._at = raw, now_ns
            self._wide = self._wide or raw > self._top
            return self._total
        counted = raw - last
        if 0 <= counted <= self._plain and self._wide and not self._broken:
            self._last, self._at = raw, now_ns
            self._total += counted * self._scale
            return self._total
        return self._unusual(raw, counted, now_ns)

    def _unusual(self, raw: int, counted: int, now_ns: int) -> int:
        elapsed, at_top = now_ns - self._at, not self._wide and self._last == self._top
        self._last, self._at = raw, now_ns
        if raw > self._top:
            self._wide = True
        if self._broken:
            self._broken = False
            return BREAK
        seconds = (elapsed + _LAG_NS) / 1e9
        if counted < 0:
            modulus = 1 << 64 if self._wide else self._top + 1
            counted += modulus
            if at_top or counted > min(self._per_second * seconds, modulus / 2):
                self.resets += 1
                return BREAK
        elif self._wide and counted > self._fastest * seconds:
            self.resets += 1
            return BREAK
        elif raw == self._top and not self._wide:
            return BREAK  # It has stopped counting, and how much was cut off is not known.
        if elapsed > self._blind_ns and not self._wide:
            return BREAK  # It may have gone round, or round once more.
        self._total += counted * self._scale
        return self._total
