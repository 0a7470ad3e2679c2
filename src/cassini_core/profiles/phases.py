"""From measured intervals to a few phases, and the robust statistics importers share.

An interval is a :class:`~cassini_core.model.Phase`: start, duration, rate. Rates times durations are bytes, and
every step here except :func:`drop_negligible` keeps their sum. Gbit/s times ms is Mbit.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..model import Phase

__all__ = [
    "Spread",
    "align_rows",
    "compact",
    "demand_steps",
    "drop_negligible",
    "round_phases",
    "simplify",
    "superpose",
    "volume_mbit",
]

FloatArray = npt.NDArray[np.float64]

_SIMILAR = 0.1
"""Touching phases whose rates differ by less than this share are one phase."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A robust middle and the extremes of a measured quantity, all in the quantity's own unit.

    ``typical`` is the lower median: a value that was measured, and of two the smaller one, because what disturbs
    a measured time only ever adds to it.
    """

    typical: float
    least: float
    most: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of some values.

        Raises
        ------
        InputError
            No values.
        """
        sample = sorted(values)
        if not sample:
            raise InputError("spread: expected at least one value, got none")
        return cls(statistics.median_low(sample), sample[0], sample[-1], len(sample))


def align_rows(table: FloatArray, sweeps: int = 8) -> tuple[FloatArray, FloatArray]:
    """Split a table into column positions and row shifts by medians (Tukey's median polish).

    ``table[i, k]`` is when event ``k`` came in repetition ``i``; whole repetitions may be early or late, and
    single entries may be far out. Of the returned pair the first is ``[columns]``, the second ``[rows]`` with a
    median of 0, both in the unit of the table. Cost: ``sweeps`` medians over the table.
    """
    rows = np.zeros(table.shape[0])
    columns = np.median(table, axis=0)
    for _ in range(sweeps):
        step = np.median(table - rows[:, None] - columns[None, :], axis=1)
        rows = rows + step
        columns = np.median(table - rows[:, None], axis=0)
        if not np.any(step):
            break
    middle = float(np.median(rows))
    return columns + middle, rows - middle


def volume_mbit(phases: Iterable[Phase]) -> float:
    """What the phases carry in one iteration, Mbit."""
    return math.fsum(phase.duration_ms * phase.gbps for phase in phases)


def superpose(phases: Iterable[Phase], period_ms: float, *, combine: Literal["sum", "max"] = "sum") -> list[Phase]:
    """Overlapping phases as disjoint ones on the circle ``[0, period_ms)``.

    Starts may be any number of turns away and phases longer than a turn are folded. With ``combine="sum"`` rates
    add up where phases overlap; with ``"max"`` the highest holds (then bytes are not kept).

    Parameters
    ----------
    phases : iterable of Phase
        Intervals, ms and Gbit/s.
    period_ms : float
        Length of the circle, ms.

    Returns
    -------
    list of Phase
        By start, disjoint, none wrapping, none empty. Cost: pieces times phases, vectorised.
    """
    cuts, level = demand_steps(phases, period_ms, combine=combine)
    return [Phase(float(cuts[i]), float(cuts[i + 1] - cuts[i]), float(level[i])) for i in np.flatnonzero(level > 0)]


def demand_steps(
    phases: Iterable[Phase], period_ms: float, *, combine: Literal["sum", "max"] = "sum"
) -> tuple[FloatArray, FloatArray]:
    """As :func:`superpose`, as steps that cover the circle: edges from 0 to ``period_ms``, ms, and the levels between.

    Of ``n`` levels, Gbit/s, there are ``n + 1`` edges; neighbouring levels may be equal.
    """
    arcs: list[tuple[float, float, float]] = []
    for phase in phases:
        turns, rest = divmod(phase.duration_ms, period_ms)
        if turns:
            arcs.append((0.0, period_ms, phase.gbps * (turns if combine == "sum" else 1)))
        start = phase.start_ms % period_ms
        start = start if start < period_ms else 0.0
        end = start + rest
        arcs.append((start, min(end, period_ms), phase.gbps))
        # What ends a rounding error behind the turn does not begin it.
        if end > period_ms * (1 + 1e-12):
            arcs.append((0.0, end - period_ms, phase.gbps))
    cuts = np.unique(np.array([0.0, period_ms, *(x for arc in arcs for x in arc[:2])]))
    level = np.zeros(len(cuts) - 1)
    for start, end, gbps in arcs:
        piece = slice(int(np.searchsorted(cuts, start)), int(np.searchsorted(cuts, end)))
        level[piece] = level[piece] + gbps if combine == "sum" else np.maximum(level[piece], gbps)
    return cuts, level


def drop_negligible(phases: Sequence[Phase], share: float) -> list[Phase]:
    """Leave out the smallest phases, as many as together carry at most ``share`` of all bytes.

    The bound is on the sum, so that a job of very many small transfers keeps them.
    """
    budget = share * volume_mbit(phases)
    dropped = set()
    for index in sorted(range(len(phases)), key=lambda i: (phases[i].duration_ms * phases[i].gbps, i)):
        budget -= phases[index].duration_ms * phases[index].gbps
        if budget < 0:
            break
        dropped.add(index)
    return [phase for index, phase in enumerate(phases) if index not in dropped]


