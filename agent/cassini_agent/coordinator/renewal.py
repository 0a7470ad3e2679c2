"""When the paces of a component are renewed: other iteration times, other jitter, or no longer worth it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..control.phase import late_reach_ns, lateness, turns
from ..schedule import MAX_ITERATION_NS, MS_NS, SECOND_NS, Schedule
from . import events
from .member import Member
from .paces import WINDOW, common_paces, from_clear_cut, needed_ns, other_ratio_fits, ratio_of, shift_at
from .status import JobStatus

if TYPE_CHECKING:
    from cassini_core import Job

__all__ = ["Renewal", "epoch_near"]

LOOK_NS = 60 * SECOND_NS
"""So often paces are looked at, while all is calm."""

BELIEVED_NS = 2 * SECOND_NS
"""A changed iteration time is believed at once where all jobs are held, or where the job is certain; else it may be
contention, unless it lasts."""

CHANGED = 0.002
"""Relative difference from the schedule's iteration time that is a change: jobs tell only what is certain."""

LONGER, SHORTER = 0.004, 0.006
"""Relative changes of the paces that are worth a new version."""

UNLOCKED_NS, UNLOCKED_PACES = 20 * SECOND_NS, 64
"""A job that has followed no grid for so long will not soon: a few stalls that came together are forgotten by then
(``control.controller.WATCHED``)."""

MAX_LENGTHENING = 0.03
"""A job that the others make slower than it needs by this share is better ranked again."""

MOST_LOSS = 0.1
"""The largest share of its time that a job may lose to the pace of another one, however much it wins by it."""


