"""What is decided about one component: pure, from what its jobs report and what time it is.

The jobs of a component keep one pattern. If one of them has strayed, the epoch moves to where all together wait least;
if iteration times or jitter are others, the paces are renewed in the same ratio; if pacing costs more than it wins, the
component is set free. A job that has left, or that costs the others too much, is let go of. Every decision is a new
version of all its schedules; who has not got it gets it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..schedule import Schedule
from . import events
from .adoption import newer_commands, next_version
from .lease import Lease
from .member import Member
from .presence import Presence
from .renewal import Renewal
from .rephasing import Rephasing
from .status import JobStatus

if TYPE_CHECKING:
    from cassini_core import Job

__all__ = ["Component", "Outcome"]


@dataclass(slots=True)
class Outcome:
    """Schedules to send, members that were let go of and are to be set free, and what the scheduler is told."""

    send: list[Schedule] = field(default_factory=list)
    released: list[Member] = field(default_factory=list)
    events: list[events.Event] = field(default_factory=list)


class Component:
    """The jobs of one component.

    Parameters
    ----------
    members : iterable of Member
        With schedules of one component; their paces have one exact ratio.
    profiles : mapping of str to cassini_core.Job, optional
        Profiles of all jobs; then ``harmonize`` is asked whether another ratio would be better.

    Attributes
    ----------
    members : dict of str to Member
        Those that are held together.
    over : bool
        Nothing is held any more: by a newer command of the scheduler, or as too few are left.
    calm_looks : int
        So many looks in a row found all jobs where they should be, and had nothing to do.

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
        self.superseded = False
        self.calm_looks = 0
        self._renewal = Renewal(self.name, self.members, profiles)
        self._rephasing = Rephasing(self.name, self.members)
        self._presence = Presence(self.name)
        self._lease = Lease()
        self._told_against: set[str] = set()
        self._decided_ns = -(2**62)

    @property
    def over(self) -> bool:
        return self.superseded or not self.members

    @property
    def look_again(self) -> bool:
        """Whether a decision was put off by a moment."""
        return self._rephasing.look_again and not self.over

    @property
    def is_missing_members(self) -> bool:
        """Whether some member was not heard of at the last look."""
        return bool(self._presence.absent)

    def hosts(self) -> set[str]:
        """Whose daemons have to be asked."""
        return {member.host for member in self.members.values()}

    def decide(self, statuses: Mapping[str, JobStatus], now_ns: int) -> Outcome:
        """What to do now.

        Parameters
        ----------
        statuses : mapping of str to JobStatus
            Of the jobs whose daemons answered; of one that its daemon does not know, a status that is not connected.
        now_ns : int
            On the coordinator's clock.
        """
        outcome = Outcome()
        if self.superseded:
            return outcome
        if now_ns < self._decided_ns:  # the clock was set back: what was to happen at a time would be long in coming
            self._rephasing.restart()
            self._renewal.restart()
        self._decided_ns = now_ns
        self._follow_newer(statuses, outcome)
        if self.superseded:
            return outcome
        self._let_go_of_those_who_left(statuses, now_ns, outcome)
        self._keep_together(statuses, now_ns, outcome)
        self.calm_looks = self.calm_looks + 1 if self._is_calm(statuses, outcome) else 0
        return outcome

    def _is_calm(self, statuses: Mapping[str, JobStatus], outcome: Outcome) -> bool:
        return not (outcome.send or outcome.released or outcome.events or self.look_again) and all(
            (status := statuses.get(job)) is not None
            and status.connected
            and status.state == "held"
            and status.followed == member.schedule.version
            and status.changed is None
            for job, member in self.members.items()
        )

    def _keep_together(self, statuses: Mapping[str, JobStatus], now_ns: int, outcome: Outcome) -> None:
        if not self.members:
            return
        self._rephasing.look_again = False
        drafts = {job: member.schedule for job, member in self.members.items()}
        drafts = self._lease.renewed(drafts, statuses, now_ns)
        known = {j: statuses[j] for j in self.members if j in statuses and j not in self._presence.absent}
        if len(known) == len(self.members):  # paces are those of all
            drafts, told = self._renewal.decide(drafts, known, now_ns)
            outcome.events += told
            for event in told:
                if isinstance(event, events.OverBudget):
                    self._release(self.members, outcome)
                elif isinstance(event, events.MemberFreed | events.MemberUnlocked):
                    # The one before may have left this one alone, and so set it free.
                    self._release(self.members.keys() & {event.job}, outcome)
                    self._release_the_last(outcome)
        contradicted = self._contradicted(known)
        outcome.events += [
            events.Contradicted(self.name, job, known[job].contradicted) for job in contradicted - self._told_against
        ]
        self._told_against = contradicted | (self._told_against - known.keys())
        known = {job: status for job, status in known.items() if job not in contradicted}
        if known.keys() & self.members.keys() and self._presence.may_move:
            drafts = {job: drafts[job] for job in self.members}
            known = {job: status for job, status in known.items() if job in self.members}
            drafts, told = self._rephasing.decide(drafts, known, now_ns)
            outcome.events += told
            if any(isinstance(event, events.Rephased) for event in told):
                self._renewal.disturbed(now_ns)
        self._adopt_drafts(drafts)
        outcome.send += [
            member.schedule
            for job, member in self.members.items()
            if job in statuses and statuses[job].version < member.schedule.version
        ]

    def _contradicted(self, known: Mapping[str, JobStatus]) -> set[str]:
        """Jobs that do not communicate where they say they do: where they are is not known."""
        return {
            job
            for job, status in known.items()
            if job in self.members
            and status.contradicted
            and status.contradicted_ns > self.members[job].schedule.hold_ns
        }

    def _adopt_drafts(self, drafts: Mapping[str, Schedule]) -> None:
        """One version for all, if anything is another: the phase of each is meant for those of the others."""
        if all(drafts[job] == member.schedule for job, member in self.members.items()):
            return
        latest = max(drafts[job].version for job in self.members)
        version = next_version(latest)
        if version == latest:
            return  # no daemon would take a greater one; what they have stays
        for job, member in self.members.items():
            member.follow(replace(drafts[job], version=version))

    def _follow_newer(self, statuses: Mapping[str, JobStatus], outcome: Outcome) -> None:
        newer = newer_commands(self.members, statuses)
        if newer is None:
            return
        if newer.adopted:
            for job, schedule in newer.adopted.items():
                self.members[job].follow(schedule)
            outcome.events.append(events.Adopted(self.name, max(s.version for s in newer.adopted.values())))
        else:
            self.superseded = True
            outcome.events.append(events.Superseded(self.name, newer.jobs))

    def _let_go_of_those_who_left(self, statuses: Mapping[str, JobStatus], now_ns: int, outcome: Outcome) -> None:
        left, told = self._presence.look(self.members, statuses, now_ns)
        outcome.events += told
        outcome.events += [events.MemberLeft(self.name, job, why) for job, why in left.items()]
        if left:
            self._release(left, outcome)
            self._release_the_last(outcome)

    def _release(self, jobs: Iterable[str], outcome: Outcome) -> None:
        """Let go of members."""
        for job in list(jobs):
            outcome.released.append(self.members.pop(job))
            self._presence.forget(job)

    def _release_the_last(self, outcome: Outcome) -> None:
        """One that is alone has nobody to keep clear of."""
        if len(self.members) == 1:
            (last,) = self.members
            outcome.events.append(events.Dissolved(self.name, (last,)))
            self._release([last], outcome)
