"""What a ranking promises, checked where it is measured: no figure is written of an answer that is wrong."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Set

import cassini_core as cc
from cassini_core.problem_file import ranking_to_json

TOLERANCE = 1e-9
"""Scores are exact to this."""


class WrongAnswerError(RuntimeError):
    """A ranking broke a promise: which, where, and by how much."""


def digest(ranking: cc.Ranking) -> str:
    """SHA-256 of the ranking as JSON."""
    return hashlib.sha256(ranking_to_json(ranking)).hexdigest()


def check(problem: cc.Problem, ranking: cc.Ranking, aggregate: str = "per_job") -> None:
    """Check the answer to ``problem``, ranked by ``"per_job"``, the default, or ``"mean"``.

    No score is above its bound, a candidate's score is what the aggregate makes of its links', the best comes first and
    is better than all other bounds where that is said, and the links of the best score what is said at its shifts and
    paces.

    Raises
    ------
    WrongAnswerError
        Something of this is not so.

    Notes
    -----
    O(candidates x links); the links of the best are scored again, one by one.
    """
    if sorted(one.id for one in ranking.candidates) != sorted(one.id for one in problem.candidates):
        raise WrongAnswerError("the candidates ranked are not those that were given")
    routes = {one.id: one.routes for one in problem.candidates}
    sending = {job.id for job in problem.jobs if any(phase.duration_ms and phase.gbps for phase in job.phases)}
    for one in ranking.candidates:
        _check_candidate(one, routes[one.id], sending, aggregate)
    solved = [one for one in ranking.candidates if one.score is not None]
    best = ranking.best
    if (best is None) != (not solved):
        raise WrongAnswerError(f"{len(solved)} candidates have a score, but the best is {best and best.id}")
    if best is None or best.score is None:
        return
    if best != ranking.candidates[0]:
        raise WrongAnswerError(f"{best.id} is the best, but {ranking.candidates[0].id} comes first")
    for one in solved:
        if one.score is not None:
            _at_most("score beside that of the best", one.id, one.score, best.score)
    if ranking.best_proven:
        for one in ranking.candidates[1:]:
            _at_most("bound beside a best that is proven", one.id, one.upper_bound, best.score)
    _check_links(problem, ranking, best)


def at_pace(job: cc.Job, pace_ms: float) -> cc.Job:
    """The job with a longer iteration time, the added time Down at the end; what wraps does so where it did."""
    phases = []
    for phase in job.phases:
        over = max(0.0, phase.start_ms + phase.duration_ms - job.iteration_ms)
        phases += [cc.Phase(phase.start_ms, phase.duration_ms - over, phase.gbps), cc.Phase(0.0, over, phase.gbps)]
    return cc.Job(job.id, pace_ms, phases)


def _check_candidate(
    one: cc.RankedCandidate, routes: Mapping[str, Mapping[str, float]], sending: Set[str], aggregate: str
) -> None:
    if one.score is None:
        return
    _at_most("score", one.id, one.score, one.upper_bound)
    _at_most("score", one.id, one.score, 1.0)
    scores = {link.id: link.score for link in one.links if link.score is not None}
    if len(scores) < len(one.links):
        raise WrongAnswerError(f"{one.id}: has a score, but not all of its links have")
    for link in one.links:
        _at_most(f"score of link {link.id}", one.id, scores[link.id], link.upper_bound)
    narrow = {link.id: link.score for link in one.narrow_links}
    if aggregate == "per_job":
        scores |= narrow
        values = [
            min([1.0, *(scores[link] for link in route if link in scores)]) if job in sending else 1.0
            for job, route in routes.items()
        ]
        mean = _mean(values)
    else:  # narrow links count where that lowers the mean
        lowest = sorted(narrow.values())
        mean = min(_mean([*scores.values(), *lowest[:count]]) for count in range(len(lowest) + 1))
    if abs(mean - one.score) > TOLERANCE:
        raise WrongAnswerError(f"{one.id}: scores {one.score!r}, {aggregate} of its links is {mean!r}")


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else 1.0


def _at_most(what: str, candidate: str, value: float, most: float) -> None:
    if value > most + TOLERANCE:
        raise WrongAnswerError(f"{candidate}: {what} is {value!r}, expected at most {most!r}")


def _check_links(problem: cc.Problem, ranking: cc.Ranking, best: cc.RankedCandidate) -> None:
    """Score the links of the best candidate again, each by itself, with the public function for one link."""
    jobs = {job.id: at_pace(job, ranking.paces_ms[job.id]) for job in problem.jobs}
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    routes = next(one.routes for one in problem.candidates if one.id == best.id)
    carried: dict[str, dict[str, float]] = {}
    for job, route in routes.items():
        for link, multiplier in route.items():
            carried.setdefault(link, {})[job] = multiplier
    for link in (*best.links, *best.narrow_links):
        on_link = [jobs[job] for job in sorted(carried[link.id])]
        shifts_ms = {job.id: best.shifts_ms[job.id] for job in on_link if job.id in best.shifts_ms}
        low, high = cc.score_bounds(on_link, capacity[link.id], shifts_ms, multipliers=carried[link.id])
        if link.score is None or not low - TOLERANCE <= link.score <= high + TOLERANCE:
            raise WrongAnswerError(
                f"{best.id}: link {link.id} is said to score {link.score!r}, its shifts {low!r} to {high!r}"
            )
