"""Running jobs keep their shifts where moving them wins too little.

A job that runs has a shift already. If the answer gives it another one, it waits once for up to a pace. So of each
group of jobs that links hold together

1. none that runs moves, if that costs no link more than ``running_tolerance`` of its score: as much as a job that is
   held may cost it anyway (F5);
2. else those shifts are chosen whose *value* is most: the score of the candidate less ``running_tolerance`` times the
   share of the placed jobs that run and move. Of equal values fewer moves are better, then less waiting.

What is looked at: the shifts that were found without regard to running jobs, turned so that the fewest of these move;
all running jobs kept, the others at their best beside them; and between the two some or, in small groups, all choices
of who is released. A job that is kept has exactly the shift at which it runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array, Rows, cut, int64
from ..choices import Order, Status
from ..joint.placement_solution import PlacementAnswer, verified
from ..joint.round import Round
from ..joint.turning import Together, least_moves, that_meet
from ..links.placement import Placement, SharedLink
from ..results import Disturbance
from ..units import SCORE_TOLERANCE, TICKS_PER_MS, ticks_from_ms
from .aggregate import Aggregate
from .ranked_candidate import CandidateMaker, Entry, bucket

__all__ = ["ALL_CHOICES", "DisturbanceMaker"]

ALL_CHOICES = 6
"""Running jobs of a group up to which every choice of those that are released is looked at, if need be."""

MOST_TRIES = 4
"""How many jobs of a larger group are tried to be released alone, and to be kept after all."""


class DisturbanceMaker(CandidateMaker):
    """Makes candidates whose shifts disturb running jobs little; may be used from several threads.

    Parameters
    ----------
    context, shared, aggregate, order
        As :class:`CandidateMaker`.
    running_shifts_ms : mapping of str to float
        At least one.
    tolerance : float
        ``running_tolerance``.
    """

    def __init__(
        self,
        context: Round,
        shared: Sequence[SharedLink],
        aggregate: Aggregate,
        order: Order,
        running_shifts_ms: Mapping[str, float],
        tolerance: float,
    ) -> None:
        super().__init__(context, shared, aggregate, order)
        self._tolerance = tolerance
        flat = context.flat
        self._running = np.full(len(flat.jobs), -1, dtype=np.int64)
        for number, job in enumerate(flat.jobs):
            if job in running_shifts_ms:
                self._running[number] = ticks_from_ms(running_shifts_ms[job]) % int(flat.period[number])
        # What an always-on job demands is the same at any shift.
        arrays = context.links.arrays
        whole = arrays.phase_length == np.repeat(arrays.period, np.diff(arrays.phase_offset))
        changes = ~np.logical_and.reduceat(whole, arrays.phase_offset[:-1])
        self._matters = context.held & changes[Rows.of(arrays.job_offset, flat.problem).at]

    def entry(self, number: int, answer: PlacementAnswer) -> Entry:
        """The answer as it was found; until it is :meth:`settled` it counts as if that cost all of the tolerance."""
        free = super().entry(number, answer)
        found = answer.found
        if found is None:
            return free
        if not answer.placement.n_links:
            score = free.candidate.score or 0.0
            nothing = Disturbance({}, score, max(score, free.candidate.upper_bound))
            return replace(free, candidate=replace(free.candidate, disturbance=nothing))
        return replace(free, cost=self._tolerance if (self._running[found.jobs] >= 0).any() else 0.0, free=free)

    def settled(self, entry: Entry, *, thorough: bool) -> Entry:
        """The candidate with shifts that move few running jobs; ``thorough``: not only all or none of a group.

        Notes
        -----
        A few searches of links near the jobs that would move, each of at most ``limits.block_node_limit`` nodes; in
        groups of up to ``ALL_CHOICES`` running jobs up to some sixty. What they take is in ``answer.nodes``.
        """
        free = entry.free
        if free is None or entry.candidate.disturbance is not None:
            return entry
        answer = free.answer
        crossings = self._crossings(answer.placement, answer.placement.links)
        found = _Settling(
            self._context,
            answer,
            self._running,
            self._matters,
            lambda scores: self._aggregate(scores, crossings),
            self._tolerance,
            free.candidate.upper_bound,
        ).run(thorough=thorough)
        settled = super().entry(entry.number, found.answer)
        name, period = self._context.flat.name, self._context.flat.period
        moves_ms = {name[job]: ticks / TICKS_PER_MS for job, ticks in sorted(found.wait.items())}
        price = self._price(answer)
        disturbance = Disturbance(moves_ms, found.score_if_kept, found.upper_bound_if_kept)
        return replace(
            settled,
            candidate=replace(settled.candidate, disturbance=disturbance),
            cost=price * len(moves_ms),
            waiting=sum(ticks / int(period[job]) for job, ticks in sorted(found.wait.items())),
            bound_if_moved=settled.candidate.upper_bound - price,
            free=free,
        )

    def _price(self, answer: PlacementAnswer) -> float:
        """What each job that moves takes off the value."""
        return self._tolerance / answer.placement.n_placed


class _Settled(NamedTuple):
    """An answer, how long running jobs wait for it, ticks, and what is known of keeping all of them."""

    answer: PlacementAnswer
    wait: Mapping[int, int]
    score_if_kept: float
    upper_bound_if_kept: float


class _Try(NamedTuple):
    """Shifts of all jobs, ticks, and what they are worth."""

    shift: Int64Array
    wait: Mapping[int, int]
    scores: Float64Array
    score: float
    value: float
    waiting: float

    def is_better_than(self, other: _Try) -> bool:
        """More value; of equal values fewer moves, then less waiting."""
        return self._rank() < other._rank()

    def _rank(self) -> tuple[int, int, float]:
        return -bucket(self.value), len(self.wait), self.waiting


class _Settling:
    """Looks for shifts of one placement that are worth most.

    Parameters
    ----------
    context : Round
    answer : PlacementAnswer
        Found without regard to running jobs; with shifts.
    running : int64 array, shape (jobs of ``context.flat``,)
        Ticks; -1 for jobs that do not run.
    matters : bool array, shape (crossings of ``context.flat``,)
        Whether the job's shift changes anything on the link.
    aggregate : callable
        From the scores of the shared links to the score of the placement.
    tolerance : float
        What a link may lose so that nobody moves; shared among the placed jobs, what each that moves takes off the
        value.
    bound : float
        No shifts score more.
    """

    def __init__(
        self,
        context: Round,
        answer: PlacementAnswer,
        running: Int64Array,
        matters: BoolArray,
        aggregate: Callable[[Float64Array], float],
        tolerance: float,
        bound: float,
    ) -> None:
        self._context = context
        self._answer = answer
        self._placement: Placement = answer.placement
        self._running = running
        self._aggregate = aggregate
        self._tolerance = tolerance
        self._price = tolerance / self._placement.n_placed
        self._bound = bound
        self._nodes = 0
        links = self._placement.links
        rows = context.flat.rows(links)
        self._job = context.flat.job[rows.at]
        self._row_offset = np.append(rows.first, len(rows.at))
        self._on_link = [
            np.frombuffer(jobs, dtype=np.int64).tolist()
            for jobs in cut(np.where(matters[rows.at], self._job, -1), self._row_offset)
        ]
        self._groups = that_meet(([j for j in jobs if j >= 0] for jobs in self._on_link), context.flat.period)
        self._group_of = {job: k for k, group in enumerate(self._groups) for job in group.jobs}
        self._at: list[list[int]] = [[] for _ in self._groups]  # which links hold a group together
        for at, jobs in enumerate(self._on_link):
            held = [job for job in jobs if job >= 0]
            if len(held) > 1:
                self._at[self._group_of[held[0]]].append(at)

    def run(self, *, thorough: bool) -> _Settled:
        """The best that was found; the answer as it was where it moves nobody and none was turned."""
        found = self._answer.found
        assert found is not None
        given = self._context.by_number(found.jobs, found.shift)
        alone = np.setdiff1d(found.jobs, int64(self._group_of))  # their shifts do not matter
        given[alone] = np.where(self._running[alone] >= 0, self._running[alone], given[alone])
        free = self._turned(given, self._groups)
        if not free.wait:
            return _Settled(self._verified(free), {}, free.score, self._bound_if_kept(free))
        disturbed = [group for group in self._groups if not free.wait.keys().isdisjoint(group.jobs)]
        kept = self._kept(free, disturbed)
        to_move = [group for group in disturbed if not self._is_alike(group, free, kept)]
        best = self._chosen(free, kept, to_move, thorough)
        if best.value < free.score - self._tolerance - SCORE_TOLERANCE:  # links of several groups lost a little each
            best = self._chosen(free, kept, disturbed, thorough)
            if free.is_better_than(best):  # groups that are worth moving only together
                best = free
        if not best.wait and best.score > kept.score:
            kept = best
        return _Settled(self._verified(best), best.wait, kept.score, self._bound_if_kept(kept))

    # --- what is tried ------------------------------------------------------------------------------------------------

    def _kept(self, free: _Try, disturbed: Sequence[Together]) -> _Try:
        """All running jobs at their shifts."""
        shift = free.shift
        for group in disturbed:
            shift = self._searched(shift, group, self._running[list(group.jobs)] >= 0)
        return self._turned(shift, disturbed, free)

    def _is_alike(self, group: Together, free: _Try, kept: _Try) -> bool:
        """Whether keeping a group's running jobs costs none of its links more than the tolerance."""
        at = self._at[self._group_of[group.jobs[0]]]
        return bool((kept.scores[at] >= free.scores[at] - self._tolerance - SCORE_TOLERANCE).all())

    def _chosen(self, free: _Try, kept: _Try, groups: Sequence[Together], thorough: bool) -> _Try:
        """The most value, where jobs of these groups may move."""
        best = kept
        for group in groups:
            best = self._better(best, group, free.shift)
        for group in groups if thorough else ():
            if len(free.wait.keys() & set(group.jobs)) > 1:
                best = self._between(group, free, kept, best)
        return best

    def _between(self, group: Together, free: _Try, kept: _Try, best: _Try) -> _Try:
        """Some jobs of a group are released, the others kept."""
        jobs = np.array(group.jobs)
        running = jobs[self._running[jobs] >= 0]
        for released in self._choices(group, running, free, kept, best):
            others = sum(
                job not in self._group_of or self._groups[self._group_of[job]] is not group for job in best.wait
            )
            if not self._might_be_better(best, others + 1):
                return best  # no moves are worth it
            if not self._might_be_better(best, others + len(released)):
                continue
            if self._context.links.deadline.passed():
                return best
            is_kept = (self._running[jobs] >= 0) & ~np.isin(jobs, list(released))
            best = self._better(best, group, self._searched(kept.shift, group, is_kept))
        return best

    def _might_be_better(self, best: _Try, moves: int) -> bool:
        """Whether any shifts with so many moves might be worth more, or as much with fewer moves than the best."""
        most = self._bound - self._price * moves - best.value
        return most > SCORE_TOLERANCE or (most >= -SCORE_TOLERANCE and moves < len(best.wait))

    def _choices(
        self, group: Together, running: Int64Array, free: _Try, kept: _Try, best: _Try
    ) -> Iterator[tuple[int, ...]]:
        """Which running jobs to release, the fewest first."""
        if len(running) <= ALL_CHOICES:
            for size in range(1, len(running)):
                yield from itertools.combinations(running.tolist(), size)
            return
        # Those first that lose most where they are: on links that score more once they move.
        loses = np.zeros(len(self._running))
        lost = np.maximum(free.scores - kept.scores, 0.0)
        np.add.at(loses, self._job, np.repeat(lost, np.diff(self._row_offset)))
        order = sorted(running.tolist(), key=lambda job: (-loses[job], job))
        losing = sum(loses[job] > SCORE_TOLERANCE for job in order)
        for job in order[: min(losing, MOST_TRIES)]:
            yield (job,)
        size = 2
        while size < 2 * losing and size < len(order):
            yield tuple(order[: min(size, losing)])
            size *= 2
        moved = sorted(free.wait.keys() & set(group.jobs), key=lambda job: (loses[job], job))
        for job in moved[:MOST_TRIES] if len(moved) > 2 else []:
            yield tuple(other for other in moved if other != job)

    def _searched(self, start: Int64Array, group: Together, is_kept: BoolArray) -> Int64Array:
        """Best shifts of a group beside those of its jobs that are kept where they run."""
        jobs = np.array(group.jobs)
        kept_jobs = jobs[is_kept]
        begin = start.copy()
        begin[kept_jobs] = self._running[kept_jobs]
        if is_kept.all():
            return begin
        links = self._placement.links[self._at[self._group_of[group.jobs[0]]]]
        kept = np.zeros(len(self._running), dtype=np.bool_)
        kept[kept_jobs] = True
        limits = self._context.limits
        of_links, found = self._context.solve_block(
            links, start=begin, kept=kept, centred=limits.with_slack, node_limit=limits.block_node_limit
        )
        self._nodes += found.nodes
        own = np.isin(of_links, jobs)
        begin[of_links[own]] = found.shift[own]
        # The search turns jobs as it likes. A link beyond the limits of folding does not guide it, so that jobs which
        # only meet there may not come back by a turn: they are put where they run.
        kept_running = np.where(kept, self._running, -1)
        for job, to in least_moves(group, begin, kept_running, self._context.flat.period).shift.items():
            begin[job] = to
        begin[kept_jobs] = self._running[kept_jobs]
        return begin

    # --- what it is worth ---------------------------------------------------------------------------------------------

    def _better(self, best: _Try, group: Together, shift: Int64Array) -> _Try:
        """The better of what there is, and the same with other shifts of one group."""
        jobs = list(group.jobs)
        other = best.shift.copy()
        other[jobs] = shift[jobs]
        found = self._turned(other, [group], best)
        return found if found.is_better_than(best) else best

    def _turned(self, shift: Int64Array, groups: Sequence[Together], before: _Try | None = None) -> _Try:
        """Some groups turned so that the fewest running jobs move, and judged; the others wait as before."""
        period = self._context.flat.period
        shift = shift.copy()
        turned = {job for group in groups for job in group.jobs}
        wait = {} if before is None else {job: ticks for job, ticks in before.wait.items() if job not in turned}
        for group in groups:
            found = least_moves(group, shift, self._running, period)
            for job, to in found.shift.items():
                shift[job] = to
            wait |= found.wait
        scores = self._context.evaluator.evaluate(self._placement.links, shift).lower
        score = self._aggregate(scores)
        waiting = sum(ticks / int(period[job]) for job, ticks in sorted(wait.items()))
        return _Try(shift, wait, scores, score, score - self._price * len(wait), waiting)

    def _verified(self, chosen: _Try) -> PlacementAnswer:
        answer = self._answer
        status: Status = "joint" if answer.status == "consistent" else answer.status
        found = verified(self._placement, self._context, status, chosen.shift, answer.mean_bound)
        return replace(found, nodes=answer.nodes + self._nodes)

    def _bound_if_kept(self, kept: _Try) -> float:
        """No shifts that move no running job score more.

        A link on which all jobs stay scores what it does; one with a job that stays beside others that do not is
        searched by itself.
        """
        if kept.score >= self._bound - SCORE_TOLERANCE:
            return max(kept.score, self._bound)
        context, links = self._context, self._placement.links
        bounds = context.bound[links].copy()
        seen = context.evaluator.evaluate(links, kept.shift)
        runs = self._running >= 0
        for k, on_link in enumerate(self._on_link):
            held = [job for job in on_link if job >= 0]
            staying = sum(bool(runs[job]) for job in held)
            if staying < 2 or seen.lower[k] >= bounds[k] - SCORE_TOLERANCE:
                continue
            if staying == len(held):
                bounds[k] = seen.upper[k]
            elif not context.links.deadline.passed():
                _, found = context.solve_block(
                    links[k : k + 1],
                    start=kept.shift,
                    kept=runs,
                    centred=False,
                    node_limit=context.limits.block_node_limit,
                )
                self._nodes += found.nodes
                bounds[k] = min(bounds[k], found.upper_bound)
        return max(kept.score, min(self._bound, self._aggregate(bounds)))
