"""What is decided about one component: pure, from what its jobs report and what time it is.

The jobs of a component keep one pattern. If one of them has strayed, the epoch moves to where all together wait least;
if iteration times or jitter are others, the paces are renewed in the same ratio; if pacing costs more than it wins, the
component is set free. Every decision is a new version of all its schedules; who has not got it gets it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..control.anchor import Strayed, anchor
from ..schedule import MAX_VERSION, SECOND_NS, Schedule
from . import events
from .lease import Lease
from .member import Member
from .renewal import Renewal, epoch_near
from .status import JobStatus

if TYPE_CHECKING:
    from cassini_core import Job

__all__ = ["Component", "Outcome"]

ANSWER_NS = 1_300_000_000
"""From the latest start a report tells of to the first on the new schedule: a report and a message's way, at most."""

STEADY_NS = 60 * SECOND_NS
"""After so long without a new epoch the next is granted at once."""

FIRST_PAUSE_NS, LONGEST_PAUSE_NS = 3 * SECOND_NS, 300 * SECOND_NS
"""Between two epochs, doubled while the component does not become steady."""


@dataclass(slots=True)
class Outcome:
    """Schedules to send, jobs to set free (with the version), and what the scheduler is told."""

    send: list[Schedule] = field(default_factory=list)
    clear: list[tuple[str, int]] = field(default_factory=list)
    events: list[events.Event] = field(default_factory=list)


class Component:
    """The jobs of one component.

    Parameters
    ----------
    members : iterable of Member
        With schedules of one component; their paces have one exact ratio.
    profiles : mapping of str to cassini_core.Job, optional
        Profiles of all jobs; then ``harmonize`` is asked whether another ratio would be better.

    Raises
    ------
    ValueError
        No members, or schedules of different components.
    """

    def __init__(self, members: Iterable[Member], profiles: Mapping[str, Job] | None = None) -> None:
        self.members = {member.schedule.job: member for member in members}
        names = {member.schedule.component for member in self.members.values()}
        if len(names) != 1:
            raise ValueError(f"component: expected schedules of one component, got those of {sorted(names)}")
        (self.name,) = names
        self.free = False
        self._anchored_ns = -(2**62)
        self._pause_ns = FIRST_PAUSE_NS
        self._renewal = Renewal(self.name, self.members, profiles)
        self._lease = Lease()
        self._decided_ns = -(2**62)

    def decide(self, statuses: Mapping[str, JobStatus], now_ns: int) -> Outcome:
        """What to do now. ``statuses`` of the jobs whose daemons answered; ``now_ns`` on the coordinator's clock."""
        outcome = Outcome()
        if any(j in statuses and statuses[j].version > m.schedule.version for j, m in self.members.items()):
            return outcome  # the scheduler has sent others since: these here are history
        if self.free:
            outcome.clear = [(j, m.schedule.version) for j, m in self.members.items() if _has(statuses.get(j))]
            return outcome
        if now_ns < self._decided_ns:  # the clock was set back: what was to happen at a time would be long in coming
            self._anchored_ns = -(2**62)
            self._renewal.restart()
        self._decided_ns = now_ns
        known = {j: statuses[j] for j in self.members if j in statuses and statuses[j].connected}
        drafts = {job: member.schedule for job, member in self.members.items()}
        drafts = self._lease.renewed(drafts, statuses, now_ns)
        if len(known) == len(self.members):  # else a part of the jobs would move and the rest not
            drafts, told = self._renewal.decide(drafts, known, now_ns)
            outcome.events += told
            if any(isinstance(event, events.NotWorth) for event in told):
                self.free = True
                outcome.clear = [(job, draft.version) for job, draft in drafts.items()]
                return outcome
            drafts = self._anchored(drafts, known, now_ns, outcome)
        for job, member in self.members.items():
            if drafts[job] != member.schedule:
                # One version for all: the phase of each is meant for those of the others.
                version = 1 + max(draft.version for draft in drafts.values())
                if version > MAX_VERSION:
                    break  # no daemon would take it; what they have stays
                for other, each in self.members.items():
                    each.follow(replace(drafts[other], version=version))
                break
        outcome.send += [
            member.schedule
            for job, member in self.members.items()
            if job in statuses and statuses[job].version < member.schedule.version
        ]
        return outcome

    def _anchored(
        self, drafts: dict[str, Schedule], known: Mapping[str, JobStatus], now_ns: int, outcome: Outcome
    ) -> dict[str, Schedule]:
        errors = {job: self.members[job].error_ns(status) for job, status in known.items()}
        strayed = any(status.state == "adjusting" for status in known.values())
        if not strayed or now_ns < self._anchored_ns + self._pause_ns:
            return drafts
        placed = {job: error for job, error in errors.items() if error is not None}
        if len(placed) < len(drafts):
            return drafts
        later = self._later_ns(known)
        found = anchor(
            [
                Strayed(placed[job] + later, draft.pace_ns, draft.dead_band_ns // 2, self.members[job].weight)
                for job, draft in drafts.items()
            ]
        )
        self._note_anchor(now_ns, outcome)
        outcome.events.append(events.Reanchored(self.name, found.epoch_shift_ns, sum(found.wait_ns)))
        self._renewal.disturbed(now_ns)
        epoch = epoch_near(now_ns, drafts.values()) + found.epoch_shift_ns
        return {
            job: replace(draft, epoch_ns=epoch, shift_ns=(draft.shift_ns + change) % draft.pace_ns)
            for (job, draft), change in zip(drafts.items(), found.shift_change_ns, strict=True)
        }

    def _later_ns(self, known: Mapping[str, JobStatus]) -> int:
        """By how much jobs that hold each other up will be later when the answer is there.

        They get later together, so what is between them stays; but where the epoch is too early for all, each would
        have to wait for almost a pace. Where it is somewhat late, all wait a little.
        """
        drifts = [self.members[job].drift_ns(status) for job, status in known.items()]
        shortest = min(self.members[job].schedule.pace_ns for job in known)
        return max(0, min(drifts)) * -(-ANSWER_NS // shortest)

    def _note_anchor(self, now_ns: int, outcome: Outcome) -> None:
        if now_ns - self._anchored_ns > STEADY_NS + self._pause_ns:
            self._pause_ns = FIRST_PAUSE_NS
        else:
            self._pause_ns = min(2 * self._pause_ns, LONGEST_PAUSE_NS)
            if self._pause_ns > STEADY_NS // 4:
                outcome.events.append(events.Unsteady(self.name, self._pause_ns))
        self._anchored_ns = now_ns


def _has(status: JobStatus | None) -> bool:
    return status is not None and status.version > 0 and status.state not in ("free", "waiting")
