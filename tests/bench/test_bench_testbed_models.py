"""The paper's models as jobs: what the paper prints of them alone, and what must hold whatever the numbers."""

from __future__ import annotations

import pytest
from bench.testbed.models import MODELS, pattern_of, profile_of, training_task

from cassini_core import Job
from cassini_core.placement.cluster import Cluster
from cassini_core.placement.job_request import JobRequest
from cassini_core.schedulers.in_order import FirstFit
from cassini_core.schedulers.state import ClusterState
from cassini_core.topology.generated import paper_testbed


def sent_mbit(job: Job) -> float:
    return sum(phase.duration_ms * phase.gbps for phase in job.phases)


def up_ms(job: Job) -> float:
    return sum(phase.duration_ms for phase in job.phases)


@pytest.mark.parametrize(
    ("name", "batch", "printed_ms"),
    [
        ("WideResNet101", 800, 138),
        ("VGG16", 1400, 148),
        ("VGG19", 1400, 168),
        ("VGG19", 1024, 166),
        ("ResNet50", 1600, 59),
    ],
)
def test_communication_alone_is_what_the_snapshots_print(name: str, batch: int, printed_ms: float) -> None:
    assert up_ms(profile_of(name, 4, batch)) == pytest.approx(printed_ms, rel=0.01)


def test_vgg16_is_down_for_as_long_as_the_paper_says() -> None:
    assert profile_of("VGG16", 4).phases[0].start_ms == pytest.approx(141)


def test_gpt_3_on_two_servers_sends_some_25_gbps_and_then_nothing() -> None:
    job = profile_of("GPT-3", 2)
    assert sent_mbit(job) / up_ms(job) == pytest.approx(25, rel=0.04)
    assert up_ms(job) == pytest.approx(0.9 * job.iteration_ms, rel=0.001)
    first, *_, last = job.phases
    assert first.start_ms == pytest.approx(0.1 * job.iteration_ms, rel=0.05)  # until then it loads data
    assert last.start_ms + last.duration_ms == pytest.approx(job.iteration_ms)


def test_gpt_2_on_two_servers_has_three_small_peaks_and_a_large_one() -> None:
    *peaks, last = profile_of("GPT-2", 2).phases
    assert len(peaks) == 3
    assert all(last.duration_ms > 2 * peak.duration_ms for peak in peaks)


def test_there_are_thirteen_models_with_the_papers_batches() -> None:
    assert len(MODELS) == 13
    for model in MODELS.values():
        low, high = model.batch
        assert low <= model.usual_batch.value <= high
        for figure in model.figures().values():
            assert figure.value > 0
            assert figure.where


@pytest.mark.parametrize("name", list(MODELS))
def test_profiles_are_possible_for_all_numbers_of_workers(name: str) -> None:
    assert not profile_of(name, 1).phases
    for batch in (None, *MODELS[name].batch):
        for workers in range(2, 13):
            job = profile_of(name, workers, batch)
            assert job.id == name
            assert 0 < up_ms(job) < job.iteration_ms
            assert all(one.start_ms + one.duration_ms <= job.iteration_ms + 1e-6 for one in job.phases)
            assert all(0 < phase.gbps <= 45 for phase in job.phases)
            JobRequest(job, workers, pattern=pattern_of(name, workers, batch))  # refuses what does not fit


@pytest.mark.parametrize("name", list(MODELS))
def test_a_larger_batch_takes_longer_and_more_servers_do_not_make_an_iteration_shorter(name: str) -> None:
    low, high = MODELS[name].batch
    assert profile_of(name, 4, low).iteration_ms < profile_of(name, 4, high).iteration_ms
    alone = profile_of(name, 1).iteration_ms
    for workers in range(2, 13):
        assert profile_of(name, workers).iteration_ms > alone


def test_profiles_are_kept() -> None:
    assert profile_of("VGG16", 4) is profile_of("VGG16", 4)


def test_a_scheduler_places_a_task_of_each_model() -> None:
    tasks = [training_task(name, f"{name}-1", arrival_s=0.0, iterations=10, workers=1) for name in MODELS]
    state = ClusterState(Cluster(paper_testbed()), 0.0, tasks)
    allocation = FirstFit().propose(state, 1)[0]
    assert set(allocation) == {task.id for task in tasks}


@pytest.mark.parametrize("name", list(MODELS))
def test_pollux_sees_the_profiles_throughput(name: str) -> None:
    task = training_task(name, "task", arrival_s=0.0, iterations=10, workers=4)
    assert task.goodput is not None
    good = task.goodput
    each = good.initial_batch // task.requested_workers
    for workers in (2, 12):
        step_ms = 1e3 * (good.beta_grad_s * each + good.alpha_sync_node_s + good.beta_sync_node_s * (workers - 2))
        assert step_ms == pytest.approx(profile_of(name, workers).iteration_ms, rel=1e-6)
