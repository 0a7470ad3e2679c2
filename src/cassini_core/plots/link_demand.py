"""What the jobs of one link demand over time, as steps in whole ticks and kbit/s, so that sums are exact."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Int64Array
from ..kernel.prepared_link import PreparedLink
from ..links.one_link import score_bounds
from ..model import Job
from ..profiles.phases import volume_mbit
from ..units import ms_from_ticks, ticks_from_ms

__all__ = ["LinkDemand", "Window", "link_demand", "link_head", "score_row", "shown_window"]

MOST_TURNS = 8
"""A perimeter of more iterations of the longest job is not shown as a whole: nobody can read it."""

WINDOW_TURNS = 4
"""Iterations of the longest job in a window of such a perimeter."""

LONGEST_FLOAT_TICKS = 2**1000

MOST_STEPS = 2048
"""More edges are not drawn; the window is then shorter."""


class Window(NamedTuple):
    """The stretch of time that is shown, from 0 on, ticks; ``is_whole`` if it is the perimeter or some of them."""

    perimeter: int
    length: int
    is_whole: bool


class LinkDemand(NamedTuple):
    """Steps of demand from 0 to the end of a window.

    ``edges`` has shape ``(n + 1,)``, ticks; ``kbps`` shape ``(n_jobs, n)``, in the order of the jobs.
    """

    edges: Int64Array
    kbps: Int64Array
    capacity: int

    def excess(self) -> Int64Array:
        """Demand above the capacity, kbit/s, shape ``(n,)``."""
        return np.asarray(np.maximum(0, self.kbps.sum(axis=0) - self.capacity))


def shown_window(jobs: Sequence[Job], least_turns: int = 1) -> Window:
    """What to show of a link: perimeters that hold ``least_turns`` iterations of each job, or a window of a longer one.

    Raises
    ------
    InputError
        As :meth:`PreparedLink.from_jobs`.
    """
    link = PreparedLink.from_jobs(jobs, 1.0)
    periods = link.period.tolist()
    perimeter, longest = math.lcm(*periods), max(periods)
    is_whole = perimeter <= MOST_TURNS * longest
    length = perimeter * -(-least_turns * longest // perimeter) if is_whole else WINDOW_TURNS * longest
    per_tick = sum(len(_changes(link, at)) / period for at, period in enumerate(periods))
    while is_whole and length > perimeter and length * per_tick > MOST_STEPS:
        length -= perimeter
    if length * per_tick > MOST_STEPS:
        length, is_whole = max(1, int(MOST_STEPS / per_tick)), False
    return Window(perimeter, length, is_whole)


def link_demand(
    jobs: Sequence[Job], capacity_gbps: float, shifts_ms: Mapping[str, float], window: Window
) -> LinkDemand:
    """The demand of each job at given shifts, ms, 0 where absent. O(jobs x steps)."""
    link = PreparedLink.from_jobs(jobs, capacity_gbps)
    shifts = [ticks_from_ms(shifts_ms.get(job.id, 0.0)) for job in jobs]
    found = [_unrolled(link, at, shift, window.length) for at, shift in enumerate(shifts)]
    edges = np.unique(np.concatenate([times for times, _ in found] + [np.array([0, window.length])]))
    levels = [level[np.searchsorted(times, edges[:-1], "right") - 1] for times, level in found]
    return LinkDemand(edges, np.array(levels, dtype=np.int64), link.capacity)


def _changes(link: PreparedLink, job: int) -> dict[int, int]:
    """Ticks into the iteration at which the demand of a job changes, and by how much, kbit/s."""
    period = int(link.period[job])
    change: dict[int, int] = {}
    for start, length, rate in _phases(link, job):
        change[start] = change.get(start, 0) + rate
        end = (start + length) % period
        change[end] = change.get(end, 0) - rate
    return {time: step for time, step in change.items() if step}


def _phases(link: PreparedLink, job: int) -> Iterator[tuple[int, int, int]]:
    phases = slice(link.phase_offset[job], link.phase_offset[job + 1])
    columns = (link.phase_start, link.phase_length, link.phase_rate)
    return zip(*(column[phases].tolist() for column in columns), strict=True)


def _unrolled(link: PreparedLink, job: int, shift: int, until: int) -> tuple[Int64Array, Int64Array]:
    """Times from 0 to ``until`` at which a job's demand changes, the first is 0, and its demand from then on."""
    period = int(link.period[job])
    change = {(time + shift) % period: step for time, step in _changes(link, job).items()}
    first = sum(rate for start, length, rate in _phases(link, job) if (-start - shift) % period < length)
    if not change:  # it may turn very often
        return np.array([0]), np.array([first])
    # What changes at time 0 is part of the level there.
    steps = np.array([(time, step) for time, step in sorted(change.items()) if time], dtype=np.int64).reshape(-1, 2)
    turn_times = np.append(0, steps[:, 0])
    turn_levels = first + np.append(0, np.cumsum(steps[:, 1]))
    turns = -(-until // period)
    times = (turn_times[None, :] + period * np.arange(turns, dtype=np.int64)[:, None]).ravel()
    return times[times < until], np.tile(turn_levels, turns)[times < until]


def link_head(
    jobs: Sequence[Job], capacity_gbps: float, shifts_ms: Mapping[str, float], free_jobs: Sequence[str], window: Window
) -> dict[str, Any]:
    """What JSON says of a link, its jobs and the window; a perimeter too long for a float is null."""
    perimeter = ms_from_ticks(window.perimeter) if window.perimeter < LONGEST_FLOAT_TICKS else None
    return {
        "capacity_gbps": float(capacity_gbps),
        "perimeter_ms": perimeter,
        "window_ms": ms_from_ticks(window.length),
        "is_whole": window.is_whole,
        "jobs": [
            {
                "id": job.id,
                "iteration_ms": job.iteration_ms,
                "mean_gbps": volume_mbit(job.phases) / job.iteration_ms,
                "shift_ms": float(shifts_ms.get(job.id, 0.0)),
                "is_free": job.id in free_jobs,
            }
            for job in jobs
        ],
    }


def score_row(
    jobs: Sequence[Job], capacity_gbps: float, shifts_ms: Mapping[str, float], resolution_ms: float
) -> dict[str, Any]:
    """The score over the whole perimeter: exact, or where that is beyond the limits its certified lower end."""
    lower, upper = score_bounds(jobs, capacity_gbps, shifts_ms, resolution_ms=resolution_ms)
    return {"score": lower, "score_is_exact": lower == upper}
