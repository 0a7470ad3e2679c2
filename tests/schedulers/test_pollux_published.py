"""Against recorded answers of published schedulers: goodput and fairness within 5 %, and a search that is no worse.

``tests/data/schedulers/pollux.json`` has numbers alone, of adaptdl-sched 0.2.11 and of Sia's simulator
(github.com/siasosp23/artifacts): ``python -m bench.testbed.validation.pollux_check --record`` made it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cassini_core.model import Job
from cassini_core.placement.cluster import Cluster
from cassini_core.schedulers.pollux.goodput import best_batches
from cassini_core.schedulers.state import ClusterState, Goodput, TrainingTask
from cassini_core.schedulers.themis.fairness import Fairness, Level
from cassini_core.topology.generated import leaf_spine

pytest.importorskip("pymoo")
from cassini_core.schedulers.pollux.pollux import Pollux

CLOSE = 0.05
JOB = Job("any", 100.0)


def recorded(data_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data_dir / "schedulers" / "pollux.json").read_text())
    return found


def state_of(asked: dict[str, Any]) -> ClusterState:
    cluster = Cluster(leaf_spine(1, 1, len(asked["gpus"])), asked["gpus"][0])
    tasks = [
        TrainingTask(
            one["id"],
            one["arrival_s"],
            1000,
            lambda workers: JOB,
            1,
            max_workers=one["max_workers"],
            goodput=Goodput(**one["goodput"]),
            restarts=one["restarts"],
        )
        for one in asked["tasks"]
    ]
    running = {
        task: {cluster.hosts[int(host)]: count for host, count in hosts.items()}
        for task, hosts in asked["running"].items()
    }
    return ClusterState(cluster, asked["now_s"], tasks, running)


def test_goodput_is_that_of_the_published_scheduler(data_dir: Path) -> None:
    for case in recorded(data_dir)["cases"]:
        counts = np.arange(2, case["asked"]["most"] + 1)
        for task, rows in zip(state_of(case["asked"]).tasks, case["said"]["goodput"], strict=True):
            assert task.goodput is not None
            for on_one_node, theirs in zip((True, False), rows, strict=True):
                ours = best_batches(task.goodput, counts, on_one_node).goodput
                possible = np.asarray(theirs) > 0
                assert possible.any()
                assert ours[possible] == pytest.approx(np.asarray(theirs)[possible], rel=CLOSE)


def test_the_search_is_as_good_as_that_of_the_published_scheduler(data_dir: Path) -> None:
    for case in recorded(data_dir)["cases"]:
        state = state_of(case["asked"])
        pollux = Pollux(power=1.0, reference="one_worker", restart_penalty=0.1, population=40, generations=25)
        pollux.propose(state, 1)
        question = pollux.question(state)
        theirs = np.zeros((1, *question.running.shape), dtype=np.int64)
        for row, task in enumerate(state.tasks):
            for host, count in case["said"]["allocation"].get(task.id, {}).items():
                theirs[0, row, int(host)] = count
        assert pollux.fitness >= (1 - CLOSE) * question.fitness(theirs)[0] > 0


def test_rho_is_that_of_the_published_simulator(data_dir: Path) -> None:
    case = recorded(data_dir)["fairness"]
    asked, said = case["asked"], case["said"]
    tasks = [
        TrainingTask(
            one["id"],
            one["arrival_s"],
            one["iterations"],
            lambda workers, rate=one["rate"]: Job("any", 1000.0 / rate),  # type: ignore[misc]
            one["workers"],
            done_iterations=one["iterations"] - one["left"],
        )
        for one in asked["tasks"]
    ]
    state = ClusterState(Cluster(leaf_spine(1, 1, len(asked["gpus"])), asked["gpus"][0]), asked["now_s"], tasks)
    fairness = Fairness(state, {one.id: float(len(tasks)) for one in tasks}, 600.0, 1.0)
    for one in tasks:
        waited = (state.now_s - one.arrival_s) / fairness.ideal_s(one)
        alone = fairness.rho(one, one.requested_workers, Level.MACHINE)
        # There a task runs for a part of the time, which stretches what is left.
        assert waited + (alone - waited) / said["parts"][one.id] == pytest.approx(said["rhos"][one.id], rel=CLOSE)
