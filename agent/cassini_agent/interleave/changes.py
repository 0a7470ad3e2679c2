"""Whether jobs are others than they were when they were arranged, by the iterations since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..schedule import MS_NS, Schedule
from .jobs import Seen
from .profile import LEAST_APART, WINDOW, Profile

__all__ = ["as_scheduled", "changes"]

CHANGED = 0.04
"""Share of its iteration time by which a job is another one, if nobody has said so."""

TOLD_CHANGED = 0.015
"""The same where the job has reported a change, or where all are held and could be held at a shorter pace."""

ERRORS = 5.0
"""So many standard errors a change must be in any case."""

UNDER_WAY = 4
"""Iterations after an arrangement that may still be on what was before."""

LATER = 1.004
"""A job that usually takes so many times its pace cannot keep it."""


def changes(members: Sequence[Seen]) -> tuple[str, dict[str, Profile]]:
    """What has changed, as a text, and new profiles of all; an empty text if nothing has, or too little is known.

    Parameters
    ----------
    members : sequence of Seen
        Of one group. Where all that are to be held have long been, whole iterations of these count.
    """
    calm = min((job.calm for job in members if job.component is not None), default=0) - UNDER_WAY
    if calm < LEAST_APART and min(job.since_planned for job in members) - UNDER_WAY < WINDOW:
        return "", {}
    # Beside a job that follows no grid others are late, whatever they are told.
    are_locked = all(job.status.state != "unlocked" for job in members)
    known, said = {}, []
    for job in members:
        is_apart = calm >= LEAST_APART and job.component is not None
        fresh = job.apart(min(calm, WINDOW)) if is_apart else job.parting()
        if isinstance(fresh, str):
            return "", {}
        known[job.name] = fresh
        if not is_apart and are_locked and job.planned is not None and _is_late(fresh.usual_ns, job.schedule):
            said.append(f"{job.name} cannot keep its pace")
        else:
            said.append(_what_it_became(job, fresh))
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
        profile = job.apart() if job.status.state == "held" and schedule.gain_ns > 0 else job.parting()
        found[job.name] = None
        if isinstance(profile, Profile):
            found[job.name] = profile
            off_ns = abs(profile.iteration_ns - schedule.iteration_ns)
            if off_ns > max(CHANGED * schedule.iteration_ns, ERRORS * profile.error_ns):
                return None
    return found if len(those) == 1 else None


def _what_it_became(job: Seen, fresh: Profile) -> str:
    """What is new of a job; empty if it is what it was."""
    planned, is_ns = job.planned, fresh.iteration_ns
    if planned is None:
        return f"{job.name} is known now"
    if planned.is_for_parting and not fresh.is_for_parting:
        return f"{job.name} is apart: {is_ns / MS_NS:.1f} ms"
    was_ns = planned.iteration_ns
    fits_badly = not fresh.is_for_parting and (is_ns < was_ns or _is_late(is_ns, job.schedule))
    least_ns = (TOLD_CHANGED if job.says_changed or fits_badly else CHANGED) * was_ns
    # Others make iterations longer and none shorter: one that is shorter now is so, however uncertain it was before.
    is_certain = not fresh.is_for_parting and is_ns < was_ns - least_ns
    chance_ns = ERRORS * (fresh.error_ns + (0 if is_certain else planned.error_ns))
    is_another = fresh.differs_ns(planned) > max(least_ns, chance_ns)
    return f"{job.name} {was_ns / MS_NS:.1f} to {is_ns / MS_NS:.1f} ms" if is_another else ""


def _is_late(iteration_ns: float, schedule: Schedule | None) -> bool:
    return schedule is not None and iteration_ns > LATER * schedule.pace_ns
