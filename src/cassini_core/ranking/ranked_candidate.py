"""Makes candidates of the ranking from the answers of placements; and what candidates are sorted by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, Float64Array, Int64Array
from ..choices import Order
from ..joint.placement_solution import PlacementAnswer
from ..joint.round import Round
from ..kernel.link_arrays import LinkAnswers
from ..links.incidence import Crossings
from ..links.placement import Placement, SharedLink
from ..lockless_cached_property import lockless_cached_property
from ..results import RankedCandidate, deferred_candidate
from ..units import SCORE_TOLERANCE, TICKS_PER_MS, ms_from_ticks
from .aggregate import Aggregate, mean, per_job
from .link_scores import LinkScores

__all__ = ["TIE_BREAKS", "CandidateMaker", "Entry", "Worth", "bucket", "tie_break", "unread"]

Worth = tuple[int, int]
"""What candidates compare by, more is better: the jobs placed, 0 where their number plays no part, and the score."""

TIE_BREAKS = (
    "comes first because it leaves the most slack for the iteration time",
    "comes first because it shares the fewest links",
    "comes first in the input",
)
"""Why a candidate stands before others with the same score: one reason for each value of :func:`tie_break`."""


def tie_break(least_slack: float, n_links: int, number: int) -> tuple[float, int, int]:
    """What decides between equal scores; less is better. ``least_slack`` is a share of the iteration time."""
    return -least_slack, n_links, number


def bucket(score: float) -> int:
    """Scores compare in buckets, so that a rounding error decides nothing."""
    return round(score / SCORE_TOLERANCE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate, the answer that it was made from, its number in the problem, and what decides before its score.

    ``placed`` is the number of jobs that it places, or 0 where that plays no part in the order. ``cost`` is what its
    moves of running jobs take off the score where candidates compare, and ``waiting`` the iterations that these jobs
    wait together. ``bound_if_moved``: nothing is worth more that moves a running job. ``free`` is the same candidate
    without regard to running jobs.
    """

    candidate: RankedCandidate
    answer: PlacementAnswer
    number: int
    placed: int
    cost: float = 0.0
    waiting: float = 0.0
    bound_if_moved: float = math.inf
    free: Entry | None = None

    @property
    def worth(self) -> Worth | None:
        """What it compares by; None without a score."""
        return None if self.candidate.score is None else (self.placed, bucket(self.candidate.score - self.cost))

    @property
    def bound(self) -> float:
        """No shifts score more, less what their moves cost."""
        bound, disturbance = self.candidate.upper_bound, self.candidate.disturbance
        if disturbance is None:
            return bound
        return max(disturbance.upper_bound_if_kept, min(bound, self.bound_if_moved))

    @property
    def most(self) -> Worth:
        """No shifts make it worth more."""
        return self.placed, bucket(self.candidate.upper_bound)

    def key(self) -> tuple[int, bool, int, int, float, tuple[float, int, int]]:
        """Best first: by jobs placed, then by score, and by bound after all that have a score."""
        if self.worth is None:
            return -self.placed, True, -self.most[1], 0, 0.0, tie_break(0.0, 0, self.number)
        ties = tie_break(self.answer.least_slack, self.answer.placement.n_links, self.number)
        moves = 0 if self.candidate.disturbance is None else len(self.candidate.disturbance.moves_ms)
        return -self.placed, False, -self.worth[1], moves, self.waiting, ties


