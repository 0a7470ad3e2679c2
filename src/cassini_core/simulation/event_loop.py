"""The simulator's loop: one event after the other, the end of a segment or of a wait.

Compiled. It returns to its caller whenever something is to be decided or drawn, or when a log is full, and goes on from
there when it is called again: all its state is in the arrays that it is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, Float64Array, Int64Array
from .jit import jit
from .max_min import Network, affected, share

__all__ = [
    "ANY",
    "ARRIVED",
    "DECIDE",
    "DRAW",
    "FINISHED",
    "FULL",
    "ITERATION",
    "JOB",
    "LOAD",
    "MILESTONE",
    "SAVED",
    "UNTIL",
    "WAITING",
    "Marks",
    "resume",
    "run",
]

UNTIL, MILESTONE, FINISHED, DECIDE, DRAW, FULL = range(6)
"""Why the loop returned: the time is over; every job has done the iterations that were awaited; a job has done all that
it had to; a job that decides by itself has come to an iteration; a job needs factors; a log is full."""

WAITING, ARRIVED = -1, -2
"""Segments of a job between two iterations: it waits for the time to begin; it has come, and has not decided yet."""

ANY = -(2**62)
"""Instead of the number of a grid point: the first one that the job can take."""

SAVED = 2.0
"""Paces that a job may wait at once for the next point, as the agent's ``SAVED``."""

RecordArray = npt.NDArray[np.void]

JOB = np.dtype(
    [
        ("segment", np.int64),  # number within the iteration, or WAITING or ARRIVED
        ("completed", np.int64),  # iterations
        ("goal", np.int64),  # after so many it stops
        ("awaited", np.int64),  # see MILESTONE
        ("slot", np.int64),  # of the next start on the job's grid, or ANY
        ("adjusted", np.int64),  # how often it waited for the next point because it was late
        ("decides", np.int64),  # 1: by itself, when to begin
        ("factor_at", np.int64),  # of the next iteration; -1: all computing takes as long as it is said to
        ("rate", np.float64),  # Gbit/s
        ("remaining", np.float64),  # of the segment that is being sent, Mbit, at ``since``
        ("since", np.float64),  # ms
        ("sent", np.float64),  # Mbit
        ("sent_by_end", np.float64),  # Mbit, up to the end of the last whole iteration
        ("factor", np.float64),  # of the iteration under way
        ("came", np.float64),  # to the iteration under way or waited for, ms
        ("began", np.float64),  # it, ms
        ("ended", np.float64),  # the last whole one, ms
        ("computed", np.float64),  # ms from the begin of the last iteration to its first communication; NaN: none yet
        ("anchor", np.float64),  # a point of the grid, ms
        ("pace", np.float64),  # NaN: no grid
        ("late", np.float64),  # ms; later than this it waits for the next point, if it may
        ("share", np.float64),  # of its time that it may wait so
        ("saved", np.float64),  # ms of that, at ``saved_since``
        ("saved_since", np.float64),  # ms
        ("marked", np.float64),  # packets in this iteration, at ``marked_since``
        ("marking", np.float64),  # packets per ms
        ("marked_since", np.float64),  # ms
        ("next_event", np.float64),  # ms; this and the next while the job is in no arrays
        ("want", np.float64),  # Gbit/s
    ]
)
"""What is known of a job."""

_TIMES = [("came_ms", np.float64), ("start_ms", np.float64), ("end_ms", np.float64)]
ITERATION = np.dtype([("job", np.int64), *_TIMES, ("marked", np.float64)])
LOAD = np.dtype([("link", np.int64), ("at_ms", np.float64), ("gbps", np.float64)])
"""What is logged: whole iterations, and the loads of watched links where they change."""

Demand = tuple[Float64Array, Float64Array, Float64Array]
"""What jobs want; when their next events are; what is wanted of links."""

Marks = tuple[Float64Array, Int64Array, Float64Array, Float64Array]
"""Marked packets per Mbit by kind of link and number of senders; the kind of each link; marked packets per Mbit of each
link now; and the reaction time (ms), the thresholds (Mbit), packets per Mbit. No kinds: nothing is marked."""

Found = tuple[Int64Array, Int64Array, BoolArray, BoolArray]
"""Scratch: jobs, links, whether a job and a link was seen (all False between two uses)."""

Logs = tuple[RecordArray, RecordArray, Int64Array, Float64Array, Int64Array]
"""Iterations; loads; the links watched, and the load of each that was logged last; how many are logged of each kind,
and how many jobs have not reached a milestone."""

Segments = tuple[Int64Array, Float64Array, Float64Array]
"""Offset per job, ms, Gbit/s."""

Shares = tuple[Float64Array, Float64Array, Int64Array, Float64Array]
"""Scratch per link, as ``share`` needs it, and a new rate per job."""

_FULL = 1e-9
"""A link is full within this share of its capacity, and more is wanted of it only beyond."""

