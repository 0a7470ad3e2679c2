"""What a plan changes: a component that runs as planned keeps its grid, others begin where jobs wait least. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from ..control.phase import turns
from ..control.rephasing import Strayed, rephase
from ..coordinator.adoption import in_pattern_of
from ..coordinator.lease import LONG_AGO_NS, with_recent_epoch
from ..coordinator.paces import ratio_of, shift_at
from ..schedule import MAX_VERSION, Schedule
from .plan import Plan
from .send import Known

__all__ = ["Difference", "difference", "is_torn"]

NOT_MOVED = 1e-9
"""Weight of a job whose place is not known: wherever it has to wait, it counts for nothing."""


@dataclass(slots=True)
class Difference:
    """What is to be done.

    Attributes
    ----------
    send : list of Schedule
        To be sent.
    clear : dict of str to int
        Jobs that have a schedule and are to have none, with the version to say so.
    kept : dict of str to Schedule
        What jobs have already and keep; also of a job whose daemon does not answer, if the others have it.
    """

    send: list[Schedule] = field(default_factory=list)
    clear: dict[str, int] = field(default_factory=dict)
    kept: dict[str, Schedule] = field(default_factory=dict)


def difference(plan: Plan, known: Mapping[str, Known | str], *, version: int, now_ns: int, lease_ns: int) -> Difference:
    """What to send so that the jobs have what is planned, and no job is moved that is where it should be.

    Parameters
    ----------
    plan : Plan
        Its version and its epoch are for components that are new.
    known : mapping of str to Known or str
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
    found = Difference()
    for _, group in groupby(sorted(plan.schedules, key=lambda one: one.component), key=lambda one: one.component):
        planned = list(group)
        answered = {one.job: each for one in planned if isinstance(each := known.get(one.job), Known)}
        # Where there is no newer one its daemon refuses what is sent, and the acknowledgement says so.
        newest = min(MAX_VERSION, max([version, *(each.version + 1 for each in answered.values())]))
        running = {job: each.schedule for job, each in answered.items() if each.schedule is not None}
        planned = [_with_secret(one, running.get(one.job)) for one in planned]
        if not _runs(planned, answered, running):
            found.send += _placed([replace(one, version=newest) for one in planned], running, now_ns)
            continue
        hashes = {one.job: one.secret_sha256 for one in planned}
        is_due = any(
            one.expires_ns < now_ns + lease_ns // 2 or one.secret_sha256 != hashes[job] for job, one in running.items()
        )
        if len(running) == len(planned) and is_due:
            later = {
                job: replace(one, version=newest, expires_ns=now_ns + lease_ns, secret_sha256=hashes[job])
                for job, one in running.items()
            }
            found.send += with_recent_epoch(later, now_ns).values()
            continue
        found.kept |= _filled(planned, running)
    planned_jobs = {one.job for one in plan.schedules}
    for job, each in known.items():
        if job not in planned_jobs and isinstance(each, Known) and each.schedule is not None:
            found.clear[job] = max(version, each.version)
    return found


def is_torn(plan: Plan, known: Mapping[str, Known | str]) -> bool:
    """Jobs of a planned component have its schedules in different versions: some coordinator is about to change it."""
    versions: dict[str, set[int]] = {}
    for one in plan.schedules:
        each = known.get(one.job)
        if isinstance(each, Known) and each.schedule is not None and each.schedule.component == one.component:
            versions.setdefault(one.component, set()).add(each.version)
    return any(len(those) > 1 for those in versions.values())


def _runs(planned: Sequence[Schedule], answered: Mapping[str, Known], running: Mapping[str, Schedule]) -> bool:
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


def _is_on(planned: Schedule, had: Schedule) -> bool:
    """Whether a job is planned on the very grid that it has."""
    apart = planned.epoch_ns + planned.shift_ns - had.epoch_ns - had.shift_ns
    return planned.pace_ns == had.pace_ns and apart % had.pace_ns == 0


def _placed(planned: Sequence[Schedule], running: Mapping[str, Schedule], now_ns: int) -> list[Schedule]:
    """The planned schedules with the epoch, and the shifts moved by whole turns, for which running jobs wait least."""
    by_grid = {job: one for job, one in running.items() if one.expires_ns > now_ns}
    if not by_grid:
        return list(planned)
    kept = [by_grid[one.job] for one in planned if one.job in by_grid and _is_on(one, by_grid[one.job])]
    if kept:  # the ranking has decided who moves; these have the epoch and the shifts that they had
        epoch_ns = kept[0].epoch_ns
        here = {
            one.job: replace(one, epoch_ns=epoch_ns, shift_ns=(one.epoch_ns + one.shift_ns - epoch_ns) % one.pace_ns)
            for one in planned
        }
        is_long_ago = now_ns - epoch_ns > LONG_AGO_NS
        return list((with_recent_epoch(here, now_ns) if is_long_ago else here).values())
    strayed = []
    for one in planned:
        old = by_grid.get(one.job)
        if old is None:
            strayed.append(Strayed(0, one.pace_ns, one.pace_ns, NOT_MOVED))
            continue
        origin = old.epoch_ns + old.shift_ns
        next_start = origin - (origin - one.epoch_ns) // old.pace_ns * old.pace_ns  # at the epoch or soon after
        error = next_start - one.epoch_ns - one.shift_ns
        strayed.append(Strayed(error, one.pace_ns, one.dead_band_ns // 2))
    found = rephase(strayed)
    return [
        replace(
            one,
            epoch_ns=one.epoch_ns + found.epoch_shift_ns,
            expires_ns=one.expires_ns + found.epoch_shift_ns,
            shift_ns=(one.shift_ns + change) % one.pace_ns,
        )
        for one, change in zip(planned, found.shift_change_ns, strict=True)
    ]
