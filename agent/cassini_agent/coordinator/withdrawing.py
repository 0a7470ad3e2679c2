"""Schedules that nobody keeps any more, until the daemons do not have them any more: pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .member import Member
from .status import JobStatus

__all__ = ["Withdrawals"]


class Withdrawals:
    """Of all components that are or were kept, by job."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[Member, int]] = {}

    def add(self, members: Iterable[Member], from_ns: int) -> None:
        """Set these jobs free from then on, unless their daemons have something newer by then."""
        self._left |= {member.schedule.job: (member, from_ns) for member in members}

    def drop(self, jobs: Iterable[str]) -> None:
        """Somebody keeps these jobs again."""
        for job in jobs:
            self._left.pop(job, None)

    def hosts(self) -> set[str]:
        """Whose daemons have to be asked."""
        return {member.host for member, _ in self._left.values()}

    def jobs_on(self, host: str) -> list[str]:
        return [job for job, (member, _) in self._left.items() if member.host == host]

    def due(
        self, host: str, asked: Collection[str], statuses: Mapping[str, JobStatus] | None, now_ns: int
    ) -> list[Member]:
        """Whom to set free now of the jobs that a host was asked for; no ``statuses`` if its daemon did not answer."""
        found = []
        for job in [job for job in self.jobs_on(host) if job in asked]:
            member, from_ns = self._left[job]
            if statuses is None:
                is_over = now_ns > member.schedule.expires_ns
            else:
                is_over = not _has(statuses.get(job), member.schedule.version)
            if is_over:
                del self._left[job]
            elif statuses is not None and now_ns >= from_ns:
                found.append(member)
        return found


def _has(status: JobStatus | None, version: int) -> bool:
    """Whether a daemon still has this schedule, or one before it; of a newer one somebody else has the say."""
    return status is not None and status.schedule is not None and status.version <= version
