"""The jobs of this server: whose they are, who is connected, what they told. Bounded, the longest unheard go first."""

from __future__ import annotations

import hmac
import os
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Protocol

from ..schedule import Schedule
from .changes import Changes
from .limits import Limits
from .measurements import Measurements
from .messages import CLEAR

__all__ = [
    "Job",
    "Link",
    "NameTakenError",
    "NotYoursError",
    "Registry",
    "TooManyError",
    "WrongSecretError",
]

ROOT = 0


class NotYoursError(Exception):
    """The job belongs to another user."""


class WrongSecretError(Exception):
    """The secret is not that of the job's schedule."""


class NameTakenError(Exception):
    """Another process that runs is rank 0 of the job."""


class TooManyError(Exception):
    """No room for one more: ``too_many_jobs`` or ``too_many_connections``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Link(Protocol):
    """One connection of a job, as far as the registry cares."""

    rank: int
    uid: int
    pid: int
    secret_sha256: str | None

    def send(self, message: bytes) -> None:
        """Send or keep as the newest message that waits; never blocks."""
        ...

    def prove(self) -> None:
        """The secret that it has shown is that of its job."""
        ...

    def evict(self, reason: str) -> None:
        """Say why and close; it has left its job then."""
        ...


class Job:
    """One job.

    Attributes
    ----------
    owner : int or None
        The user who said hello first, or who showed the job's secret; None before.
    links : set of Link
        Open connections.
    offered : Schedule or None
        The newest schedule that was accepted, on the coordinator's clock; stays when it is cleared.
    host : Schedule or None
        The same on the host's monotonic clock, while it is in force.
    follows : bool
        Whether ``host`` follows the coordinator's mapping; not after a step of a clock.
    version : int
        Of the newest command, 0 before the first; older ones are refused.
    cleared : bool
        The newest command was to run free.
    keep_until_ns : int
        Until then (monotonic) an older schedule could still be replayed: the version must be known.
    seen_ns, heard_ns : int or None
        When anything happened to it last, and when its rank 0 last reported (monotonic).
    world_size : int
        Its ranks, as rank 0 said.
    reporter : str or None
        Hash of the secret that who reported last has shown.
    line : bytes
        What the journal holds of it; empty: to be made anew.
    revision : int
        Grows with every change that shows in a status.
    """

    __slots__ = (
        "changed",
        "cleared",
        "follows",
        "heard_ns",
        "host",
        "id",
        "keep_until_ns",
        "line",
        "links",
        "measurements",
        "offered",
        "owner",
        "reporter",
        "revision",
        "seen_ns",
        "status_cache",
        "version",
        "world_size",
    )

    def __init__(self, job_id: str) -> None:
        self.id = job_id
        self.owner: int | None = None
        self.links: set[Link] = set()
        self.offered: Schedule | None = None
        self.host: Schedule | None = None
        self.follows = True
        self.version = 0
        self.cleared = False
        self.keep_until_ns = 0
        self.world_size = 1
        self.reporter: str | None = None
        self.line = b""
        self.measurements = Measurements()
        self.changed: dict[str, int] | None = None
        self.seen_ns: int | None = None
        self.heard_ns: int | None = None
        self.revision = 0
        self.status_cache: tuple[object, bytes] | None = None

    def hear(self, secret_sha256: str | None) -> None:
        """From who has shown this secret: what was reported under another one is of another job."""
        if secret_sha256 != self.reporter:
            self.reporter, self.measurements, self.changed, self.heard_ns = secret_sha256, Measurements(), None, None

    def in_force(self, now_ns: int) -> Schedule | None:
        """The schedule on the host's clock, if it has not expired."""
        return self.host if self.host is not None and now_ns < self.host.expires_ns else None

    def secret_sha256(self, now_ns: int) -> str | None:
        """Of the secret that who speaks for it must have shown: of the schedule in force. None: its user counts."""
        return None if self.offered is None or self.in_force(now_ns) is None else self.offered.secret_sha256

    def send(self, message: bytes) -> None:
        for link in self.links:
            link.send(message)


