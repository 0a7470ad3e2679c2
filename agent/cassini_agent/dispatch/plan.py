"""From a ranking to schedules: paces and shifts of the ranking, the hold of each component, what interleaving wins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from hashlib import blake2s

import cassini_core as cc
from cassini_core.joint.affinity import Component, affinity_graph, components
from cassini_core.kernel.prepared_link import DEFAULT_RESOLUTION_MS, PreparedLink
from cassini_core.periods.harmonize_jobs import lengthen
from cassini_core.units import ticks_from_ms

from ..control.phase import turns
from ..schedule import MS_NS, Schedule

__all__ = ["ALONE", "Plan", "holds_ns", "plan"]

ALONE = "it meets no other job on a link"

_NAME_CHARACTERS = 200
"""Of the first job's id in the name of a component: an id has at most 256."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the jobs of a placement are told.

    Attributes
    ----------
    schedules : tuple of Schedule
        Of the jobs that are to be held, by id. The name of a component says what is planned for it: it is the first
        job's id and a fingerprint of the members, their paces, relative shifts, hold, slack and gain.
    free : mapping of str to str
        The other jobs of the placement, which run free, by id, and why.
    """

    schedules: tuple[Schedule, ...]
    free: Mapping[str, str] = field(hash=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each reason for which jobs that share links are not held."""
        by_reason: dict[str, list[str]] = {}
        for job, reason in self.free.items():
            if reason != ALONE:
                by_reason.setdefault(reason, []).append(repr(job))
        return tuple(f"not held: {', '.join(jobs)}: {reason}" for reason, jobs in by_reason.items())


