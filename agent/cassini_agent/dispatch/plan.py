"""From a ranking to schedules: paces in one exact ratio per component, shifts on them, what interleaving is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import cassini_core as cc
import networkx as nx

from ..schedule import MS_NS, Schedule

__all__ = ["Plan", "plan", "stretched"]


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
    margins: Mapping[str, float] | None = None,
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
    margins : mapping of str to float, optional
        By what share of its iteration time each job must be paced slower so that its jitter does not carry it out of the
        hold (``control.margin``); a job that is absent needs none. All jobs of a component get the largest margin.

    Raises
    ------
    ValueError
        The ranking has no best placement, or is not of this problem, or a margin is not from 0 to 0.4.
    """
    best = ranking.best
    if best is None:
        raise ValueError("ranking: expected a best placement, got none: no candidate was solved")
    candidate = next((one for one in problem.candidates if one.id == best.id), None)
    if candidate is None:
        raise ValueError(f"ranking: expected a candidate of the problem, got {best.id!r}")
    for job, margin in (margins or {}).items():
        if not 0 <= margin <= 0.4:
            raise ValueError(f"margins[{job!r}]: expected 0 to 0.4, got {margin!r}")
    jobs = {job.id: job for job in problem.jobs}
    hold_ns = math.floor((best.hold_ms or 0.0) * MS_NS)
    gains = _gains(problem, candidate, best)
    schedules: list[Schedule] = []
    free = list(best.free_jobs)
    for members in _components(candidate, best):
        ratio = max((margins or {}).get(job, 0.0) for job in members)
        natural = {job: round(ranking.paces_ms[job] * MS_NS) for job in members}
        base = math.gcd(*natural.values())
        if hold_ns == 0 or all(gains[job] == 0 for job in members):
            free += members
            continue
        for job in members:
            shift_ns = round(best.shifts_ms[job] * MS_NS) % natural[job]
            pace_ns, shift_ns = stretched(natural[job], shift_ns, base, ratio)
            slack_ns = math.floor(best.slack_ms[job] * MS_NS)
            schedules.append(
                Schedule(
                    job=job,
                    component=members[0],
                    version=version,
                    epoch_ns=epoch_ns,
                    pace_ns=pace_ns,
                    shift_ns=shift_ns,
                    iteration_ns=round(jobs[job].iteration_ms * MS_NS),
                    hold_ns=min(hold_ns, pace_ns // 2),
                    slack_ns=min(max(slack_ns, hold_ns), pace_ns // 2),
                    gain_ns=gains[job],
                    expires_ns=epoch_ns + lease_ns,
                )
            )
    return Plan(tuple(sorted(schedules, key=lambda one: one.job)), tuple(sorted(free)))


def stretched(pace_ns: int, shift_ns: int, base_ns: int, ratio: float) -> tuple[int, int]:
    """Pace and shift where every ``base_ns`` of the grid becomes longer by the share ``ratio``.

    ``base_ns`` divides the paces of all jobs of a component, so their ratios stay what they were. The added time comes
    at the end of each base: a shift keeps its place within its base, and so do the jobs to each other.
    """
    longer_ns = base_ns + math.ceil(base_ns * ratio)
    bases, within_ns = divmod(shift_ns, base_ns)
    return pace_ns // base_ns * longer_ns, bases * longer_ns + within_ns


def _components(candidate: cc.Candidate, best: cc.RankedCandidate) -> list[list[str]]:
    """Jobs with shifts that hang together over shared links, sorted; by their first."""
    graph = nx.Graph()
    graph.add_nodes_from(("job", job) for job in best.shifts_ms)
    shared = {link.id for link in best.links}
    for job, route in candidate.routes.items():
        if job in best.shifts_ms:
            graph.add_edges_from((("job", job), ("link", link)) for link in route if link in shared)
    found = (sorted(name for kind, name in nodes if kind == "job") for nodes in nx.connected_components(graph))
    return sorted(members for members in found if members)


def _gains(problem: cc.Problem, candidate: cc.Candidate, best: cc.RankedCandidate) -> dict[str, int]:
    """What each job saves per iteration on its worst link, ns, against random phases.

    Demand above capacity has to be sent later. Per iteration that is its mean over time, as a share of the capacity, times
    the iteration time: 1 - score of the time. At random phases the expected score counts, which the kernel gives where
    it treats all jobs as free (F1b).
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
