"""What bursts say about a job: do they begin when it reports communication, and where do they lie in its iterations?

Nothing is concluded from what was not seen. An iteration in which no burst was found (the sampler was slow, a reading
was missing, bursts of others ran into it) does not count; and a distance counts only if it is steady: common to most
iterations, no result of chance, and not wandering off as bursts of a job with another iteration time do.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .bursts import Burst

__all__ = ["CONFIRM", "CONTRADICT", "SILENT", "Heard", "Witness", "witness"]

CONFIRM, CONTRADICT, SILENT = "confirm", "contradict", "silent"

WINDOW = 64
"""The last iterations that are looked at: so much is forgotten half a minute after it was, at 0.5 s each."""

FEWEST = 16
_DEAD_BAND = 0.05  # of the iteration time: a finer answer is of no use to control, a coarser one of none at all
_MOST, _NEARLY_ALL = 0.6, 0.8
_CHANCE = 4  # standard deviations above what bursts at random times would show
_SMALL = 0.1  # of the usual bytes of a burst
_TOLERANCE_NS = 5_000_000
_MOST_PAIRS = 16

_Pair = tuple[int, int, int]


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
    apart : bool
        Bursts are known not to keep step with the job: none of them are its own.
    """

    says: str
    reason: str
    offset_ns: int | None = None
    spread_ns: int | None = None
    iterations: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    apart: bool = False


def witness(bursts: Sequence[Burst], heard: Heard) -> Witness:
    """What bursts say about a job that has them to itself.

    Parameters
    ----------
    bursts : sequence of Burst
        In order of time.
    """
    marked = bool(heard.communication_ns)
    reports = sorted(set(heard.communication_ns or heard.starts_ns))[-WINDOW:]
    if len(reports) < FEWEST:
        return Witness(SILENT, f"too few iterations are reported on this host: {len(reports)} of at least {FEWEST}")
    period = statistics.median(after - before for before, after in pairwise(reports))
    width = max(_TOLERANCE_NS, int(_DEAD_BAND * period))
    near = _of_the_job(bursts, reports[0] - period, reports[-1] + period)
    # Those at which bursts were looked for: not before the first that was found, nor after the last.
    reports = [one for one in reports if near and near[0].start_ns - period / 2 <= one < near[-1].start_ns + period / 2]
    chosen = range(len(near)) if marked else _after_pauses(near, period)
    sharp = [number for number in chosen if near[number].blur_ns <= width]
    pairs = _pairs(near, sharp, reports, period / 2 + width)
    seen = len({iteration for _, iteration, _ in pairs})

    def silent(why: str, *, apart: bool = False) -> Witness:
        return Witness(SILENT, f"{why}; over {seen} iterations", iterations=seen, apart=apart)

    if seen < max(FEWEST, len(reports) / 2):
        if (blur := _quantile(burst.blur_ns for burst in near)) > width:
            return silent(f"counters are too coarse: read or refreshed only every {blur / 1e6:.0f} ms")
        return silent(f"bursts are seen in too few iterations: {seen} of {len(reports)}")
    shared = _most_shared(pairs, width)
    if len(shared) < (_MOST if marked else _NEARLY_ALL) * seen:
        return silent("counters show no burst at a steady distance", apart=True)
    chance = min(1.0, len(sharp) * 2 * width / (period * len(reports)))
    if len(shared) <= seen * chance + _CHANCE * math.sqrt(seen * chance * (1 - chance)):
        return silent("too many bursts to tell whose they are")
    distances = [distance for distance, _ in shared.values()]
    offset = int(statistics.median(distances))
    blur = _quantile(near[number].blur_ns for _, number in shared.values())
    spread = int(max(_quantile(abs(one - offset) for one in distances), blur))
    if spread > width:
        return silent(f"counters are too coarse: known within {spread / 1e6:.1f} ms, {width / 1e6:.1f} ms needed")
    half = len(distances) // 2
    if abs(statistics.median(distances[:half]) - statistics.median(distances[half:])) > spread:
        return silent("bursts wander: those of a job with another iteration time", apart=True)
    if marked:
        within = _TOLERANCE_NS + spread
        quiet = sum(_is_quiet(near, number, reports[iteration], within) for iteration, (_, number) in shared.items())
        return _compared(offset, spread, seen, certain=quiet >= _NEARLY_ALL * seen)
    start = offset % int(period) if abs(offset) > spread else max(0, offset)
    return Witness(
        SILENT,
        f"the job reports no communication; counters show it {start / 1e6:.1f} ms after the start of an iteration, "
        f"within {spread / 1e6:.1f} ms; over {seen} iterations",
        spread_ns=spread,
        iterations=seen,
        start_ns=start,
        end_ns=_end(start, near, shared, width),
    )


