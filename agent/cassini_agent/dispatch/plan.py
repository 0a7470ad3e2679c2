"""From a ranking to schedules: paces and shifts of the ranking, the hold of each component, what interleaving wins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from hashlib import blake2s

import cassini_core as cc
from cassini_core.ranking.holding import HeldComponent, held_components
from cassini_core.units import ticks_from_ms

from ..job_secret import JobSecret
from ..schedule import MS_NS, Schedule

__all__ = ["ALONE", "Plan", "plan"]

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
        job's id and a fingerprint of the members, their paces, relative shifts, hold, slack and gain. Their version is
        1, and they expire at their epoch: both are given when they are sent.
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

    def with_secrets(self, secrets: Mapping[str, JobSecret]) -> Plan:
        """The same plan for jobs that have these secrets; names of components say nothing of them."""
        hashes = {job: secret.sha256 for job, secret in secrets.items()}
        schedules = [replace(one, secret_sha256=hashes.get(one.job, one.secret_sha256)) for one in self.schedules]
        return replace(self, schedules=tuple(schedules))


def plan(
    ranking: cc.Ranking,
    problem: cc.Problem,
    *,
    epoch_ns: int,
    uncontrolled: cc.Problem | None = None,
    since_ns: int | None = None,
    held: Sequence[HeldComponent] | None = None,
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
    uncontrolled : Problem, optional
        The problem before :func:`with_headroom`: the jobs with their uncontrolled iteration times. Default:
        ``problem``.
    since_ns : int, optional
        The instant that the shifts of the ranking count from, where it was told at which shifts jobs run
        (``dispatch.Running``). Default: ``epoch_ns``.
    held : sequence of HeldComponent, optional
        :func:`cassini_core.ranking.holding.held_components` of the ranking, where they are known already.

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
    natural_ns = {job.id: round(job.iteration_ms * MS_NS) for job in (uncontrolled or problem).jobs}
    later_ns = 0 if since_ns is None else since_ns - epoch_ns
    schedules: list[Schedule] = []
    free = dict.fromkeys(candidate.routes, ALONE)
    for job in best.free_jobs:
        free[job] = f"its pace of {ranking.paces_ms[job]:.6g} ms keeps no ratio with the paces of the jobs it meets"
    for component in held_components(ranking, problem, uncontrolled) if held is None else held:
        if component.why_not is not None:
            free |= dict.fromkeys(component.jobs, component.why_not)
            continue
        hold_ns, members = ticks_from_ms(component.hold_ms), []
        for job in component.jobs:
            free.pop(job)
            pace_ns = round(ranking.paces_ms[job] * MS_NS)
            slack_ns = ticks_from_ms(best.slack_ms[job])
            members.append(
                Schedule(
                    job=job,
                    component=job,
                    version=1,
                    epoch_ns=epoch_ns,
                    pace_ns=pace_ns,
                    shift_ns=(round(best.shifts_ms[job] * MS_NS) + later_ns) % pace_ns,
                    iteration_ns=natural_ns[job],
                    hold_ns=min(hold_ns, pace_ns // 2),
                    slack_ns=min(max(slack_ns, hold_ns), pace_ns // 2),
                    gain_ns=min(ticks_from_ms(component.gain_ms[job]), natural_ns[job]),
                    expires_ns=epoch_ns,
                )
            )
        schedules += _named(members)
    return Plan(tuple(sorted(schedules, key=lambda one: one.job)), dict(sorted(free.items())))


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
