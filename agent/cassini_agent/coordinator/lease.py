"""Schedules that go on: later expiry, and an epoch that is not so long ago that no daemon takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..schedule import DAY_NS, SECOND_NS, Schedule
from .renewal import epoch_near

__all__ = ["LEASE_NS", "LONG_AGO_NS", "is_half_over", "renewed", "with_recent_epoch"]

LEASE_NS = 3600 * SECOND_NS
"""Schedules expire so long after they were made; renewed at half time."""

LONG_AGO_NS = DAY_NS // 2
"""Daemons take no epoch that is a day away."""


def is_half_over(schedules: Mapping[str, Schedule], now_ns: int) -> bool:
    """Whether it is time to renew one of them."""
    return any(now_ns > one.expires_ns - LEASE_NS // 2 for one in schedules.values())


def renewed(schedules: Mapping[str, Schedule], now_ns: int) -> dict[str, Schedule]:
    """The same grids; they expire later."""
    later = {job: replace(one, expires_ns=now_ns + LEASE_NS) for job, one in schedules.items()}
    return with_recent_epoch(later, now_ns)


def with_recent_epoch(drafts: dict[str, Schedule], now_ns: int) -> dict[str, Schedule]:
    """The same grids counted from where their pattern last began anew, or from now if that is long ago."""
    epoch = epoch_near(now_ns, drafts.values())
    if now_ns - epoch <= LONG_AGO_NS:
        return {job: replace(draft, epoch_ns=epoch) for job, draft in drafts.items()}
    return {
        job: replace(draft, epoch_ns=now_ns, shift_ns=(draft.epoch_ns + draft.shift_ns - now_ns) % draft.pace_ns)
        for job, draft in drafts.items()
    }
