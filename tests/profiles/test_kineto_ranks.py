"""Traces of several ranks: one job's are merged without their waiting, others are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from cassini_core.errors import InputError
from cassini_core.profiles.kineto import profile_kineto
from kineto_traces import Training, Transfer

JOB = Training(100.0, (Transfer(10.0, 8.0, 4_000_000), Transfer(40.0, 20.0, 16_000_000)), steps=6, jitter_ms=1.0)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


def refusal(place: Path, *ranks: Training) -> str:
    paths = [rank.write(place / f"rank{index}.json") for index, rank in enumerate(ranks)]
    for path in paths:
        assert profile_kineto(path, job_id="job").job.phases, "each by itself is fine"
    with pytest.raises(InputError) as caught:
        profile_kineto(paths, job_id="job")
    return str(caught.value)


@given(st.integers(2, 4), st.integers(0, 99), st.data())
def test_ranks_of_a_job_are_merged_whatever_their_clocks_and_recordings(
    place: Path, count: int, seed: int, data: st.DataObject
) -> None:
    kernels = JOB.steps * len(JOB.transfers)
    late = [data.draw(st.lists(st.floats(0.0, 6.0), min_size=kernels, max_size=kernels)) for _ in range(count)]
    # One rank comes last, to each collective another.
    for kernel in range(kernels):
        last = data.draw(st.integers(0, count - 1))
        for rank in range(count):
            late[rank][kernel] = late[rank][kernel] + 0.5 if rank == last else 0.0
    ranks = [
        JOB.but(
            seed=seed,
            late_ms=tuple(late[rank]),
            clock_us=data.draw(st.floats(0.0, 1e12)),
            clock_drift=data.draw(st.floats(-2e-4, 2e-4)),
            head=data.draw(st.integers(0, 3)),
            tail=data.draw(st.integers(0, 3)),
            numbers=data.draw(st.sampled_from([None, (4,), (1, 3, 5, 7, 9, 11)])),
        )
        for rank in range(count)
    ]
    paths = [rank.write(place / f"rank{index}.json") for index, rank in enumerate(ranks)]
    try:
        made = profile_kineto(paths, job_id="job", merge_gap_ms=0.0)
    except InputError:
        event("refused")
        return
    event("merged")
    # From begin to begin, and the last rank may have come 6.5 ms late to one of two.
    assert made.job.iteration_ms == pytest.approx(100.0, abs=6.5 + 2 * JOB.jitter_ms)
    # What all recorded is exact: as long as the last rank took.
    whole = range(max(rank.head for rank in ranks) + 1, kernels - max(rank.tail for rank in ranks) - 1)
    for row, transfer in zip(
        sorted(made.collectives, key=lambda row: row.wire_bytes or 0.0), JOB.transfers, strict=True
    ):
        which = JOB.transfers.index(transfer)
        times = [
            transfer.duration_ms - max(late[rank][kernel] for rank in range(count))
            for kernel in whole
            if kernel % len(JOB.transfers) == which
        ]
        assert row.duration_ms.least >= min(0.0, *times) - 0.05
        assert row.duration_ms.least <= min(times) + 0.05


@given(st.integers(0, 99), st.integers(100, 199), st.floats(0.8, 1.25), st.floats(0.0, 1e12))
def test_ranks_of_two_jobs_are_refused(place: Path, one: int, two: int, pace: float, clock: float) -> None:
    """The same collectives in groups of the same name: what parts them is that they do not end together."""
    restless = JOB.but(jitter_ms=3.0)
    stranger = restless.but(seed=two, step_ms=100.0 * pace, clock_us=clock)
    assert "not end together" in refusal(place, restless.but(seed=one), stranger)


def test_the_same_job_run_again_is_another_job(place: Path) -> None:
    """A fifth of a percent slower and without jitter: a clock can't be that wrong."""
    even = JOB.but(jitter_ms=0.0)
    assert "they move apart by" in refusal(place, even, even.but(step_ms=100.2))


def test_ranks_without_a_process_group_in_common_are_refused(place: Path) -> None:
    assert "process group in common" in refusal(place, JOB, JOB.but(group="[2, 3]"))


def test_ranks_with_other_collectives_in_their_group_are_refused(place: Path) -> None:
    other = tuple(replace(one, collective="allgather") for one in JOB.each)
    assert "other collectives" in refusal(place, JOB, JOB.but(each=other))


def test_broadcasts_alone_do_not_tell_whether_ranks_belong_together(place: Path) -> None:
    sent = JOB.but(each=tuple(replace(one, collective="broadcast") for one in JOB.each))
    assert "only broadcasts" in refusal(place, sent, sent.but(clock_us=0.0))


def test_a_broadcast_may_end_apart(place: Path) -> None:
    """Its root is done once all is sent off."""
    sent = JOB.but(jitter_ms=0.0, each=(replace(JOB.each[0], collective="broadcast"), JOB.each[1]))
    early = sent.but(each=(replace(sent.each[0], duration_ms=1.0), sent.each[1]))
    paths = [rank.write(place / f"rank{index}.json") for index, rank in enumerate((sent, early))]
    made = profile_kineto(paths, job_id="job")
    assert made.job.iteration_ms == 100.0
    assert len(made.collectives) == 2
