"""Pollux: goodput against its formulas, the search against brute force, and what all proposals keep."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core.errors import InputError
from cassini_core.schedulers.pollux.goodput import best_batches, efficiency, goodput_table, step_s
from cassini_core.schedulers.state import ClusterState, Goodput, check_allocation, where_of
from training_tasks import network, plain, states, task

pytest.importorskip("pymoo")
from cassini_core.schedulers.pollux.pollux import Pollux

SECONDS = st.floats(0.001, 1.0)


@st.composite
def models(draw: st.DrawFn) -> Goodput:
    initial = draw(st.integers(1, 256))
    return Goodput(
        *(draw(SECONDS) for _ in range(6)),
        gamma=draw(st.floats(1.0, 10.0)),
        noise_scale=draw(st.floats(0.0, 1e4)),
        initial_batch=initial,
        max_batch=initial * draw(st.integers(1, 16)),
        max_batch_per_gpu=draw(st.integers(1, 512)),
        accumulation=draw(st.booleans()),
    )


def goodput_of(model: Goodput, gpus: int, several: bool, per_gpu: int, accumulations: int) -> float:
    """As the paper writes it."""
    gradient = model.alpha_grad_s + model.beta_grad_s * per_gpu
    alpha, beta = (
        (model.alpha_sync_node_s, model.beta_sync_node_s)
        if several
        else (model.alpha_sync_local_s, model.beta_sync_local_s)
    )
    sync = alpha + beta * max(gpus - 2, 0) if gpus > 1 else 0.0
    seconds = accumulations * gradient + (gradient**model.gamma + sync**model.gamma) ** (1 / model.gamma)
    batch = gpus * per_gpu * (accumulations + 1)
    return batch / seconds * (model.noise_scale + model.initial_batch) / (model.noise_scale + batch)


@given(models(), st.integers(1, 8), st.booleans())
def test_the_best_batch_is_possible_and_has_its_goodput(model: Goodput, gpus: int, several: bool) -> None:
    found = best_batches(model, np.array([gpus]), on_one_node=not several)
    goodput, per_gpu, accumulations = (one.item() for one in found)
    if goodput:
        assert goodput == pytest.approx(goodput_of(model, gpus, several, per_gpu, accumulations))
        batch = gpus * per_gpu * (accumulations + 1)
        assert model.initial_batch <= batch < max(model.max_batch, gpus) + gpus * (accumulations + 1)
        assert per_gpu <= model.max_batch_per_gpu
        assert accumulations == 0 or model.accumulation
    else:
        assert gpus > model.max_batch or (not model.accumulation and gpus * model.max_batch_per_gpu < model.max_batch)


MODEL = Goodput(
    0.1, 0.005, 0.01, 0.003, 0.05, 0.01, 1.5, noise_scale=500, initial_batch=128, max_batch=4096, max_batch_per_gpu=256
)


def test_the_batches_that_are_tried_miss_little() -> None:
    for gpus, several in itertools.product((1, 2, 4, 8), (False, True)):
        every = [goodput_of(MODEL, gpus, several, size, 0) for size in range(1, 257) if 128 <= gpus * size <= 4096]
        (found,) = best_batches(MODEL, np.array([gpus]), on_one_node=not several).goodput
        assert found == pytest.approx(max(every), rel=0.002)


def test_efficiency_is_one_at_the_initial_batch_and_falls() -> None:
    at = efficiency(MODEL, np.array([128.0, 628.0, 4096.0]))
    assert at[0] == 1.0
    assert at[1] == pytest.approx(628 / 1128)
    assert (np.diff(at) < 0).all()


def test_a_step_is_a_sum_without_overlap_and_a_maximum_with_all() -> None:
    arguments = {"alpha_grad_s": 0.3, "beta_grad_s": 0.0, "alpha_sync_local_s": 0.4, "beta_sync_local_s": 0.1}
    for gamma, expected in ((1.0, 0.3 + 0.6), (500.0, 0.6)):
        model = Goodput(
            **arguments,
            alpha_sync_node_s=9.0,
            beta_sync_node_s=9.0,
            gamma=gamma,
            noise_scale=1,
            initial_batch=1,
            max_batch=9,
            max_batch_per_gpu=9,
        )
        assert step_s(model, np.array([4]), True, np.array([1]), np.array([0])) == pytest.approx([expected], rel=2e-3)


def test_a_task_without_a_model_has_what_its_profiles_say() -> None:
    table = goodput_table(task("a", 2, min_workers=2, max_workers=4))
    assert table.tolist() == [[0, 0, 5.0, 7.5, 10.0]] * 2


def quick(**more: object) -> Pollux:
    return Pollux(population=24, generations=12, **more)  # type: ignore[arg-type]


@settings(max_examples=8)
@given(states(), st.integers(1, 6), st.booleans())
def test_proposals_fit_and_are_near_the_best(state: ClusterState, most: int, one_distributed: bool) -> None:
    pollux = quick(one_distributed=one_distributed, tolerance=0.02)
    proposed = pollux.propose(state, most)
    assert 1 <= len(proposed) <= most
    question = pollux.question(state)
    for allocation in proposed:
        check_allocation(state, allocation)
        matrix = np.zeros((1, len(state.tasks), len(state.cluster.hosts)), dtype=np.int64)
        for row, one in enumerate(state.tasks):
            for host, workers in where_of(state.cluster, allocation.get(one.id, {})):
                matrix[0, row, host] = workers
        assert question.fitness(matrix)[0] >= pollux.fitness * 0.98 * (1 - 1e-12)
        distributed = [hosts for hosts in allocation.values() if len(hosts) > 1]
        if one_distributed:
            assert sum(map(len, distributed)) == len(set().union(*distributed))
    running = np.array([question.running])
    if not one_distributed:
        assert pollux.fitness >= question.fitness(running)[0]


@settings(max_examples=3)
@given(states())
def test_the_first_is_the_same_however_many_are_asked_for_and_again(state: ClusterState) -> None:
    assert plain(quick().propose(state, 1)[0]) == plain(quick().propose(state, 10)[0])


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0])
def test_the_search_finds_what_brute_force_finds(power: float) -> None:
    cluster = network(1, 2, 2)
    tasks = [task("a", 1, max_workers=4, goodput=MODEL), task("b", 2, min_workers=1, max_workers=3, goodput=MODEL)]
    state = ClusterState(cluster, 900.0, tasks, {"b": {"h1-1": 1, "h1-2": 1}})
    pollux = quick(power=power)
    pollux.propose(state, 1)
    question = pollux.question(state)
    every = np.array(list(itertools.product(range(3), repeat=4))).reshape(-1, 2, 2)
    allowed = [
        one for one in every if (one.sum(axis=0) <= 2).all() and one[1].sum() <= 3 and not ((one > 0).all(axis=1).all())
    ]
    assert pollux.fitness == pytest.approx(question.fitness(np.array(allowed)).max())


def test_fitness_is_the_mean_that_its_power_says_and_restarts_cost() -> None:
    state = ClusterState(
        network(1, 4, 1), 970.0, [task("a", 1, max_workers=4), task("b", 1, restarts=2)], {"b": {"h1-1": 1}}
    )
    stays = np.array([[[0, 1, 1, 1], [1, 0, 0, 0]]])
    moves = np.array([[[1, 0, 1, 1], [0, 1, 0, 0]]])
    question = quick(power=-1.0).question(state)  # fair shares are two workers, and one
    assert question.speedups_of(stays).tolist() == [[1.5, 1.0]]
    assert question.fitness(stays) == pytest.approx([2 / (1 / 1.5 + 1)])
    assert question.speedups_of(moves)[0, 1] == pytest.approx((970 - 2 * 30) / (970 + 30))
    assert quick(power=1.0).question(state).fitness(stays) == pytest.approx([1.25])
    assert quick(power=0.0).question(state).fitness(stays) == pytest.approx([math.sqrt(1.5)])
    assert quick(restart_penalty=0.1).question(state).speedups_of(moves)[0, 1] == pytest.approx(0.9)


def test_candidates_come_when_all_is_symmetric() -> None:
    tasks = [task(f"t{n}", 2) for n in range(4)]
    assert len(quick().propose(ClusterState(network(2, 4, 1), 0.0, tasks), 10)) == 10


def test_the_last_population_starts_the_next_search() -> None:
    """With the tasks and hosts that are still there, each in its row and column."""
    tasks = [task(f"t{n}", 1, max_workers=8, goodput=MODEL) for n in range(4)]
    pollux = quick()
    (first,) = pollux.propose(ClusterState(network(2, 4, 1), 900.0, tasks), 1)
    later = ClusterState(network(2, 3, 1), 960.0, [task("new", 1), tasks[3], tasks[1]])
    best = pollux._start(later)[0]
    for row, one in enumerate(later.tasks):
        there = {host: int(best[row, column]) for column, host in enumerate(later.cluster.hosts) if best[row, column]}
        expected = {host: workers for host, workers in first.get(one.id, {}).items() if host in later.cluster.number}
        assert there == expected


def test_a_task_without_any_batch_is_refused() -> None:
    model = Goodput(0, 1, 0, 0, 0, 0, 1, 1, initial_batch=100, max_batch=100, max_batch_per_gpu=10)
    with pytest.raises(InputError, match="some batch"):
        quick().propose(ClusterState(network(1, 2, 1), 0.0, [task("a", 2, goodput=model)]), 1)


@pytest.mark.parametrize(("name", "value"), [("power", math.nan), ("reference", "x"), ("tolerance", 2.0)])
def test_wrong_options_are_refused(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        Pollux(**{name: value})  # type: ignore[arg-type]
