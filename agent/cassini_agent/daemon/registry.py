"""The jobs of this server: whose they are, who is connected, what they told. Bounded, the longest unheard go first."""

from __future__ import annotations

import dataclasses
import hmac
import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

from ..schedule import DAY_NS, Schedule
from .changes import Changes
from .measurements import Measurements
from .messages import CLEAR, Changed

__all__ = ["Job", "Link", "RefusedError", "Registry", "on_host"]

ROOT = 0


class RefusedError(Exception):
    """Somebody does not get what they asked for: a word for the metrics, a sentence for the caller."""

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or reason.replace("_", " "))
        self.reason = reason


class Link(Protocol):
    """The connection of a job, as far as the registry cares."""

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
        """Say why and close."""
        ...


class Job:
    """One job.

    Attributes
    ----------
    owner : int or None
        The user who said hello first, or who showed the job's secret; None before.
    link : Link or None
        Of its rank 0, while it is connected.
    offered : Schedule or None
        The newest schedule that was accepted, on the coordinator's clock; stays when it is cleared.
    offset_ns : int or None
        What puts it on the host's monotonic clock; None: it is not in force, but cleared or of another boot.
    version : int
        Of the newest command, 0 before the first; older ones are refused.
    cleared : bool
        The newest command was to run free.
    keep_until_ns : int
        Until then (monotonic) an older schedule could still be replayed: the version must be known.
    seen_ns, heard_ns : int or None
        When anything happened to it last, and when it last reported (monotonic).
    world_size : int
        Its ranks, as it said.
    reporter : str or None
        Hash of the secret that who reported last has shown.
    """

    def __init__(self, job_id: str) -> None:
        self.id = job_id
        self.owner: int | None = None
        self.link: Link | None = None
        self.offered: Schedule | None = None
        self.offset_ns: int | None = None
        self.version = 0
        self.cleared = False
        self.keep_until_ns = 0
        self.world_size = 1
        self.reporter: str | None = None
        self.measurements = Measurements()
        self.changed: Changed | None = None
        self.seen_ns: int | None = None
        self.heard_ns: int | None = None

    def hear(self, secret_sha256: str | None) -> None:
        """From who has shown this secret: what was reported under another one is of another job."""
        if secret_sha256 != self.reporter:
            self.reporter, self.measurements, self.changed, self.heard_ns = secret_sha256, Measurements(), None, None

    def in_force(self, now_ns: int) -> Schedule | None:
        """The schedule on the host's clock, if there is one that has not expired."""
        if self.offered is None or self.offset_ns is None or self.offered.expires_ns + self.offset_ns <= now_ns:
            return None
        return on_host(self.offered, self.offset_ns)

    def secret_sha256(self, now_ns: int) -> str | None:
        """Of the secret that who speaks for it must have shown: of the schedule in force. None: its user counts."""
        held = self.in_force(now_ns)
        return None if held is None else held.secret_sha256

    def send(self, message: bytes) -> None:
        if self.link is not None:
            self.link.send(message)


class Registry:
    """All jobs, the least recently heard of first.

    Parameters
    ----------
    most : int
        Jobs.

    Attributes
    ----------
    changes : Changes
        What a coordinator should know of at once: who came or went, is elsewhere than it should be, or is another.
    has_new_owner : bool
        Of a job with a schedule; whoever writes that down says False.
    """

    def __init__(self, most: int) -> None:
        self.changes = Changes()
        self.has_new_owner = False
        self._most = most
        self._jobs: OrderedDict[str, Job] = OrderedDict()

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
        RefusedError
            ``too_many_jobs``: all are connected or have a version to remember.
        """
        job = self._jobs.get(job_id)
        if job is None:
            if len(self._jobs) >= self._most:
                self._make_room(now_ns)
            job = self._jobs[job_id] = Job(job_id)
        return job

    def touch(self, job: Job, now_ns: int) -> None:
        """Something was heard of the job."""
        job.seen_ns = now_ns
        self._jobs.move_to_end(job.id)

    def join(self, job_id: str, link: Link, now_ns: int) -> Job:
        """A connection says which job it is of. Its user owns the job if nobody did, or if it shows the job's secret.

        An earlier one of the same process, or of one that is gone, ends.

        Raises
        ------
        RefusedError
            ``wrong_secret``: the job's schedule says which secret it has, and this is another one, or none.
            ``not_yours``: the schedule does not say, and the job belongs to another user; root may all.
            ``name_taken``: another process that runs is the job: two jobs were given one name.
            ``too_many_jobs``.
        """
        known = self._jobs.get(job_id)
        secret = None if known is None else known.secret_sha256(now_ns)
        if known is not None and not _may_join(known, link, secret):
            raise RefusedError("not_yours" if secret is None else "wrong_secret")
        if known is not None and known.link is not None and _is_other(known.link.pid, link.pid):
            raise RefusedError("name_taken")
        job = known or self.get_or_add(job_id, now_ns)
        if job.owner is None or (secret is not None and job.owner != link.uid):
            job.owner = link.uid
            self.has_new_owner = self.has_new_owner or job.version > 0
        if job.link is not None:
            job.link.evict("name_taken")
        job.link = link
        if secret is not None:
            link.prove()
        self.touch(job, now_ns)
        self.changes.note()
        return job

    def leave(self, job: Job, link: Link, now_ns: int) -> None:
        """The connection has ended, or is not the job's any more."""
        if job.link is link:
            job.link = None
        if self._jobs.get(job.id) is job:
            self.touch(job, now_ns)
            self.changes.note()

    def check_secret(self, job: Job, secret: str) -> None:
        """A schedule has come that says which secret the job has.

        Who has shown another one, or none, goes, runs free, and what they reported counts no more.
        """
        link = job.link
        if link is not None and _may_join(job, link, secret):
            link.prove()
        elif link is not None:
            link.send(CLEAR)
            job.link = None
            link.evict("wrong_secret")
        job.hear(secret)
        job.owner = None if job.link is None else job.link.uid

    def _make_room(self, now_ns: int) -> None:
        for job in self._jobs.values():
            if job.link is None and job.keep_until_ns <= now_ns:
                return self._remove(job)
        for job in self._jobs.values():  # what users name makes room: they may have as many names as they like
            if job.version == 0:
                return self._remove(job)
        raise RefusedError("too_many_jobs")

    def _remove(self, job: Job) -> None:
        del self._jobs[job.id]
        if job.link is not None:
            job.link.evict("too_many_jobs")


def on_host(schedule: Schedule, offset_ns: int) -> Schedule:
    """``schedule`` with its grid on the host's monotonic clock, which is ``offset_ns`` ahead of the coordinator's.

    A job takes no epoch of more than a day ago, and may come long after its schedule, at the latest when that expires:
    so the epoch is moved by whole paces to within a day of that.
    """
    epoch_ns, expires_ns = schedule.epoch_ns + offset_ns, schedule.expires_ns + offset_ns
    late_ns = max(0, expires_ns - DAY_NS - epoch_ns)
    epoch_ns += -(-late_ns // schedule.pace_ns) * schedule.pace_ns
    return dataclasses.replace(schedule, epoch_ns=epoch_ns, expires_ns=expires_ns)


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