def compact(phases: Sequence[Phase], period_ms: float, gap_ms: float) -> list[Phase]:
    """Join neighbours on the circle that are at most ``gap_ms`` apart, keeping their bytes.

    Such a gap always goes: nobody can use it. The two become one phase if their rates are alike or one of them
    is not longer than the gap; else the earlier one is stretched up to the later one.

    Parameters
    ----------
    phases : sequence of Phase
        Disjoint, by start, as :func:`superpose` returns them.
    gap_ms : float
        ms, at least 0; 0 joins only what touches.

    Returns
    -------
    list of Phase
        By start, disjoint; at most the last may wrap. One pass: linear cost.
    """
    if not phases:
        return []
    turned = _after_widest_gap(phases, period_ms)
    joined = [turned[0]]
    for phase in turned[1:]:
        joined[-1:] = _join(joined[-1], phase, gap_ms)
    first, last = joined[0], joined[-1]
    if len(joined) == 1:
        if period_ms - first.duration_ms <= gap_ms:
            joined = [Phase(0.0, period_ms, first.duration_ms * first.gbps / period_ms)]
    else:
        # The circle closes: the last one's neighbour is the first, one turn later.
        closing = _join(last, Phase(first.start_ms + period_ms, first.duration_ms, first.gbps), gap_ms)
        joined = [*joined[1:-1], closing[0]] if len(closing) == 1 else [*joined[:-1], closing[0]]
    folded = [Phase(p.start_ms % period_ms, p.duration_ms, p.gbps) for p in joined]
    return sorted(folded, key=lambda p: p.start_ms)


def _after_widest_gap(phases: Sequence[Phase], period_ms: float) -> list[Phase]:
    """The same circle unrolled from the end of its widest gap; starts keep growing."""
    gaps = [
        phases[i].start_ms - phases[i - 1].start_ms - phases[i - 1].duration_ms + (period_ms if i == 0 else 0.0)
        for i in range(len(phases))
    ]
    cut = max(range(len(phases)), key=lambda i: (gaps[i], -i))
    later = [Phase(p.start_ms + period_ms, p.duration_ms, p.gbps) for p in phases[:cut]]
    before, after = phases[cut:], later
    # What was one phase before the circle was cut at 0 is one again, or it would be judged by half its length.
    if before and after and gaps[0] <= 1e-9 * period_ms and before[-1].gbps == after[0].gbps:
        whole = Phase(before[-1].start_ms, before[-1].duration_ms + after[0].duration_ms, after[0].gbps)
        return [*before[:-1], whole, *after[1:]]
    return [*before, *after]


def _join(one: Phase, two: Phase, gap_ms: float) -> list[Phase]:
    reach = two.start_ms - one.start_ms
    # Edges come from sums of floats: what misses by a millionth of a tick touches.
    if reach - one.duration_ms > gap_ms + 1e-12 * two.start_ms:
        return [one, two]
    volume = one.duration_ms * one.gbps
    alike = abs(one.gbps - two.gbps) <= _SIMILAR * max(one.gbps, two.gbps)
    if alike or min(one.duration_ms, two.duration_ms) <= gap_ms:
        length = reach + two.duration_ms
        return [Phase(one.start_ms, length, (volume + two.duration_ms * two.gbps) / length)]
    return [Phase(one.start_ms, reach, volume / reach), two]


def simplify(
    phases: Iterable[Phase], period_ms: float, *, gap_ms: float, negligible: float, max_phases: int
) -> tuple[list[Phase], float]:
    """Few disjoint phases for many intervals, and the gap it took.

    Superposes, joins over ``gap_ms``, drops what is negligible, and if more than ``max_phases`` are left doubles
    the gap until they are few enough. Bytes are kept but for the negligible share.
    """
    disjoint = superpose(phases, period_ms)
    kept = drop_negligible(compact(disjoint, period_ms, gap_ms), negligible)
    floor_ms = period_ms * 2.0**-20
    while len(kept) > max_phases:
        gap_ms = max(2 * gap_ms, floor_ms)
        # A kept phase may wrap; superposing splits it again, so that compact sees a plain circle.
        kept = compact(superpose(kept, period_ms), period_ms, gap_ms)
    return kept, gap_ms


def round_phases(phases: Iterable[Phase], period_ms: float, digits: int = 4, figures: int = 4) -> list[Phase]:
    """Edges to ``digits`` decimals of a ms, rates to ``figures`` figures.

    Edges are rounded, not lengths, so that what touched still touches and nothing overlaps. ``period_ms`` is
    expected to be rounded already. What rounds to nothing is left out.
    """
    rounded = []
    for phase in phases:
        start, end = round(phase.start_ms, digits), round(phase.start_ms + phase.duration_ms, digits)
        length = min(round(end - start, digits), period_ms)
        gbps = float(f"{phase.gbps:.{figures}g}")
        if length > 0 and gbps > 0:
            rounded.append(Phase(start % period_ms if start >= period_ms else start, length, gbps))
    return sorted(rounded, key=lambda p: p.start_ms)
