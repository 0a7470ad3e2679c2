"""What bursts say about a job: do they begin when it reports communication, and where do they lie in its iterations?

Nothing is concluded from what was not seen. An iteration in which no burst was found (the sampler was slow, a reading
was missing, bursts of others ran into it) does not count; and a distance counts only if it is steady: common to most
iterations, no result of chance, and not wandering off as bursts of a job with another iteration time do.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .bursts import Burst

__all__ = ["CONFIRM", "CONTRADICT", "SILENT", "Heard", "Witness", "witness"]

CONFIRM, CONTRADICT, SILENT = "confirm", "contradict", "silent"

WINDOW = 64
"""The last iterations that are looked at: so much is forgotten half a minute after it was, at 0.5 s each."""

FEWEST = 8
FEWEST_TO_CONTRADICT = FEWEST_TO_MEASURE = 16
_DEAD_BAND = 0.05  # of the iteration time: a finer answer is of no use to control, a coarser one of none at all
_MOST, _NEARLY_ALL = 0.6, 0.8
_CHANCE = math.log(1e4)  # a distance that bursts at random times would show once in so many cases is no evidence
_MOST_PAIRS = 32
_PAUSE = 1.5  # usual iterations: longer is no iteration

_Firsts = tuple[dict[int, int], dict[int, int]]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a job told of its last iterations, ns on the clock of the bursts, oldest first.

    Attributes
    ----------
    starts_ns : sequence of int
        Of iterations; empty if the job does not report them here (its rank 0 is on another host).
    communication_ns : sequence of int
        Of communication; empty for a loop without a hook.
    """

    starts_ns: Sequence[int] = ()
    communication_ns: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Witness:
    """What the counters say about one job.

    Attributes
    ----------
    says : str
        ``confirm``: bursts begin when the job reports the start of communication. ``contradict``: they steadily begin
        ``offset_ns`` from there. ``silent``: cannot be told.
    reason : str
        The same in words, or why it cannot be told.
    offset_ns : int or None
        Start of the burst less the start reported, median: positive is later than reported.
    spread_ns : int or None
        The true offset lies within so much of ``offset_ns``, and so do the offsets of nine in ten iterations.
    iterations : int
        Those with a burst in them.
    start_ns, end_ns : int or None
        From the start of an iteration to the start and the end of its bursts, for a job that does not report
        communication; known to ``spread_ns``.
    steady : bool or None
        Bursts keep step with the job: they are its own, or those of a job of the same iteration time. None: not known.
    """

    says: str
    reason: str
    offset_ns: int | None = None
    spread_ns: int | None = None
    iterations: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    steady: bool | None = None

    def silenced(self, reason: str) -> Witness:
        """The same with nothing said, and why."""
        return replace(self, says=SILENT, reason=reason, offset_ns=None, spread_ns=None, start_ns=None, end_ns=None)


def witness(bursts: Sequence[Burst], heard: Heard, tolerance_ns: int = 5_000_000) -> Witness:
    """What bursts say about a job that has them to itself.

    Parameters
    ----------
    bursts : sequence of Burst
        In order of time.
    tolerance_ns : int
        How far bursts may lie from the starts reported and confirm them. Waiting for other ranks between the start of a
        collective and its first byte is part of it.
    """
    if heard.communication_ns:
        return _compare(bursts, sorted(set(heard.communication_ns))[-WINDOW:], tolerance_ns)
    if heard.starts_ns:
        return _measure(bursts, sorted(set(heard.starts_ns))[-WINDOW - 1 :], tolerance_ns)
    return Witness(SILENT, "the job reports no iterations on this host")


