"""Tasks and cluster states for tests of schedulers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import cassini_core as cc
from cassini_core.placement.cluster import Cluster
from cassini_core.schedulers.state import Allocation, ClusterState, TrainingTask
from cassini_core.topology.generated import leaf_spine
from cassini_core.topology.model import Topology
from cassini_core.topology.overlay import TierCables, with_capacities

UP_MS = 100.0


def profile(workers: int) -> cc.Job:
    """Of a task that sends half of its time at 40 Gbit/s, and computes longer with fewer workers."""
    return cc.Job("any", 2 * UP_MS, [cc.Phase(UP_MS, UP_MS, 40)] if workers > 1 else ())


def task(name: str, workers: int, *, arrival_s: float = 0.0, iterations: float = 1000, **more: Any) -> TrainingTask:
    return TrainingTask(name, arrival_s, iterations, profile, workers, **more)


def racks_of(racks: int, hosts: int) -> Topology:
    """Racks under one spine: every cable of 50 Gbit/s."""
    return with_capacities(leaf_spine(racks, 1, hosts), {1: TierCables(50.0), 2: TierCables(50.0)})


def network(racks: int, hosts: int, gpus: int) -> Cluster:
    return Cluster(racks_of(racks, hosts), gpus)


@st.composite
def states(draw: st.DrawFn, *, elastic: bool = True) -> ClusterState:
    """A small cluster with tasks, of which some run."""
    cluster = network(draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    now_s = draw(st.integers(600, 5000))
    tasks = []
    for number in range(draw(st.integers(1, 6))):
        gpus_per_worker = draw(st.integers(1, int(cluster.gpus[0])))
        room = int((cluster.gpus // gpus_per_worker).sum())
        wanted = draw(st.integers(1, room))
        least = draw(st.integers(1, wanted)) if elastic else wanted
        most = draw(st.integers(wanted, room)) if elastic else wanted
        done = draw(st.integers(0, 90))
        tasks.append(
            task(
                f"t{number}",
                wanted,
                arrival_s=draw(st.integers(0, now_s)),
                iterations=draw(st.integers(100, 20000)),
                min_workers=least,
                max_workers=most,
                gpus_per_worker=gpus_per_worker,
                done_iterations=done,
            )
        )
    free = cluster.gpus.copy()
    running = {}
    for one in tasks:
        if draw(st.booleans()) and (free // one.gpus_per_worker).sum() >= one.min_workers:
            hosts: dict[str, int] = {}
            for _ in range(one.min_workers):
                host = draw(st.sampled_from([at for at in range(len(free)) if free[at] >= one.gpus_per_worker]))
                free[host] -= one.gpus_per_worker
                hosts[cluster.hosts[host]] = hosts.get(cluster.hosts[host], 0) + 1
            running[one.id] = hosts
    return ClusterState(cluster, float(now_s), tasks, running)


def plain(allocation: Allocation) -> dict[str, dict[str, int]]:
    return {name: dict(hosts) for name, hosts in allocation.items()}
