"""Hypothesis strategies for what is placed: clusters, and jobs that fit them or not, some of which run."""

from __future__ import annotations

from hypothesis import strategies as st

from cassini_core import Job, Phase
from cassini_core.placement.cluster import Cluster, Placement
from cassini_core.placement.job_request import NAMED_PATTERNS, JobRequest
from cassini_core.placement.random_hosts import random_hosts
from cassini_core.topology.model import Topology
from cassini_core.topology.overlay import with_capacities
from strategies import one_of
from topologies import trees

__all__ = ["rooms", "rounds"]


@st.composite
def rounds(draw: st.DrawFn) -> tuple[Topology, list[JobRequest]]:
    """A network with GPUs at its hosts, and jobs: those that run do so where there is room."""
    network = with_capacities(draw(trees(parents=draw(st.integers(1, 2)), gpus=True)))
    asked = [
        JobRequest(
            _job(draw, f"j{index}"),
            draw(st.integers(1, 8)),
            draw(st.integers(1, 3)),
            draw(one_of(NAMED_PATTERNS)),  # type: ignore[arg-type]
        )
        for index in range(draw(st.integers(1, 5)))
    ]
    cluster = Cluster(network)
    placement = Placement(tuple(one.gpus_per_worker for one in asked), cluster.gpus, {})
    rng = draw(st.randoms(use_true_random=False))
    for index, one in enumerate(asked):
        where = random_hosts(cluster, placement.room(index), one.workers, rng) if draw(st.booleans()) else None
        if where is not None:
            placement.put(index, where)
            hosts = {cluster.hosts[host]: count for host, count in where}
            asked[index] = JobRequest(one.job, one.workers, one.gpus_per_worker, one.pattern, hosts)
    return network, asked


def _job(draw: st.DrawFn, name: str) -> Job:
    length_ms = draw(one_of((0.0, 20.0, 60.0)))
    return Job(name, 100, [Phase(draw(one_of((0.0, 50.0))), length_ms, draw(one_of((40.0, 130.0))))])


@st.composite
def rooms(draw: st.DrawFn, most_hosts: int = 7) -> tuple[Cluster, list[int]]:
    """A small cluster, and for how many workers each host has room."""
    cluster = Cluster(draw(trees().filter(lambda network: len(network.hosts) <= most_hosts)), 1)
    return cluster, [draw(st.integers(0, 4)) for _ in cluster.hosts]
