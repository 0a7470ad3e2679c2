"""Makes candidates of the ranking from the answers of placements; and what candidates are sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Float64Array, Int64Array, objects
from ..joint.placement_solution import PlacementAnswer
from ..joint.round import Round
from ..kept_property import kept_property
from ..kernel.link_arrays import LinkAnswers
from ..links.incidence import Crossings
from ..links.shared_links import Placement, SharedLink
from ..results import LinkScore, RankedCandidate
from ..units import SCORE_TOLERANCE, TICKS_PER_MS, ms_from_ticks
from .aggregate import Aggregate, mean

__all__ = ["TIE_BREAKS", "CandidateMaker", "Entry", "bucket", "tie_break", "unread"]

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
    """A candidate, the answer that it was made from, and its number in the problem."""

    candidate: RankedCandidate
    answer: PlacementAnswer
    number: int

    @property
    def score(self) -> int | None:
        """What it compares by; None without a score."""
        return None if self.candidate.score is None else bucket(self.candidate.score)

    def key(self) -> tuple[bool, int, tuple[float, int, int]]:
        """Best first: by score, and by bound after all that have a score."""
        if self.score is None:
            return True, -bucket(self.candidate.upper_bound), tie_break(0.0, 0, self.number)
        ties = tie_break(self.answer.least_slack, len(self.candidate.links), self.number)
        return False, -self.score, ties


class CandidateMaker:
    """Makes the candidates of a ranking from the answers of placements; may be used from several threads.

    Parameters
    ----------
    context : Round
    shared : sequence of SharedLink
        By index.
    aggregate : Aggregate
    """

    def __init__(self, context: Round, shared: Sequence[SharedLink], aggregate: Aggregate) -> None:
        self._context = context
        self._shared = shared
        self._aggregate = aggregate
        # Most candidates have most links at the same score: their first LinkScore serves all.
        self._first: dict[int, LinkScore] = {}
        self._first_made = objects(None for _ in shared)
        self._first_score = np.full(len(shared), np.nan)
        self._others: dict[tuple[int, float], LinkScore] = {}

    def bound(self, placement: Placement) -> float:
        """No shifts of the placement score more; O(crossings)."""
        return self._aggregate(self._context.bound[placement.links], self._crossings(placement))

    def entry(self, number: int, answer: PlacementAnswer) -> Entry:
        """The answer as the ranking shows it; O(crossings)."""
        placement, flat = answer.placement, self._context.flat
        crossings = self._crossings(placement)
        bound = self._aggregate(answer.bounds, crossings)
        if self._aggregate is mean and answer.mean_bound is not None:
            bound = min(bound, answer.mean_bound)
        score = None if answer.scores is None else self._aggregate(answer.scores, crossings)
        jobs = flat.name[answer.jobs]
        names = jobs.tolist()
        candidate = RankedCandidate(
            id=placement.id,
            score=score,
            upper_bound=bound,
            optimal=score is not None and score >= bound - SCORE_TOLERANCE,
            status=answer.status,
            shifts_ms=dict(zip(names, (answer.shift / TICKS_PER_MS).tolist(), strict=True)),
            slack_ms=dict(zip(names, (answer.slack / TICKS_PER_MS).tolist(), strict=True)),
            hold_ms=None if answer.hold is None else ms_from_ticks(answer.hold),
            free_jobs=tuple(jobs[answer.free].tolist()),
            worst_link=_worst_link(answer),
            total_excess_gbps=self._total_excess_gbps(answer),
            links=self._link_scores(placement.links, answer.scores),
            warnings=(
                *placement.warnings,
                *filter(None, self._unproven[placement.links].tolist()),
                *answer.warnings,
            ),
        )
        return Entry(candidate, answer, number)

    def _crossings(self, placement: Placement) -> Crossings:
        return self._context.flat.crossings(placement.links, len(placement.placed))

    @kept_property
    def _unproven(self) -> npt.NDArray[np.object_]:
        """By shared link: where its own optimum is not known a line that says why, with the gap; else None."""
        solved = self._context.solved
        why = {k: _why_unproven(solved, k) for k in np.flatnonzero(~solved.optimal).tolist()}
        return objects(
            f"link {link.id!r}: {why[link.problem]}" if link.problem in why else None for link in self._shared
        )

    @kept_property
    def _without_scores(self) -> npt.NDArray[np.object_]:
        bounds = self._context.bound.tolist()
        return objects(LinkScore(link.id, None, bound) for link, bound in zip(self._shared, bounds, strict=True))

    def _link_scores(self, links: Int64Array, scores: Float64Array | None) -> tuple[LinkScore, ...]:
        if scores is None:
            return tuple(self._without_scores[links].tolist())
        other = np.flatnonzero(self._first_score[links] != scores)
        found = self._first_made[links].tolist()
        for k, link, score in zip(other.tolist(), links[other].tolist(), scores[other].tolist(), strict=True):
            found[k] = self._others.get((link, score)) or self._make(link, score)
        return tuple(found)

    def _make(self, link: int, score: float) -> LinkScore:
        made = LinkScore(self._shared[link].id, score, float(self._context.bound[link]))
        first = self._first.setdefault(link, made)  # of several threads all write the same
        self._first_made[link] = first
        self._first_score[link] = first.score
        return made if first is made else self._others.setdefault((link, score), made)

    def _total_excess_gbps(self, answer: PlacementAnswer) -> float | None:
        if answer.scores is None:
            return None
        excess = (1.0 - answer.scores) * self._context.flat.capacity_gbps[answer.placement.links]
        return math.fsum(excess.tolist())


def unread(candidate_id: str) -> RankedCandidate:
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
    )


def _worst_link(answer: PlacementAnswer) -> str | None:
    if answer.scores is None or not len(answer.scores):
        return None
    return answer.placement.shared[int(answer.scores.argmin())].id  # of equals the first id


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