class CandidateMaker:
    """Makes the candidates of a ranking from the answers of placements; may be used from several threads.

    Parameters
    ----------
    context : Round
    shared : sequence of SharedLink
        By index.
    aggregate : Aggregate
    order : Order
    """

    def __init__(
        self, context: Round, shared: Sequence[SharedLink], aggregate: Aggregate, order: Order = "jobs_placed"
    ) -> None:
        self._context = context
        over_jobs = partial(per_job, over_jobs=context.scoring.per_job) if aggregate is per_job else aggregate
        self._aggregate: Aggregate = over_jobs
        self._is_mean = aggregate is mean
        self._bounds: dict[int, float] = {}  # by the number of the candidate
        self._order = order
        self._details = _Details(
            context.flat.name,
            context.flat.capacity_gbps,
            context.flat.problem,
            LinkScores(shared, context.bound),
            context.solved,
        )

    def most(self, number: int, placement: Placement) -> Worth:
        """No shifts make the placement of this candidate worth more; O(crossings), the first time."""
        crossings = self._crossings(placement, placement.links)
        return self.decisive(placement.n_placed), bucket(self._bound(number, crossings))

    def decisive(self, n_placed: int) -> int:
        """The number of jobs placed as far as it plays a part in the order."""
        return n_placed if self._order == "jobs_placed" else 0

    def entry(self, number: int, answer: PlacementAnswer) -> Entry:
        """The answer as the ranking shows it; O(crossings). What it says of single jobs and links is made later."""
        placement, found = answer.placement, answer.found
        links = placement.links if found is None else found.links
        crossings = self._crossings(placement, links)
        bound = self._bound(number, crossings)
        if self._is_mean and answer.mean_bound is not None:
            bound = min(bound, _with_narrow(answer.mean_bound, answer, crossings))
        score = None if found is None else self._aggregate(found.scores, crossings)
        answer = answer.near_base()
        candidate = deferred_candidate(
            partial(self._details.of, answer),
            id=placement.id,
            score=score,
            upper_bound=bound,
            optimal=score is not None and score >= bound - SCORE_TOLERANCE,
            status=answer.status,
            hold_ms=None if answer.hold is None else ms_from_ticks(answer.hold),
            jobs_placed=placement.n_placed,
            narrow_links=placement.narrow_links,
            resolution_ms=self._resolution_ms(links),
            disturbance=None,
        )
        return Entry(candidate, answer, number, self.decisive(candidate.jobs_placed))

    def settled(self, entry: Entry, *, thorough: bool) -> Entry:
        """What is left to do for the best of many large placements: nothing where no job runs."""
        return entry

    def late_entry(self, number: int, placement: Placement) -> Entry:
        """What is known where there is not even time to look at the bounds of links; O(1)."""
        found = unread(placement.id, placement.n_placed)
        answer = PlacementAnswer(placement, "bound_only", self._context.bound)
        return Entry(found, answer, number, self.decisive(found.jobs_placed))

    def _bound(self, number: int, crossings: Crossings) -> float:
        if number not in self._bounds:
            self._bounds[number] = self._aggregate(self._context.bound[crossings.links], crossings)
        return self._bounds[number]

    def _crossings(self, placement: Placement, links: Int64Array) -> Crossings:
        return self._context.flat.crossings(links, placement.n_placed, placement.narrow)

    def _resolution_ms(self, links: Int64Array) -> float | None:
        by_resolution = self._by_resolution
        is_some = by_resolution is not None and by_resolution[links].any()
        return self._context.limits.resolution_ms if is_some else None

    @lockless_cached_property
    def _by_resolution(self) -> BoolArray | None:
        """By shared link: whether shifts held more precisely might score more than its bound; None where none can."""
        context, flat = self._context, self._context.flat
        if not context.solved.free.any():
            return None
        has_free = np.logical_or.reduceat(~context.held, flat.offset[:-1])
        # A bound that takes no account of when jobs send holds at any resolution.
        whatever_shifts = context.links.arrays.area_bounds()[flat.problem]
        return np.asarray(has_free & (context.bound < whatever_shifts - SCORE_TOLERANCE))


