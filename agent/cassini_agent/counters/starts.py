"""Do the bursts that counters show begin when the job says that it communicates?"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Comparison", "compare_starts"]

FEWEST_REPORTS = 8
_MOST_PAIRS = 32
_STEADY = 0.6


@dataclass(frozen=True, slots=True)
class Comparison:
    """Starts of bursts against starts reported.

    Attributes
    ----------
    iterations : int
        Reports that lie where bursts were looked for.
    matched : int
        Those with a burst at the usual distance.
    offset_ns : int or None
        That distance: burst minus report, so positive is a burst later than reported. None: there is no usual one.
    agrees : bool or None
        None: too few iterations to tell.
    text : str
        The same in words.
    """

    iterations: int
    matched: int
    offset_ns: int | None
    agrees: bool | None
    text: str


def compare_starts(bursts: Sequence[int], reports: Sequence[int], *, tolerance_ns: int = 5_000_000) -> Comparison:
    """Compare starts of bursts with starts reported, both ns on one clock.

    The distance that most reports have in common is looked for, up to half an iteration either way, so bursts of others
    and later phases of an iteration do not matter; where one within the tolerance is as common as any other, it counts.

    Parameters
    ----------
    bursts : sequence of int
        In order of time.
    reports : sequence of int
        Starts of communication, one per iteration; repeated or out of order they do no harm.
    tolerance_ns : int
        How far a burst may lie from a report and agree, and how much distances may scatter.
    """
    reports = sorted(set(reports))
    if len(reports) >= 2:
        iteration = statistics.median(after - before for before, after in pairwise(reports))
    if len(reports) < 2 or not bursts:
        inside: list[int] = []
    else:
        inside = [one for one in reports if bursts[0] - iteration / 2 <= one <= bursts[-1] + iteration / 2]
    count = len(inside)
    if count < FEWEST_REPORTS:
        return Comparison(count, 0, None, None, f"too few iterations to compare: {count} of at least {FEWEST_REPORTS}")
    pairs = sorted(pair for number, one in enumerate(inside) for pair in _distances(bursts, one, number, iteration / 2))
    matched, offset = _usual(pairs, tolerance_ns)
    over = f"over {count} iterations"
    if matched < _STEADY * count:
        text = f"counters show no burst at a steady distance from the starts the job reports; {over}"
        return Comparison(count, matched, None, False, text)
    near = [pair for pair in pairs if abs(pair[0]) <= tolerance_ns]
    if abs(offset) <= tolerance_ns or len({number for _, number in near}) >= 0.9 * matched:
        offset = int(statistics.median(distance for distance, _ in near))
        text = f"counters show the burst when the job reports it ({_ms(offset)}); {over}"
        return Comparison(count, matched, offset, True, text)
    return Comparison(
        count, matched, offset, False, f"counters show the burst {_ms(offset)} than the job reports; {over}"
    )


def _distances(bursts: Sequence[int], report: int, number: int, reach: float) -> list[tuple[int, int]]:
    first = bisect_left(bursts, report - reach)
    last = bisect_left(bursts, report + reach)
    return [(burst - report, number) for burst in bursts[first : min(last, first + _MOST_PAIRS)]]


def _usual(pairs: Sequence[tuple[int, int]], tolerance_ns: int) -> tuple[int, int]:
    """At most how many reports have a burst within one window of twice the tolerance, and the middle of that window."""
    best, offset = 0, 0
    first = 0
    inside: dict[int, int] = {}
    for last, (distance, number) in enumerate(pairs):
        inside[number] = inside.get(number, 0) + 1
        while distance - pairs[first][0] > 2 * tolerance_ns:
            gone = pairs[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        middle = int(statistics.median(pair[0] for pair in pairs[first : last + 1])) if len(inside) >= best else 0
        if len(inside) > best or (len(inside) == best and abs(middle) < abs(offset)):
            best, offset = len(inside), middle
    return best, offset


def _ms(offset_ns: int) -> str:
    return f"{abs(offset_ns) / 1e6:.1f} ms {'later' if offset_ns >= 0 else 'earlier'}"
