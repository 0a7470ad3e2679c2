"""A schedule on the host's monotonic clock: what a job gets. Pure arithmetic."""

from __future__ import annotations

import dataclasses

from ..schedule import DAY_NS, MAX_ITERATION_NS, MS_NS, Schedule
from .clocks import ClockMapping

__all__ = ["grid_move_ns", "on_host"]


def on_host(schedule: Schedule, mapping: ClockMapping, now_ns: int) -> Schedule:
    """``schedule`` with its grid on the host's monotonic clock.

    Parameters
    ----------
    schedule : Schedule
        On the coordinator's clock.
    mapping : ClockMapping
        From there to the host's monotonic clock.
    now_ns : int
        The host's monotonic clock.

    Notes
    -----
    If the clocks run at different rates pace and shift are scaled and the epoch moved by whole paces to just after
    now: an epoch of an hour ago and an unscaled pace would be 180 ms off at 50 ppm. What is left is the rounding of the
    pace, at most half a nanosecond per iteration. Other durations keep their value, clipped into their bounds.

    A job takes no epoch of more than a day ago, and may come long after its schedule: then it is moved too.
    """
    epoch_ns, pace_ns, shift_ns = schedule.epoch_ns, schedule.pace_ns, schedule.shift_ns
    if mapping.rate_ppb or epoch_ns < schedule.expires_ns - DAY_NS:
        epoch_ns -= (epoch_ns - mapping.to_coordinator(now_ns)) // pace_ns * pace_ns
    pace_ns = min(pace_ns + round(pace_ns * mapping.rate_ppb / 1e9), MAX_ITERATION_NS * 3 // 2)
    shift_ns += round(shift_ns * mapping.rate_ppb / 1e9)
    iteration_ns = min(schedule.iteration_ns, pace_ns)
    iteration_ns = max(iteration_ns, -(-pace_ns * 2 // 3), MS_NS)
    return dataclasses.replace(
        schedule,
        epoch_ns=mapping.to_monotonic(epoch_ns),
        expires_ns=min(mapping.to_monotonic(schedule.expires_ns), now_ns + DAY_NS),
        pace_ns=max(pace_ns, iteration_ns),
        shift_ns=min(shift_ns, pace_ns - 1),
        iteration_ns=iteration_ns,
        hold_ns=min(schedule.hold_ns, pace_ns // 2),
        slack_ns=min(schedule.slack_ns, pace_ns // 2),
        gain_ns=min(schedule.gain_ns, iteration_ns),
    )


def grid_move_ns(before: Schedule, after: Schedule, now_ns: int) -> int:
    """By how much the grid point nearest to now differs between two schedules of one job on the host's clock, ns.

    At most half a pace; the sign says nothing.
    """
    points = []
    for schedule in (before, after):
        origin = schedule.epoch_ns + schedule.shift_ns
        points.append(origin + round((now_ns - origin) / schedule.pace_ns) * schedule.pace_ns)
    distance = abs(points[1] - points[0]) % after.pace_ns
    return min(distance, after.pace_ns - distance)
