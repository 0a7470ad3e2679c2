"""The two integer units everything is computed in: the tick (1 ns) and 1 kbit/s.

Public numbers are milliseconds and Gbit/s as floats; the kernel sees int64 only, so that gcds,
alignments and comparisons are exact and the same on every machine.
"""

from __future__ import annotations

__all__ = [
    "KBPS_PER_GBPS",
    "MAX_RATE_KBPS",
    "MAX_TICKS",
    "SCORE_TOLERANCE",
    "TICKS_PER_MS",
    "kbps_from_gbps",
    "ms_from_ticks",
    "ticks_from_ms",
]

TICKS_PER_MS = 1_000_000
"""One tick is 1 ns."""

KBPS_PER_GBPS = 1_000_000
"""Demands and capacities are whole kbit/s."""

MAX_TICKS = 2**40
"""Longest iteration time, about 18 minutes; keeps every time sum inside int64."""

MAX_RATE_KBPS = 2**40
"""Largest demand or capacity, about 1.1 Pbit/s."""

SCORE_TOLERANCE = 1e-9
"""Scores are exact to this: two that differ by less are equal."""


def ticks_from_ms(ms: float) -> int:
    """Milliseconds to ticks, rounded half to even. Exact inverse of :func:`ms_from_ticks`."""
    return round(ms * TICKS_PER_MS)


def ms_from_ticks(ticks: int) -> float:
    """Ticks to milliseconds."""
    return ticks / TICKS_PER_MS


def kbps_from_gbps(gbps: float) -> int:
    """Gbit/s to whole kbit/s, rounded half to even."""
    return round(gbps * KBPS_PER_GBPS)
