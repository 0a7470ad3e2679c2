"""What is decided about one component: pure, from what its jobs report and what time it is.

The jobs of a component keep one pattern. If one of them has strayed, the epoch moves to where all together wait least;
if iteration times are others, the paces are renewed in the same ratio. A job that has left, that follows no
grid, or that costs the others too much, is let go of. Every decision is a new version of all its schedules; who has not
got it gets it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..schedule import SECOND_NS, Schedule
from . import events, lease
from .adoption import newer_commands, next_version
from .member import Member
from .presence import MISSING_NS, UNREACHABLE, has_left, why_absent
from .renewal import Renewal
from .rephasing import FOLLOWS_NO_GRID, Rephasing
from .status import JobStatus

__all__ = ["Component", "Outcome"]

AGAIN_NS = 10 * SECOND_NS
"""A job that says that its schedule has expired was told of the renewal by then."""

NO_GRID_NS, NO_GRID_PACES = 20 * SECOND_NS, 64
"""A job that has followed no grid for so long will not soon: a few stalls that came together are forgotten by then
(``control.controller.WATCHED``), and what does not pay is not tried again."""


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

    Attributes
    ----------
    members : dict of str to Member
        Those that are held together.
    superseded : bool
        The scheduler has given newer commands.
    is_calm : bool
        The last look found all jobs where they should be, and had nothing to do.
    rests_until_ns : int
        Set by who looks: while it is calm, the next look is then.

    Raises
    ------
    ValueError
        No members, or schedules of different components.
    """

    def __init__(self, members: Iterable[Member]) -> None:
        self.members = {member.schedule.job: member for member in members}
        names = {member.schedule.component for member in self.members.values()}
        if len(names) != 1:
            raise ValueError(f"component: expected schedules of one component, got those of {sorted(names)}")
        (self.name,) = names
        self.superseded = False
        self.is_calm = False
        self.rests_until_ns = 0
        self._renewal = Renewal(self.name, self.members)
        self._rephasing = Rephasing(self.name, self.members)
        self._lease_renewed_ns = -(2**62)

    @property
    def over(self) -> bool:
        """Nothing is held any more: by a newer command of the scheduler, or as too few are left."""
        return self.superseded or not self.members

    @property
    def look_again(self) -> bool:
        """Whether a decision was put off by a moment."""
        return self._rephasing.look_again

    def hosts(self) -> set[str]:
        """Whose daemons have to be asked."""
        return {member.host for member in self.members.values()}

    def decide(self, statuses: Mapping[str, JobStatus], now_ns: int, monotonic_ns: int) -> Outcome:
        """What to do now.

        Parameters
        ----------
        statuses : mapping of str to JobStatus
            Of the jobs whose daemons answered; of one that its daemon does not know, a status that is not connected.
        now_ns : int
            On the coordinator's clock, which schedules are written on.
        monotonic_ns : int
            On a clock that nobody sets: for how long anything lasts.
        """
        outcome = Outcome()
        self._rephasing.look_again = False
        self._follow_newer(statuses, outcome)
        if self.superseded:
            return outcome
        self._judge_members(statuses, monotonic_ns, outcome)
        if self.members:
            self._keep_together(statuses, now_ns, monotonic_ns, outcome)
        self.is_calm = self._has_rest(statuses, outcome)
        return outcome

    def _has_rest(self, statuses: Mapping[str, JobStatus], outcome: Outcome) -> bool:
        return not (outcome.send or outcome.released or outcome.events or self.look_again) and all(
            not member.absence.value
            and statuses[job].state == "held"
            and statuses[job].followed == member.schedule.version
            and statuses[job].changed is None
            for job, member in self.members.items()
        )

    def _follow_newer(self, statuses: Mapping[str, JobStatus], outcome: Outcome) -> None:
        newer = None if self.superseded else newer_commands(self.members, statuses)
        if newer is None:
            return
        if newer.adopted:
            for job, schedule in newer.adopted.items():
                self.members[job].schedule = schedule
            outcome.events.append(events.Adopted(self.name, max(s.version for s in newer.adopted.values())))
        else:
            self.superseded = True
            outcome.events.append(events.Superseded(self.name, newer.jobs))

    def _judge_members(self, statuses: Mapping[str, JobStatus], monotonic_ns: int, outcome: Outcome) -> None:
        """Who is missing, or back, or contradicted; and who is not to be counted on any more."""
        for job, member in self.members.items():
            status = statuses.get(job)
            why = why_absent(status)
            missing_ns = member.absence.look(why, monotonic_ns)
            if status is not None and not why:
                self._judge(member, status, monotonic_ns, outcome)
            elif has_left(why, missing_ns):
                outcome.events.append(events.MemberLeft(self.name, job, why))
            elif missing_ns >= MISSING_NS and not member.told_missing:
                member.told_missing = True
                outcome.events.append(events.MemberMissing(self.name, job, why))
        self._release(outcome)

    def _judge(self, member: Member, status: JobStatus, monotonic_ns: int, outcome: Outcome) -> None:
        """One that is heard of."""
        if member.told_missing:
            member.told_missing = False
            outcome.events.append(events.MemberBack(self.name, status.job))
        off_ns = member.off_grid.look(status.state in FOLLOWS_NO_GRID, monotonic_ns)
        if member.off_grid.value and off_ns > max(NO_GRID_NS, NO_GRID_PACES * member.schedule.pace_ns):
            outcome.events.append(events.MemberFreed(self.name, status.job, status.note or f"it is {status.state}"))
        # Where a job does not communicate when it says it does, it is not known where it is.
        is_against = bool(status.contradicted) and status.contradicted_ns > member.schedule.hold_ns
        if is_against and not member.is_contradicted:
            outcome.events.append(events.Contradicted(self.name, status.job, status.contradicted))
        member.is_contradicted = is_against

    def _release(self, outcome: Outcome) -> None:
        """Let go of those whom the events say so of; and of one that is alone: it has nobody to keep clear of."""
        for event in outcome.events:
            if isinstance(event, events.MemberLeft | events.MemberFreed) and event.job in self.members:
                outcome.released.append(self.members.pop(event.job))
        if outcome.released and len(self.members) == 1:
            job, last = self.members.popitem()
            outcome.events.append(events.Dissolved(self.name, job))
            outcome.released.append(last)

    def _keep_together(
        self, statuses: Mapping[str, JobStatus], now_ns: int, monotonic_ns: int, outcome: Outcome
    ) -> None:
        drafts = self._with_lease(statuses, now_ns, monotonic_ns)
        known = {job: statuses[job] for job, member in self.members.items() if not member.absence.value}
        if len(known) == len(self.members):  # paces are those of all
            drafts = self._renewal.decide(drafts, known, now_ns, outcome.events)
            self._release(outcome)
        drafts = {job: drafts[job] for job in self.members}
        known = {job: known[job] for job, member in self.members.items() if job in known and not member.is_contradicted}
        # A job whose daemon does not answer runs on, out of reach, on the grid that it has.
        if known and all(member.absence.value != UNREACHABLE for member in self.members.values()):
            drafts = self._rephasing.decide(drafts, known, now_ns, monotonic_ns, outcome.events)
        self._adopt_drafts(drafts)
        outcome.send += [
            member.schedule
            for job, member in self.members.items()
            if job in statuses and statuses[job].version < member.schedule.version
        ]

    def _with_lease(self, statuses: Mapping[str, JobStatus], now_ns: int, monotonic_ns: int) -> dict[str, Schedule]:
        """The schedules of all; with later expiry, if it is time."""
        drafts = {job: member.schedule for job, member in self.members.items()}
        says_expired = any(  # by the clock of its host: that of the coordinator was set back since
            job in statuses and statuses[job].state == "expired" and statuses[job].version == draft.version
            for job, draft in drafts.items()
        )
        was_told = monotonic_ns - self._lease_renewed_ns < AGAIN_NS
        if not (lease.is_half_over(drafts, now_ns) or (says_expired and not was_told)):
            return drafts
        self._lease_renewed_ns = monotonic_ns
        return lease.renewed(drafts, now_ns)

    def _adopt_drafts(self, drafts: Mapping[str, Schedule]) -> None:
        """One version for all, if anything is another: the phase of each is meant for those of the others."""
        if all(drafts[job] == member.schedule for job, member in self.members.items()):
            return
        latest = max(drafts[job].version for job in self.members)
        version = next_version(latest)
        if version == latest:
            return  # no daemon would take a greater one; what they have stays
        for job, member in self.members.items():
            member.schedule = replace(drafts[job], version=version)
