"""Daemons that have other commands than the coordinator knows: of its predecessor, of another one, of the scheduler."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..control.phase import turns
from ..schedule import MAX_VERSION, Schedule
from .member import Member
from .paces import ratio_of, shift_at
from .status import JobStatus

__all__ = ["Newer", "in_pattern_of", "newer_commands", "next_version"]

STEPS = 256
"""Versions grow by 1 to so many, drawn at random, so that two coordinators that decide at once rarely make the same.
Decisions are half a second apart or more, and a scheduler's versions are microseconds: these stay ahead."""


def next_version(version: int) -> int:
    """A version above this one; the same where there is none."""
    return min(version + random.randint(1, STEPS), MAX_VERSION)


@dataclass(frozen=True, slots=True)
class Newer:
    """What the daemons have.

    Attributes
    ----------
    jobs : tuple of str
        Those with other commands.
    adopted : dict of str to Schedule
        For all members, if what is newer is of the same component; empty if it is not.
    """

    jobs: tuple[str, ...]
    adopted: dict[str, Schedule]


def newer_commands(members: Mapping[str, Member], statuses: Mapping[str, JobStatus]) -> Newer | None:
    """What is newer than the schedules of the members, or has their version and is another; None if nothing is.

    A coordinator that was restarted knows the schedules that its predecessor began with; since then that one has moved
    epochs and renewed paces. If it was stopped while it sent, some daemons have its last version and others the one
    before: then those get the pattern of the newest, in which each keeps its shift. So do all where two coordinators
    have made the same version: what of it got to which daemon is not one pattern.
    """
    newer = {
        job: statuses[job]
        for job, member in members.items()
        if job in statuses and _is_other(statuses[job], member.schedule)
    }
    if not newer:
        return None
    component = next(iter(members.values())).schedule.component
    found = {job: status.schedule for job, status in newer.items() if status.schedule is not None}
    if len(found) < len(newer) or any(schedule.component != component for schedule in found.values()):
        return Newer(tuple(newer), {})
    newest = max(found.values(), key=lambda schedule: schedule.version)
    if len(found) == len(members) and all(schedule.version == newest.version for schedule in found.values()):
        return Newer(tuple(newer), found)
    known = {job: found.get(job, member.schedule) for job, member in members.items()}
    ratio = dict(zip(members, ratio_of([member.schedule.pace_ns for member in members.values()]), strict=True))
    sends = {job: statuses[job].sending_ns[0] if job in statuses else 0 for job in members}
    if set(ratio.values()) == {1}:
        known = _cut_where(newest, {job: member.ranked for job, member in members.items()}, sends[newest.job])
    adopted = in_pattern_of(newest, known, ratio, sends)
    version = next_version(newest.version)
    return Newer(tuple(newer), {job: replace(schedule, version=version) for job, schedule in adopted.items()})


def _is_other(status: JobStatus, known: Schedule) -> bool:
    return status.version > known.version or (status.version == known.version and status.schedule != known)


def _cut_where(newest: Schedule, ranked: Mapping[str, Schedule], sends_ns: int) -> dict[str, Schedule]:
    """The ranked pattern of jobs of one pace from where the newest one's begins, and that one as it is.

    Where the predecessor cut it (``paces.from_clear_cut``) shows in the newest shift, which counts from there. What is
    measured now need not show it: bursts may lie elsewhere, and longer paces have other instants where none lies.
    """
    cut_ns = ranked[newest.job].shift_ns - ((newest.shift_ns + sends_ns) % newest.pace_ns - sends_ns)
    moved = {job: replace(one, shift_ns=(one.shift_ns - cut_ns) % one.pace_ns) for job, one in ranked.items()}
    return {**moved, newest.job: newest}


def in_pattern_of(
    newest: Schedule, known: Mapping[str, Schedule], ratio: Mapping[str, int], sends_ns: Mapping[str, int]
) -> dict[str, Schedule]:
    """The schedules of a component as its newest has them: version, epoch, expiry, pace. Empty for another ratio.

    Parameters
    ----------
    newest : Schedule
    known : mapping of str to Schedule
        Of all its jobs, of any version.
    ratio, sends_ns : mapping of str to int
        By job: of the paces, and what ``shift_at`` takes; 0 where that is absent.
    """
    base, rest = divmod(newest.pace_ns, ratio[newest.job])
    if rest or any(schedule.pace_ns % ratio[job] for job, schedule in known.items()):
        return {}
    adopted = {}
    for (job, schedule), turn in zip(known.items(), turns([ratio[job] for job in known]), strict=True):
        pace = base * ratio[job]
        hold = min(schedule.hold_ns, newest.hold_ns, pace // 2)
        adopted[job] = replace(
            schedule,
            version=newest.version,
            epoch_ns=newest.epoch_ns,
            expires_ns=newest.expires_ns,
            pace_ns=pace,
            iteration_ns=min(max(schedule.iteration_ns, -(-2 * pace // 3)), pace),
            shift_ns=shift_at(pace, schedule, turn * schedule.pace_ns // ratio[job], sends_ns.get(job, 0)),
            hold_ns=hold,
            slack_ns=min(schedule.slack_ns, pace // 2),
            gain_ns=min(schedule.gain_ns, pace),
        )
    return adopted
