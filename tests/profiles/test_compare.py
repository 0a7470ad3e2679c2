"""Two jobs compared: the best rotation is found, whatever brute force tries; the verdict says what the numbers say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import InputError, Job, Phase
from cassini_core.profiles.compare import compare_jobs

PERIOD = 24


@st.composite
def jobs(draw: st.DrawFn, name: str = "a", least: int = 0) -> Job:
    """Phases on whole ms; they may overlap and wrap."""
    phases = draw(
        st.lists(
            st.builds(
                Phase, st.integers(0, PERIOD - 1), st.integers(1, PERIOD), st.sampled_from([10.0, 20.0, 25.0, 50.0])
            ),
            min_size=least,
            max_size=4,
        )
    )
    return Job(name, PERIOD, phases)


def sampled(job: Job) -> np.ndarray:
    """Demand in each ms."""
    levels = np.zeros(PERIOD)
    for phase in job.phases:
        for ms in range(int(phase.duration_ms)):
            levels[(int(phase.start_ms) + ms) % PERIOD] += phase.gbps
    return levels


@given(jobs("a"), jobs("b"))
def test_no_rotation_overlaps_more(first: Job, second: Job) -> None:
    """Edges stand on whole ms, and so do best rotations: all of them are tried."""
    ours, theirs = sampled(first), sampled(second)
    either = ours.sum() + theirs.sum()
    shared = [np.minimum(ours, np.roll(theirs, turn)).sum() for turn in range(PERIOD)]
    found = compare_jobs(first, second)
    assert found.overlap == pytest.approx(max(shared) / (either - max(shared)) if either else 1)
    assert found.overlap_unturned == pytest.approx(shared[0] / (either - shared[0]) if either else 1)
    assert shared[round(found.rotation_ms) % PERIOD] == pytest.approx(max(shared))
    assert found.rotation_ms == pytest.approx(round(found.rotation_ms), abs=1e-9)
    assert abs(found.rotation_ms) <= PERIOD / 2


@given(
    jobs("a", least=1), st.integers(0, PERIOD - 1), st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([0.9, 1.0, 4.0])
)
def test_a_job_turned_and_stretched_and_scaled_is_recognised(job: Job, turn: int, stretch: float, rate: float) -> None:
    other = Job(
        "b",
        PERIOD * stretch,
        [
            Phase((one.start_ms - turn) % PERIOD * stretch, one.duration_ms * stretch, one.gbps * rate)
            for one in job.phases
        ],
    )
    found = compare_jobs(job, other)
    assert found.iteration_ratio == pytest.approx(stretch)
    assert found.bytes_ratio == pytest.approx(stretch * rate)
    assert found.peak_ratio == pytest.approx(rate)
    assert found.overlap >= min(rate, 1 / rate) - 1e-9
    if rate == 1:
        assert found.overlap == pytest.approx(1)
        assert np.roll(sampled(job), -turn + round(found.rotation_ms)) == pytest.approx(sampled(job))


@given(jobs("a", least=1), jobs("b", least=1))
def test_it_does_not_matter_which_comes_first(first: Job, second: Job) -> None:
    one, two = compare_jobs(first, second), compare_jobs(second, first)
    assert one.overlap == pytest.approx(two.overlap)
    assert one.iteration_ratio == pytest.approx(1 / two.iteration_ratio)
    assert one.bytes_ratio == pytest.approx(1 / (two.bytes_ratio or 1))


def test_the_verdict_says_what_is_alike() -> None:
    job = Job("recorded", 100, [Phase(10, 40, 50)])
    same = compare_jobs(job, Job("model", 101, [Phase(50, 40.4, 50)]))
    assert same.verdict == (
        "model agrees with recorded: iteration time +1.0 %, bytes +1.0 %, peak +0.0 %; 100% of demand coincides if it "
        "is 39.505 ms earlier"
    )
    assert "roughly agrees" in compare_jobs(job, Job("model", 110, [Phase(50, 40, 50)])).verdict
    assert "does not agree" in compare_jobs(job, Job("model", 100, [Phase(10, 10, 200)])).verdict
    assert "does not agree" in compare_jobs(job, Job("model", 100)).verdict


def test_a_job_without_traffic_has_no_ratio_of_bytes() -> None:
    idle = Job("idle", 100)
    found = compare_jobs(idle, Job("busy", 100, [Phase(0, 10, 5)]))
    assert (found.bytes_ratio, found.peak_ratio, found.overlap) == (None, None, 0.0)
    assert "does not agree" in found.verdict
    assert compare_jobs(idle, idle).overlap == 1
    assert "idle agrees with idle" in compare_jobs(idle, idle).verdict


def test_too_many_phases_are_refused() -> None:
    many = [
        Job(name, 1000, [Phase(start, 0.5, 5) for start in range(count)]) for name, count in (("a", 999), ("b", 300))
    ]
    with pytest.raises(InputError, match="phases: expected at most 1000000 pairs of steps of two jobs, got 1198800"):
        compare_jobs(*many)
