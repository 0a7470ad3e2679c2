"""A cluster in the middle of its life: filled once, then some jobs ended, and others wait for the holes they left.

The jobs were packed, or came to where some GPUs were free: then holes are scattered too, and those who come must share
links.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from bench.measuring import draw
from cassini_core import Candidate, Problem
from cassini_core.placement.cluster import Cluster, Placement
from cassini_core.placement.job_request import JobRequest
from cassini_core.placement.packed import packed
from cassini_core.placement.place import place
from cassini_core.placement.random_hosts import random_hosts
from cassini_core.placement.strategies import Strategy
from cassini_core.topology.generated import leaf_spine
from cassini_core.topology.model import Topology
from cassini_core.topology.overlay import TierCables, with_capacities

from .muri_trace import GBPS

LEAVES, SPINES, HOSTS, GPUS = 24, 4, 6, 8
OVERSUBSCRIPTION = 4.0
ENDED = 0.4
"""Share of the jobs that ended."""


def network() -> Topology:
    """A leaf-spine of 1,152 GPUs with a quarter of the hosts' capacity above each leaf switch."""
    tiers = {1: TierCables(gbps=GBPS), 2: TierCables(oversubscription=OVERSUBSCRIPTION)}
    return with_capacities(leaf_spine(LEAVES, SPINES, HOSTS), tiers)


def worn_cluster(topology: Topology, kinds: Sequence[JobRequest], seed: str, *, scattered: bool) -> list[JobRequest]:
    """Jobs that run and jobs that wait; all that wait have room at the same time.

    Each is drawn from ``kinds`` and called ``r`` or ``w`` and a number.
    """
    rng = random.Random(seed)
    strategy = partial(random_hosts, rng=rng) if scattered else packed
    cluster = Cluster(topology, GPUS)
    drawn = [kinds[draw.below(rng, len(kinds))] for _ in range(2000)]
    placement = Placement(tuple(one.gpus_per_worker for one in drawn), cluster.gpus, {})
    number = _fill(cluster, placement, drawn, 0, strategy)
    for job in list(placement.where):
        if rng.random() < ENDED:
            placement.take(job)
    runs = dict(placement.where)
    _fill(cluster, placement, drawn, number, strategy)
    found = []
    for job in placement.where:
        hosts = {cluster.hosts[host]: count for host, count in runs[job]} if job in runs else None
        renamed = replace(drawn[job].job, id=f"{'w' if hosts is None else 'r'}{job}")
        found.append(replace(drawn[job], job=renamed, hosts=hosts))
    return found


def _fill(cluster: Cluster, placement: Placement, drawn: Sequence[JobRequest], number: int, strategy: Strategy) -> int:
    """Place one job after the other until one finds no room; the number of that one."""
    while True:
        where = strategy(cluster, placement.room(number), drawn[number].workers)
        if where is None:
            return number + 1
        placement.put(number, where)
        number += 1


def at_random(topology: Topology, requests: Sequence[JobRequest], seed: str) -> Problem:
    """The jobs that wait on random hosts, as a problem of one candidate."""
    rng = random.Random(seed)
    cluster = Cluster(topology, GPUS)
    placement = Placement(tuple(one.gpus_per_worker for one in requests), cluster.gpus, {})
    settled = []
    strategy = partial(random_hosts, rng=rng)
    for job, one in enumerate(requests):
        if one.hosts is not None:
            placement.put(job, tuple(sorted((cluster.number[host], count) for host, count in one.hosts.items())))
    for job, one in enumerate(requests):
        if one.hosts is None:
            where = strategy(cluster, placement.room(job), one.workers)
            if where is None:
                raise ValueError(f"{seed}: no room for {one.job.id}")
            placement.put(job, where)
            settled.append(replace(one, hosts={cluster.hosts[host]: count for host, count in where}))
        else:
            settled.append(one)
    return place(topology, settled, gpus_per_host=GPUS, candidates=1).problem


def together(problems: Sequence[Problem], names: Sequence[str]) -> Problem:
    """The candidates of several problems of the same jobs in one, ``names`` before their ids."""
    links = {link.id: link for problem in problems for link in problem.links}
    candidates = [
        Candidate(f"{name}{one.id}", one.routes)
        for name, problem in zip(names, problems, strict=True)
        for one in problem.candidates
    ]
    return Problem(problems[0].jobs, [links[one] for one in sorted(links)], candidates)