def _compared(offset: int, spread: int, seen: int, *, certain: bool) -> Witness:
    """Of a job that reports its communication: bursts begin ``offset`` from there; ``certain``: nothing else does."""
    where = f"{abs(offset) / 1e6:.1f} ms {'later' if offset >= 0 else 'earlier'}"
    known = f"within {spread / 1e6:.1f} ms; over {seen} iterations"
    if abs(offset) <= _TOLERANCE_NS:
        says, reason = CONFIRM, f"counters show the burst when the job reports it ({where}), {known}"
    elif certain and abs(offset) > _TOLERANCE_NS + spread:
        says, reason = CONTRADICT, f"counters show the burst {where} than the job reports, {known}"
    else:
        says, reason = SILENT, f"perhaps the burst begins {where} than the job reports, {known}"
    return Witness(says, reason, offset, spread, seen)


def _is_quiet(bursts: Sequence[Burst], number: int, report: int, within: int) -> bool:
    """Whether nothing flowed at the report of an iteration whose burst is ``number``, and for more than ``within``.

    If anything did, it may be what the job reports: traffic that is slower, smaller, or one with the burst before it.
    """
    if bursts[number].start_ns <= report:
        if report <= bursts[number].end_ns or number + 1 == len(bursts):
            return False
        number += 1
    burst = bursts[number]
    return burst.start_ns - burst.quiet_ns <= report < burst.start_ns - within


def _end(start: int, near: Sequence[Burst], shared: Mapping[int, tuple[int, int]], width: int) -> int | None:
    """When communication ends in an iteration: the last burst before the first of the next one; None if not steady."""
    spans = [
        near[shared[iteration + 1][1] - 1].end_ns - near[number].start_ns
        for iteration, (_, number) in shared.items()
        if iteration + 1 in shared
    ]
    if len(spans) < FEWEST / 2:
        return None
    span = int(statistics.median(spans))
    return start + span if span > 0 and _quantile(abs(one - span) for one in spans) <= width else None


def _of_the_job(bursts: Sequence[Burst], begin: float, end: float) -> Sequence[Burst]:
    """Those that begin between two times, without the far smaller ones of others."""
    first = bisect_left(bursts, begin, key=lambda burst: burst.start_ns)
    near = bursts[first : bisect_left(bursts, end, lo=first, key=lambda burst: burst.start_ns)]
    sizes = sorted(burst.bytes for burst in near)
    return [burst for burst in near if burst.bytes >= _SMALL * sizes[len(sizes) * 3 // 4]]


def _after_pauses(bursts: Sequence[Burst], period: float) -> list[int]:
    """Numbers of the bursts with the longest pause before them, of all that begin within half a period."""
    begins = [burst.start_ns for burst in bursts]
    pauses = [0, *(after.start_ns - before.end_ns for before, after in pairwise(bursts))]
    return [
        number
        for number in range(1, len(bursts))
        if pauses[number]
        == max(
            pauses[bisect_left(begins, begins[number] - period / 2) : bisect_right(begins, begins[number] + period / 2)]
        )
    ]


def _pairs(near: Sequence[Burst], chosen: Sequence[int], reports: Sequence[int], reach: float) -> list[_Pair]:
    """Of each report and each burst not further than ``reach``: distance, number of the report and of the burst."""
    begins = [near[number].start_ns for number in chosen]
    pairs = []
    for iteration, report in enumerate(reports):
        first = bisect_left(begins, report - reach)
        last = min(bisect_right(begins, report + reach), first + _MOST_PAIRS)
        pairs += [(begins[n] - report, iteration, chosen[n]) for n in range(first, last)]
    return sorted(pairs)


def _most_shared(pairs: Sequence[_Pair], width: int) -> dict[int, tuple[int, int]]:
    """The distance that most iterations have in common, give or take the width: of each its own, and the burst.

    Of several that are about as common, the least: the job's own bursts may be as steady elsewhere, in later phases of
    its iterations.
    """
    distances = [distance for distance, _, _ in pairs]
    windows = [(bisect_left(distances, one - width), bisect_right(distances, one + width)) for one in distances]
    many = [len({iteration for _, iteration, _ in pairs[first:last]}) for first, last in windows]
    common = [window for window, number in zip(windows, many, strict=True) if number >= 0.9 * max(many)]
    middle = min((distances[(first + last) // 2] for first, last in common), key=abs)
    shared = {}
    for distance, iteration, number in sorted(pairs, key=lambda pair: -abs(pair[0] - middle)):
        if abs(distance - middle) <= width:
            shared[iteration] = distance, number
    return dict(sorted(shared.items()))


def _quantile(values: Iterable[float]) -> float:
    """What nine in ten do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[(len(ordered) * 9 - 1) // 10] if ordered else 0
