"""A schedule on the host's monotonic clock: what a job gets. Pure arithmetic."""

from __future__ import annotations

import dataclasses

from ..schedule import DAY_NS, Schedule

__all__ = ["grid_move_ns", "on_host"]


def on_host(schedule: Schedule, offset_ns: int, now_ns: int) -> Schedule:
    """``schedule`` with its grid on the host's monotonic clock.

    Parameters
    ----------
    schedule : Schedule
        On the coordinator's clock.
    offset_ns : int
        The host's monotonic clock minus the coordinator's.
    now_ns : int
        The host's monotonic clock.

    Notes
    -----
    A job takes no epoch of more than a day ago, and may come long after its schedule: then the epoch is moved by whole
    paces to just before now.
    """
    epoch_ns = schedule.epoch_ns + offset_ns
    expires_ns = schedule.expires_ns + offset_ns
    if epoch_ns < expires_ns - DAY_NS:
        epoch_ns += (now_ns - epoch_ns) // schedule.pace_ns * schedule.pace_ns
    return dataclasses.replace(schedule, epoch_ns=epoch_ns, expires_ns=min(expires_ns, now_ns + DAY_NS))


def grid_move_ns(before: Schedule, after: Schedule) -> int:
    """By how much the grids of two schedules of one pace differ, ns: at most half a pace, whichever way."""
    distance = (after.epoch_ns + after.shift_ns - before.epoch_ns - before.shift_ns) % after.pace_ns
    return min(distance, after.pace_ns - distance)
