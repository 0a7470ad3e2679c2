"""What evaluating the links of a round may cost, so that thousands of hard links together do not take hours.

To evaluate a link is to add up its demand at given shifts. That costs what its folded circle holds (F1): little for
usual links, and up to 2**24 demand levels for the worst that the kernel scores exactly. One such link takes seconds;
thousands of them, or one in thousands of candidates, would take hours. Beyond the limits of folding a link gets a
certified interval instead of an exact score. This module lowers these limits for all links of a round, as far as the
sum of their costs requires. Costs are counted, not timed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array, cut
from ..kernel.link_arrays import LinkArrays
from ..kernel.prepared_link import DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS
from ..node_budget import LEVELS_OF_A_NODE
from .folding import held_repeats

__all__ = ["LinkEffort", "link_effort"]

LEAST_EVENTS, LEAST_LEVELS = 64, 128
"""The least limits of folding. Fewer events would not be less work: a link falls into as many groups as it has jobs."""

MAX_LOOKS, LOOKS_OF_A_ROUTE = 2**27, 1024
"""Demand levels that the first evaluations of all links may touch together: so many, which take about a second, or so
many for each placed job of each candidate. Later evaluations are counted as they are made (``node_budget``)."""

MAX_KEPT = 2**22
"""Atoms of folded demands and kinks of pairs that the kernel may keep for all links together; up to 48 bytes each."""

LOOKS, CANDIDATES_AT_ONCE = 3, 4
"""First evaluations of a link: so many, and one more for each of the first so many candidates that have it."""

MOST_PERIODS = 64
"""Most different iteration times on one link; with more the worst is assumed."""

LEVELS_OF_A_KINK = 12
"""So many levels are added up in the time in which the kernel reads one kink of a marginal excess, for the slack."""

# The kernel's own limits on one evaluation; the last is for each event of the limit. Any single link keeps within
# MAX_LOOKS.
MAX_SUM_WORK, MAX_KINK_WORK, MAX_INTERVAL_WORK = 2.0**24, 2.0**24, 1024.0


class LinkEffort(NamedTuple):
    """Limits of folding for all links of a round, and what evaluating each problem once costs with them.

    ``nodes`` is that cost, search nodes. ``with_slack`` is whether slack can be asked for too: even at the least limits
    the first evaluations may exceed ``MAX_LOOKS``.
    """

    max_events: int
    max_levels: int
    nodes: Float64Array
    with_slack: bool = True


class _Effort(NamedTuple):
    """What each problem takes.

    ``need`` is the limit on events with which it is scored exactly, ``exact`` the levels that an exact score touches,
    ``edges`` and ``sums`` the edges and bins that an interval takes, ``kept`` what the kernel keeps.
    """

    need: Float64Array
    exact: Float64Array
    edges: Float64Array
    sums: Float64Array
    kept: Float64Array


def link_effort(problems: LinkArrays, uses: Int64Array, resolution: int, n_routes: int = 0) -> LinkEffort:
    """The largest limits, halved from the kernel's, with which first looks stay within ``MAX_LOOKS``.

    Parameters
    ----------
    problems : LinkArrays
    uses : int64 array, shape (problems,)
        How many links of all candidates pose each problem.
    resolution : int
        How precisely a shift can be held, ticks (F1b).
    n_routes : int
        Placed jobs of all candidates together: how large the round is.

    Notes
    -----
    O(jobs) per problem; O(n^2) for each set of ``n`` different iteration times. Usual rounds keep the kernel's limits.
    """
    efforts = _efforts(problems, resolution)
    looks = LOOKS + np.minimum(uses, CANDIDATES_AT_ONCE)
    most = max(MAX_LOOKS, LOOKS_OF_A_ROUTE * n_routes)
    max_events = DEFAULT_MAX_EVENTS
    while True:
        exact = efforts.need <= max_events
        max_levels = min(DEFAULT_MAX_LEVELS, max(LEAST_LEVELS, max_events // 4))
        bins = max_levels / 16
        interval = np.minimum(
            efforts.edges * (bins / 2 + np.minimum(efforts.sums, bins)), MAX_INTERVAL_WORK * max_events
        )
        work = np.where(exact, efforts.exact, interval)
        kept = efforts.kept[exact].sum()
        with_slack = bool((work * looks).sum() <= most and kept <= MAX_KEPT)
        if with_slack or max_events <= LEAST_EVENTS:
            return LinkEffort(max_events, max_levels, work / LEVELS_OF_A_NODE, with_slack)
        max_events //= 2


def _efforts(problems: LinkArrays, resolution: int) -> _Effort:
    phases = np.diff(problems.phase_offset)
    shapes = list(zip(cut(problems.period, problems.job_offset), cut(phases, problems.job_offset), strict=True))
    folded: dict[bytes, list[_Folded]] = {}
    known: dict[tuple[bytes, bytes], tuple[float, ...]] = {}
    for shape in dict.fromkeys(shapes):
        periods, counts = (np.frombuffer(part, dtype=np.int64).tolist() for part in shape)
        if shape[0] not in folded:
            folded[shape[0]] = _folded(periods, resolution)
        known[shape] = _effort(counts, folded[shape[0]])
    return _Effort(*np.array([known[shape] for shape in shapes], dtype=np.float64).reshape(-1, 5).T)


class _Folded(NamedTuple):
    """The turns ``P' / R_j`` of a job's circle on the folded one, 0 if it is free, and its samples ``T_j / R_j``."""

    turns: float
    samples: float


def _folded(periods: Sequence[int], resolution: int) -> list[_Folded]:
    """How each job folds: free jobs are left out (F1b), the others fold to ``R_j`` (F1)."""
    count: Mapping[int, int] = Counter(periods)
    if len(count) == 1:
        return [_Folded(1.0, 1.0)] * len(periods)
    if len(count) > MOST_PERIODS:
        return [_Folded(math.inf, math.inf)] * len(periods)
    repeats = held_repeats(count, resolution)
    whole = math.lcm(*repeats.values())
    folded = {period: _Folded(_at_most(whole // repeat), period / repeat) for period, repeat in repeats.items()}
    return [folded.get(period, _Folded(0.0, math.inf)) for period in periods]


def _at_most(turns: int) -> float:
    return float(turns) if turns < 2**62 else math.inf


def _effort(phases: Sequence[int], folded: Sequence[_Folded]) -> tuple[float, ...]:
    """The fields of :class:`_Effort`, estimated from above: every phase has two edges and a level of its own."""
    events = atoms = 0.0
    together = sums = 1.0
    most, edges = max(phases), 2 * sum(phases)
    for n_phases, (turns, samples) in zip(phases, folded, strict=True):
        levels = min(samples, n_phases + 1.0)
        events += 2 * n_phases * turns
        atoms += 2 * n_phases * levels
        together = min(together * levels, float(DEFAULT_MAX_LEVELS))
        sums = min(sums * (n_phases + 1.0), float(DEFAULT_MAX_LEVELS))
    events = max(1.0, events)
    kinks = 4.0 * most * events if len(phases) == 2 else 0.0
    pair = kinks if 2 * kinks <= DEFAULT_MAX_EVENTS else 0.0  # with more the kernel keeps none
    sums_of_all = min(MAX_SUM_WORK, events * together * len(phases))
    exact = sums_of_all + min(MAX_KINK_WORK, LEVELS_OF_A_KINK * events * most * len(phases))
    need = max(events, events * most / 16, atoms / 16, 2 * pair, sums_of_all / 64)
    return need, exact, float(edges * len(phases)), sums * (most + 1), atoms + pair
