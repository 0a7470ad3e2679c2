"""A search of shifts for ``per_job``, by weights of links: each job has one unit and gives it to its worst links.

The sum over jobs of their worst link's loss (1 less the score) is at least any sum of losses in which no job counts
more than once: with ``w[j, l] >= 0`` and at most 1 in sum over the links of each job,

    sum_j max_l loss_l  >=  sum_l W_l loss_l,  W_l = sum_j w[j, l].

The kernel maximises a weighted mean of scores and bounds it, so each such search bounds ``per_job``. The search begins
with even shares. In each pass every job moves half of its unit to the links that are its worst at the last shifts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cassini_core import Problem
from cassini_core.arrays import BoolArray, Float64Array, Int64Array
from cassini_core.deadline import Deadline
from cassini_core.joint.placement_solution import PlacementAnswer
from cassini_core.joint.round import Round
from cassini_core.links.route_deltas import RouteTable
from cassini_core.ranking import rank_problem
from cassini_core.ranking.aggregate import per_job
from cassini_core.ranking.candidate_search import CandidateSearch
from cassini_core.ranking.options import checked_options
from cassini_core.ranking.ranked_candidate import CandidateMaker, Entry

_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Ranked:
    """A problem as ``rank`` answers it, with what further searches need."""

    context: Round
    search: CandidateSearch
    entries: list[Entry]


def ranked(problem: Problem, node_limit: int | str | None, resolution_ms: float = 0.5) -> Ranked:
    """All candidates, ranked by ``per_job`` on one thread; iteration times stay as they are."""
    options = checked_options(
        problem,
        loops="joint",
        aggregate="per_job",
        order="jobs_placed",
        top=1,
        exhaustive=True,
        period_tolerance=0.0,
        threads=1,
        deadline_s=None,
        node_limit=node_limit,
        block_node_limit="auto",
        resolution_ms=resolution_ms,
        slack_tolerance=0.01,
        executor=None,
        progress=None,
        running_shifts_ms={},
        running_tolerance=0.01,
    )
    deadline = Deadline(None)
    read = rank_problem._read(problem, RouteTable(problem.candidates, deadline.check_reading), options, deadline)
    solved, scoring, searched = rank_problem._solve_links(read, options, None)
    context = Round(read.catalog.incidence, solved, read.links, read.effort.nodes, scoring)
    maker = CandidateMaker(context, read.catalog.shared, options.aggregate, options.order)
    search = CandidateSearch(
        read.placements, read.large, read.base_links, context, maker, options, read.deadline, searched
    )
    return Ranked(context, search, search.run(None))


class Found(NamedTuple):
    """Shifts of all jobs of the round, ticks; their ``per_job``; and a bound of it for any shifts."""

    shift: Int64Array
    score: float
    upper_bound: float


class PerJobSearch:
    """Searches shifts of one placement for ``per_job``.

    Parameters
    ----------
    context : Round
    answer : PlacementAnswer
        As found for the mean.
    """

    def __init__(self, context: Round, answer: PlacementAnswer) -> None:
        self._context = context
        self._links = answer.placement.links
        rows = context.flat.rows(self._links)
        self._size = rows.size
        self._job = context.flat.job[rows.at]
        narrow = answer.placement.narrow
        self._n_placed = len(answer.placement.placed)
        self._crossings = context.flat.crossings(self._links, self._n_placed, narrow)
        self._narrow_loss = np.zeros(max(len(context.flat.jobs), 1 + int(narrow.job.max(initial=-1))))
        np.maximum.at(self._narrow_loss, narrow.job, 1.0 - narrow.score)
        self._begin = context.by_number(answer.jobs, answer.shift)
        self._bound = self._of(np.minimum(answer.bounds, 1.0))

    def scores(self, shift: Int64Array) -> tuple[float, Float64Array]:
        """``per_job`` and the score of each link at some shifts."""
        lower = self._context.evaluator.evaluate(self._links, shift).lower
        return self._of(lower), lower

    def run(self, passes: int) -> Found:
        """The best shifts of some passes, and the least bound."""
        limit = self._context.limits.block_node_limit
        score, links = self.scores(self._begin)
        best = Found(self._begin, score, self._bound)
        of_job = np.bincount(self._job, minlength=len(self._narrow_loss))
        share: Float64Array = 1.0 / of_job[self._job]
        for _ in range(passes):
            if best.score >= best.upper_bound - _TIE:
                break
            share = (share + self._to_worst(links)) / 2.0
            weight = np.add.reduceat(share, np.cumsum(self._size) - self._size)
            jobs, found = self._context.solve_block(
                self._links, weight, start=best.shift, centred=False, node_limit=limit
            )
            shift = self._context.by_number(jobs, found.shift)
            score, links = self.scores(shift)
            bound = min(best.upper_bound, self._bounded(share, float(weight.sum()) * (1.0 - found.upper_bound)))
            best = Found(shift if score > best.score else best.shift, max(score, best.score), bound)
        return best

    def _of(self, scores: Float64Array) -> float:
        return per_job(scores, self._crossings)

    def _to_worst(self, scores: Float64Array) -> Float64Array:
        """By crossing: the job's unit, evenly on its worst links, or on none where a narrow link is worse."""
        loss = np.repeat(1.0 - scores, self._size)
        worst = self._narrow_loss.copy()
        np.maximum.at(worst, self._job, loss)
        is_worst: BoolArray = loss >= worst[self._job] - _TIE
        number = np.bincount(self._job, is_worst, len(worst))
        found: Float64Array = np.where(is_worst, 1.0 / np.maximum(number[self._job], 1.0), 0.0)
        return found

    def _bounded(self, share: Float64Array, least_loss: float) -> float:
        """A bound on ``per_job``, where ``least_loss`` is one on the weighted loss of the links together."""
        rest = 1.0 - np.bincount(self._job, share, len(self._narrow_loss))
        return 1.0 - (least_loss + float(np.maximum(rest, 0.0) @ self._narrow_loss)) / self._n_placed