class Registry:
    """All jobs, the least recently heard of first.

    Attributes
    ----------
    changes : Changes
        What a coordinator should know of at once: who came or went, is elsewhere than it should be, or is another.
    """

    def __init__(self, limits: Limits) -> None:
        self.changes = Changes()
        self._limits = limits
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._of_user: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def ids(self) -> list[str]:
        return list(self._jobs)

    def get(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def get_or_add(self, job_id: str, now_ns: int) -> Job:
        """The job, new if need be; the longest unheard that nothing depends on makes room.

        Raises
        ------
        TooManyError
            All jobs are connected or have a version to remember.
        """
        job = self._jobs.get(job_id)
        if job is None:
            if len(self._jobs) >= self._limits.jobs:
                self._make_room(now_ns)
            job = self._jobs[job_id] = Job(job_id)
        return job

    def touch(self, job: Job, now_ns: int) -> None:
        """Something was heard of the job."""
        job.seen_ns = now_ns
        job.revision += 1
        self._jobs.move_to_end(job.id)

    def join(self, job_id: str, link: Link, now_ns: int, rank: int = 0) -> tuple[Job, bool]:
        """A connection says which job it is of; True if its user owns the job from now on: it is the first ever, or has
        shown the job's secret.

        Raises
        ------
        WrongSecretError
            The job's schedule says which secret it has, and this is another one, or none.
        NotYoursError
            The schedule does not say, and the job belongs to another user. Root may all.
        NameTakenError
            Rank 0 of the job is another process: two jobs were given one name.
        TooManyError
            The job has all connections it may have, the user all jobs.
        """
        known = self._jobs.get(job_id)
        secret = None if known is None else known.secret_sha256(now_ns)
        if known is not None and not _may_join(known, link, secret):
            if secret is not None:
                raise WrongSecretError(f"job {job_id!r} has another secret")
            raise NotYoursError(f"job {job_id!r} belongs to user {known.owner}")
        if (
            rank == 0
            and known is not None
            and any(one.rank == 0 and _is_other(one.pid, link.pid) for one in known.links)
        ):
            raise NameTakenError(f"job {job_id!r} has another process as its rank 0")
        if known is not None and len(known.links) >= self._limits.connections_per_job:
            raise TooManyError("too_many_connections")
        claims = known is None or known.owner is None or (secret is not None and known.owner != link.uid)
        if claims and secret is None and link.uid != ROOT and self._of_user[link.uid] >= self._limits.jobs // 2:
            raise TooManyError("too_many_jobs")
        job = self.get_or_add(job_id, now_ns)
        if claims:
            self.claim(job, link.uid)
        if secret is not None:
            link.prove()
        job.links.add(link)
        self.touch(job, now_ns)
        self.changes.note()
        return job, claims

    def claim(self, job: Job, uid: int | None) -> None:
        if job.owner is not None:
            self._of_user[job.owner] -= 1
            if not self._of_user[job.owner]:
                del self._of_user[job.owner]
        job.owner = uid
        if uid is not None:
            self._of_user[uid] += 1

    def check_secret(self, job: Job, secret: str) -> None:
        """A schedule has come that says which secret the job has.

        Who has shown another one, or none, goes, runs free, and what they reported counts no more.
        """
        for link in list(job.links):
            if _may_join(job, link, secret):
                link.prove()
            else:
                link.send(CLEAR)
                link.evict("wrong_secret")
        job.hear(secret)
        self.claim(job, next((link.uid for link in job.links), None))

    def leave(self, job: Job, link: Link, now_ns: int) -> None:
        job.links.discard(link)
        if job.id in self._jobs:
            self.touch(job, now_ns)
            self.changes.note()

    def _make_room(self, now_ns: int) -> None:
        for job in self._jobs.values():
            if not job.links and job.keep_until_ns <= now_ns:
                return self._remove(job)
        for job in self._jobs.values():  # what users name makes room: they may have as many names as they like
            if job.version == 0:
                return self._remove(job)
        raise TooManyError("too_many_jobs")

    def _remove(self, job: Job) -> None:
        for link in list(job.links):
            link.evict("too_many_jobs")
        del self._jobs[job.id]
        self.claim(job, None)


def _may_join(job: Job, link: Link, secret: str | None) -> bool:
    """By its secret, if a schedule says which that is; else by its user."""
    if secret is not None:
        return hmac.compare_digest(link.secret_sha256 or "", secret)
    return job.owner is None or link.uid in (job.owner, ROOT)


def _is_other(pid: int, than: int) -> bool:
    """Whether a process runs and is another one. All that this pid namespace does not know have the id 0."""
    if pid == 0 or pid == than:
        return pid == 0
    try:
        os.kill(pid, 0)
    except ProcessLookupError:  # a child may hold its connection still
        return False
    except OSError:
        pass  # it is there, and somebody else's
    return True
