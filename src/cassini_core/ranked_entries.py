"""From the answer of a placement to a candidate of the ranking, and what candidates are sorted by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .aggregate import Aggregate, Crossings, mean
from .answers import RankedCandidate
from .shifts import TOLERANCE, PlacementAnswer, Round
from .units import ms_from_ticks

__all__ = ["Entry", "bucket", "entry_of"]


def bucket(score: float) -> int:
    """Scores compare in buckets, so that a rounding error decides nothing."""
    return round(score / TOLERANCE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate and the answer that it was made from; ``place`` is its number in the problem."""

    candidate: RankedCandidate
    answer: PlacementAnswer
    place: int
    least_slack: float

    @property
    def score(self) -> int | None:
        """What it compares by; None without a score."""
        return None if self.candidate.score is None else bucket(self.candidate.score)

    def key(self) -> tuple[bool, int, float, int, int]:
        """Best first: score, slack, few shared links, order in the problem; by bound after all that have a score."""
        if self.score is None:
            return (True, -bucket(self.candidate.upper_bound), 0.0, 0, self.place)
        return (False, -self.score, -self.least_slack, len(self.candidate.links), self.place)


def entry_of(place: int, answer: PlacementAnswer, context: Round, aggregate: Aggregate) -> Entry:
    """The answer as the ranking shows it; O(shared links)."""

    def crossings() -> Crossings:
        return context.flat.crossings(answer.placement)

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
        shifts_ms={job: ms_from_ticks(ticks) for job, ticks in answer.shift.items()},
        slack_ms={job: ms_from_ticks(ticks) for job, ticks in answer.slack.items()},
        hold_ms=None if answer.hold is None else ms_from_ticks(answer.hold),
        free_jobs=answer.free_jobs,
        worst_link=_worst_link(answer),
        total_excess_gbps=_total_excess_gbps(answer),
        links=context.link_scores(answer.placement.links, answer.scores),
        warnings=answer.warnings,
    )
    # A candidate in which nothing is shared has all the slack there is.
    least_slack = min((ticks / context.period[job] for job, ticks in answer.slack.items()), default=math.inf)
    return Entry(candidate, answer, place, least_slack)


def _worst_link(answer: PlacementAnswer) -> str | None:
    if answer.scores is None or not len(answer.scores):
        return None
    return answer.placement.shared[int(answer.scores.argmin())].id  # of equals the first id


def _total_excess_gbps(answer: PlacementAnswer) -> float | None:
    if answer.scores is None:
        return None
    links = zip(answer.scores.tolist(), answer.placement.shared, strict=True)
    return math.fsum([(1.0 - score) * link.capacity_gbps for score, link in links])
