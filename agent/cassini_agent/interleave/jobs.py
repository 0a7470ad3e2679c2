"""What is seen of jobs: by which daemon, in which state, with which profile."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..coordinator.presence import DISCONNECTED, UNREACHABLE, has_left, why_absent
from ..coordinator.status import JobStatus
from ..schedule import Schedule
from .events import Event, Found, Gone
from .profile import History, Profile
from .scope import Scope

__all__ = ["Seen", "SeenJobs"]


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
    planned : Profile or None
        What its schedule was made from.
    sending_ns : float or None
        What communication took when nobody was in the way.
    unknown : str
        Why it is left out; empty while it is not.
    absent : str
        Why nothing is heard of it; empty while it is heard of.
    """

    name: str
    host: str
    status: JobStatus
    history: History = field(default_factory=History)
    planned: Profile | None = None
    sending_ns: float | None = None
    unknown: str = ""
    absent: str = ""
    _absent_since_ns: int = 0
    _planned_count: int = 0  # of the history
    _astray_count: int = 0

    @property
    def schedule(self) -> Schedule | None:
        """What its daemon has for it, while that is in force."""
        told = self.status.schedule
        return told if told is not None and told.expires_ns > time.time_ns() else None

    @property
    def since_planned(self) -> int:
        """Iterations since its schedule was made."""
        return self.history.count - self._planned_count

    @property
    def calm(self) -> int:
        """Iterations since it was last seen out of its place, or on the way to it."""
        return self.history.count - self._astray_count

    def parting(self, newest: int = 64) -> Profile | str:
        """A profile to part it from others; what it was planned with where none can be made."""
        found = self.history.parting(newest, self.sending_ns)
        return self.planned if isinstance(found, str) and self.planned is not None else found

    def plan(self, profile: Profile | None) -> None:
        """Its schedule was made from this."""
        self.planned = profile
        if profile is not None and not profile.is_for_parting:
            self.sending_ns = profile.duration_ns
        self._planned_count = self._astray_count = self.history.count

    def leave_out(self, why: str) -> bool:
        """For this reason, or not (empty); whether that is news: a number that grows is none."""
        before, self.unknown = self.unknown, why
        return bool(why) and why.partition(" ")[0] != before.partition(" ")[0]

    def hear(self, status: JobStatus, usual: tuple[int, int] | None) -> None:
        """What its daemon says now; ``usual`` is when it communicates where it does not say so itself."""
        before, self.status = self.status, status
        if not self.history.add(status.iterations, status.recent.rows, status.communication_ns or usual):
            self.sending_ns = None  # another run, which may be of another model
            self.plan(None)
        same = (before.version, before.adjustments) == (status.version, status.adjustments)
        if not (same and status.state == "held"):
            self._astray_count = self.history.count

    def miss(self, why: str, now_ns: int) -> bool:
        """Nothing is heard of it for this reason, or it is (empty); whether it has left by now."""
        if why != self.absent:
            self.absent, self._absent_since_ns = why, now_ns
        return bool(why) and has_left(why, now_ns - self._absent_since_ns)


class SeenJobs:
    """All jobs of interest.

    Parameters
    ----------
    tell : callable
        Called with ``Found`` and ``Gone``.
    """

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self.jobs: dict[str, Seen] = {}
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
                if is_here and (name in self.jobs or not why_absent(status)):
                    here[name] = host
                    self._see(name, host, status, scope.network.communication_ns(name))
        for name, job in list(self.jobs.items()):
            elsewhere = DISCONNECTED if job.host in answers else UNREACHABLE
            if job.miss(why_absent(job.status) if name in here else elsewhere, now_ns):
                del self.jobs[name]
                self._tell(Gone(name))

    def keep_only(self, scope: Scope) -> None:
        """Forget jobs that do not take part any more, or whose hosts are not looked at."""
        for name, job in list(self.jobs.items()):
            if job.host not in scope.hosts or not scope.takes_part(name):
                del self.jobs[name]

    def _see(self, name: str, host: str, status: JobStatus, usual: tuple[int, int] | None) -> None:
        job = self.jobs.get(name)
        if job is None or job.host != host:
            self._tell(Found(name, host))
        if job is None:
            job = self.jobs[name] = Seen(name, host, status)
            job.hear(status, usual)
            job.plan(None)  # iterations of which it is not known where they were
        else:
            job.host = host
            job.hear(status, usual)
