"""From the answer of a placement to a candidate of the ranking, and what candidates are sorted by."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..joint.placement_solution import TOLERANCE, PlacementAnswer, Round
from ..links.incidence import Crossings
from ..links.shared_links import Placement
from ..results import RankedCandidate
from ..units import TICKS_PER_MS, ms_from_ticks
from .aggregate import Aggregate, mean

__all__ = ["Entry", "bucket", "entry_of", "unread", "unread_entry"]


def bucket(score: float) -> int:
    """Scores compare in buckets, so that a rounding error decides nothing."""
    return round(score / TOLERANCE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate and the answer that it was made from; ``place`` is its number in the problem."""

    candidate: RankedCandidate
    answer: PlacementAnswer
    place: int

    @property
    def score(self) -> int | None:
        """What it compares by; None without a score."""
        return None if self.candidate.score is None else bucket(self.candidate.score)

    def key(self) -> tuple[bool, int, float, int, int]:
        """Best first: score, slack, few shared links, order in the problem; by bound after all that have a score."""
        if self.score is None:
            return (True, -bucket(self.candidate.upper_bound), 0.0, 0, self.place)
        return (False, -self.score, -self.answer.least_slack, len(self.candidate.links), self.place)


def entry_of(place: int, answer: PlacementAnswer, context: Round, aggregate: Aggregate) -> Entry:
    """The answer as the ranking shows it; O(shared links)."""

    @functools.cache  # asked for by bounds and by scores
    def crossings() -> Crossings:
        return context.flat.crossings(answer.placement.links, len(answer.placement.placed))

    bound = aggregate(answer.bounds, crossings)
    if aggregate is mean and answer.mean_bound is not None:
        bound = min(bound, answer.mean_bound)
    score = None if answer.scores is None else aggregate(answer.scores, crossings)
    candidate = RankedCandidate(
        id=answer.placement.id,
        score=score,
        upper_bound=bound,
        optimal=score is not None and score >= bound - TOLERANCE,
        status=answer.status,
        shifts_ms=_ms(answer.shift),
        slack_ms=_ms(answer.slack),
        hold_ms=None if answer.hold is None else ms_from_ticks(answer.hold),
        free_jobs=answer.free_jobs,
        worst_link=_worst_link(answer),
        total_excess_gbps=_total_excess_gbps(answer, context),
        links=context.link_scores(answer.placement.links, answer.scores, answer.other),
        warnings=answer.warnings,
    )
    return Entry(candidate, answer, place)


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


def unread_entry(place: int, placement: Placement) -> Entry:
    """The same as an entry; O(1)."""
    return Entry(unread(placement.id), PlacementAnswer(placement, "bound_only", np.zeros(0)), place)


def _ms(ticks: Mapping[str, int]) -> dict[str, float]:
    values = np.fromiter(ticks.values(), np.int64, len(ticks)) / TICKS_PER_MS
    return dict(zip(ticks, values.tolist(), strict=True))


def _worst_link(answer: PlacementAnswer) -> str | None:
    if answer.scores is None or not len(answer.scores):
        return None
    return answer.placement.shared[int(answer.scores.argmin())].id  # of equals the first id


def _total_excess_gbps(answer: PlacementAnswer, context: Round) -> float | None:
    if answer.scores is None:
        return None
    excess = (1.0 - answer.scores) * context.flat.capacity_gbps[answer.placement.links]
    return math.fsum(excess.tolist())
