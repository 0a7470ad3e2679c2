"""Re-phasing: the least total wait, exactly, whatever the paces; and only relative phase matters."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.control.phase import turns, wrap
from cassini_agent.control.rephasing import Strayed, rephase, wait_after

PACES = st.sampled_from([[12], [12, 12], [12, 24], [12, 18], [8, 12, 24], [10, 10, 10], [7, 9], [6, 10, 15]])


@st.composite
def components(draw: st.DrawFn) -> list[Strayed]:
    paces = draw(PACES)
    return [
        Strayed(
            draw(st.integers(-40, 40)), pace, draw(st.integers(0, pace // 2)), draw(st.sampled_from([1.0, 2.0, 8.0]))
        )
        for pace in paces
    ]


def total_wait(jobs: list[Strayed], shift: int) -> float:
    periods = turns([job.pace_ns for job in jobs])
    return sum(j.weight * wait_after(j.error_ns - shift, r, j.band_ns) for j, r in zip(jobs, periods, strict=True))


@given(components())
def test_no_shift_of_the_epoch_waits_less(jobs: list[Strayed]) -> None:
    found = rephase(jobs)
    whole = math.lcm(*turns([job.pace_ns for job in jobs]))
    assert found.cost == min(total_wait(jobs, shift) for shift in range(whole))
    assert found.cost == total_wait(jobs, found.epoch_shift_ns)


@given(components())
def test_where_nothing_must_be_waited_for_no_lateness_is_left_that_need_not_be(jobs: list[Strayed]) -> None:
    found = rephase(jobs)
    whole = math.lcm(*turns([job.pace_ns for job in jobs]))
    periods = turns([job.pace_ns for job in jobs])

    def left(shift: int) -> float:
        return sum(j.weight * ((j.error_ns - shift) % r) for j, r in zip(jobs, periods, strict=True))

    if found.cost == 0:
        least = min(left(s) for s in range(whole) if total_wait(jobs, s) == 0)
        assert sum(j.weight * late for j, late in zip(jobs, found.late_ns, strict=True)) == least


@given(components(), st.integers(-1000, 1000))
def test_only_relative_phase_matters(jobs: list[Strayed], turn: int) -> None:
    moved = [replace(job, error_ns=job.error_ns + turn) for job in jobs]
    assert rephase(moved).cost == rephase(jobs).cost


@given(components())
def test_jobs_land_on_their_new_grids(jobs: list[Strayed]) -> None:
    found = rephase(jobs)
    periods = turns([job.pace_ns for job in jobs])
    for job, turn, change, wait, late in zip(
        jobs, periods, found.shift_change_ns, found.wait_ns, found.late_ns, strict=True
    ):
        assert change % turn == 0
        assert job.error_ns + wait == found.epoch_shift_ns + change + late
        assert 0 <= wait < turn
        assert 0 <= late <= job.band_ns


def naive_wait(jobs: list[Strayed]) -> int:
    """What the jobs wait if each beyond its band waits for the next point of its own grid, as the paper's agents do."""
    return sum(
        -wrap(job.error_ns, job.pace_ns) % job.pace_ns
        for job in jobs
        if abs(wrap(job.error_ns, job.pace_ns)) > job.band_ns
    )


@given(components())
def test_never_waits_longer_than_the_naive_rule(jobs: list[Strayed]) -> None:
    # Within its band a job that is early waits too, which the naive rule leaves alone: compare without bands.
    jobs = [replace(job, band_ns=0, weight=1.0) for job in jobs]
    assert rephase(jobs).cost <= naive_wait(jobs)


def test_one_late_job_of_two_moves_the_other_a_little() -> None:
    late = [Strayed(20, 200, 7), Strayed(0, 200, 7)]
    assert naive_wait(late) == 180
    found = rephase(late)
    assert found.cost == 13  # 20 late, of which 7 are left to the pace
    assert found.wait_ns == (0, 13)


def test_a_job_of_twice_the_pace_may_slip_by_half_an_iteration() -> None:
    assert turns([100, 200]) == [100, 100]
    assert rephase([Strayed(0, 100, 0), Strayed(95, 200, 0)]).cost == 5


def test_odd_ratios_stay_cheap() -> None:
    paces = [1009 * 3, 1013 * 5, 1019 * 7, 1021 * 11]
    found = rephase([Strayed(17 * i, pace, 1) for i, pace in enumerate(paces)])
    assert math.isfinite(found.cost)


@pytest.mark.parametrize("jobs", [[], [Strayed(0, 0, 0)], [Strayed(0, 5, -1)], [Strayed(0, 5, 0, 0.0)]])
def test_what_is_no_component_is_refused(jobs: list[Strayed]) -> None:
    with pytest.raises(ValueError, match="expected"):
        rephase(jobs)


@given(st.integers(-1000, 1000), st.integers(1, 50))
def test_wrapping_keeps_the_phase_and_is_least(value: int, turn: int) -> None:
    wrapped = wrap(value, turn)
    assert (value - wrapped) % turn == 0
    assert -turn < 2 * wrapped <= turn
