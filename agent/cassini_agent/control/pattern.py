"""Iterations that differ in turn: alternating ones, or every fourth with an evaluation.

What differs in turn makes good again what it makes late, so it needs no headroom as jitter does. Only the order of
iterations shows that: their quantiles do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, median_low

__all__ = ["FEWEST", "WINDOW", "pattern", "swing"]

LONGEST, WINDOW, FEWEST = 16, 128, 64
"""Iterations of a pattern, and those that it is looked for in: at most, and at least."""

REPEATED = 4
"""So often each place of a pattern must have been seen."""

OUTLIERS = 50
"""Of so many iterations one may be as long as it likes: a stall."""

EXPLAINED = 0.75
"""What is left of the mean deviation once the pattern is taken off; of jitter alone some 0.9 is."""

SIMPLER = 1.2
"""A shorter pattern is preferred unless it leaves so many times more."""


def swing(pattern_ns: Sequence[float]) -> float:
    """How late a job gets within one round of its pattern, at most: of that it makes good all by itself."""
    latest = late = 0.0
    for each in (*pattern_ns, *pattern_ns):
        late = max(0.0, late + each)
        latest = max(latest, late)
    return latest


def pattern(times: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """By how much iterations differ in turn.

    Parameters
    ----------
    times : sequence of (int, int)
        Numbers of iterations and their uncontrolled times, ns; some may be missing.

    Returns
    -------
    tuple of int
        At ``number % length``: by how much such an iteration takes longer than the mean of all, ns. Empty if they do
        not differ in turn, or if too few are known. O(times * ``LONGEST``), some 0.3 ms.
    """
    if len(times) < FEWEST:
        return ()
    kept = sorted(times, key=lambda one: one[1])[: len(times) - len(times) // OUTLIERS]
    middle = median_low(natural for _, natural in kept)
    whole = fmean(abs(natural - middle) for _, natural in kept)
    found: list[tuple[float, list[float]]] = []
    for length in range(2, LONGEST + 1):
        turns: list[list[int]] = [[] for _ in range(length)]
        for number, natural in kept:
            turns[number % length].append(natural)
        if min(map(len, turns)) < REPEATED:
            continue
        middles = [float(median(turn)) for turn in turns]
        rest = fmean(abs(natural - middles[number % length]) for number, natural in kept)
        if rest < EXPLAINED * whole:
            found.append((rest, middles))
    if not found:
        return ()
    least = min(rest for rest, _ in found)
    middles = next(middles for rest, middles in found if rest <= SIMPLER * least + whole / OUTLIERS)
    mean = fmean(middles)
    return tuple(round(each - mean) for each in middles)
