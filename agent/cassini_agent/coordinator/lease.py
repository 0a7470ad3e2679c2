"""Schedules that go on: later expiry, and an epoch that is not so long ago that no daemon takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..schedule import DAY_NS, SECOND_NS, Schedule
from .renewal import epoch_near
from .status import JobStatus

__all__ = ["LEASE_NS", "LONG_AGO_NS", "Lease", "with_recent_epoch"]

LEASE_NS = 3600 * SECOND_NS
"""Schedules expire so long after they were made; renewed at half time."""

AGAIN_NS = 10 * SECOND_NS
"""A job that says it has expired was told of the renewal by then."""

LONG_AGO_NS = DAY_NS // 2
"""Daemons take no epoch that is a day away."""


class Lease:
    """Renews the schedules of one component."""

    def __init__(self) -> None:
        self._renewed_ns = -(2**62)

    def renewed(
        self, drafts: dict[str, Schedule], statuses: Mapping[str, JobStatus], now_ns: int
    ) -> dict[str, Schedule]:
        """Schedules of the same grids that expire later, if it is time; else those that came."""
        if not (self._is_half_over(drafts, now_ns) or self._has_expired(drafts, statuses, now_ns)):
            return drafts
        self._renewed_ns = now_ns
        later = {job: replace(draft, expires_ns=now_ns + LEASE_NS) for job, draft in drafts.items()}
        return with_recent_epoch(later, now_ns)

    @staticmethod
    def _is_half_over(drafts: Mapping[str, Schedule], now_ns: int) -> bool:
        return any(now_ns > draft.expires_ns - LEASE_NS // 2 for draft in drafts.values())

    def _has_expired(self, drafts: Mapping[str, Schedule], statuses: Mapping[str, JobStatus], now_ns: int) -> bool:
        """By the clock of a job's host: that of the coordinator was set back since."""
        if 0 <= now_ns - self._renewed_ns < AGAIN_NS:
            return False
        return any(
            job in statuses and statuses[job].state == "expired" and statuses[job].version == draft.version
            for job, draft in drafts.items()
        )


def with_recent_epoch(drafts: dict[str, Schedule], now_ns: int) -> dict[str, Schedule]:
    """The same grids counted from where their pattern last began anew, or from now if that is long ago."""
    epoch = epoch_near(now_ns, drafts.values())
    if now_ns - epoch <= LONG_AGO_NS:
        return {job: replace(draft, epoch_ns=epoch) for job, draft in drafts.items()}
    return {
        job: replace(draft, epoch_ns=now_ns, shift_ns=(draft.epoch_ns + draft.shift_ns - now_ns) % draft.pace_ns)
        for job, draft in drafts.items()
    }