class Renewal:
    """Decides for one component.

    Parameters
    ----------
    name : str
        Of the component.
    members : mapping of str to Member
    profiles : mapping of str to cassini_core.Job or None
        Of all jobs; then ``harmonize`` is asked whether another ratio of the paces would be better.
    """

    def __init__(self, name: str, members: Mapping[str, Member], profiles: Mapping[str, Job] | None) -> None:
        self._name = name
        self._members = members
        self._profiles = profiles
        self._calm_since_ns: int | None = None
        self._looked_ns = -(2**62)
        self._unlocked_since_ns: dict[str, int] = {}
        self._believing: dict[str, tuple[int, int]] = {}  # changed iteration time, and since when it is reported
        self._told: dict[str, events.Event] = {}  # by topic, while it is true
        self._asked: tuple[dict[str, int], dict[str, int]] | None = (
            None  # what, and the answer, of ``_other_ratio_fits``
        )
        self._fits = False

    def restart(self) -> None:
        """The clock was set back: forget when anything was."""
        self._calm_since_ns = None
        self._looked_ns = -(2**62)
        self._unlocked_since_ns.clear()
        self._believing.clear()

    def disturbed(self, now_ns: int) -> None:
        """What is measured from now on shows contention too, for a while."""
        self._calm_since_ns = now_ns

    def decide(
        self, drafts: dict[str, Schedule], known: Mapping[str, JobStatus], now_ns: int
    ) -> tuple[dict[str, Schedule], list[events.Event]]:
        """Schedules with other paces, or the same ones; and what the scheduler is told. All jobs are in ``known``."""
        told: list[events.Event] = []
        if self._calm_since_ns is None or any(status.state != "held" for status in known.values()):
            self.disturbed(now_ns)
        if told := self._unlocked(known, now_ns):
            return drafts, told  # the others' paces are looked at in the next round
        hold = min(draft.hold_ns for draft in drafts.values())
        if hold == 0:
            return drafts, told
        reach = late_reach_ns(hold)
        for job, status in known.items():
            self._members[job].judge(status, reach)
        changed = self._changed(known, now_ns, told)
        if changed:
            natural = {job: changed.get(job, draft.iteration_ns) for job, draft in drafts.items()}
            headroom = self._last_headroom(drafts)
        else:
            measured = self._measured(drafts, known, reach, now_ns)
            if measured is None:
                return drafts, told
            natural, headroom = measured
        return self._with_paces(drafts, known, natural, headroom, bool(changed), now_ns, told), told

    def _unlocked(self, known: Mapping[str, JobStatus], now_ns: int) -> list[events.Event]:
        """Jobs that are let go of as they follow no grid."""
        since = self._unlocked_since_ns
        self._unlocked_since_ns = {
            job: since.get(job, now_ns) for job, status in known.items() if status.state == "unlocked"
        }
        return [
            events.MemberUnlocked(self._name, job)
            for job, since_ns in self._unlocked_since_ns.items()
            if now_ns - since_ns > max(UNLOCKED_NS, UNLOCKED_PACES * self._members[job].schedule.pace_ns)
        ]

    def _measured(
        self, drafts: Mapping[str, Schedule], known: Mapping[str, JobStatus], reach: int, now_ns: int
    ) -> tuple[dict[str, int], dict[str, int]] | None:
        """Uncontrolled times and headroom by the jitter of the last iterations; None while that is not to be
        trusted.
        """
        assert self._calm_since_ns is not None
        # What disturbed the component must have left the daemons' windows.
        needs_ns = WINDOW * max(draft.pace_ns for draft in drafts.values())
        if now_ns - self._calm_since_ns < min(needs_ns, LOOK_NS) or now_ns - self._looked_ns < LOOK_NS:
            return None
        self._looked_ns = now_ns
        natural: dict[str, int] = {}
        headroom: dict[str, int] = {}
        for job, status in known.items():
            member = self._members[job]
            if status.iteration_ns is None or not _is_possible(status.iteration_ns):
                return None
            need = needed_ns(member, status, reach)
            if need is None:
                return None
            natural[job] = status.iteration_ns
            member.headroom_ns = headroom[job] = max(0, need - status.iteration_ns)
        return natural, headroom

    def _last_headroom(self, drafts: Mapping[str, Schedule]) -> dict[str, int]:
        """While iteration times of before and after a change lie mixed in the daemons' windows."""
        spare = min(draft.pace_ns - draft.iteration_ns for draft in drafts.values())
        return {job: spare if (known := self._members[job].headroom_ns) is None else known for job in drafts}

    def _with_paces(
        self,
        drafts: dict[str, Schedule],
        known: Mapping[str, JobStatus],
        natural: Mapping[str, int],
        headroom: Mapping[str, int],
        is_changed: bool,
        now_ns: int,
        told: list[events.Event],
    ) -> dict[str, Schedule]:
        needed = {job: natural[job] + headroom[job] for job in drafts}
        paces = self._paces(drafts, needed)
        if freed := self._too_slow(drafts, needed, paces):
            told.append(freed)
            return drafts  # the others' paces are looked at in the next round
        if over_budget := self._over_budget(drafts, paces, natural):
            told.append(over_budget)
            return drafts
        slowed = tuple(job for job in drafts if paces[job] > (1 + MAX_LENGTHENING) * needed[job])
        broken = bool(slowed) or self._other_ratio_fits(needed, paces)
        self._tell_once("ratio", events.RatioBroken(self._name, slowed) if broken else None, told)
        if any(2 * paces[job] > 3 * natural[job] for job in drafts):
            return drafts  # beyond what a schedule may say
        job, draft = next(iter(drafts.items()))
        same_pace = -SHORTER < paces[job] / draft.pace_ns - 1 < LONGER
        if same_pace and not is_changed:
            return drafts
        repaced = self._repaced(drafts, known, paces, natural, now_ns)
        # Paces that differ, and all longer: so little hold is left that the jobs would not be held by it.
        loose = any(2 * new.hold_ns < self._members[job].ranked.hold_ns for job, new in repaced.items())
        self._tell_once("hold", events.RatioBroken(self._name, tuple(drafts)) if loose else None, told)
        if loose:
            return drafts
        told.append(events.PacesChanged(self._name, paces))
        return repaced

    def _other_ratio_fits(self, needed: dict[str, int], paces: dict[str, int]) -> bool:
        """As of that name; it takes long, and a change that cannot be followed asks the same at each look."""
        if not self._profiles:
            return False
        if self._asked != (needed, paces):
            fits = other_ratio_fits({job: self._profiles[job] for job in needed}, needed, paces)
            self._asked, self._fits = (needed, paces), fits
        return self._fits

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
                return events.MemberFreed(self._name, slowest, loss)
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
                iteration_ns=min(natural[job], pace),
                hold_ns=hold,
                slack_ns=min(max(hold, ranked.slack_ns - less), pace // 2),
                gain_ns=min(draft.gain_ns, natural[job], pace),
            )
        return repaced

    def _over_budget(
        self, drafts: Mapping[str, Schedule], paces: Mapping[str, int], natural: Mapping[str, int]
    ) -> events.OverBudget | None:
        """Pacing costs more than it wins, as shares of the jobs' time, by weight; never where a gain is not known."""
        if any(draft.gain_ns == 0 for draft in drafts.values()):
            return None
        weights = {job: member.weight for job, member in self._members.items()}
        cost = sum(weights[job] * (paces[job] / natural[job] - 1) for job in drafts)
        gain = sum(weights[job] * draft.gain_ns / draft.iteration_ns for job, draft in drafts.items())
        whole = sum(weights.values())
        return events.OverBudget(self._name, cost / whole, gain / whole) if cost > gain else None

    def _changed(self, known: Mapping[str, JobStatus], now_ns: int, told: list[events.Event]) -> dict[str, int]:
        """Iteration times that jobs found to be others, as far as they are believed."""
        found: dict[str, int] = {}
        all_held = all(status.state == "held" for status in known.values())
        for job, status in known.items():
            was = self._members[job].schedule.iteration_ns
            change = status.changed
            if change is None or not _is_possible(change.iteration_ns) or abs(change.iteration_ns / was - 1) < CHANGED:
                self._believing.pop(job, None)
                self._told.pop(f"changed {job}", None)
                continue
            value, since = self._believing.get(job, (0, now_ns))
            if value != change.iteration_ns:
                value, since = self._believing[job] = change.iteration_ns, now_ns
            if all_held or change.certain or now_ns - since > BELIEVED_NS:
                found[job] = value
                self._tell_once(f"changed {job}", events.IterationChanged(self._name, job, value, was), told)
        return found

    def _tell_once(self, topic: str, event: events.Event | None, told: list[events.Event]) -> None:
        """Tell what is true now (None: nothing), unless it was told and has been true since."""
        if event is None:
            self._told.pop(topic, None)
        elif self._told.get(topic) != event:
            self._told[topic] = event
            told.append(event)


def _is_possible(iteration_ns: int) -> bool:
    """Whether a schedule may say so: a job reports what it likes of itself."""
    return MS_NS <= iteration_ns <= MAX_ITERATION_NS


def epoch_near(now_ns: int, schedules: Iterable[Schedule]) -> int:
    """The latest instant at which the pattern of a component begins anew."""
    schedules = list(schedules)
    whole = math.lcm(*(schedule.pace_ns for schedule in schedules))
    return schedules[0].epoch_ns + (now_ns - schedules[0].epoch_ns) // whole * whole
