"""Schedules that nobody keeps any more, until the daemons do not have them any more: pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .member import Member
from .status import JobStatus

__all__ = ["Withdrawals"]


@dataclass(frozen=True, slots=True)
class _Left:
    """A job that was let go of, with the schedule that it had; from when on it is to be set free."""

    member: Member
    from_ns: int


class Withdrawals:
    """Of all components that are or were kept, by job."""

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}

    def add(self, members: Iterable[Member], from_ns: int) -> None:
        """Set these jobs free, unless their daemons have something newer by then."""
        self._left |= {member.schedule.job: _Left(member, from_ns) for member in members}

    def drop(self, jobs: Iterable[str]) -> None:
        """Somebody keeps these jobs again."""
        for job in jobs:
            self._left.pop(job, None)

    def hosts(self) -> set[str]:
        """Whose daemons have to be asked."""
        return {left.member.host for left in self._left.values()}

    def jobs_on(self, host: str) -> list[str]:
        return [job for job, left in self._left.items() if left.member.host == host]

    def due(
        self, host: str, asked: Collection[str], statuses: Mapping[str, JobStatus] | None, now_ns: int
    ) -> list[Member]:
        """Whom to set free now of the jobs that a host was asked for; no ``statuses`` if its daemon did not answer."""
        found = []
        for job in [job for job in self.jobs_on(host) if job in asked]:
            left, schedule = self._left[job], self._left[job].member.schedule
            over = now_ns > schedule.expires_ns if statuses is None else not _has(statuses.get(job), schedule.version)
            if over:
                del self._left[job]
            elif statuses is not None and now_ns >= left.from_ns:
                found.append(left.member)
        return found


def _has(status: JobStatus | None, version: int) -> bool:
    """Whether a daemon still has this schedule, or one before it; of a newer one somebody else has the say."""
    return status is not None and status.schedule is not None and status.version <= version