def _compare(bursts: Sequence[Burst], reports: Sequence[int], tolerance_ns: int) -> Witness:
    if len(reports) < FEWEST:
        return Witness(SILENT, f"too few iterations: {len(reports)} of at least {FEWEST}")
    period = statistics.median(after - before for before, after in pairwise(reports))
    width = max(tolerance_ns, int(_DEAD_BAND * period))
    near = _near(bursts, reports[0] - period, reports[-1] + period)
    reports = _watched(reports, near, period)
    bursts = [burst for burst in near if burst.blur_ns <= width]
    begins = [burst.start_ns for burst in bursts]
    pairs = sorted(pair for number, one in enumerate(reports) for pair in _distances(begins, one, number, period / 2))
    seen = len({number for _, number in pairs})
    if seen < max(FEWEST, len(reports) / 2):
        return _few(seen, len(reports), near, width)
    middle = _usual(pairs, width)
    distances = _one_each([pair for pair in pairs if abs(pair[0] - middle) <= width], middle)
    found = _steady(distances, seen, len(begins) * 2 * width / (period * len(reports)), bursts, width)
    if found.offset_ns is None or found.spread_ns is None:
        return found
    offset, spread = found.offset_ns, found.spread_ns
    words = f"{_ms(offset)} than the job reports, within {spread / 1e6:.1f} ms; over {seen} iterations"
    agreed = f"counters show the burst when the job reports it ({_ms(offset)}, within {spread / 1e6:.1f} ms)"
    if abs(offset) <= tolerance_ns:
        return replace(found, says=CONFIRM, reason=f"{agreed}; over {seen} iterations")
    if abs(offset) <= tolerance_ns + spread or len(distances) < max(FEWEST_TO_CONTRADICT, _NEARLY_ALL * seen):
        return replace(found, reason=f"perhaps the burst begins {words}")
    near_zero = {number for distance, number in pairs if abs(distance) <= tolerance_ns + spread}
    if len(near_zero) > (1 - _NEARLY_ALL) * seen:
        return replace(found, reason=f"often one burst when the job reports it, always one {words}")
    starts = {burst.start_ns: burst for burst in bursts}
    quiet = [starts[reports[number] + distance].quiet_ns for number, distance in distances.items()]
    if offset > 0 and statistics.median(quiet) < offset - spread:
        return replace(found, reason=f"slower traffic goes before the burst, which begins {words}")
    return replace(found, says=CONTRADICT, reason=f"counters show the burst {words}")


def _measure(bursts: Sequence[Burst], starts: Sequence[int], tolerance_ns: int) -> Witness:
    """Where communication lies in the iterations of a job that only reports their starts.

    It begins with the burst after the longest pause, and ends before the next such one.
    """
    if len(starts) <= FEWEST_TO_MEASURE:
        return Witness(SILENT, f"too few iterations: {len(starts)} of more than {FEWEST_TO_MEASURE}")
    period = statistics.median(after - before for before, after in pairwise(starts))
    width = max(tolerance_ns, int(_DEAD_BAND * period))
    near = _near(bursts, starts[0] - period, starts[-1] + period)
    starts = _watched(starts, near, period)
    # What begins about when an iteration does is looked for from the middle of one to the middle of the next.
    firsts, distances = max((_firsts(near, starts, period, back, width) for back in (0, period / 2)), key=_matched)
    seen = len(firsts)
    if seen < max(FEWEST_TO_MEASURE, len(starts) / 2):
        return _few(seen, len(starts), near, width)
    found = _steady(distances, seen, 2 * width / period, [near[n] for n in firsts.values()], width, _NEARLY_ALL)
    if found.offset_ns is None or found.spread_ns is None:
        return found
    offset, spread = found.offset_ns, found.spread_ns
    start = offset % int(period) if abs(offset) > spread else max(0, offset)
    spans = [
        near[firsts[number + 1] - 1].end_ns - near[firsts[number]].start_ns
        for number in distances
        if number + 1 in distances
    ]
    span = int(statistics.median(spans)) if len(spans) >= FEWEST else 0
    steady_end = span > 0 and _quantile(abs(one - span) for one in spans) <= width
    return replace(
        found,
        reason=f"the job reports no communication; counters show it {start / 1e6:.1f} ms after the start of an "
        f"iteration, within {spread / 1e6:.1f} ms; over {seen} iterations",
        offset_ns=None,
        start_ns=start,
        end_ns=start + span if steady_end else None,
    )


def _firsts(bursts: Sequence[Burst], starts: Sequence[int], period: float, back: float, width: int) -> _Firsts:
    """By number of the iteration: index of the burst after the longest pause, and its usual distance from the start.

    Looked for from ``back`` before the start of an iteration to ``back`` before that of the next.
    """
    begins = [burst.start_ns for burst in bursts]
    firsts: dict[int, int] = {}
    for number, (start, following) in enumerate(pairwise(starts)):
        begin, end = max(1, bisect_left(begins, start - back)), bisect_left(begins, following - back)
        if following - start <= _PAUSE * period and begin < end:
            first = max(range(begin, end), key=lambda n: bursts[n].start_ns - bursts[n - 1].end_ns)
            if bursts[first].blur_ns <= width:
                firsts[number] = first
    pairs = sorted((begins[n] - starts[number], number) for number, n in firsts.items())
    middle = _usual(pairs, width)
    return firsts, _one_each([pair for pair in pairs if abs(pair[0] - middle) <= width], middle)


