"""What is read off a run: pure arithmetic on what ``run`` returns. Times are in µs after the first start.

*Alone* is what an iteration would take without the others: the mean time of the job alone, and what a disturbance added
to this very iteration. *Slower* is the sum of iteration times over the sum of what they take alone, less 1.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bench.measuring.timing import percentile

__all__ = ["Span", "alone_ms", "first_whole", "measured", "overlap", "recovery", "slower", "spread"]

Span = tuple[float, float]
Job = Mapping[str, Any]

WINDOW_US = 5e6
"""Jobs are interleaved when so long a span of time is good from end to end."""

FEWEST = 5
"""Iterations in such a span, of each job."""

MEANWHILE_US = 10e6
"""What a disturbance costs is taken over no less than this: one wait of 100 ms is not a job that is slow."""

STOOD_US = 1e6
"""Shorter is no standing still."""

APART, NEAR = 0.05, 0.02
"""Interleaved: overlap under the first, and slower by less than the second."""


def alone_ms(runs: Sequence[Mapping[str, Any]]) -> float:
    """Mean iteration time of runs of one job alone, settled."""
    times: list[float] = []
    for run in runs:
        (job,) = run["jobs"].values()
        times += [(b - a) / 1e3 for a, b in pairwise(job["starts_us"][FEWEST:])]
    return statistics.fmean(times)


def first_whole(job: Job, span: Span) -> tuple[int, int]:
    """Of the iterations that lie whole in a span: the first, and the one after the last."""
    starts = job["starts_us"]
    first = bisect_left(starts, span[0])
    return first, max(first, min(bisect_right(starts, span[1]) - 1, len(starts) - 1))


def slower(job: Job, alone: float, span: Span) -> float:
    """Over the iterations in a span; nan if there are none."""
    first, end = first_whole(job, span)
    if first == end:
        return math.nan
    took_ms: float = (job["starts_us"][end] - job["starts_us"][first]) / 1e3
    extra_ms: float = sum(job["extra_ms"][first:end])
    return took_ms / (alone * (end - first) + extra_ms) - 1


def overlap(own: Sequence[Sequence[int]], others: Sequence[Sequence[Sequence[int]]], span: Span) -> float:
    """Share of a job's communication, of that which begins in a span, during which another job communicates too.

    Each is a list of intervals in order that do not meet. Times at which several others communicate count once for
    each. nan without any communication.
    """
    counted = [one for one in own if span[0] <= one[0] <= span[1]]
    total = sum(end - begin for begin, end in counted)
    shared = 0
    for other in others:
        begins, ends = [one[0] for one in other], [one[1] for one in other]
        for begin, end in counted:
            for k in range(bisect_right(ends, begin), bisect_left(begins, end)):
                shared += min(end, ends[k]) - max(begin, begins[k])
    return shared / total if total else math.nan


def recovery(jobs: Mapping[str, Job], alone: float, after_us: float, end_us: float, near: float = NEAR) -> float:
    """How long after a moment the jobs are interleaved again; inf if they are not.

    That is the first time from which on, for the length of a window, each job that is there overlaps others by less
    than 5 % and is slower than alone by less than ``near``. A job is there from its first start to its last. In s.
    """
    times = {after_us, *(start for job in jobs.values() for start in job["starts_us"] if start >= after_us)}
    for time_us in sorted(times):
        if time_us + WINDOW_US > end_us:
            break
        span = time_us, time_us + WINDOW_US
        there = [
            name for name, job in jobs.items() if job["starts_us"][0] <= span[0] and job["starts_us"][-1] >= span[1]
        ]
        if there and all(_good(name, jobs, alone, span, near) for name in there):
            return float(time_us - after_us) / 1e6
    return math.inf


def _good(name: str, jobs: Mapping[str, Job], alone: float, span: Span, near: float) -> bool:
    job = jobs[name]
    # The iteration under way counts too: one that lasts and lasts is not left out.
    span = (job["starts_us"][bisect_right(job["starts_us"], span[0]) - 1], span[1])
    first, end = first_whole(job, span)
    if end - first < FEWEST or slower(job, alone, span) > near:
        return False
    others = [other["communication_us"] for key, other in jobs.items() if key != name]
    return overlap(job["communication_us"], others, span) < APART


def spread(values: Sequence[float]) -> dict[str, float]:
    """Mean and percentiles."""
    if not values:
        return {}
    tails = {f"p{percent}": percentile(values, percent) for percent in (50, 90, 99)}
    return {"mean": statistics.fmean(values), **tails}


def measured(run: Mapping[str, Any], alone: float) -> dict[str, Any]:
    """What a report says of a run.

    Returns
    -------
    dict
        ``jobs``: per job, settled, until something disturbs, ``n`` iterations, ``mean``, ``p50``, ``p90``, ``p99`` over
        the time alone, ``slower``, ``overlap``, ``marks`` and ``retransmissions`` per iteration; over the whole run
        ``adjustments`` after the first, per minute, and ``waited``, a share of the time; ``state`` at the end.
        ``first_s``: from the first start until jobs are interleaved for the first time. ``interleaved_s`` and
        ``apart_s``: how long after the end of a disturbance jobs are interleaved again, and how long until they no
        longer overlap, however slow; ``meanwhile``: the most that a job was slower from its begin until then. None
        without a disturbance, inf where it did not happen.
    """
    disturbed = run["disturbed_us"]
    span = (run["settled_us"], disturbed[0] if disturbed else run["end_us"])
    jobs = run["jobs"]
    found: dict[str, Any] = {"jobs": {name: _steady(name, run, alone, span) for name in jobs}}
    all_there_us = max(job["starts_us"][0] for job in jobs.values() if job["starts_us"][0] < span[1])
    found["first_s"] = all_there_us / 1e6 + recovery(jobs, alone, all_there_us, span[1])
    found["interleaved_s"] = found["apart_s"] = found["meanwhile"] = None
    if disturbed:
        found["interleaved_s"] = recovery(jobs, alone, disturbed[1], run["end_us"])
        found["apart_s"] = recovery(jobs, alone, disturbed[1], run["end_us"], math.inf)
        until = min(disturbed[1] + found["interleaved_s"] * 1e6, run["end_us"])
        until = max(until, disturbed[0] + MEANWHILE_US)
        costs = (slower(job, alone, (disturbed[0], until)) for job in jobs.values() if not _stopped(job, disturbed))
        found["meanwhile"] = max(cost for cost in costs if not math.isnan(cost))
    return found


def _stopped(job: Job, disturbed: Sequence[float]) -> bool:
    """Whether the job itself stood still: it was not held up by others."""
    return disturbed[1] - disturbed[0] >= STOOD_US and any(
        a <= disturbed[0] + STOOD_US and b >= disturbed[1] for a, b in pairwise(job["starts_us"])
    )


def _steady(name: str, run: Mapping[str, Any], alone: float, span: Span) -> dict[str, Any]:
    job = run["jobs"][name]
    first, end = first_whole(job, span)
    starts = job["starts_us"]
    ratios = [(starts[k + 1] - starts[k]) / 1e3 / alone for k in range(first, end)]
    others = [other["communication_us"] for key, other in run["jobs"].items() if key != name]
    minutes = (run["end_us"] - (run["arranged_us"] or 0)) / 60e6
    agent = job["agent"]
    return {
        "n": end - first,
        **spread(ratios),
        "slower": slower(job, alone, span),
        "overlap": overlap(job["communication_us"], others, span),
        "marks": statistics.fmean(job["marks"][first:end]) if end > first else math.nan,
        "retransmissions": statistics.fmean(job["retransmissions"][first:end]) if end > first else math.nan,
        "adjustments": max(0, agent["adjustments"] - 1) / minutes,
        "waited": agent["delay_total_ns"] / 1e3 / (starts[-1] - starts[0]),
        "state": agent["state"],
    }
