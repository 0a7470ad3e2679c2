"""What is read off the starts of jobs, on jobs made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from bench.netlab.measures import alone_ms, first_whole, measured, overlap, recovery, slower

ALONE = 400.0
SENDS_MS = 170


def job(begin_ms: int, lengths_ms: list[int], extra_ms: dict[int, float] | None = None) -> dict[str, Any]:
    """Iterations of these lengths, each with communication in its last 170 ms."""
    starts = [begin_ms]
    for length in lengths_ms:
        starts.append(starts[-1] + length)
    return {
        "starts_us": [1000 * one for one in starts],
        "communication_us": [[1000 * (one - SENDS_MS), 1000 * one] for one in starts[1:]],
        "extra_ms": [(extra_ms or {}).get(k, 0.0) for k in range(len(lengths_ms))],
        "marks": [3] * len(lengths_ms),
        "retransmissions": [1] * len(lengths_ms),
        "agent": {"adjustments": 3, "delay_total_ns": 0, "state": "held"},
    }


def run(jobs: dict[str, Any], disturbed_s: tuple[float, float] | None = None, arranged_s: float = 0.0) -> Any:
    end_us = max(one["starts_us"][-1] for one in jobs.values())
    return {
        "jobs": jobs,
        "end_us": end_us,
        "settled_us": 10_000_000,
        "arranged_us": round(arranged_s * 1e6),
        "disturbed_us": None if disturbed_s is None else [round(one * 1e6) for one in disturbed_s],
        "events": [],
    }


def test_overlap_counts_what_others_share_of_what_begins_in_the_span() -> None:
    own = [(0, 10), (100, 110), (200, 210)]
    assert overlap(own, [[(5, 105)]], (0, 1000)) == pytest.approx((5 + 5) / 30)
    assert overlap(own, [[(5, 105)]], (50, 150)) == pytest.approx(5 / 10)
    assert overlap(own, [[(0, 10)], [(0, 10), (202, 204)]], (0, 1000)) == pytest.approx((10 + 10 + 2) / 30)
    assert overlap(own, [[(10, 100), (110, 200)]], (0, 1000)) == 0.0
    assert math.isnan(overlap(own, [[(0, 10)]], (300, 400)))


def test_only_iterations_that_lie_whole_in_a_span_count() -> None:
    one = job(0, [400] * 5)
    assert first_whole(one, (0, 2_000_000)) == (0, 5)
    assert first_whole(one, (1, 1_999_999)) == (1, 4)
    assert first_whole(one, (900_000, 1_000_000)) == (3, 3)
    assert math.isnan(slower(one, ALONE, (900_000, 1_000_000)))


def test_what_a_disturbance_adds_counts_as_alone() -> None:
    one = job(0, [400, 630, 440, 400], {1: 230.0})
    assert slower(one, ALONE, (0, 2_000_000)) == pytest.approx(1870 / 1830 - 1)
    assert slower(one, ALONE, (0, 1_040_000)) == pytest.approx(0.0)


def test_the_time_alone_leaves_the_first_iterations_out() -> None:
    assert alone_ms([run({"a": job(0, [900] * 5 + [400, 410])}), run({"a": job(7, [900] * 5 + [390])})]) == 400.0


def test_jobs_are_interleaved_again_when_a_whole_window_is_good() -> None:
    # They overlap for 10 iterations of 560 ms; then one gives way by 200 ms, and they are apart.
    jobs = {"a": job(0, [560] * 10 + [400] * 40), "b": job(0, [560] * 10 + [600] + [400] * 40)}
    assert recovery(jobs, ALONE, 0.0, 21e6) == pytest.approx(6.2, abs=0.5)
    assert recovery(jobs, ALONE, 7e6, 21e6) == 0.0


def test_jobs_that_are_apart_and_slow_are_apart_and_not_interleaved() -> None:
    jobs = {"a": job(0, [420] * 50), "b": job(210, [420] * 50)}
    assert recovery(jobs, ALONE, 1e6, 21e6) == math.inf
    assert recovery(jobs, ALONE, 1e6, 21e6, math.inf) == 0.0


def test_jobs_that_are_never_apart_are_never_interleaved() -> None:
    jobs = {"a": job(0, [400] * 50), "b": job(0, [400] * 50)}
    assert recovery(jobs, ALONE, 1e6, 20e6) == math.inf


def test_a_window_that_the_run_does_not_cover_is_not_good() -> None:
    jobs = {"a": job(0, [400] * 20), "b": job(200, [400] * 20)}
    assert recovery(jobs, ALONE, 1e6, 8e6) == 0.0
    assert recovery(jobs, ALONE, 3.5e6, 8e6) == math.inf


def test_a_job_that_left_is_not_waited_for() -> None:
    jobs = {"a": job(0, [400] * 50), "b": job(0, [400] * 10)}
    assert recovery(jobs, ALONE, 4.1e6, 20e6) == 0.0


def test_a_job_that_stands_still_is_not_interleaved() -> None:
    jobs = {"a": job(0, [400] * 50), "b": job(200, [400] * 10 + [8000] + [400] * 20)}
    assert recovery(jobs, ALONE, 5e6, 20e6) > 6.0


def test_a_run_is_measured_until_it_is_disturbed_and_its_cost_after() -> None:
    jobs = {"a": job(0, [400] * 60 + [500] * 10 + [400] * 60), "b": job(200, [400] * 60 + [500] * 10 + [400] * 60)}
    found = measured(run(jobs, (24.0, 24.0)), ALONE)
    for one in found["jobs"].values():
        assert one["slower"] == pytest.approx(0.0)
        assert one["n"] == pytest.approx((24 - 10) / 0.4, abs=1)
        assert (one["p50"], one["p99"], one["overlap"], one["marks"]) == (1.0, 1.0, 0.0, 3.0)
        assert one["adjustments"] == pytest.approx(2 / (53.0 / 60), rel=0.02)
    assert found["first_s"] == pytest.approx(0.2)
    assert found["apart_s"] == 0.0
    assert found["interleaved_s"] == pytest.approx(4.6, abs=0.5)
    assert found["meanwhile"] == pytest.approx(0.11, abs=0.01)  # 1 s in some 9.4 of the 10 that it is taken over


def test_a_job_that_was_stopped_does_not_count_as_slow() -> None:
    jobs = {"a": job(0, [400] * 150), "b": job(200, [400] * 60 + [15_600] + [400] * 50)}
    found = measured(run(jobs, (24.3, 39.4)), ALONE)
    assert found["meanwhile"] == pytest.approx(0.0)
    assert found["interleaved_s"] < 1.0


def test_what_lasts_a_moment_stops_nobody() -> None:
    jobs = {"a": job(0, [420] * 150), "b": job(200, [420] * 150)}
    found = measured(run(jobs, (25.0, 25.00002)), ALONE)
    assert found["meanwhile"] == pytest.approx(0.05)


def test_without_a_disturbance_nothing_is_said_of_one() -> None:
    found = measured(run({"a": job(0, [400] * 60)}), ALONE)
    assert (found["interleaved_s"], found["apart_s"], found["meanwhile"]) == (None, None, None)
