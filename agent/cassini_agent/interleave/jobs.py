"""What is known of jobs: by which daemon, in which state, with which profile, and how they were arranged last."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..coordinator import events
from ..coordinator.lasting import Lasting
from ..coordinator.presence import DISCONNECTED, UNREACHABLE, has_left, why_absent
from ..coordinator.status import JobStatus
from ..dispatch import Acknowledgement
from ..schedule import Schedule
from .events import Event, Found, Gone
from .profile import WINDOW, History, Profile
from .scope import Scope

__all__ = ["Group", "Seen", "SeenJobs"]

EVERY_S, SELDOM_S = 10.0, 300.0
"""Between two arrangements of the same jobs; doubled each time, up to the other, while one follows the other."""

CALM_S = 120.0
"""After so long without a new arrangement the next comes soon again."""

LEFT_ALONE_S = 300.0
"""So long is a job left alone that cost the others too much, follows no grid, or wins nothing."""


@dataclass(slots=True, eq=False)
class Group:
    """Jobs that meet and were arranged together. Times are those of a clock that nobody sets, s.

    Attributes
    ----------
    jobs : frozenset of str
    at_s : float
        When they were.
    pause_s : float
        No sooner after that are they arranged anew.
    pending : str
        Why they are being arranged; empty when that is done.
    """

    jobs: frozenset[str]
    at_s: float
    pause_s: float
    pending: str


@dataclass(slots=True)
class Seen:
    """One job.

    Attributes
    ----------
    host : str
        Whose daemon serves its rank 0.
    status : JobStatus
        What that daemon said last.
    history : History
    unknown : str
        Why there is no profile of it; empty while there is.
    group : Group or None
        Whom it was arranged with last.
    planned : Profile or None
        What its schedule was made from.
    absence : Lasting of str
        For how long ``absent`` has been as it is.
    answer : Acknowledgement or None
        What became of it then; None also where somebody else has the say.
    says_changed : bool
        It has said since then that it has changed.
    sending_ns : float or None
        What communication took when nobody was in the way.
    left_alone_until_s : float
        Until then it is arranged with nobody, as the coordinator set it free.
    """

    name: str
    host: str
    status: JobStatus
    history: History = field(default_factory=History)
    unknown: str = ""
    group: Group | None = None
    planned: Profile | None = None
    answer: Acknowledgement | None = None
    says_changed: bool = False
    sending_ns: float | None = None
    left_alone_until_s: float = 0.0
    absence: Lasting[str] = field(default_factory=lambda: Lasting(""))
    _planned_count: int = 0  # of the history
    _astray_count: int = 0

    @property
    def absent(self) -> str:
        """Why nothing is heard of it; empty while it is heard of."""
        return self.absence.value

    @property
    def schedule(self) -> Schedule | None:
        """What its daemon has for it, while that is in force."""
        told = self.status.schedule
        return told if told is not None and told.expires_ns > time.time_ns() else None

    @property
    def component(self) -> str | None:
        """What it is to be held in; None if it is to run free."""
        return None if self.answer is None or self.answer.schedule is None else self.answer.schedule.component

    @property
    def is_parted(self) -> bool:
        """It is to be held so that it is known apart from others: then it is arranged again."""
        return self.component is not None and (self.planned is None or self.planned.is_for_parting)

    @property
    def since_planned(self) -> int:
        """Iterations since its schedule was made."""
        return self.history.count - self._planned_count

    @property
    def calm(self) -> int:
        """Iterations since it was last seen out of its place, or on the way to it."""
        return self.history.count - self._astray_count

    def parting(self) -> Profile | str:
        """A profile to part it from others; what it was planned with where none can be made."""
        found = self.history.parting(self.sending_ns)
        return self.planned if isinstance(found, str) and self.planned is not None else found

    def apart(self, newest: int = WINDOW) -> Profile | str:
        """A profile of its last iterations, which nobody held up; where rank 0 waited, of what all ranks take."""
        found = self.history.apart(newest)
        if isinstance(found, str) or self.status.world_size == 1 or self.schedule is None:
            return found
        return found.of_several_ranks(self.schedule.pace_ns)

    def plan(self, profile: Profile | None) -> None:
        """Its schedule was made from this."""
        self.planned = profile
        self.says_changed = False
        if profile is not None and not profile.is_for_parting:
            self.sending_ns = profile.duration_ns
        self._planned_count = self._astray_count = self.history.count

    def hear(self, status: JobStatus, usual: tuple[int, int] | None) -> None:
        """What its daemon says now; ``usual`` is when it communicates where it does not say so itself."""
        before, self.status = self.status, status
        if not self.history.add(status.iterations, status.recent.rows, status.communication_ns or usual):
            self.sending_ns = None  # another run, which may be of another model
            self.plan(None)
        same = (before.version, before.adjustments) == (status.version, status.adjustments)
        if not (same and status.state == "held"):
            self._astray_count = self.history.count


class SeenJobs(dict[str, Seen]):
    """All jobs of interest, by name.

    Parameters
    ----------
    tell : callable
        Called with ``Found`` and ``Gone``.
    """

    def __init__(self, tell: Callable[[Event], None]) -> None:
        super().__init__()
        self._tell = tell

    def look(self, answers: Mapping[str, Mapping[str, JobStatus]], scope: Scope, now_ns: int) -> None:
        """Take what daemons said: by host, statuses by job, without those that did not answer.

        ``now_ns`` is on a clock that nobody sets.
        """
        here: dict[str, str] = {}
        for host, statuses in answers.items():
            for name, status in statuses.items():
                # Other ranks are connected to the daemons of their own hosts, but only rank 0 reports iterations.
                is_here = status.connected and status.iterations > 0 and name not in here and scope.takes_part(name)
                if not is_here or (name not in self and why_absent(status)):
                    continue
                here[name] = host
                job, usual = self.get(name), scope.network.communication_ns(name)
                if job is None or job.host != host:
                    self._tell(Found(name, host))
                if job is None:
                    job = self[name] = Seen(name, host, status)
                    job.hear(status, usual)
                    job.plan(None)  # iterations of which it is not known where they were
                else:
                    job.host = host
                    job.hear(status, usual)
        for name, job in list(self.items()):
            elsewhere = DISCONNECTED if job.host in answers else UNREACHABLE
            why = why_absent(job.status) if name in here else elsewhere
            missing_ns = job.absence.look(why, now_ns)
            if why and has_left(why, missing_ns):
                del self[name]
                self._tell(Gone(name))

    # --- groups -------------------------------------------------------------------------------------------------------

    def group(self, jobs: Collection[str]) -> Group | None:
        """These very jobs; None if they were not arranged as one group."""
        groups = {self[job].group for job in jobs}
        found = groups.pop()
        return found if not groups and found is not None and found.jobs == jobs else None

    def groups_with(self, jobs: Collection[str]) -> set[Group]:
        """Those with any of these jobs."""
        return {group for job in jobs if (group := self[job].group) is not None}

    def may_be_arranged(self, jobs: Collection[str], now_s: float) -> bool:
        """Whether none of them was just arranged; those that are parted may be again as soon as they are known."""
        group = self.group(jobs)
        if group is None:
            return all(now_s - other.at_s >= EVERY_S for other in self.groups_with(jobs))
        return now_s - group.at_s >= (EVERY_S if any(self[job].is_parted for job in jobs) else group.pause_s)

    def begin(self, jobs: frozenset[str], because: str, now_s: float) -> Group:
        """These are being arranged; sooner and sooner is not allowed."""
        group, before, over = Group(jobs, now_s, EVERY_S, because), self.group(jobs), self.groups_with(jobs)
        if before is not None and now_s - before.at_s < CALM_S + before.pause_s:
            is_parted = any(self[job].is_parted for job in jobs)
            group.pause_s = before.pause_s if is_parted else min(2 * before.pause_s, SELDOM_S)
        for name, job in self.items():
            if name in jobs or job.group in over:
                job.group = group if name in jobs else None
        return group

    def what_is_new(self, jobs: frozenset[str]) -> str:
        """Of jobs that were not arranged as one group."""
        before = frozenset().union(*(group.jobs for group in self.groups_with(jobs)))
        if not before:
            return "new"
        told = [f"{job} joined" for job in sorted(jobs - before)] + [f"{job} left" for job in sorted(before - jobs)]
        return ", ".join(told) or "others meet"

    def hear(self, event: events.Event, now_s: float) -> None:
        """What the coordinator tells of a job, or of a component that jobs are held in."""
        match event:
            case events.IterationChanged(_, name) if name in self:
                self[name].says_changed = True
            case events.MemberFreed(_, name) if name in self:
                self[name].left_alone_until_s = now_s + LEFT_ALONE_S
            case events.RatioBroken(component):
                for job in self._held_in(component):
                    job.says_changed = True
            case events.Superseded(component):
                for job in self._held_in(component):
                    job.answer = None

    def _held_in(self, component: str) -> list[Seen]:
        return [job for job in self.values() if job.component == component]
