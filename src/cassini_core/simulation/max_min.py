"""A flow-level simulator: jobs compute and send in turns, links are shared max-min fairly.

A job sends at one rate along its whole ring, so its slowest link governs. A phase lasts until its volume is sent: under
contention it stretches, and so does the iteration. There are no packets, queues or marks, and rates change at once.
Max-min sharing has no noise either: two equal jobs that start in phase stay in phase for ever, which real transports
do only sometimes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array
from .jit import jit
from .traffic import Traffic

WAITING = -1
"""Segment of a job that has not begun its iteration."""

_SAME = 1.0 + 1e-12
"""Rates and loads that differ by rounding only are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was measured of each job.

    Attributes
    ----------
    iteration_ms : float64 array
        Mean iteration time after warm-up.
    slowdown : float64 array
        That over the iteration time of the job alone.
    iterations : int64 array
        So many the mean is over.
    sent_gbit, completed : float64 array, int64 array
        Volume sent up to the end of the job's last whole iteration, and how many that were from the start.
    """

    iteration_ms: Float64Array
    slowdown: Float64Array
    iterations: Int64Array
    sent_gbit: Float64Array
    completed: Int64Array


def simulate(
    traffic: Traffic,
    start_ms: Float64Array,
    *,
    pace_ms: Float64Array | None = None,
    warm_up: int = 10,
    iterations: int = 30,
) -> Measured:
    """Run all jobs side by side and measure their iteration times.

    Parameters
    ----------
    traffic : Traffic
    start_ms : float64 array
        When each job begins its first iteration: its time-shift, or a random start.
    pace_ms : float64 array, optional
        A paced job begins iteration ``k`` no earlier than ``start_ms + k * pace_ms``; NaN for a job without pace. None
        for no pacing: an iteration follows the one before at once.
    warm_up : int
        Measuring begins when every job has done so many iterations, at least 1,
    iterations : int
        and ends when every job has done so many more; a short iteration is measured more often than a long one.

    Notes
    -----
    O(segments run * (jobs + the crossings of the jobs whose rates may change)).
    """
    if warm_up < 1 or iterations < 1:
        raise ValueError(f"warm_up and iterations: expected at least 1, got {warm_up} and {iterations}")
    n_jobs = len(traffic.job_ids)
    pace = np.full(n_jobs, np.nan) if pace_ms is None else np.asarray(pace_ms, dtype=np.float64)
    first_end, last_end, sent = np.full(n_jobs, np.nan), np.zeros(n_jobs), np.zeros(n_jobs)
    measured, completed = np.zeros(n_jobs, dtype=np.int64), np.zeros(n_jobs, dtype=np.int64)
    _run(
        (traffic.segment_offset, traffic.segment_ms, traffic.segment_gbps),
        _network(traffic),
        np.asarray(start_ms, dtype=np.float64),
        pace,
        (warm_up, iterations),
        (first_end, last_end),
        sent,
        (measured, completed),
    )
    mean = (last_end - first_end) / measured
    return Measured(mean, mean / traffic.solo_ms(), measured, sent * 1e-3, completed)


def max_min_rates(traffic: Traffic, want_gbps: Float64Array) -> Float64Array:
    """Rates of all jobs when each wants ``want_gbps`` (0: does not send) on its links, Gbit/s."""
    want = np.asarray(want_gbps, dtype=np.float64)
    rate = np.zeros(len(want))
    members, links = np.flatnonzero(want > 0).astype(np.int64), np.arange(len(traffic.capacity_gbps))
    _share(members, links, want, _network(traffic), _scratch(traffic), rate)
    return rate


_Network = tuple[Int64Array, Int64Array, Float64Array, Int64Array, Int64Array, Float64Array, Float64Array]
"""Links of the jobs with multipliers, jobs of the links with multipliers, capacities."""

_Scratch = tuple[Float64Array, Float64Array, Int64Array]
"""Per link, zeros between two uses: what is left, multipliers of the jobs whose rates still rise, their number."""


def _network(traffic: Traffic) -> _Network:
    own = (traffic.link_offset, traffic.link, traffic.multiplier)
    return (*own, *traffic.jobs_on_link(), traffic.capacity_gbps)


def _scratch(traffic: Traffic) -> _Scratch:
    n_links = len(traffic.capacity_gbps)
    return np.zeros(n_links), np.zeros(n_links), np.zeros(n_links, dtype=np.int64)


@jit
def _share(
    members: Int64Array,  # jobs that send; left in another order
    links: Int64Array,  # those that may slow them down; whoever sends on them is a member
    want: Float64Array,
    network: _Network,
    scratch: _Scratch,
    rate: Float64Array,  # out, of the members
) -> None:
    """Progressive filling: all rates rise together; a job stops at what it wants or when one of its links is full."""
    link_offset, link, multiplier, job_offset, jobs, flows, capacity = network
    left, weight, rising = scratch
    for k in links:
        left[k] = capacity[k]
        for f in range(job_offset[k], job_offset[k + 1]):
            if want[jobs[f]] > 0.0:
                weight[k] += flows[f]
                rising[k] += 1
    for job in members:
        rate[job] = -1.0  # still rises
    open_jobs = len(members)
    while open_jobs > 0:
        level = np.inf
        for k in range(open_jobs):
            level = min(level, want[members[k]])
        for k in links:
            if rising[k] > 0:
                level = min(level, max(left[k], 0.0) / weight[k])
        for k in links:
            if rising[k] > 0 and left[k] <= level * weight[k] * _SAME:
                for f in range(job_offset[k], job_offset[k + 1]):
                    if want[jobs[f]] > 0.0 and rate[jobs[f]] < 0.0:
                        rate[jobs[f]] = level
        k = 0
        while k < open_jobs:
            job = members[k]
            if rate[job] < 0.0 and want[job] > level * _SAME:
                k += 1
                continue
            rate[job] = min(level, want[job])
            for e in range(link_offset[job], link_offset[job + 1]):
                left[link[e]] -= multiplier[e] * rate[job]
                weight[link[e]] -= multiplier[e]
                rising[link[e]] -= 1
            open_jobs -= 1
            members[k], members[open_jobs] = members[open_jobs], job
    for job in members:  # other links than `links` were counted down too
        for e in range(link_offset[job], link_offset[job + 1]):
            weight[link[e]], rising[link[e]] = 0.0, 0


@jit
def _affected(
    first: int,
    want: Float64Array,  # of `first`: the higher of before and after
    wanted: Float64Array,  # per link: sum of what its jobs want, with that
    network: _Network,
    members: Int64Array,  # out
    links: Int64Array,  # out
    seen: tuple[BoolArray, BoolArray],  # jobs and links, all False before and after
) -> tuple[int, int]:
    """Jobs whose rates may change when ``first`` begins or ends a phase: those it meets on links that can be full."""
    link_offset, link, _, job_offset, jobs, _, capacity = network
    seen_job, seen_link = seen
    members[0], n_members, n_links = first, 1, 0
    seen_job[first] = True
    k = 0
    while k < n_members:
        for e in range(link_offset[members[k]], link_offset[members[k] + 1]):
            at = link[e]
            if seen_link[at] or wanted[at] <= capacity[at] * _SAME:
                continue  # a link that cannot be full slows nobody down
            seen_link[at] = True
            links[n_links] = at
            n_links += 1
            for f in range(job_offset[at], job_offset[at + 1]):
                if want[jobs[f]] > 0.0 and not seen_job[jobs[f]]:
                    seen_job[jobs[f]] = True
                    members[n_members] = jobs[f]
                    n_members += 1
        k += 1
    seen_job[members[:n_members]] = False
    seen_link[links[:n_links]] = False
    return n_members, n_links


@jit
def _reshare(
    first: int,
    now: float,
    wants: float,  # what `first` wants from now on
    demand: tuple[Float64Array, Float64Array],  # what jobs want, and what is wanted of links
    network: _Network,
    found: tuple[Int64Array, Int64Array],  # scratch, per job and per link
    seen: tuple[BoolArray, BoolArray],  # the same
    scratch: tuple[Float64Array, Float64Array, Int64Array, Float64Array],
    flow: tuple[Float64Array, Float64Array, Float64Array, Float64Array, Float64Array],
) -> None:
    """A job begins or ends a phase: new rates for all whom that touches, and when they will be done."""
    link_offset, link, multiplier = network[:3]
    want, wanted = demand
    members, links = found
    left, weight, rising, new_rate = scratch
    rate, remaining, since, sent, next_event = flow
    before = want[first]
    if wants > 0.0:
        want[first] = wants
        for e in range(link_offset[first], link_offset[first + 1]):
            wanted[link[e]] += multiplier[e] * (wants - before)
    n_members, n_links = _affected(first, want, wanted, network, members, links, seen)
    skip = 0
    if wants == 0.0:
        skip, want[first] = 1, 0.0
        for e in range(link_offset[first], link_offset[first + 1]):
            wanted[link[e]] -= multiplier[e] * before
    _share(members[skip:n_members], links[:n_links], want, network, (left, weight, rising), new_rate)
    for job in members[skip:n_members]:
        if new_rate[job] != rate[job]:
            sent[job] += rate[job] * (now - since[job])
            remaining[job] -= rate[job] * (now - since[job])
            rate[job], since[job] = new_rate[job], now
            next_event[job] = now + max(remaining[job], 0.0) / rate[job]


@jit
def _end_iteration(
    job: int,
    now: float,
    goals: tuple[int, int],  # iterations of warm-up, and to be measured
    missing: Int64Array,  # jobs that are not warm, and jobs that are not measured
    ends: tuple[Float64Array, Float64Array],
    counted: tuple[Int64Array, Int64Array],
) -> None:
    """Count an iteration; the last job that gets warm begins the measurement of all, each from its next end on."""
    first_end, last_end = ends
    measured, completed = counted
    completed[job] += 1
    last_end[job] = now
    if missing[0] > 0:
        missing[0] -= completed[job] == goals[0]
        if missing[0] == 0:
            first_end[job] = now
    elif np.isnan(first_end[job]):
        first_end[job] = now
    else:
        measured[job] += 1
        missing[1] -= measured[job] == goals[1]


@jit
def _run(
    segments: tuple[Int64Array, Float64Array, Float64Array],  # offset per job, ms, Gbit/s
    network: _Network,
    start: Float64Array,
    pace: Float64Array,
    goals: tuple[int, int],
    ends: tuple[Float64Array, Float64Array],  # out: first (NaN on entry) and last end of an iteration measured
    sent_by_end: Float64Array,  # out: Gbit/s * ms up to the last end
    counted: tuple[Int64Array, Int64Array],  # out: iterations measured, and completed from the start
) -> None:
    """One event after the other: the end of a segment, or of the wait for the next iteration."""
    n_jobs, n_links = len(start), len(network[6])
    offset, segment_ms, segment_gbps = segments
    completed = counted[1]
    segment, next_event = np.full(n_jobs, WAITING), start.copy()
    rate, remaining, since, sent = np.zeros(n_jobs), np.zeros(n_jobs), np.zeros(n_jobs), np.zeros(n_jobs)
    flow, demand = (rate, remaining, since, sent, next_event), (np.zeros(n_jobs), np.zeros(n_links))
    scratch = (np.zeros(n_links), np.zeros(n_links), np.zeros(n_links, dtype=np.int64), np.zeros(n_jobs))
    found = (np.zeros(n_jobs, dtype=np.int64), np.zeros(n_links, dtype=np.int64))
    seen = (np.zeros(n_jobs, dtype=np.bool_), np.zeros(n_links, dtype=np.bool_))
    missing = np.array([n_jobs, n_jobs])
    while missing[1] > 0:
        job = int(np.argmin(next_event))
        now = next_event[job]
        if rate[job] > 0.0:
            sent[job] += rate[job] * (now - since[job])
            rate[job], next_event[job] = 0.0, np.inf
            _reshare(job, now, 0.0, demand, network, found, seen, scratch, flow)
        segment[job] += 1
        if offset[job] + segment[job] == offset[job + 1]:
            _end_iteration(job, now, goals, missing, ends, counted)
            sent_by_end[job], segment[job] = sent[job], 0
            begin = start[job] + completed[job] * pace[job]
            if begin > now:  # never so for a job without pace, whose pace is NaN
                segment[job], next_event[job] = WAITING, begin
                continue
        at = offset[job] + segment[job]
        if segment_gbps[at] == 0.0:
            next_event[job] = now + segment_ms[at]
            continue
        remaining[job], since[job] = segment_gbps[at] * segment_ms[at], now
        _reshare(job, now, segment_gbps[at], demand, network, found, seen, scratch, flow)
