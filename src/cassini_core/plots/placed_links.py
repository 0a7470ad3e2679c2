"""The links of a ranked candidate with all that a picture of one needs: jobs at their pace, capacity, shifts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import refusal, shown
from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS
from ..links.folding import held_repeats
from ..links.one_link import score_bounds
from ..model import Job, Phase, Problem
from ..periods.harmonize_jobs import lengthen
from ..results import RankedCandidate, Ranking
from ..units import SCORE_TOLERANCE, kbps_from_gbps, ticks_from_ms

__all__ = ["PlacedLink", "placed_links"]

_ROUNDING = 1e-13
"""Of a score, relative."""


@dataclass(frozen=True, slots=True)
class PlacedLink:
    """A shared or narrow link of a candidate.

    Attributes
    ----------
    id : str
    capacity_gbps : float
    jobs : tuple of Job
        Those that send on the link, by id, at their pace and with the demand that they have on this link.
    shifts_ms : mapping of str to float
        By id of the job, 0 where the ranking has none.
    free_jobs : tuple of str
        Jobs whose shift does not matter on this link (F1b).
    score : float or None
        At these shifts; None where the candidate was not solved.
    upper_bound : float
        Certified.
    resolution_ms : float
        How precisely shifts are taken to be held on this link.
    """

    id: str
    capacity_gbps: float
    jobs: tuple[Job, ...]
    shifts_ms: Mapping[str, float]
    free_jobs: tuple[str, ...]
    score: float | None
    upper_bound: float
    resolution_ms: float = DEFAULT_RESOLUTION_MS


def placed_links(problem: Problem, ranking: Ranking, candidate: RankedCandidate) -> tuple[PlacedLink, ...]:
    """The shared and narrow links of a candidate, the worst first, equals by id.

    Parameters
    ----------
    problem : Problem
    ranking : Ranking
        Of this problem.
    candidate : RankedCandidate
        Of this ranking.

    Raises
    ------
    InputError
        The problem has no such candidate or link, or a job on a link has no pace.

    Notes
    -----
    O(routes of the candidate + links log links + phases of the jobs on the links).
    """
    routes = next((one.routes for one in problem.candidates if one.id == candidate.id), None)
    if routes is None:
        raise refusal("", "candidate", "a candidate of the problem", shown(candidate.id))
    scores = {one.id: (one.score, one.upper_bound) for one in candidate.links}
    scores |= {one.id: (one.score, one.score) for one in candidate.narrow_links}
    crossing: dict[str, dict[str, float]] = {link: {} for link in scores}
    for job, route in sorted(routes.items()):
        for link in route.keys() & scores.keys():
            crossing[link][job] = route[link]
    capacity = {link.id: link.capacity_gbps for link in problem.links if link.id in scores}
    jobs = {job.id: job for job in problem.jobs}
    known: dict[tuple[str, float], Job] = {}  # most jobs are the same on all of their links
    found = []
    for link, (score, bound) in scores.items():
        if link not in capacity:
            raise refusal("", "link", "a link of the problem", shown(link))
        for job, multiplier in crossing[link].items():
            if (job, multiplier) not in known:
                known[job, multiplier] = _on_link(jobs[job], multiplier, ranking)
        sending = tuple(one for one in (known[key] for key in crossing[link].items()) if one.phases)
        if not sending:
            raise refusal("", "link", f"a link on which jobs of candidate {shown(candidate.id)} send", shown(link))
        shifts = {job.id: candidate.shifts_ms.get(job.id, 0.0) for job in sending}
        resolution_ms = ranking.resolution_ms
        if resolution_ms is None:
            resolution_ms = _unnamed_resolution_ms(sending, capacity[link], shifts, score)
        free = _free(sending, resolution_ms)
        found.append(PlacedLink(link, capacity[link], sending, shifts, free, score, bound, resolution_ms))
    return tuple(sorted(found, key=lambda one: (one.upper_bound if one.score is None else one.score, one.id)))


def _on_link(job: Job, multiplier: float, ranking: Ranking) -> Job:
    """A job as it is on a link: at its pace, its demand multiplied, without phases that ask for nothing there."""
    if job.id not in ranking.paces_ms:
        raise refusal("", "ranking.paces_ms", f"a pace of job {shown(job.id)}", "none")
    paced = lengthen(job, ticks_from_ms(ranking.paces_ms[job.id]))
    phases = (Phase(phase.start_ms, phase.duration_ms, phase.gbps * multiplier) for phase in paced.phases)
    return Job(job.id, paced.iteration_ms, filter(_is_demand, phases))


def _is_demand(phase: Phase) -> bool:
    return kbps_from_gbps(phase.gbps) > 0 and ticks_from_ms(phase.duration_ms) > 0


def _unnamed_resolution_ms(
    jobs: tuple[Job, ...], capacity_gbps: float, shifts_ms: Mapping[str, float], score: float | None
) -> float:
    """The resolution of a ranking that names none: it does not where no bound depends on it, nor where it is 0."""
    if score is None or not _free(jobs, DEFAULT_RESOLUTION_MS):
        return DEFAULT_RESOLUTION_MS
    off, exact_off = (
        abs(score_bounds(jobs, capacity_gbps, shifts_ms, resolution_ms=resolution_ms)[0] - score) / max(1.0, abs(score))
        for resolution_ms in (DEFAULT_RESOLUTION_MS, 0.0)
    )
    # The scores of both may differ by very little: the nearer one counts, and if only rounding parts them, the default.
    return 0.0 if exact_off <= SCORE_TOLERANCE and exact_off < off - _ROUNDING else DEFAULT_RESOLUTION_MS


def _free(jobs: tuple[Job, ...], resolution_ms: float) -> tuple[str, ...]:
    periods = {job.id: ticks_from_ms(job.iteration_ms) for job in jobs}
    held = held_repeats(Counter(periods.values()), ticks_from_ms(resolution_ms))
    return tuple(job for job, period in periods.items() if period not in held)
