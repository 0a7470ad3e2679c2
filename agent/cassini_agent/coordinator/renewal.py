"""When the paces of a component are renewed: other iteration times, or other jitter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..control.phase import late_reach_ns, lateness, turns
from ..schedule import MAX_ITERATION_NS, MS_NS, SECOND_NS, Schedule
from . import events
from .member import Member
from .paces import WINDOW, common_paces, from_clear_cut, needed_ns, ratio_of, shift_at
from .status import JobStatus

__all__ = ["Renewal", "epoch_near"]

LOOK_NS = 60 * SECOND_NS
"""So often paces are looked at, while all is calm."""

CHANGED = 0.002
"""Relative difference from the schedule's iteration time that is a change: jobs tell only what is certain."""

LONGER, SHORTER = 0.004, 0.006
"""Relative changes of the paces that are worth a new version."""

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
        self._calm_since_ns: int | None = None
        self._measured_ns = -(2**62)
        self._broken: tuple[str, ...] = ()  # of what was told, while it is true

    def disturbed(self, monotonic_ns: int) -> None:
        """What is measured from now on shows contention too, for a while."""
        self._calm_since_ns = monotonic_ns

    def decide(
        self,
        drafts: dict[str, Schedule],
        known: Mapping[str, JobStatus],
        now_ns: int,
        monotonic_ns: int,
        told: list[events.Event],
    ) -> dict[str, Schedule]:
        """Schedules with other paces, or the same ones. All jobs are in ``known``; what is new is added to ``told``."""
        if self._calm_since_ns is None or any(status.state != "held" for status in known.values()):
            self.disturbed(monotonic_ns)
        hold = min(draft.hold_ns for draft in drafts.values())
        if hold == 0:
            return drafts
        reach = late_reach_ns(hold)
        changed = self._changed(known, told)
        if changed:
            natural = {job: changed.get(job, draft.iteration_ns) for job, draft in drafts.items()}
        elif not (natural := self._measured(drafts, known, reach, monotonic_ns)):
            return drafts
        return self._with_paces(drafts, known, natural, bool(changed), now_ns, told)

    def _with_paces(
        self,
        drafts: dict[str, Schedule],
        known: Mapping[str, JobStatus],
        natural: Mapping[str, int],
        is_changed: bool,
        now_ns: int,
        told: list[events.Event],
    ) -> dict[str, Schedule]:
        needed = self._needed(drafts, natural)
        paces = self._paces(drafts, needed)
        if freed := self._too_slow(drafts, needed, paces):
            told.append(freed)
            return drafts  # the others' paces are looked at in the next round
        broken = tuple(job for job in drafts if paces[job] > (1 + MAX_LENGTHENING) * needed[job])
        may_be_said = all(2 * paces[job] <= 3 * natural[job] for job in drafts)
        is_new = is_changed or not all(-SHORTER < paces[job] / one.pace_ns - 1 < LONGER for job, one in drafts.items())
        repaced = self._repaced(drafts, known, paces, natural, now_ns) if may_be_said and is_new else drafts
        # Paces that differ, and all longer: so little hold is left that the jobs would not be held by it.
        is_loose = any(2 * new.hold_ns < self._members[job].ranked.hold_ns for job, new in repaced.items())
        if is_loose:
            broken, repaced = tuple(drafts), drafts
        if broken and broken != self._broken:
            told.append(events.RatioBroken(self._component, broken))
        self._broken = broken
        if repaced is not drafts:
            told.append(events.PacesChanged(self._component, paces))
        return repaced

    def _needed(self, drafts: Mapping[str, Schedule], natural: Mapping[str, int]) -> dict[str, int]:
        """With the last headroom: while times of before and after a change lie mixed in the daemons' windows, too."""
        spare = min(draft.pace_ns - draft.iteration_ns for draft in drafts.values())
        known = {job: self._members[job].headroom_ns for job in drafts}
        return {job: natural[job] + (spare if (ns := known[job]) is None else ns) for job in drafts}

    def _measured(
        self, drafts: Mapping[str, Schedule], known: Mapping[str, JobStatus], reach: int, monotonic_ns: int
    ) -> dict[str, int]:
        """Uncontrolled times by the last iterations, whose jitter says the headroom too; none while they are not to be
        trusted.
        """
        assert self._calm_since_ns is not None
        # What disturbed the component must have left the daemons' windows.
        needs_ns = min(LOOK_NS, WINDOW * max(draft.pace_ns for draft in drafts.values()))
        if monotonic_ns - self._calm_since_ns < needs_ns or monotonic_ns - self._measured_ns < LOOK_NS:
            return {}
        self._measured_ns = monotonic_ns
        natural: dict[str, int] = {}
        for job, status in known.items():
            member = self._members[job]
            if status.iteration_ns is None or not _is_possible(status.iteration_ns):
                return {}
            need = needed_ns(member, status, reach)
            if need is None:
                return {}
            natural[job] = status.iteration_ns
            member.headroom_ns = max(0, need - status.iteration_ns)
        return natural

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