def _matched(found: _Firsts) -> int:
    return len(found[1])


def _steady(
    distances: dict[int, int], seen: int, chance: float, bursts: Sequence[Burst], width: int, share: float = _MOST
) -> Witness:
    """Median and spread of distances that most iterations have in common; or why there is no such distance.

    ``distances`` by the number of the iteration; ``chance`` of one where bursts lie at random.
    """

    def none(why: str, steady: bool | None) -> Witness:
        return Witness(SILENT, f"{why}; over {seen} iterations", iterations=seen, steady=steady)

    matched = len(distances)
    if matched < share * seen:
        return none("counters show no burst at a steady distance", False)
    if _by_chance(matched, seen, chance):
        return none("too many bursts to tell whose they are", None)
    offset = int(statistics.median(distances.values()))
    spread = int(max(_quantile(abs(one - offset) for one in distances.values()), _blur(bursts)))
    if spread > width:
        return none(f"counters are too coarse: known within {spread / 1e6:.1f} ms, {width / 1e6:.1f} ms needed", None)
    halves = sorted(distances)
    early = [distances[number] for number in halves[: matched // 2]]
    late = [distances[number] for number in halves[matched // 2 :]]
    if abs(statistics.median(early) - statistics.median(late)) > spread:
        return none("bursts wander: those of a job with another iteration time", False)
    return Witness(SILENT, "", offset, spread, seen, steady=True)


def _by_chance(matched: int, seen: int, chance: float) -> bool:
    """Whether bursts at random times would match as often, once in 10^4 times (Chernoff's bound)."""
    share = matched / seen
    if share <= chance:
        return True
    divergence = share * math.log(share / chance)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - chance))
    return seen * divergence < _CHANCE


def _few(seen: int, of: int, near: Sequence[Burst], width: int) -> Witness:
    if near and _blur(near) > width:
        why = f"counters are too coarse: read or refreshed only every {_blur(near) / 1e6:.0f} ms"
    else:
        why = f"bursts are seen in too few iterations: {seen} of {of}"
    return Witness(SILENT, why, iterations=seen)


def _watched(starts: Sequence[int], near: Sequence[Burst], period: float) -> Sequence[int]:
    """Those at which bursts were looked for: not before the first that was found, nor after the last."""
    if not near:
        return ()
    first = bisect_left(starts, near[0].start_ns - period / 2)
    return starts[first : bisect_left(starts, near[-1].start_ns + period / 2, lo=first)]


def _near(bursts: Sequence[Burst], begin: float, end: float) -> Sequence[Burst]:
    first = bisect_left(bursts, begin, key=lambda burst: burst.start_ns)
    return bursts[first : bisect_left(bursts, end, lo=first, key=lambda burst: burst.start_ns)]


def _blur(bursts: Sequence[Burst]) -> float:
    return _quantile(burst.blur_ns for burst in bursts)


def _distances(begins: Sequence[int], report: int, number: int, reach: float) -> list[tuple[int, int]]:
    first = bisect_left(begins, report - reach)
    last = bisect_left(begins, report + reach)
    return [(begin - report, number) for begin in begins[first : min(last, first + _MOST_PAIRS)]]


def _usual(pairs: Sequence[tuple[int, int]], width: int) -> int:
    """The distance that most iterations have in common, give or take the width.

    Of several that are about as common, the least: the job's own bursts may be as steady elsewhere, in later phases of
    its iterations.
    """
    windows = []  # number of iterations, first pair, last pair
    first = 0
    inside: dict[int, int] = {}
    for last, (distance, number) in enumerate(pairs):
        inside[number] = inside.get(number, 0) + 1
        while distance - pairs[first][0] > 2 * width:
            gone = pairs[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        windows.append((len(inside), first, last))
    enough = 0.9 * max((many for many, _, _ in windows), default=0)
    middles = (pairs[(first + last) // 2][0] for many, first, last in windows if many >= enough)
    return min(middles, key=abs, default=0)


def _one_each(pairs: Sequence[tuple[int, int]], middle: int) -> dict[int, int]:
    """By number, the distance that is nearest to ``middle``."""
    ordered = sorted(pairs, key=lambda pair: -abs(pair[0] - middle))
    return {number: distance for distance, number in ordered}


def _quantile(values: Iterable[float]) -> float:
    """What nine in ten do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[(len(ordered) * 9 - 1) // 10] if ordered else 0


def _ms(offset_ns: int) -> str:
    return f"{abs(offset_ns) / 1e6:.1f} ms {'later' if offset_ns >= 0 else 'earlier'}"
