"""From a ranking to schedules: paces and shifts of the ranking, and what interleaving is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import cassini_core as cc
from cassini_core.joint.affinity import affinity_graph, components
from cassini_core.periods.harmonize_jobs import lengthen
from cassini_core.units import ticks_from_ms

from ..schedule import MS_NS, Schedule

__all__ = ["Plan", "plan", "with_margins"]

LARGEST_MARGIN = 0.4
"""A schedule's pace is at most 1.5 iteration times; harmonising needs some of that."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the jobs of a placement are told.

    Attributes
    ----------
    schedules : tuple of Schedule
        Of the jobs that are to be held, by id.
    free : tuple of str
        Jobs on shared links that run free: no shift of theirs matters or can be held, or interleaving wins nothing.
    """

    schedules: tuple[Schedule, ...]
    free: tuple[str, ...]


def plan(
    ranking: cc.Ranking,
    problem: cc.Problem,
    *,
    epoch_ns: int,
    version: int,
    lease_ns: int,
    natural: cc.Problem | None = None,
) -> Plan:
    """Schedules for the best placement of a ranking.

    Parameters
    ----------
    ranking : Ranking
        Of ``problem``; its ``best`` is what is planned.
    problem : Problem
        Jobs and links by the same ids.
    epoch_ns : int
        Where the grids begin, on the scheduler's clock (Unix time).
    version : int
        Of all schedules; grows from call to call.
    lease_ns : int
        Schedules expire so long after the epoch.
    natural : Problem, optional
        The problem before :func:`with_margins`: the jobs with their natural iteration times. Default: ``problem``.

    Raises
    ------
    ValueError
        The ranking has no best placement, or is not of this problem; a job's pace is more than 1.5 times its natural
        iteration time.
    """
    best = ranking.best
    if best is None:
        raise ValueError("ranking: expected a best placement, got none: no candidate was solved")
    candidate = next((one for one in problem.candidates if one.id == best.id), None)
    if candidate is None:
        raise ValueError(f"ranking: expected a candidate of the problem, got {best.id!r}")
    natural_ns = {job.id: round(job.iteration_ms * MS_NS) for job in (natural or problem).jobs}
    hold_ns = math.floor((best.hold_ms or 0.0) * MS_NS)
    gains = _gains(problem, candidate, best)
    schedules: list[Schedule] = []
    free = list(best.free_jobs)
    for members in _components(candidate, best):
        if hold_ns == 0 or all(gains[job] == 0 for job in members):
            free += members
            continue
        for job in members:
            pace_ns = round(ranking.paces_ms[job] * MS_NS)
            slack_ns = math.floor(best.slack_ms[job] * MS_NS)
            schedules.append(
                Schedule(
                    job=job,
                    component=members[0],
                    version=version,
                    epoch_ns=epoch_ns,
                    pace_ns=pace_ns,
                    shift_ns=round(best.shifts_ms[job] * MS_NS) % pace_ns,
                    iteration_ns=natural_ns[job],
                    hold_ns=min(hold_ns, pace_ns // 2),
                    slack_ns=min(max(slack_ns, hold_ns), pace_ns // 2),
                    gain_ns=min(gains[job], natural_ns[job]),
                    expires_ns=epoch_ns + lease_ns,
                )
            )
    return Plan(tuple(sorted(schedules, key=lambda one: one.job)), tuple(sorted(free)))


def with_margins(problem: cc.Problem, margins: Mapping[str, float]) -> cc.Problem:
    """The problem with longer iteration times, to be ranked: margins come first, harmonising after.

    A job that is held at exactly its natural iteration time never makes up for what jitter costs it; the margin is what
    it makes up per iteration. Shifts have to be found on the lengthened circles: a burst late in a long iteration moves
    against the grid of a shorter one when paces change.

    Parameters
    ----------
    problem : Problem
        Natural iteration times.
    margins : mapping of str to float
        By what share of its iteration time each job is to be paced slower (``control.margin``), 0 to 0.4; a job that is
        absent needs none.

    Raises
    ------
    ValueError
        A margin out of bounds, or of a job that is not there.
    """
    unknown = margins.keys() - {job.id for job in problem.jobs}
    if unknown:
        raise ValueError(f"margins: expected jobs of the problem, got {min(unknown)!r}")
    for job_id, margin in margins.items():
        if not 0 <= margin <= LARGEST_MARGIN:
            raise ValueError(f"margins[{job_id!r}]: expected 0 to {LARGEST_MARGIN}, got {margin!r}")
    # The wait comes at the end of an iteration: a burst that lasts beyond the end is split there.
    jobs = [lengthen(job, ticks_from_ms(job.iteration_ms * (1 + margins.get(job.id, 0.0)))) for job in problem.jobs]
    return cc.Problem(jobs, problem.links, problem.candidates)


def _components(candidate: cc.Candidate, best: cc.RankedCandidate) -> list[list[str]]:
    """Jobs whose shifts matter and that hang together over shared links, sorted; by their first.

    Free jobs are in none: their paces fit no ratio, and whom they alone connect need not know of each other.
    """
    held = {job: shift for job, shift in best.shifts_ms.items() if job not in best.free_jobs}
    on_link = {
        link.id: {job: 0 for job, route in candidate.routes.items() if link.id in route and job in held}
        for link in best.links
    }
    return sorted(sorted(one.jobs) for one in components(affinity_graph(on_link, held)))


def _gains(problem: cc.Problem, candidate: cc.Candidate, best: cc.RankedCandidate) -> dict[str, int]:
    """What each job saves per iteration on its worst link, ns, against random phases.

    Demand above capacity has to be sent later. Per iteration that is its mean over time, as a share of the capacity,
    times the iteration time: 1 - score of the time. At random phases the expected score counts, which the kernel gives
    where it treats all jobs as free (F1b).
    """
    jobs = {job.id: job for job in problem.jobs}
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    gains = dict.fromkeys(best.shifts_ms, 0)
    for link in best.links:
        members = [job for job, route in candidate.routes.items() if link.id in route]
        multipliers = {job: candidate.routes[job][link.id] for job in members}
        at_random = _random_score([jobs[job] for job in members], capacity[link.id], multipliers)
        if link.score is None or at_random is None:
            continue
        for job in members:
            if job in gains:
                iteration_ns = round(jobs[job].iteration_ms * MS_NS)
                saved = min(1.0, max(0.0, link.score - at_random))
                gains[job] = max(gains[job], min(iteration_ns, round(saved * iteration_ns)))
    return gains


def _random_score(jobs: list[cc.Job], capacity_gbps: float, multipliers: Mapping[str, float]) -> float | None:
    """Expected score of a link whose jobs run at independent random phases; None beyond the limits of folding."""
    longest_ms = max(job.iteration_ms for job in jobs)
    solution = cc.solve_link(jobs, capacity_gbps, resolution_ms=longest_ms, multipliers=multipliers)
    return solution.score if solution.score_is_exact else None
