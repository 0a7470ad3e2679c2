"""The demand of one iteration as steps, of plain numbers: for what must not load more than that."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator

__all__ = ["iteration_steps"]


def iteration_steps(
    iteration_ms: float, phases: Iterable[tuple[float, float, float]]
) -> Iterator[tuple[float, float, float]]:
    """Begin, end, both ms, and rate of each stretch of constant demand; overlapping phases add up.

    Phases are start, duration, both ms, and Gbit/s. O(phases log phases).
    """
    changes: defaultdict[float, float] = defaultdict(float, {0.0: 0.0, iteration_ms: 0.0})
    for start, duration, gbps in phases:
        end = start + duration
        changes[start] += gbps
        changes[min(end, iteration_ms)] -= gbps
        if end > iteration_ms:  # wraps past the end of the iteration
            changes[0.0] += gbps
            changes[end - iteration_ms] -= gbps
    times = sorted(changes)
    level = 0.0
    for begin, end in itertools.pairwise(times):
        level += changes[begin]
        yield begin, end, max(0.0, level)
