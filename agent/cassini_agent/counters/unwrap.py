"""From raw counter readings to a running total: wraps, resets and saturation.

What hardware does (Linux ``drivers/infiniband/core/sysfs.c`` and the drivers' ``mad.c``): ports with extended
counters show 64-bit values; the legacy set is 32 bits wide, and mlx4, mlx5 and hfi1 *saturate* it: it stays at all ones
until somebody resets it. Other counters of 32 bits wrap. A driver that is reloaded, and a tool that clears counters,
reset them.

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
_FASTEST_PER_SECOND = 100_000_000_000  # 800 Gbit/s, in bytes
_TOP = (1 << 32) - 1


class Unwrapper:
    """The total of one counter, in units of ``scale``, since its first reading.

    Parameters
    ----------
    scale : int
        Units per count: 4 for InfiniBand data counters, which count 4-byte words whatever the lanes.
    wide : bool
        It has 64 bits. Otherwise it has 32 or 64, to be found out: a value above 2^32 - 1 tells.
    per_second : float or None
        What the link carries, in units; None: not known.

    Notes
    -----
    Not thread-safe: one reader.
    """

    __slots__ = (
        "_at",
        "_changed_at",
        "_fastest",
        "_last",
        "_lost",
        "_per_ns",
        "_scale",
        "_speed_known",
        "_total",
        "_wide",
    )

    def __init__(self, scale: int = 1, *, wide: bool = False, per_second: float | None = None) -> None:
        self._scale = scale
        self._wide = wide
        self._speed_known = per_second is not None
        # Whatever the speed of the link is said to be, a counter that gains more than the fastest shows nonsense.
        self._fastest = _FASTEST_PER_SECOND / scale * _ALLOWANCE / 1e9
        self._per_ns = self._fastest if per_second is None else per_second / scale * _ALLOWANCE / 1e9
        self._last: int | None = None
        self._at = self._changed_at = 0
        self._total = 0
        self._lost = False

    def lost(self) -> None:
        """The counter was gone: what it counts from now on has nothing to do with what it counted before."""
        self._lost = True

    def advance(self, raw: int, now_ns: int) -> int:
        """The total at a reading, or :data:`BREAK`; ``now_ns`` must not decrease."""
        last, elapsed, unchanged = self._last, now_ns - self._at, now_ns - self._changed_at
        lost, self._lost = self._lost, False
        self._at = now_ns
        if raw != last:
            self._last, self._changed_at = raw, now_ns
        self._wide = self._wide or raw > _TOP
        if last is None:
            return self._total
        counted = raw - last
        # The device may show a new value more rarely than it is read: then that holds what came since it last did.
        most = self._fastest * (unchanged + _LAG_NS)
        if counted < 0:
            modulus = 1 << 64 if self._wide else _TOP + 1
            counted += modulus
            most = min(self._per_ns * (elapsed + _LAG_NS), modulus / 2)
        if lost or counted > most or (not self._wide and self._is_ambiguous(raw, last, elapsed)):
            return BREAK
        self._total += counted * self._scale
        return self._total

    def _is_ambiguous(self, raw: int, last: int, elapsed_ns: int) -> bool:
        """Of 32 bits: it stands at its top, so has stopped counting; or may have gone round since it was last read.

        Where the speed is not known the latter is not asked: that would hide every total below 2^32.
        """
        if _TOP in (raw, last):
            return True
        return self._speed_known and self._per_ns / _ALLOWANCE * elapsed_ns > _TOP / 2
