"""Whether jobs are others than they were when they were arranged, by the iterations since."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..schedule import MS_NS, Schedule
from .jobs import Seen
from .profile import LEAST_APART, Profile

__all__ = ["as_scheduled", "changes"]

CHANGED = 0.04
"""Share of its iteration time by which a job is another one, if nobody has said so."""

TOLD_CHANGED = 0.015
"""The same where the job has reported a change, or where all are held and could be held at a shorter pace."""

ERRORS = 5.0
"""So many standard errors a change must be in any case."""

UNDER_WAY, NEWEST = 4, 24
"""Iterations after an arrangement that may still be on what was before; and those by which jobs are judged then."""

LATER = 1.004
"""A job that usually takes so many times its pace cannot keep it."""


def changes(jobs: Iterable[Seen], held: Collection[str], told: Collection[str]) -> tuple[str, dict[str, Profile]]:
    """What has changed, as a text, and new profiles of all; an empty text if nothing has, or too little is known.

    Parameters
    ----------
    jobs : iterable of Seen
        Of one group.
    held : collection of str
        Those that are to be held; where they all have long been, whole iterations count.
    told : collection of str
        Jobs that have said that they changed.
    """
    members = sorted(jobs, key=lambda job: job.name)
    calm = min((job.calm for job in members if job.name in held), default=0) - UNDER_WAY
    if calm < LEAST_APART and min(job.since_planned for job in members) - UNDER_WAY < NEWEST:
        return "", {}
    # Beside a job that follows no grid others are late, whatever they are told.
    are_locked = all(job.status.state != "unlocked" for job in members)
    known, said = {}, []
    for job in members:
        is_apart = calm >= LEAST_APART and job.name in held
        fresh = job.history.apart(min(calm, NEWEST)) if is_apart else job.parting(NEWEST)
        if isinstance(fresh, str):
            return "", {}
        if is_apart and job.status.world_size > 1 and job.schedule is not None:
            fresh = fresh.of_several_ranks(job.schedule.pace_ns)
        known[job.name] = fresh
        if is_apart:
            said.append(_is_another(job, fresh, job.name in told))
        elif are_locked and job.planned is not None and _is_late(fresh.usual_ns, job.schedule):
            said.append(f"{job.name} cannot keep its pace")
        else:
            said.append(_has_another_rest(job, fresh, job.name in told))
    return ", ".join(filter(None, said)), known


def as_scheduled(jobs: Iterable[Seen]) -> dict[str, Profile | None] | None:
    """Profiles of jobs that follow the schedules of one component and are what these were made for; else None.

    Who is not known yet counts as what its schedule was made for. A schedule of no known gain may be one that parts
    jobs: then they are not known apart.
    """
    found: dict[str, Profile | None] = {}
    those = set()
    for job in jobs:
        schedule = job.schedule
        if schedule is None:
            return None
        those.add((schedule.component, schedule.version))
        profile = job.history.apart() if job.status.state == "held" and schedule.gain_ns > 0 else job.parting()
        found[job.name] = None
        if isinstance(profile, Profile):
            found[job.name] = profile
            off_ns = abs(profile.iteration_ns - schedule.iteration_ns)
            if off_ns > max(CHANGED * schedule.iteration_ns, ERRORS * profile.error_ns):
                return None
    return found if len(those) == 1 else None


def _is_another(job: Seen, fresh: Profile, is_told: bool) -> str:
    """What a job has become that is where nobody is in its way; empty if it is what it was."""
    if job.planned is None:
        return f"{job.name} is known now"
    if job.planned.is_for_parting:
        return f"{job.name} is apart: {fresh.iteration_ns / MS_NS:.1f} ms"
    is_shorter = fresh.iteration_ns < job.planned.iteration_ns
    least = TOLD_CHANGED if is_told or is_shorter or _is_late(fresh.iteration_ns, job.schedule) else CHANGED
    # Others make iterations longer and none shorter: one that is shorter now is so, however uncertain it was before.
    is_certain = fresh.iteration_ns < (1 - least) * job.planned.iteration_ns
    error_ns = fresh.error_ns + (0 if is_certain else job.planned.error_ns)
    chance = ERRORS * error_ns / job.planned.iteration_ns
    return _said(job.name, job.planned, fresh) if fresh.differs_from(job.planned) > max(least, chance) else ""


def _has_another_rest(job: Seen, fresh: Profile, is_told: bool) -> str:
    """The same of a job that others may be in the way of: by what they do not stretch."""
    if job.planned is None:
        return f"{job.name} is known now"
    least = (TOLD_CHANGED if is_told else CHANGED) * job.planned.iteration_ns
    least = max(least, ERRORS * (fresh.error_ns + job.planned.error_ns))
    return _said(job.name, job.planned, fresh) if abs(fresh.rest_ns - job.planned.rest_ns) > least else ""


def _is_late(iteration_ns: float, schedule: Schedule | None) -> bool:
    return schedule is not None and iteration_ns > LATER * schedule.pace_ns


def _said(name: str, planned: Profile, fresh: Profile) -> str:
    return f"{name} {planned.iteration_ns / MS_NS:.1f} to {fresh.iteration_ns / MS_NS:.1f} ms"
