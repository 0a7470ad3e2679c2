"""Max-min fair rates: no job could be faster without slowing one down that is no faster than it.

A job sends at one rate along its whole ring, so its slowest link governs. Rates change at once.
"""

from __future__ import annotations

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array
from .jit import jit
from .traffic import Traffic

__all__ = ["Network", "Scratch", "affected", "max_min_rates", "network_of", "scratch_of", "share"]

_SAME = 1.0 + 1e-12
"""Rates and loads that differ by rounding only are equal."""

Network = tuple[Int64Array, Int64Array, Float64Array, Int64Array, Int64Array, Float64Array, Float64Array]
"""Links of the jobs with multipliers, jobs of the links with multipliers, capacities."""

Scratch = tuple[Float64Array, Float64Array, Int64Array]
"""Per link, zeros between two uses: what is left, multipliers of the jobs whose rates still rise, their number."""


def max_min_rates(traffic: Traffic, want_gbps: Float64Array) -> Float64Array:
    """Rates of all jobs when each wants to send so much on its links.

    Parameters
    ----------
    traffic : Traffic
    want_gbps : float64 array, shape (n_jobs,)
        Gbit/s; 0 for a job that does not send.

    Returns
    -------
    float64 array, shape (n_jobs,)
        Gbit/s.

    Notes
    -----
    Progressive filling (Bertsekas and Gallager, *Data Networks*, section 6.5.2): O(rounds * crossings), a round for
    each different rate.
    """
    want = np.asarray(want_gbps, dtype=np.float64)
    rate = np.zeros(len(want))
    members, links = np.flatnonzero(want > 0).astype(np.int64), np.arange(len(traffic.capacity_gbps))
    share(members, links, want, network_of(traffic), scratch_of(traffic), rate)
    return rate


def network_of(traffic: Traffic) -> Network:
    """The links of jobs and the jobs of links."""
    own = (traffic.link_offset, traffic.link, traffic.multiplier)
    return (*own, *traffic.jobs_on_link(), traffic.capacity_gbps)


def scratch_of(traffic: Traffic) -> Scratch:
    """What ``share`` computes in."""
    n_links = len(traffic.capacity_gbps)
    return np.zeros(n_links), np.zeros(n_links), np.zeros(n_links, dtype=np.int64)


@jit
def share(
    members: Int64Array,  # jobs that send; left in another order
    links: Int64Array,  # those that may slow them down; whoever sends on them is a member
    want: Float64Array,
    network: Network,
    scratch: Scratch,
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
def affected(
    first: int,
    want: Float64Array,  # of `first`: the higher of before and after
    wanted: Float64Array,  # per link: sum of what its jobs want, with that
    network: Network,
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
