"""How far the circles of the jobs on a link fold, from their iteration times alone (F1, F1b)."""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["held_repeats", "repeats"]


def repeats(count: Mapping[int, int]) -> dict[int, int]:
    """``R_j`` by iteration time: the LCM of its greatest common divisors with those of all other jobs (F1).

    ``count`` says how many jobs have each iteration time. A job alone repeats with its own.
    """
    return {
        one: one if several > 1 or len(count) == 1 else math.lcm(*(math.gcd(one, two) for two in count if two != one))
        for one, several in count.items()
    }


def held_repeats(count: Mapping[int, int], resolution: int) -> dict[int, int]:
    """``R_j`` of the jobs that are not free at a resolution, ticks: free ones are left out again and again (F1b)."""
    found = repeats(count)
    while any(repeat <= 2 * resolution for repeat in found.values()):
        count = {period: count[period] for period, repeat in found.items() if repeat > 2 * resolution}
        found = repeats(count)
    return found