_ROUNDING = 1e-9


@jit
def _settle_marks(job: Any, now: float) -> None:
    job.marked += job.marking * (now - job.marked_since)
    job.marked_since = now


@jit
def _ramp(queue: float, low: float, high: float) -> float:
    """The integral from 0 to ``queue`` of the probability with which a queue of that length marks."""
    if queue <= low:
        return 0.0
    if queue < high:
        return (queue - low) * (queue - low) / (2.0 * (high - low))
    return queue - (low + high) / 2.0


@jit
def _mark(
    first: int,
    now: float,
    growth: float,  # by how much the rate that ``first`` offers is higher than just before
    members: Int64Array,
    links: Int64Array,
    jobs: RecordArray,
    want: Float64Array,
    network: Network,
    marks: Marks,
) -> None:
    """What is marked from now on, and what is marked while senders do not know yet that a link is full."""
    link_offset, link, multiplier, job_offset, jobs_on, flows, capacity = network
    table, kind, per_mbit, law = marks
    for job in members:
        _settle_marks(jobs[job], now)
    for k in links:
        offered, carried, senders = 0.0, 0.0, 0
        for f in range(job_offset[k], job_offset[k + 1]):
            if want[jobs_on[f]] > 0.0:
                offered += flows[f] * want[jobs_on[f]]
                carried += flows[f] * jobs[jobs_on[f]].rate
                senders += 1
        is_full = offered > capacity[k] * (1.0 + _FULL) and carried >= capacity[k] * (1.0 - _FULL)
        per_mbit[k] = table[kind[k], senders] if is_full else 0.0
        if not is_full or growth <= 0.0:
            continue
        for e in range(link_offset[first], link_offset[first + 1]):
            if link[e] == k:
                excess = min(multiplier[e] * growth, offered - capacity[k])
                arrived = (capacity[k] + excess) / excess * _ramp(excess * law[0], law[1], law[2])
                for f in range(job_offset[k], job_offset[k + 1]):
                    if want[jobs_on[f]] > 0.0:
                        jobs[jobs_on[f]].marked += law[3] * arrived * flows[f] * want[jobs_on[f]] / offered
    for job in members:
        marking = 0.0
        for e in range(link_offset[job], link_offset[job + 1]):
            marking += multiplier[e] * per_mbit[link[e]]
        jobs[job].marking = marking * jobs[job].rate


@jit
def _log_loads(now: float, jobs: RecordArray, network: Network, logs: Logs) -> None:
    """The watched links whose loads have changed."""
    _, _, _, job_offset, jobs_on, flows, capacity = network
    _, loads, watched, last, counts = logs
    for w in range(len(watched)):
        k, load = watched[w], 0.0
        for f in range(job_offset[k], job_offset[k + 1]):
            load += flows[f] * jobs[jobs_on[f]].rate
        if abs(load - last[w]) > _FULL * capacity[k]:
            last[w] = load
            entry = loads[counts[1]]
            entry.link, entry.at_ms, entry.gbps = w, now, load
            counts[1] += 1


@jit
def _reshare(
    first: int,
    now: float,
    wants: float,  # what ``first`` wants from now on
    growth: float,
    jobs: RecordArray,
    demand: Demand,
    network: Network,
    found: Found,
    shares: Shares,
    marks: Marks,
    logs: Logs,
) -> None:
    """A job begins or ends a phase: new rates for all whom that touches, and when they will be done."""
    link_offset, link, multiplier = network[:3]
    want, next_event, wanted = demand
    members, links, seen_job, seen_link = found
    left, weight, rising, new_rate = shares
    before = want[first]
    if wants > 0.0:
        want[first] = wants
        for e in range(link_offset[first], link_offset[first + 1]):
            wanted[link[e]] += multiplier[e] * (wants - before)
    n_members, n_links = affected(first, want, wanted, network, members, links, (seen_job, seen_link))
    skip = 0
    if wants == 0.0:
        skip, want[first] = 1, 0.0
        for e in range(link_offset[first], link_offset[first + 1]):
            wanted[link[e]] -= multiplier[e] * before
    share(members[skip:n_members], links[:n_links], want, network, (left, weight, rising), new_rate)
    for number in members[skip:n_members]:
        job = jobs[number]
        if new_rate[number] != job.rate:
            job.sent += job.rate * (now - job.since)
            job.remaining -= job.rate * (now - job.since)
            job.rate, job.since = new_rate[number], now
            next_event[number] = now + max(job.remaining, 0.0) / job.rate
    if len(marks[0]) > 0:
        _mark(first, now, growth, members[:n_members], links[:n_links], jobs, want, network, marks)
    if len(logs[2]) > 0:
        _log_loads(now, jobs, network, logs)


