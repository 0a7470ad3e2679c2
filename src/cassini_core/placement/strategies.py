"""Placement after placement: those that run with those that wait packed, spread, at random, and with swaps."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ..arrays import Int64Array
from ..errors import refusal, shown
from ..formats import listed
from .cluster import Cluster, HostWorkers, Placement
from .job_request import JobRequest
from .packed import packed
from .random_hosts import random_hosts
from .routes import Routes
from .spread import spread
from .swaps import swapped

__all__ = ["ORDER", "Strategy", "placements", "running_placement"]

WALK = 15
"""Swaps that are tried in a walk from the packed placement; then jobs are placed at random once, and another begins."""

ORDER = ("running", "packed", "spread", "random", "swap")
"""Names of the strategies, as candidates are sorted."""

Strategy = Callable[[Cluster, Int64Array, int], HostWorkers | None]
"""Where to put workers, given for how many each host has room."""


def running_placement(cluster: Cluster, requests: Sequence[JobRequest]) -> Placement:
    """The jobs that run, where they do."""
    placement = Placement(tuple(one.gpus_per_worker for one in requests), cluster.gpus, {})
    for job, one in enumerate(requests):
        if one.hosts is not None:
            for host in one.hosts:
                if host not in cluster.number:
                    raise refusal("", f"jobs[{shown(one.job.id)}].hosts", "hosts of the network", shown(host))
            placement.put(job, tuple(sorted((cluster.number[host], count) for host, count in one.hosts.items())))
    for host, free in zip(cluster.hosts, placement.free.tolist(), strict=True):
        if free < 0:
            gpus = int(cluster.gpus[cluster.number[host]])
            there = [one.job.id for one in requests if one.hosts is not None and host in one.hosts]
            got = f"{gpus - free} of {listed(there)}"
            raise refusal("", f"jobs on host {shown(host)}", f"no more than its {gpus} GPUs", got)
    return placement


def placements(
    cluster: Cluster,
    requests: Sequence[JobRequest],
    routes: Routes,
    running: Placement,
    waiting: Sequence[int],
    seed: int,
    move_running: bool,
) -> Iterator[tuple[str, Placement]]:
    """Placements without end, each with the name of the strategy; some pose the same problem."""
    rng = random.Random(f"place {seed}")
    base = _with_waiting(cluster, requests, running, waiting, packed)
    yield "packed" if waiting else "running", base
    if waiting:
        yield "spread", _with_waiting(cluster, requests, running, waiting, spread)
    movable = [job for job in base.where if move_running or requests[job].hosts is None]
    gpus_per_worker = [one.gpus_per_worker for one in requests]
    for number in itertools.count():
        if number % WALK == 0:
            current, least = base, routes.peak_excess_gbps(base.where)
            if waiting:
                yield "random", _with_waiting(cluster, requests, running, waiting, partial(random_hosts, rng=rng))
        placement = swapped(cluster, current, movable, gpus_per_worker, rng) or base
        yield "swap", placement
        excess = routes.peak_excess_gbps(placement.where)
        if excess <= least:
            current, least = placement, excess


def _with_waiting(
    cluster: Cluster, requests: Sequence[JobRequest], running: Placement, waiting: Sequence[int], strategy: Strategy
) -> Placement:
    """The jobs that run, and those that wait placed one after the other where there is room."""
    placement = running.copy()
    for job in waiting:
        where = strategy(cluster, placement.room(job), requests[job].workers)
        if where is not None:
            placement.put(job, where)
    return placement
