"""The snapshots: what the paper prints of them is kept, and their jobs are what is said of them."""

from __future__ import annotations

import pytest
from bench.testbed.snapshots import PERIODS, SNAPSHOTS, jobs_of, up_ms

import cassini_core as cc

EACH = pytest.mark.parametrize("number", list(SNAPSHOTS))


def test_the_table_is_the_papers() -> None:
    assert [one.score for one in SNAPSHOTS.values()] == [1.0, 1.0, 0.9, 0.8, 0.6]
    assert SNAPSHOTS[2].shifts_ms == {"VGG19": 0, "VGG16": 158, "ResNet50": 46}
    assert SNAPSHOTS[4].ids == ("RoBERTa-1", "RoBERTa-2")


@EACH
@pytest.mark.parametrize("periods", PERIODS)
def test_whatever_the_iteration_times_the_same_bytes_are_sent_in_the_same_time(number: int, periods: str) -> None:
    own, jobs = jobs_of(SNAPSHOTS[number]), jobs_of(SNAPSHOTS[number], periods)
    assert up_ms(jobs) == up_ms(own)
    for one, job in zip(own, jobs, strict=True):
        assert job.phases[0].gbps == one.phases[0].gbps
        assert job.phases[0].start_ms >= one.phases[0].start_ms - 1e-6
        assert job.iteration_ms >= one.iteration_ms - 1e-6


@EACH
@pytest.mark.parametrize("periods", ["parts", "equal"])
def test_common_iteration_times_are_common_to_the_tick(number: int, periods: str) -> None:
    jobs = jobs_of(SNAPSHOTS[number], periods)
    assert cc.solve_link(jobs, 50.0).perimeter_ms == max(job.iteration_ms for job in jobs)


def test_where_the_paper_prints_communication_alone_it_is_taken() -> None:
    for number in (1, 2, 3):
        printed = [member.cassini_ms for member in SNAPSHOTS[number].members]
        assert list(up_ms(jobs_of(SNAPSHOTS[number])).values()) == printed


def test_the_papers_shift_fits_the_first_snapshot() -> None:
    assert cc.score_link(jobs_of(SNAPSHOTS[1], "parts"), 50.0, SNAPSHOTS[1].shifts_ms) == 1.0