def plan(
    ranking: cc.Ranking,
    problem: cc.Problem,
    *,
    epoch_ns: int,
    version: int,
    lease_ns: int,
    natural: cc.Problem | None = None,
    since_ns: int | None = None,
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
    since_ns : int, optional
        The instant that the shifts of the ranking count from, where it was told at which shifts jobs run
        (``dispatch.Running``). Default: ``epoch_ns``.

    Raises
    ------
    ValueError
        The ranking has no best placement, or is not of this problem.
    """
    best = ranking.best
    if best is None:
        raise ValueError("ranking: expected a best placement, got none: no candidate was solved")
    candidate = next((one for one in problem.candidates if one.id == best.id), None)
    if candidate is None:
        raise ValueError(f"ranking: expected a candidate of the problem, got {best.id!r}")
    natural_ns = {job.id: round(job.iteration_ms * MS_NS) for job in (natural or problem).jobs}
    found = _components(candidate, best)
    holds = _holds(ranking, problem, candidate, best, found)
    gains = _gains(problem, candidate, best)
    later_ns = 0 if since_ns is None else since_ns - epoch_ns
    schedules: list[Schedule] = []
    free = dict.fromkeys(candidate.routes, ALONE)
    for job in best.free_jobs:
        free[job] = f"its pace of {ranking.paces_ms[job]:.6g} ms keeps no ratio with the paces of the jobs it meets"
    for component, hold_ns in zip(found, holds, strict=True):
        paces = [round(ranking.paces_ms[job] * MS_NS) for job in component.jobs]
        naturals = [natural_ns[job] for job in component.jobs]
        if why := _why_not(hold_ns, paces, naturals, max(gains[job] for job in component.jobs)):
            free |= dict.fromkeys(component.jobs, why)
            continue
        members = []
        for job, pace_ns in zip(component.jobs, paces, strict=True):
            free.pop(job)
            slack_ns = ticks_from_ms(best.slack_ms[job])
            members.append(
                Schedule(
                    job=job,
                    component=job,
                    version=version,
                    epoch_ns=epoch_ns,
                    pace_ns=pace_ns,
                    shift_ns=(round(best.shifts_ms[job] * MS_NS) + later_ns) % pace_ns,
                    iteration_ns=natural_ns[job],
                    hold_ns=min(hold_ns, pace_ns // 2),
                    slack_ns=min(max(slack_ns, hold_ns), pace_ns // 2),
                    gain_ns=min(gains[job], natural_ns[job]),
                    expires_ns=epoch_ns + lease_ns,
                )
            )
        schedules += _named(members)
    return Plan(tuple(sorted(schedules, key=lambda one: one.job)), dict(sorted(free.items())))


def holds_ns(ranking: cc.Ranking, problem: cc.Problem) -> dict[str, int]:
    """The hold of its component, by job, ns; without jobs that run free, and empty where no placement is the best.

    Parameters
    ----------
    ranking, problem
        As for :func:`plan`.
    """
    best = ranking.best
    if best is None:
        return {}
    candidate = next(one for one in problem.candidates if one.id == best.id)
    found = _components(candidate, best)
    holds = _holds(ranking, problem, candidate, best, found)
    return {job: hold for component, hold in zip(found, holds, strict=True) for job in component.jobs}


def _named(members: list[Schedule]) -> list[Schedule]:
    """Members by id, with the name of their component: equal names mean equal plans, whoever made them and when."""
    said = [astuple(replace(one, component="-", version=1, epoch_ns=0, expires_ns=0, shift_ns=0)) for one in members]
    # Of shifts only this counts (F1), wherever the grid of the component begins.
    apart = [
        (one.shift_ns - other.shift_ns) % math.gcd(one.pace_ns, other.pace_ns)
        for one, other in itertools.combinations(members, 2)
    ]
    fingerprint = blake2s(repr((said, apart)).encode(), digest_size=6).hexdigest()
    return [replace(one, component=f"{members[0].job[:_NAME_CHARACTERS]}#{fingerprint}") for one in members]


def _components(candidate: cc.Candidate, best: cc.RankedCandidate) -> list[Component]:
    """Jobs whose shifts matter and that hang together over shared links, and these links; by the first job.

    Free jobs are in none: their paces fit no ratio, and whom they alone connect need not know of each other.
    """
    held = {job: shift for job, shift in best.shifts_ms.items() if job not in best.free_jobs}
    on_link = {
        link.id: {job: 0 for job, route in candidate.routes.items() if link.id in route and job in held}
        for link in best.links
    }
    return [one for one in components(affinity_graph(on_link, held)) if one.jobs]


def _holds(
    ranking: cc.Ranking,
    problem: cc.Problem,
    candidate: cc.Candidate,
    best: cc.RankedCandidate,
    found: list[Component],
) -> list[int]:
    """The hold of each component, ns: the least over its own links, each at the shifts of the ranking.

    The ranking gives the least over all components, which would narrow each to the tightest of them all.
    """
    least_ns = ticks_from_ms(best.hold_ms or 0.0)
    if len(found) < 2:
        return [least_ns] * len(found)
    paced = {job.id: lengthen(job, ticks_from_ms(ranking.paces_ms[job.id])) for job in problem.jobs}
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    resolution_ms = DEFAULT_RESOLUTION_MS if ranking.resolution_ms is None else ranking.resolution_ms
    on_links: dict[str, int] = {}
    for link in (link.id for link in best.links):
        members = [job for job, route in candidate.routes.items() if link in route]
        prepared = PreparedLink.from_jobs(
            [paced[job] for job in members], capacity[link], {job: candidate.routes[job][link] for job in members}
        )
        shifts = [ticks_from_ms(best.shifts_ms[job]) for job in members]
        # From the first, as the ranking evaluates them.
        relative = [(shift - shifts[0]) % period for shift, period in zip(shifts, prepared.period, strict=True)]
        seen = prepared.evaluate(relative, resolution_ms=resolution_ms, slack_tolerance=ranking.slack_tolerance)
        on_links[link] = seen.hold
    if abs(min(on_links.values()) - least_ns) > 1:
        # Ranked with options that are not known here, so that other jobs may be free: what it said holds anyway.
        return [least_ns] * len(found)
    return [min((on_links[link] for link in one.links), default=0) for one in found]


def _why_not(hold_ns: int, paces_ns: Sequence[int], naturals_ns: Sequence[int], gain_ns: int) -> str | None:
    if gain_ns == 0:
        return "interleaving wins nothing: at random phases its links score as much"
    if hold_ns == 0:
        return "nothing can be held: the best shifts leave its jobs no room to move"
    if 4 * hold_ns >= max(turns(paces_ns)):  # one job late, the others early: twice the hold apart, to either side
        return "interleaving wins next to nothing: whatever the phases, its links score nearly the same"
    if any(2 * pace > 3 * natural for pace, natural in zip(paces_ns, naturals_ns, strict=True)):
        return "a job of its component would be slowed by more than half"
    return None


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
