"""What is seen of jobs: by which daemon, in which state, with which profile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..coordinator.presence import GONE_NS, LOST_NS
from ..schedule import SECOND_NS, Schedule, ScheduleError
from .events import Event, Found, Gone
from .profile import History, Profile

__all__ = ["Seen", "SeenJobs"]


@dataclass(slots=True)
class Seen:
    """One job.

    Attributes
    ----------
    host : str
        Whose daemon serves its rank 0.
    status : mapping
        What that daemon said last.
    history : History
    planned : Profile or None
        What its schedule was made from.
    count, calm_count : int
        ``history.count`` when that was; and when the job was last seen out of its place, or on the way to it.
    sending_ns : float or None
        What communication took when nobody was in the way.
    unknown : str
        Why it is left out; empty while it is not.
    told : str
        The kind of reason that was told last.
    """

    name: str
    host: str
    status: Mapping[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    planned: Profile | None = None
    count: int = 0
    calm_count: int = 0
    sending_ns: float | None = None
    unknown: str = ""
    told: str = ""
    missing_since_s: float | None = None

    @property
    def schedule(self) -> Schedule | None:
        """What its daemon has for it."""
        told = self.status.get("schedule")
        if not isinstance(told, Mapping):
            return None
        try:
            return Schedule.from_mapping(told)
        except ScheduleError:
            return None

    @property
    def is_connected(self) -> bool:
        return self.missing_since_s is None and self.status.get("connected") is True

    def parting(self, newest: int = 64) -> Profile | str:
        """A profile to part it from others; what it was planned with where none can be made."""
        found = self.history.parting(newest, self.sending_ns)
        return self.planned if isinstance(found, str) and self.planned is not None else found

    def was_calm(self, before: Mapping[str, Any]) -> bool:
        """Whether the job was in its place, and nowhere else, since its status was ``before``."""
        same = all(before.get(key) == self.status.get(key) for key in ("version", "adjustments"))
        return same and self.is_connected and self.status.get("state") == "held"


class SeenJobs:
    """All jobs of interest.

    Parameters
    ----------
    is_wanted : callable
        Whether a job of this name takes part.
    tell : callable
        Called with ``Found`` and ``Gone``.
    """

    def __init__(self, is_wanted: Callable[[str], bool], tell: Callable[[Event], None]) -> None:
        self.jobs: dict[str, Seen] = {}
        self._is_wanted = is_wanted
        self._tell = tell

    def look(self, answers: Mapping[str, list[Mapping[str, Any]] | None], now_s: float) -> None:
        """Take what daemons said: by host, the statuses of its jobs, or None from one that did not answer."""
        here: set[str] = set()
        for host, statuses in answers.items():
            for status in statuses or ():
                name = status.get("job")
                # Other ranks are connected to the daemons of their own hosts, but only rank 0 reports iterations.
                is_here = status.get("connected") is True and _whole(status, "iterations") > 0
                if isinstance(name, str) and is_here and name not in here and self._is_wanted(name):
                    here.add(name)
                    self._see(name, host, status)
        for name, job in list(self.jobs.items()):
            if name in here:
                continue
            if job.missing_since_s is None:
                job.missing_since_s = now_s
            is_silent = answers.get(job.host, []) is None
            if (now_s - job.missing_since_s) * SECOND_NS >= (LOST_NS if is_silent else GONE_NS):
                del self.jobs[name]
                self._tell(Gone(name))

    def keep_only(self, hosts: Collection[str]) -> None:
        """Forget jobs that are not wanted any more, or whose hosts are not looked at."""
        for name, job in list(self.jobs.items()):
            if job.host not in hosts or not self._is_wanted(name):
                del self.jobs[name]

    def _see(self, name: str, host: str, status: Mapping[str, Any]) -> None:
        job = self.jobs.get(name)
        if job is None:
            job = self.jobs[name] = Seen(name, host)
            self._tell(Found(name, host))
        elif job.host != host:
            job.host = host
            self._tell(Found(name, host))
        before, job.status, job.missing_since_s = job.status, status, None
        recent = status.get("recent")
        begins, ends = status.get("communication_start_ns"), status.get("communication_end_ns")
        usual = (begins, ends) if isinstance(begins, int) and isinstance(ends, int) else None
        if not job.history.add(_whole(status, "iterations"), recent if isinstance(recent, Mapping) else {}, usual):
            job.planned = job.sending_ns = None  # another run, which may be of another model
        if not job.was_calm(before):
            job.calm_count = job.history.count


def _whole(status: Mapping[str, Any], key: str) -> int:
    value = status.get(key)
    return value if type(value) is int else 0
