"""Other paces for a component whose jobs have other uncontrolled iteration times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..control.phase import lateness, turns
from ..schedule import MAX_ITERATION_NS, MS_NS, Schedule
from . import events
from .member import Member
from .paces import common_paces, from_clear_cut, ratio_of, shift_at
from .status import JobStatus

__all__ = ["Renewal", "epoch_near"]

CHANGED = 0.002
"""Relative difference from the schedule's iteration time that is a change: jobs tell only what is certain."""

MAX_LENGTHENING = 0.03
"""A job that the others make slower than it needs by this share is better ranked again."""

MOST_LOSS = 0.1
"""The largest share of its time that a job may lose to the pace of another one, however much it wins by it."""


class Renewal:
    """Decides for one component.

    Parameters
    ----------
    component : str
        Its name.
    members : mapping of str to Member
        Those that are held together; others may leave it.
    """

    def __init__(self, component: str, members: Mapping[str, Member]) -> None:
        self._component = component
        self._members = members
        self._broken: tuple[str, ...] = ()  # of what was told, while it is true

    def decide(
        self, drafts: dict[str, Schedule], known: Mapping[str, JobStatus], now_ns: int, told: list[events.Event]
    ) -> dict[str, Schedule]:
        """Schedules with other paces, or the same ones. All jobs are in ``known``; what is new is added to ``told``."""
        changed = self._changed(known, told)
        if not changed:
            self._broken = ()
            return drafts
        natural = {job: changed.get(job, draft.iteration_ns) for job, draft in drafts.items()}
        ranked = [self._members[job].ranked for job in drafts]
        headroom = min(one.pace_ns - one.iteration_ns for one in ranked)  # of the job that needs the most time
        needed = {job: natural[job] + headroom for job in drafts}
        paces = self._paces(drafts, needed)
        if freed := self._too_slow(drafts, needed, paces):
            told.append(freed)
            return drafts  # the others' paces are looked at in the next round
        broken = tuple(job for job in drafts if paces[job] > (1 + MAX_LENGTHENING) * needed[job])
        may_be_said = all(2 * paces[job] <= 3 * natural[job] for job in drafts)
        repaced = self._repaced(drafts, known, paces, natural, now_ns) if may_be_said else drafts
        # Paces that differ, and all longer: so little hold is left that the jobs would not be held by it.
        if any(2 * new.hold_ns < self._members[job].ranked.hold_ns for job, new in repaced.items()):
            broken, repaced = tuple(drafts), drafts
        if broken and broken != self._broken:
            told.append(events.RatioBroken(self._component, broken))
        self._broken = broken
        if repaced is not drafts:
            told.append(events.PacesChanged(self._component, paces))
        return repaced

    def _paces(self, drafts: Mapping[str, Schedule], needed: Mapping[str, int]) -> dict[str, int]:
        """The least paces of these jobs, in their ratio, that give each what it needs."""
        ratio = ratio_of([draft.pace_ns for draft in drafts.values()])
        # For shorter paces than those that were ranked no hold is known.
        least = [max(needed[job], self._members[job].ranked.pace_ns) for job in drafts]
        return dict(zip(drafts, common_paces(least, ratio), strict=True))

    def _too_slow(
        self, drafts: Mapping[str, Schedule], needed: Mapping[str, int], paces: Mapping[str, int]
    ) -> events.MemberFreed | None:
        """The job that all others wait for, if that costs one of them more than it may: who gains pays, and no more.

        Without the slow job the others would collide with it now and then, so they may lose what interleaving wins
        them, but for ``MOST_LOSS`` at most.
        """
        slowest = max(drafts, key=lambda job: needed[job] / paces[job])
        others = {job: draft for job, draft in drafts.items() if job != slowest}
        if not others:
            return None
        without = self._paces(others, needed)
        for job, draft in others.items():
            loss = paces[job] / without[job] - 1
            wins = draft.gain_ns / draft.iteration_ns if draft.gain_ns else MOST_LOSS
            if loss > min(MOST_LOSS, wins):
                return events.MemberFreed(self._component, slowest, f"the others would lose {loss:.1%} of their time")
        return None

    def _repaced(
        self,
        drafts: Mapping[str, Schedule],
        known: Mapping[str, JobStatus],
        paces: Mapping[str, int],
        natural: Mapping[str, int],
        now_ns: int,
    ) -> dict[str, Schedule]:
        """The same pattern with longer or shorter iterations, from where it last began anew.

        Where all paces are alike, and at some instant none communicates (``from_clear_cut``), the hold of the ranking
        stays: what is added to all is added there. Where there is no such instant, the last bursts of an iteration come
        nearer to those of others by what is added, which the two jobs share. Where paces differ, edges move against
        each other by up to twice that.
        """
        moved = max(abs(paces[job] - self._members[job].ranked.pace_ns) for job in drafts)
        sending = {job: known[job].sending_ns for job in drafts}
        before, less, alike = drafts, moved, len(set(paces.values())) == 1
        if alike:  # from the ranked pattern: what was added where it is not added now would be missing there
            before, is_clear = from_clear_cut({job: self._members[job].ranked for job in drafts}, sending)
            less = 0 if is_clear else -(-moved // 2)
        turns_ns = turns([one.pace_ns for one in before.values()])
        shifts = {
            job: shift_at(paces[job], one, turn_ns, sending[job][0])
            for (job, one), turn_ns in zip(before.items(), turns_ns, strict=True)
        }
        epoch = epoch_near(now_ns, drafts.values())
        if alike:  # the first one stays where it is
            first = min(drafts, key=lambda job: (shifts[job] + sending[job][0]) % paces[job])
            epoch = now_ns - lateness(now_ns, drafts[first]) - shifts[first]
        repaced = {}
        for job, draft in drafts.items():
            ranked, pace = self._members[job].ranked, paces[job]
            hold = min(max(0, ranked.hold_ns - less), pace // 2)
            repaced[job] = replace(
                draft,
                epoch_ns=epoch,
                pace_ns=pace,
                shift_ns=shifts[job],
                iteration_ns=natural[job],
                hold_ns=hold,
                slack_ns=min(max(hold, ranked.slack_ns - less), pace // 2),
                gain_ns=min(draft.gain_ns, natural[job]),
            )
        return repaced

    def _changed(self, known: Mapping[str, JobStatus], told: list[events.Event]) -> dict[str, int]:
        """Iteration times that jobs found to be others than their schedules'."""
        found: dict[str, int] = {}
        for job, status in known.items():
            member = self._members[job]
            was = member.schedule.iteration_ns
            now = was if status.changed is None else status.changed.iteration_ns
            if not _is_possible(now) or abs(now / was - 1) < CHANGED:
                member.told_changed_ns = None
                continue
            found[job] = now
            if member.told_changed_ns != now:
                member.told_changed_ns = now
                told.append(events.IterationChanged(self._component, job, now, was))
        return found


def _is_possible(iteration_ns: int) -> bool:
    """Whether a schedule may say so: a job reports what it likes of itself."""
    return MS_NS <= iteration_ns <= MAX_ITERATION_NS


def epoch_near(now_ns: int, schedules: Iterable[Schedule]) -> int:
    """The latest instant at which the pattern of a component begins anew."""
    schedules = list(schedules)
    whole = math.lcm(*(schedule.pace_ns for schedule in schedules))
    return schedules[0].epoch_ns + (now_ns - schedules[0].epoch_ns) // whole * whole