@dataclass(frozen=True, slots=True)
class _Details:
    """Makes what a candidate says of single jobs and links. It keeps nothing else of the round.

    ``job`` are ids by number, ``capacity_gbps`` and ``problem`` are by shared link, ``solved`` by link problem;
    ``lines`` keeps what was said of a link, which most candidates say alike.
    """

    job: npt.NDArray[np.object_]
    capacity_gbps: Float64Array
    problem: Int64Array
    scores: LinkScores
    solved: LinkAnswers
    lines: dict[int, str] = field(default_factory=dict)

    def of(self, answer: PlacementAnswer) -> dict[str, Any]:
        """The fields, by name; O(jobs and links)."""
        placement, found = answer.placement, answer.found
        links = placement.links
        fields: dict[str, Any] = {"shifts_ms": {}, "slack_ms": {}, "free_jobs": ()}
        if found is not None:
            jobs = self.job[found.jobs]
            names = jobs.tolist()
            fields = {
                "shifts_ms": dict(zip(names, (found.shift / TICKS_PER_MS).tolist(), strict=True)),
                "slack_ms": dict(zip(names, (found.slack / TICKS_PER_MS).tolist(), strict=True)),
                "free_jobs": tuple(jobs[found.free].tolist()),
            }
        scores = None if found is None else found.scores
        return fields | {
            "worst_link": _worst_link(placement, scores),
            "total_excess_gbps": self._total_excess_gbps(placement, scores),
            "links": self.scores.of(links, scores),
            "warnings": (*placement.warnings, *self._unproven(placement, links), *answer.warnings),
        }

    def _unproven(self, placement: Placement, links: Int64Array) -> Iterator[str]:
        """A line for each link whose own optimum is not known: why, with the gap."""
        shared = placement.base.shared
        for link in links[~self.solved.optimal[self.problem[links]]].tolist():
            line = self.lines.get(link)
            if line is None:
                line = f"link {shared[link].id!r}: {_why_unproven(self.solved, shared[link].problem)}"
                line = self.lines.setdefault(link, line)
            yield line

    def _total_excess_gbps(self, placement: Placement, scores: Float64Array | None) -> float | None:
        if scores is None:
            return None
        excess = (1.0 - scores) * self.capacity_gbps[placement.links]
        return math.fsum([*excess.tolist(), *(link.excess_gbps for link in placement.narrow_links)])


def unread(candidate_id: str, n_placed: int) -> RankedCandidate:
    """What is known of any candidate: no score exceeds 1."""
    return RankedCandidate(
        id=candidate_id,
        score=None,
        upper_bound=1.0,
        optimal=False,
        status="bound_only",
        shifts_ms={},
        slack_ms={},
        hold_ms=None,
        free_jobs=(),
        worst_link=None,
        total_excess_gbps=None,
        links=(),
        warnings=("not looked at: the deadline came first",),
        jobs_placed=n_placed,
    )


def _with_narrow(mean_bound: float, answer: PlacementAnswer, crossings: Crossings) -> float:
    """A bound of the mean over shared links, with narrow links: as if each shared link scored the bound."""
    if not answer.placement.narrow_links:
        return mean_bound
    return mean(np.full(len(answer.bounds), mean_bound), crossings)


def _worst_link(placement: Placement, scores: Float64Array | None) -> str | None:
    if scores is None:
        return None
    worst = [(link.score, link.id) for link in placement.narrow_links]
    if len(scores):
        place = int(scores.argmin())  # of equals the first id
        worst.append((float(scores[place]), placement.shared[place].id))
    return min(worst)[1] if worst else None


_CUT_SHORT = {
    "nodes": "the node limit stopped the search",
    "deadline": "the deadline stopped the search",
    "limits": "exact scoring is beyond the limits of folding",
}


def _why_unproven(solved: LinkAnswers, problem: int) -> str:
    if not solved.answered[problem]:
        return "not reached before the deadline"
    why = _CUT_SHORT.get(solved.stopped_by(problem), "the search ended without proof")
    return f"{why}: best found {solved.score_lower[problem]:.6g}, bound {solved.upper_bound[problem]:.6g}"
