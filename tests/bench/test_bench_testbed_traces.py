"""The traces of tasks: what the paper says of them holds for any seed, and the same seed gives the same tasks."""

from __future__ import annotations

from statistics import fmean

import pytest
from bench.testbed.models import MODELS
from bench.testbed.traces import (
    DATA_PARALLEL,
    MODEL_PARALLEL,
    PUBLISHED,
    dynamic,
    model_parallel,
    multi_gpu,
    offered_load,
    poisson,
    published,
    published_jitter_share,
)

from cassini_core.schedulers.state import TrainingTask


def said(tasks: list[TrainingTask]) -> list[tuple[object, ...]]:
    return [
        (task.id, task.arrival_s, task.iterations, task.requested_workers, task.profile(task.requested_workers))
        for task in tasks
    ]


@pytest.mark.parametrize("trace", [poisson, published, dynamic, model_parallel, multi_gpu])
def test_a_seed_says_all(trace) -> None:
    assert said(trace(1)) == said(trace(1))
    assert said(trace(1)) != said(trace(2))
    assert [task.arrival_s for task in trace(1)] == sorted(task.arrival_s for task in trace(1))
    assert len({task.id for task in trace(1)}) == len(trace(1))


def test_poisson_tasks_are_as_the_paper_says() -> None:
    tasks = poisson(0, count=400)
    assert {task.id.rpartition("-")[0] for task in tasks} == set(MODELS)
    assert {task.requested_workers for task in tasks} == set(range(1, 13))
    assert min(task.iterations for task in tasks) >= 200
    assert max(task.iterations for task in tasks) <= 1000


@pytest.mark.parametrize("load", [0.8, 1.0])
def test_the_load_is_met_on_average(load: float) -> None:
    usual = {"count": 200, "batches": "usual"}
    assert fmean(offered_load(poisson(seed, load=load, **usual)) for seed in range(20)) == pytest.approx(load, rel=0.05)


@pytest.mark.parametrize("trace", PUBLISHED)
def test_published_arrivals_have_their_load_and_their_sizes(trace: str) -> None:
    tasks = published(3, trace=trace, load=0.9, count=100, batches="usual")
    assert offered_load(tasks) == pytest.approx(0.9)
    assert max(task.requested_workers for task in tasks) <= 12


def test_more_tasks_than_a_trace_has_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 161 tasks, got 160"):
        published(0, count=161)


@pytest.mark.parametrize("seed", range(10))
def test_dynamic_tasks_fill_the_cluster(seed: int) -> None:
    tasks = dynamic(seed)
    assert sum(task.requested_workers for task in tasks) == 24
    assert [task.id.rpartition("-")[0] for task in tasks if task.arrival_s > 0] == ["DLRM", "ResNet50"]
    assert {task.id.rpartition("-")[0] for task in tasks if not task.arrival_s} <= set(DATA_PARALLEL)
    assert all(task.min_workers == task.max_workers >= 3 for task in tasks)


def test_model_parallel_tasks_are_of_no_other_kind_and_fill_the_cluster() -> None:
    for seed in range(5):
        tasks = model_parallel(seed)
        assert {task.id.rpartition("-")[0] for task in tasks} <= set(MODEL_PARALLEL)
        assert sum(task.requested_workers for task in tasks) == 24


def test_three_gpus_each_on_servers_with_two() -> None:
    tasks = multi_gpu(0)
    assert [task.requested_workers for task in tasks] == [3] * 4
    assert [task.id.rpartition("-")[0] for task in tasks][:2] == ["XLM", "ResNet50"]
    assert tasks[-1].id.startswith("DLRM-")
    assert tasks[-1].arrival_s > 0


def test_steps_of_published_traces_differ_by_some_percent() -> None:
    assert published_jitter_share() == pytest.approx(0.0135, abs=0.0001)