@jit
def _end_iteration(number: int, now: float, jobs: RecordArray, logs: Logs) -> None:
    iterations, _, _, _, counts = logs
    job, entry = jobs[number], iterations[counts[0]]
    _settle_marks(job, now)
    entry.job, entry.marked = number, job.marked
    entry.came_ms, entry.start_ms, entry.end_ms = job.came, job.began, now
    counts[0] += 1
    job.marked = 0.0
    job.completed += 1
    job.ended = job.came = now
    job.sent_by_end = job.sent
    job.segment = ARRIVED
    counts[2] -= job.completed == job.awaited


@jit
def _may_begin(job: Any, now: float) -> float:
    """When a job that has come to an iteration may begin it, by its grid."""
    if not job.pace > 0.0:
        return now
    if job.slot == ANY:
        job.slot = int(np.ceil((now - job.anchor) / job.pace - _ROUNDING))
    if now - (job.anchor + job.slot * job.pace) > job.late:
        following = int(np.ceil((now - job.anchor) / job.pace - _ROUNDING))
        wait = job.anchor + following * job.pace - now
        job.saved = min(SAVED * job.pace, job.saved + job.share * (now - job.saved_since))
        job.saved_since = now
        job.slot = following - 1  # points that have passed are not made up for
        if job.pace - wait > job.late and wait <= job.saved:
            job.saved -= wait
            job.slot = following
            job.adjusted += 1
    at: float = job.anchor + job.slot * job.pace
    job.slot += 1
    return at


@jit
def run(
    until: float,
    jobs: RecordArray,
    demand: Demand,
    segments: Segments,
    factors: Float64Array,  # shape (n_jobs, factors drawn at a time)
    network: Network,
    found: Found,
    shares: Shares,
    marks: Marks,
    logs: Logs,
) -> tuple[int, int]:
    """Go on until something is to be done: why, and for which job."""
    offset, segment_ms, segment_gbps = segments
    want, next_event, _ = demand
    iterations, loads, watched, _, counts = logs
    while counts[0] < len(iterations) and counts[1] + 2 * len(watched) <= len(loads):
        number = int(np.argmin(next_event))
        now = next_event[number]
        if now > until:
            return UNTIL, number
        job = jobs[number]
        offered = 0.0  # by the segment that ends now
        if job.segment >= 0:
            if want[number] > 0.0:
                offered = want[number]
                job.sent += job.rate * (now - job.since)
                job.rate, next_event[number] = 0.0, np.inf
                _reshare(number, now, 0.0, 0.0, jobs, demand, network, found, shares, marks, logs)
            job.segment += 1
            if offset[number] + job.segment == offset[number + 1]:
                _end_iteration(number, now, jobs, logs)
                next_event[number] = now
                if job.completed == job.goal:
                    next_event[number] = np.inf
                    return FINISHED, number
                if counts[2] == 0:
                    counts[2] = -1
                    return MILESTONE, number
        if job.segment == ARRIVED:
            if job.decides:
                return DECIDE, number
            job.segment = WAITING
            begin = _may_begin(job, now)
            if begin > now:
                next_event[number] = begin
                continue
        if job.segment == WAITING:
            if job.factor_at == factors.shape[1]:
                return DRAW, number
            job.factor = 1.0
            if job.factor_at >= 0:
                job.factor = factors[number, job.factor_at]
                job.factor_at += 1
            job.segment, job.began, job.marked_since = 0, now, now
        at = offset[number] + job.segment
        if segment_gbps[at] == 0.0:
            next_event[number] = now + job.factor * segment_ms[at]
            continue
        if not job.computed >= 0.0:
            job.computed = now - job.began
        job.remaining, job.since = segment_gbps[at] * segment_ms[at], now
        growth = segment_gbps[at] - offered
        _reshare(number, now, segment_gbps[at], growth, jobs, demand, network, found, shares, marks, logs)
    return FULL, -1


@jit
def resume(
    now: float,
    jobs: RecordArray,
    demand: Demand,
    network: Network,
    shares: Shares,
    members: Int64Array,
    marks: Marks,
    logs: Logs,
) -> None:
    """Rates of jobs that are in the middle of what they send, on a network that has changed; all is settled by now."""
    link_offset, link, multiplier = network[:3]
    want, next_event, wanted = demand
    left, weight, rising, new_rate = shares
    count = 0
    for number in range(len(jobs)):
        if want[number] > 0.0:
            members[count] = number
            count += 1
            for e in range(link_offset[number], link_offset[number + 1]):
                wanted[link[e]] += multiplier[e] * want[number]
    links = np.arange(len(wanted))
    share(members[:count], links, want, network, (left, weight, rising), new_rate)
    for number in members[:count]:
        job = jobs[number]
        job.rate = new_rate[number]
        next_event[number] = now + max(job.remaining, 0.0) / job.rate
    if len(marks[0]) > 0 and count > 0:
        _mark(0, now, 0.0, members[:count], links, jobs, want, network, marks)
    if len(logs[2]) > 0:
        _log_loads(now, jobs, network, logs)
