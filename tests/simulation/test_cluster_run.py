"""The cluster loop: what tasks take where that can be said without it, and what must hold of any run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from training_tasks import racks_of, task

pytest.importorskip("numba")

from cassini_core.schedulers.augmented import Augmented, Decision, Plain
from cassini_core.schedulers.ideal import Ideal
from cassini_core.schedulers.in_order import Packed, Random
from cassini_core.schedulers.state import ClusterState, TrainingTask
from cassini_core.simulation.cluster import ClusterOptions, Progress, simulate_cluster

ALONE_MS = 200.0
"""Iteration time of ``training_tasks.task``: half of it at 40 Gbit/s."""


class Scripted:
    """Decides as it is told, round by round; the last one again and again."""

    def __init__(self, *allocations: Mapping[str, Mapping[str, int]], interval_s: float | None = None) -> None:
        self.interval_s = interval_s
        self.asked: list[ClusterState] = []
        self._allocations = allocations

    def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
        self.asked.append(state)
        wanted = self._allocations[min(len(self.asked), len(self._allocations)) - 1]
        there = {one.id for one in state.tasks}
        return Decision({name: hosts for name, hosts in wanted.items() if name in there})


def test_a_task_alone_takes_its_iterations_and_is_not_held_up() -> None:
    result = simulate_cluster(
        Plain(Packed()), racks_of(1, 2), [task("a", 2, arrival_s=7.0, iterations=50)], gpus_per_host=1
    )
    (found,) = result.tasks
    assert found.first_start_s == pytest.approx(7.0)
    assert found.iterations.length_ms == pytest.approx(np.full(50, ALONE_MS))
    assert 50 * 0.2 <= found.completion_s < 51 * 0.2
    assert found.restarts == 0


def test_a_task_that_finds_no_room_waits_for_the_end_of_another() -> None:
    tasks = [task("a", 2, iterations=50), task("b", 2, arrival_s=1.0, iterations=10)]
    first, second = simulate_cluster(Plain(Packed()), racks_of(1, 2), tasks, gpus_per_host=1).tasks
    assert second.first_start_s == pytest.approx(first.end_s)
    assert len(second.iterations.start_ms) == 10


def test_a_move_costs_the_iteration_under_way_and_the_restart() -> None:
    # Two rounds: the arrival of a, and that of b, at which a moves.
    decider = Scripted({"a": {"h1-1": 1, "h1-2": 1}}, {"a": {"h2-1": 1, "h2-2": 1}})
    tasks = [task("a", 2, iterations=50), task("b", 2, arrival_s=5.05, iterations=10)]
    options = ClusterOptions(restart_s=30.0, until_s=100.0)
    moved, never = simulate_cluster(decider, racks_of(2, 2), tasks, options, gpus_per_host=1).tasks
    assert moved.restarts == 1
    starts = moved.iterations.start_ms
    before = int((starts < 5050).sum())
    assert 24 <= before <= 25
    assert starts[before] >= 35_050
    assert len(starts) == 50
    assert moved.iterations.length_ms == pytest.approx(np.full(50, ALONE_MS))
    assert np.isnan(never.first_start_s)
    assert np.isnan(never.completion_s)


def test_other_workers_train_other_shares_of_an_iteration() -> None:
    elastic = TrainingTask("a", 0.0, 40, lambda workers: cc.Job("a", 100), 2, min_workers=1, max_workers=4)
    decider = Scripted({"a": {"h1-1": 1, "h1-2": 1}}, {"a": {"h1-1": 1}}, interval_s=2.05)
    (found,) = simulate_cluster(
        decider, racks_of(1, 2), [elastic], ClusterOptions(restart_s=1.0), gpus_per_host=1
    ).tasks
    by_two = int((found.iterations.start_ms < 2050 - 99).sum())
    assert len(found.iterations.start_ms) - by_two == 2 * (40 - by_two)  # one worker trains half as much
    assert decider.asked[1].tasks[0].done_iterations == by_two


def test_the_scheduler_is_asked_as_often_as_it_wants() -> None:
    decider = Scripted({"a": {"h1-1": 1, "h1-2": 1}}, interval_s=1.0)
    result = simulate_cluster(decider, racks_of(1, 2), [task("a", 2, iterations=50)], gpus_per_host=1)
    assert [state.now_s for state in decider.asked[:-1]] == pytest.approx(list(range(11)))
    assert result.rounds == 12
    assert result.tasks[0].iterations.length_ms == pytest.approx(np.full(50, ALONE_MS))


SHARED = [{"a": {"h1-1": 1, "h2-1": 1}, "b": {"h1-2": 1, "h2-2": 1}}]


class Proposes:
    """A scheduler that has one allocation in mind."""

    interval_s = None

    def propose(self, state: ClusterState, candidates: int) -> list[Any]:
        return [{name: hosts for name, hosts in SHARED[0].items() if name in {one.id for one in state.tasks}}]


@pytest.mark.parametrize("holding", ["grid", "agent"])
def test_shifts_are_held_by_tasks_that_arrive_one_after_the_other(holding: Any) -> None:
    """Two tasks that share an uplink and send half of the time: with shifts as if alone, without 1.3 times slower."""
    network = racks_of(2, 2)
    tasks = [task("a", 2, iterations=400), task("b", 2, arrival_s=3.0, iterations=400)]
    options = ClusterOptions(holding=holding, margin=0.02, jitter_share=0.01)
    held = simulate_cluster(Augmented(Proposes(), network), network, tasks, options, gpus_per_host=1)
    for one in held.tasks:
        assert one.iterations.length_ms[-300:-100].mean() == pytest.approx(204.0, rel=0.01)
    free = [
        simulate_cluster(Plain(Proposes()), network, tasks, options, gpus_per_host=1, seed=seed) for seed in range(4)
    ]
    means = [one.iterations.length_ms[-300:-100].mean() for result in free for one in result.tasks]
    assert np.mean(means) > 210


class Slots:
    """A scheduler with two places for two tasks, which share an uplink."""

    interval_s = None

    def propose(self, state: ClusterState, candidates: int) -> list[Any]:
        allocation = dict(state.running)
        for one in state.waiting:
            free = [place for place in SHARED[0].values() if place not in allocation.values()]
            if free:
                allocation[one.id] = free[0]
        return [allocation]


def test_tasks_that_are_held_begin_where_another_ended() -> None:
    """At whatever fraction of a millisecond that was."""
    network = racks_of(2, 2)
    tasks = [task(f"t{number}", 2, iterations=3 + number % 5) for number in range(24)]
    options = ClusterOptions(jitter_share=0.02)
    result = simulate_cluster(Augmented(Slots(), network), network, tasks, options, gpus_per_host=1)
    assert [len(one.iterations.start_ms) for one in result.tasks] == [one.iterations for one in tasks]


def test_ideal_gives_each_task_a_network_of_its_own() -> None:
    tasks = [task(name, 4, arrival_s=number, iterations=30) for number, name in enumerate("abc")]
    result = simulate_cluster(Plain(Ideal()), racks_of(2, 2), tasks, gpus_per_host=1)
    for one in result.tasks:
        assert one.first_start_s == pytest.approx(one.arrival_s)
        assert one.iterations.length_ms == pytest.approx(np.full(30, ALONE_MS))


@st.composite
def workloads(draw: st.DrawFn) -> list[TrainingTask]:
    return [
        task(
            f"t{number}",
            draw(st.integers(1, 4)),
            arrival_s=draw(st.integers(0, 20)),
            iterations=draw(st.integers(1, 60)),
        )
        for number in range(draw(st.integers(1, 6)))
    ]


@given(workloads(), st.integers(0, 3), st.booleans())
@settings(deadline=None, max_examples=25)
def test_every_task_trains_all_its_iterations(tasks: list[TrainingTask], seed: int, augmented: bool) -> None:
    network = racks_of(2, 2)
    told: list[Progress] = []
    decider = Augmented(Random(seed), network, candidates=3) if augmented else Plain(Random(seed))
    options = ClusterOptions(jitter_share=0.02)
    result = simulate_cluster(decider, network, tasks, options, seed=seed, gpus_per_host=1, progress=told.append)
    for one, given_task in zip(result.tasks, sorted(tasks, key=lambda each: each.arrival_s), strict=True):
        assert one.id == given_task.id
        assert len(one.iterations.start_ms) == given_task.iterations
        assert given_task.arrival_s <= one.first_start_s < one.end_s <= result.now_s
        assert (np.diff(one.iterations.start_ms) > 0).all()
        assert one.end_s == pytest.approx(one.iterations.end_ms[-1] / 1e3)
    assert told[-1].done == len(tasks)
    assert (told[-1].to_come, told[-1].waiting, told[-1].running) == (0, 0, 0)
    decider = Augmented(Random(seed), network, candidates=3) if augmented else Plain(Random(seed))
    again = simulate_cluster(decider, network, tasks, options, seed=seed, gpus_per_host=1)
    assert [one.end_s for one in again.tasks] == [one.end_s for one in result.tasks]


@pytest.mark.parametrize(
    "wrong", [{"holding": "x"}, {"jitter": "x"}, {"restart_s": -1.0}, {"margin": float("nan")}, {"until_s": -1.0}]
)
def test_wrong_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(cc.InputError):
        ClusterOptions(**wrong)


def test_two_tasks_of_one_id_are_refused() -> None:
    with pytest.raises(cc.InputError):
        simulate_cluster(Plain(Packed()), racks_of(1, 2), [task("a", 1), task("a", 1)], gpus_per_host=1)


@pytest.mark.parametrize("holding", ["grid", "agent"])
def test_corrections_of_tasks_that_ended_are_counted(holding: Any) -> None:
    """Two tasks with much jitter, which correct deviations while they run: their results say so when they are done."""
    network = racks_of(2, 2)
    tasks = [task(name, 2, iterations=600) for name in "ab"]
    options = ClusterOptions(holding=holding, margin=0.01, jitter_share=0.1)
    result = simulate_cluster(Augmented(Proposes(), network), network, tasks, options, gpus_per_host=1)
    assert all(one.adjusted > 0 for one in result.tasks)


def test_the_scheduler_is_told_how_often_tasks_were_restarted() -> None:
    there, elsewhere = {"a": {"h1-1": 1, "h1-2": 1}}, {"a": {"h2-1": 1, "h2-2": 1}}
    decider = Scripted(there, there, elsewhere, {}, there, interval_s=2.0)
    options = ClusterOptions(restart_s=0.5)
    (found,) = simulate_cluster(decider, racks_of(2, 2), [task("a", 2, iterations=50)], options, gpus_per_host=1).tasks
    asked = [one.tasks[0].restarts for one in decider.asked if one.tasks]
    assert asked[:6] == [0, 0, 0, 1, 1, 2]
    assert found.restarts == 2


def test_it_ends_where_a_scheduler_that_asks_again_and_again_leaves_a_task_waiting() -> None:
    decider = Scripted({}, interval_s=10.0)
    result = simulate_cluster(decider, racks_of(1, 2), [task("a", 2)], gpus_per_host=1)
    assert np.isnan(result.tasks[0].first_start_s)
    assert result.rounds < 5


def test_decisions_that_cannot_be_are_refused() -> None:
    for wrong in ({"x": {"h1-1": 2}}, {"a": {"nowhere": 2}}, {"a": {"h1-1": 1, "h1-2": 3}}, {"a": {"h1-1": 1}}):

        class Wrong(Scripted):
            def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
                return Decision(wrong)  # noqa: B023

        with pytest.raises(cc.InputError):
            simulate_cluster(Wrong({}), racks_of(1, 2), [task("a", 2)], gpus_per_host=1)
