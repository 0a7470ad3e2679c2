"""Turns that change no score, against all shifts of small problems."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.joint.turning import least_moves, that_meet

Case = tuple[list[list[int]], list[int], list[int], list[int]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Links with their jobs, and of each job the iteration time, the shift, and where it runs (-1: it does not)."""
    n = draw(st.integers(2, 4))
    period = draw(st.lists(st.sampled_from([2, 3, 4, 6, 8, 12]), min_size=n, max_size=n))
    links = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True), min_size=1, max_size=4))
    shift = [draw(st.integers(0, one - 1)) for one in period]
    running = [draw(st.integers(-1, one - 1)) for one in period]
    return links, period, shift, running


def score_as_much(links: list[list[int]], period: list[int], shift: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """F1, to the letter: on each link the same demands meet at some time of the whole circle."""
    for jobs in links:
        whole = math.lcm(*(period[job] for job in jobs))
        met, again = (
            {tuple((t - at[job]) % period[job] for job in jobs) for t in range(whole)} for at in (shift, other)
        )
        if met != again:
            return False
    return True


@given(cases())
def test_no_turn_that_changes_no_score_moves_fewer_running_jobs(case: Case) -> None:
    links, period, shift, running = case
    periods = np.array(period, dtype=np.int64)
    together = that_meet(links, periods)
    turned = list(shift)
    moved: set[int] = set()
    for one in together:
        found = least_moves(one, np.array(shift), np.array(running), periods)
        for job, to in found.shift.items():
            turned[job] = to
        moved |= found.wait.keys()
        for job, wait in found.wait.items():
            assert wait == (turned[job] - running[job]) % period[job] > 0
    assert score_as_much(links, period, tuple(shift), tuple(turned))
    jobs = [job for one in together for job in one.jobs]
    run = [job for job in jobs if running[job] >= 0]
    for one in together:
        own = [job for job in one.jobs if running[job] >= 0]
        assert {job for job in own if turned[job] != running[job]} == moved & set(own)
        least = min(
            sum(other[job] != running[job] for job in own)
            for other in all_shifts(one.jobs, period, shift)
            if score_as_much(links, period, tuple(shift), other)
        )
        assert len(moved & set(own)) == least
        if own:
            assert least < len(own)  # one at least can stay
    if not run:
        assert turned == list(shift)


def all_shifts(jobs: tuple[int, ...], period: list[int], shift: list[int]) -> list[tuple[int, ...]]:
    """Those of some jobs; the others stand where they do."""
    return list(itertools.product(*(range(p) if j in jobs else [shift[j]] for j, p in enumerate(period))))


@given(cases())
def test_of_jobs_with_one_iteration_time_the_total_wait_is_least(case: Case) -> None:
    links, period, shift, running = case
    period = [12] * len(period)
    periods = np.array(period, dtype=np.int64)
    for one in that_meet(links, periods):
        found = least_moves(one, np.array(shift), np.array(running), periods)
        own = [job for job in one.jobs if running[job] >= 0]
        costs = []
        for turn in range(12):
            waits = [(shift[job] + turn - running[job]) % 12 for job in own]
            costs.append((sum(wait > 0 for wait in waits), sum(waits)))
        assert (len(found.wait), sum(found.wait.values())) == min(costs)


def test_groups_that_a_job_of_a_short_iteration_time_connects_turn_against_each_other() -> None:
    # a and a2 meet on one link, b is on both links, c and c2 on the other: by 2 each pair may turn alone.
    period = np.array([8, 8, 2, 8, 8])
    links = [[0, 1, 2], [2, 3, 4]]
    running = np.array([0, 4, 0, 2, 6])
    (together,) = that_meet(links, period)
    assert together.sets == ((0, 1), (2,), (3, 4))
    found = least_moves(together, np.array([0, 4, 0, 0, 4]), running, period)
    assert found.wait == {}
    assert [found.shift[job] for job in range(5)] == [0, 4, 0, 2, 6]
