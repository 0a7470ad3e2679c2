"""What a plan changes: a component that runs as planned keeps its grid, others begin where jobs wait least. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ..control.phase import turns
from ..control.rephasing import Strayed, rephase
from ..coordinator.adoption import in_pattern_of
from ..coordinator.lease import with_recent_epoch
from ..coordinator.paces import ratio_of, shift_at
from ..coordinator.status import JobStatus
from ..schedule import MAX_VERSION, Schedule
from .plan import Plan

__all__ = ["Wanted", "difference"]

NOT_MOVED, KEPT = 1e-9, 1e9
"""Weights of jobs whose places are not known: wherever they have to wait, they count for nothing; and of those that the
ranking has kept where they run: it has decided who moves."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a job is to have.

    Attributes
    ----------
    schedule : Schedule or None
        None: it is to run free.
    version : int
        With which its daemon is to be told so; 0: the daemon has it already, or the others of the component do, and it
        does not answer.
    """

    schedule: Schedule | None = None
    version: int = 0


def difference(
    plan: Plan, known: Mapping[str, JobStatus | str], *, version: int, now_ns: int, lease_ns: int
) -> dict[str, Wanted]:
    """What the jobs of a plan are to have, so that no job is moved that is where it should be.

    Also jobs that the plan does not have, and that have a schedule, which they are to lose.

    Parameters
    ----------
    plan : Plan
        Its epoch is for components that are new.
    known : mapping of str to JobStatus or str
        What daemons have, by job; a text where a daemon did not answer.
    version : int
        Above those that were made before; raised where a daemon knows a newer one.
    now_ns : int
        On the scheduler's clock.
    lease_ns : int
        Of what is sent; a component of which less than half of it is left gets the same grid for longer.

    Notes
    -----
    Equal names of components mean equal plans (:class:`Plan`). A coordinator may have moved the grid since, or adapted
    the paces: its changes are kept, as they are made from newer measurements than the plan. A job keeps its secret, by
    the hash that its daemon has, unless the plan has another one.
    """
    found = {job: Wanted() for job in plan.free}
    for _, group in groupby(sorted(plan.schedules, key=lambda one: one.component), key=lambda one: one.component):
        planned = list(group)
        answered = {one.job: each for one in planned if isinstance(each := known.get(one.job), JobStatus)}
        # Where there is no newer one its daemon refuses what is sent, and the acknowledgement says so.
        newest = min(MAX_VERSION, max([version, *(each.version + 1 for each in answered.values())]))
        running = {job: each.schedule for job, each in answered.items() if each.schedule is not None}
        planned = [_with_secret(one, running.get(one.job)) for one in planned]
        hashes = {one.job: one.secret_sha256 for one in planned}
        if not _runs(planned, answered, running):
            send = _placed(planned, running, now_ns)
        elif len(running) == len(planned) and any(
            one.expires_ns < now_ns + lease_ns // 2 or one.secret_sha256 != hashes[job] for job, one in running.items()
        ):
            same = {job: replace(one, secret_sha256=hashes[job]) for job, one in running.items()}
            send = list(with_recent_epoch(same, now_ns).values())
        else:
            found |= {job: Wanted(one) for job, one in _filled(planned, running).items()}
            continue
        expires_ns = now_ns + lease_ns
        found |= {one.job: Wanted(replace(one, version=newest, expires_ns=expires_ns), newest) for one in send}
    for job in known.keys() - {one.job for one in plan.schedules}:
        each = known[job]
        if isinstance(each, JobStatus) and each.schedule is not None:
            found[job] = Wanted(None, max(version, each.version))
    return found


def _runs(planned: Sequence[Schedule], answered: Mapping[str, JobStatus], running: Mapping[str, Schedule]) -> bool:
    """All of whom it is known have the schedules of one version of this very component."""
    if not running or len(running) < len(answered):
        return False
    said = {(one.component, one.version, one.epoch_ns) for one in running.values()}
    return len(said) == 1 and next(iter(said))[0] == planned[0].component


def _with_secret(planned: Schedule, had: Schedule | None) -> Schedule:
    return replace(planned, secret_sha256=planned.secret_sha256 or (None if had is None else had.secret_sha256))


def _filled(planned: Sequence[Schedule], running: dict[str, Schedule]) -> dict[str, Schedule]:
    """What runs, and what the jobs of silent daemons have by all that is known: they are on the grid of the others.

    The plan counts its shifts from another epoch than what runs. How far apart the two are, a job shows that runs.
    """
    ratio = dict(zip([one.job for one in planned], ratio_of([one.pace_ns for one in planned]), strict=True))
    turn = dict(zip(ratio, turns(list(ratio.values())), strict=True))
    newest = next(iter(running.values()))
    (own,) = (one for one in planned if one.job == newest.job)
    turn_ns = turn[own.job] * newest.pace_ns // ratio[own.job]
    later_ns = shift_at(own.pace_ns, newest, turn_ns, 0) - own.shift_ns
    known = {one.job: replace(one, shift_ns=(one.shift_ns + later_ns) % one.pace_ns) for one in planned}
    return in_pattern_of(newest, known, ratio, {}) | running


def _placed(planned: Sequence[Schedule], running: Mapping[str, Schedule], now_ns: int) -> list[Schedule]:
    """The planned schedules with the epoch, and the shifts moved by whole turns, for which running jobs wait least."""
    strayed = []
    for one in planned:
        old = running.get(one.job)
        if old is None or old.expires_ns <= now_ns:
            strayed.append(Strayed(0, one.pace_ns, one.pace_ns, NOT_MOVED))
            continue
        origin = old.epoch_ns + old.shift_ns
        next_start = origin - (origin - one.epoch_ns) // old.pace_ns * old.pace_ns  # at the epoch or soon after
        error = next_start - one.epoch_ns - one.shift_ns
        if old.pace_ns == one.pace_ns and error % one.pace_ns == 0:
            strayed.append(Strayed(error, one.pace_ns, 0, KEPT))
        else:
            strayed.append(Strayed(error, one.pace_ns, one.dead_band_ns // 2))
    found = rephase(strayed)
    return [
        replace(
            one,
            epoch_ns=one.epoch_ns + found.epoch_shift_ns,
            shift_ns=(one.shift_ns + change) % one.pace_ns,
        )
        for one, change in zip(planned, found.shift_change_ns, strict=True)
    ]
