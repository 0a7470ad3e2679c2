"""What several seeds say of a figure: their median, and an interval in which the median of all seeds is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ..errors import refusal, shown

__all__ = ["CONFIDENCE", "Estimate", "confidence_of", "estimate_of"]

CONFIDENCE = 0.95
"""That is wanted, and that six seeds give."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure over seeds.

    Attributes
    ----------
    median : float
    low, high : float
        Of the figure's median over all possible seeds, with the confidence of :func:`confidence_of`.
    """

    median: float
    low: float
    high: float


def estimate_of(values: Sequence[float]) -> Estimate:
    """Median and interval of one figure, a value per seed.

    Parameters
    ----------
    values : sequence of float
        At least one, all finite.

    Raises
    ------
    InputError
        There is none, or one is no number.

    Notes
    -----
    The interval is that of the sign test (order statistics), which holds whatever the distribution is: from the k-th
    smallest to the k-th largest value, with the largest k that is confident enough; from the least to the most where
    none is.
    """
    ordered = sorted(values)
    if not ordered or not all(map(math.isfinite, ordered)):
        raise refusal("", "values", "finite numbers, at least one", shown(ordered))
    outside = _outside(len(ordered))
    return Estimate(median(ordered), ordered[outside], ordered[-1 - outside])


def confidence_of(seeds: int) -> float:
    """Of an interval over so many seeds: 0 for one, 0.75 for three, 0.96875 for six, 0.979 for ten."""
    return 1.0 - 2.0 * _tail(seeds, _outside(seeds))


def _outside(count: int) -> int:
    """How many of so many values the interval leaves out on each side."""
    found = 0
    while 1.0 - 2.0 * _tail(count, found + 1) >= CONFIDENCE:
        found += 1
    return found


def _tail(count: int, most: int) -> float:
    """How likely at most ``most`` of so many values are below the median."""
    ways = sum(math.comb(count, below) for below in range(most + 1))
    return ways * 0.5**count
