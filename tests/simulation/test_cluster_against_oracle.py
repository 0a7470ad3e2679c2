"""The cluster loop against an obvious one: arrivals, rounds, moves, other numbers of workers, ends, on shared links."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from training_tasks import racks_of

pytest.importorskip("numba")

from simulation.cluster_oracle import run

from cassini_core.placement.cluster import Cluster
from cassini_core.placement.job_request import flows_of
from cassini_core.schedulers.augmented import Decision
from cassini_core.schedulers.state import ClusterState, TrainingTask, where_of
from cassini_core.simulation.cluster import ClusterOptions, simulate_cluster
from cassini_core.simulation.traffic import segments_of
from cassini_core.topology.routing import Router

NETWORK = racks_of(2, 3)
CLUSTER = Cluster(NETWORK, 2)
UNTIL_S = 12.0


def drawn_allocation(seed: int, number: int, tasks: Sequence[TrainingTask]) -> dict[str, dict[str, int]]:
    """Some tasks anywhere, with any number of workers; some keep what the round before gave them."""
    rng = random.Random(f"{seed} {number if rng_keeps(seed, number) else number - 1}")
    free = dict.fromkeys(CLUSTER.hosts, 2)
    found = {}
    for task in sorted(tasks, key=lambda one: one.id):
        wanted = rng.randint(task.min_workers, task.max_workers)
        hosts: dict[str, int] = {}
        for host in rng.sample(sorted(free), len(free)):
            taken = min(free[host], wanted, rng.randint(1, 2))
            if taken:
                hosts[host] = taken
                free[host] -= taken
                wanted -= taken
        if wanted == 0:
            found[task.id] = hosts
        else:
            for host, count in hosts.items():
                free[host] += count
    return found


def rng_keeps(seed: int, number: int) -> bool:
    return number == 0 or random.Random(f"keeps {seed} {number}").random() < 0.6


class Drawn:
    """Decides as drawn, whatever the state."""

    def __init__(self, seed: int, interval_s: float) -> None:
        self.interval_s: float | None = interval_s
        self._seed = seed
        self._asked = 0

    def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
        self._asked += 1
        return Decision(drawn_allocation(self._seed, self._asked - 1, state.tasks))


@st.composite
def workloads(draw: st.DrawFn) -> list[TrainingTask]:
    tasks = []
    for number in range(draw(st.integers(1, 4))):
        period, up = draw(st.integers(80, 200)), draw(st.integers(10, 60))
        gbps = draw(st.sampled_from([20.0, 35.0, 50.0]))
        scaling: Any = draw(st.sampled_from(["weak", "strong"]))

        def profiles(workers: int, period: int = period, up: int = up, gbps: float = gbps) -> cc.Job:
            phases = [cc.Phase(20, up, gbps)] if workers > 1 else ()
            return cc.Job("any", period + 7 * workers, phases)

        tasks.append(
            TrainingTask(
                f"t{number}",
                draw(st.integers(0, 40)) / 10 + 0.0137 * number,  # no two events at one time
                draw(st.integers(5, 40)),
                profiles,
                draw(st.integers(1, 4)),
                1,
                4,
                scaling=scaling,
            )
        )
    return tasks


@given(workloads(), st.integers(0, 10**6))
@settings(deadline=None, max_examples=12)
def test_tasks_train_as_in_an_obvious_simulator(tasks: list[TrainingTask], seed: int) -> None:
    by_id = {one.id: one for one in tasks}
    router = Router(NETWORK)

    def route(task: TrainingTask, hosts: Mapping[str, int]) -> Mapping[str, float]:
        workers = [CLUSTER.hosts[host] for host, count in where_of(CLUSTER, hosts) for _ in range(count)]
        return router.route(workers, flows_of("ring", len(workers))) if len(hosts) > 1 else {}

    expected = run(
        tasks,
        lambda number, there: drawn_allocation(seed, number, [by_id[name] for name in there]),
        lambda task, workers: segments_of(task.profile(workers)),
        route,
        {link.id: link.capacity_gbps for link in NETWORK.links()},
        phase_ms=lambda name, starts, length: random.Random(f"{seed}, {name}, {starts}").random() * length,
        restart_ms=700.0,
        interval_ms=1310.0,
        until_ms=UNTIL_S * 1e3,
    )
    options = ClusterOptions(restart_s=0.7, until_s=UNTIL_S)
    found = simulate_cluster(Drawn(seed, 1.31), NETWORK, tasks, options, seed=seed, gpus_per_host=2)
    for one in found.tasks:
        iterations, end_ms, restarts = expected[one.id]
        got = list(zip(one.iterations.start_ms, one.iterations.end_ms, strict=True))
        assert got == [pytest.approx(each, abs=1e-5) for each in iterations]
        assert one.restarts == restarts
        assert one.end_s * 1e3 == pytest.approx(end_ms, abs=1e-5, nan_ok=True)
