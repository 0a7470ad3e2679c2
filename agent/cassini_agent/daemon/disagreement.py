"""Does the network see the job communicate when the job says it does? Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["disagreement"]

LEAST_BURSTS = 8
LEAST_SHARE = 0.5


def disagreement(told_ns: Sequence[tuple[int, int]], seen_ns: Sequence[tuple[int, int]]) -> str | None:
    """What the port counters deny of a job's communication, in a sentence; None if they do not, or cannot tell.

    Parameters
    ----------
    told_ns : sequence of (begin, end)
        Communication phases as the job measured them, oldest first, monotonic clock.
    seen_ns : sequence of (begin, end)
        Busy spells of the ports, oldest first, same clock. Other jobs may be among them: only idle ports contradict.
    """
    if not seen_ns:
        return None
    first, last = seen_ns[0][0], seen_ns[-1][1]
    inside = [(start, end) for start, end in told_ns if first <= start and end <= last and start < end]
    if len(inside) < LEAST_BURSTS:
        return None
    told = sum(end - start for start, end in inside)
    busy = sum(_overlap_ns(one, seen_ns) for one in inside)
    if busy >= LEAST_SHARE * told:
        return None
    return f"ports were busy during {100 * busy / told:.0f} % of what the job calls communication"


def _overlap_ns(one: tuple[int, int], others: Sequence[tuple[int, int]]) -> int:
    return sum(max(0, min(one[1], end) - max(one[0], start)) for start, end in others)
