"""Changed iteration times: found soon, of the right size, and not where there are none."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.control.change import CONFIRMING, PROFILE, ChangeDetector, ComputeWatch
from cassini_agent.control.cost_budget import CostBudget, RunningCost
from cassini_agent.schedule import MS_NS, SECOND_NS

NATURAL = 197 * MS_NS
SIGMA = 3.3 * MS_NS  # 3 % of 110 ms


def naturals(seed: int, kind: str = "normal", factor: float = 1.0) -> Iterator[int]:
    rng, last = random.Random(seed), 0.0
    while True:
        last = 0.5 * last + math.sqrt(0.75) * rng.gauss(0, 1)
        unit = {"normal": rng.gauss(0, 1), "exponential": rng.expovariate(1) - 1, "autocorrelated": last}[kind]
        yield round(NATURAL * factor + SIGMA * unit)


def profiled(seed: int, kind: str = "normal") -> ChangeDetector:
    detector = ChangeDetector(NATURAL)
    for _, natural in zip(range(200), naturals(seed, kind), strict=False):
        assert detector.add(natural) is None
    return detector


@pytest.mark.parametrize("kind", ["normal", "exponential", "autocorrelated"])
def test_jitter_alone_is_no_change(kind: str) -> None:
    detector = ChangeDetector(NATURAL)
    source = naturals(7, kind)
    for i in range(20_000):
        natural = next(source) if i % 400 else 17 * SECOND_NS  # and neither is a stall now and then
        assert detector.add(natural) is None


@pytest.mark.parametrize(("factor", "within"), [(0.95, 60), (0.98, 160), (1.02, 160), (1.05, 60), (1.4, 60)])
@pytest.mark.parametrize("seed", range(4))
def test_a_change_is_found_soon_and_of_its_size(factor: float, within: int, seed: int) -> None:
    detector = profiled(seed)
    for i, natural in enumerate(naturals(seed + 50, factor=factor)):
        change = detector.add(natural)
        if change is not None:
            break
        assert i < within
    assert abs(change.iteration_ns / (NATURAL * factor) - 1) < 0.02
    assert abs(change.was_ns / NATURAL - 1) < 0.01
    assert detector.iteration_ns == pytest.approx(NATURAL * factor, rel=0.02)


def test_contention_that_comes_and_goes_is_no_change() -> None:
    detector, source = profiled(1), naturals(60)
    for i in range(600):
        held_up = 40 * MS_NS if i % 8 else 0
        assert detector.add(next(source) + held_up, hindered=True) is None


def test_what_the_first_profile_differs_from_the_schedule_is_a_change() -> None:
    detector = ChangeDetector(round(NATURAL * 0.9))
    changes = [detector.add(natural) for _, natural in zip(range(PROFILE), naturals(3), strict=False)]
    assert changes[:-1] == [None] * (PROFILE - 1)
    assert abs(changes[-1].iteration_ns / NATURAL - 1) < 0.01


@given(st.lists(st.integers(1, 10**11), min_size=PROFILE + CONFIRMING, max_size=400))
def test_any_times_are_taken(times: list[int]) -> None:
    detector = ChangeDetector(NATURAL)
    for natural in times:
        change = detector.add(natural)
        assert change is None or change.iteration_ns > 0
    assert detector.iteration_ns > 0


COMPUTE = 110 * MS_NS


def computed(seed: int, share: float, factor: float = 1.0) -> Iterator[int]:
    rng = random.Random(seed)
    while True:
        yield round(COMPUTE * factor * (1 + share * rng.gauss(0, 1)))


@pytest.mark.parametrize("turns", [(1.0,), (0.95, 1.05), (1.0, 1.0, 1.0, 2.0)])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.03])
def test_jitter_of_compute_times_is_no_change(share: float, turns: tuple[float, ...]) -> None:
    watch = ComputeWatch(NATURAL)
    for i, compute in zip(range(20_000), computed(3, share), strict=False):
        assert watch.add(round(compute * turns[i % len(turns)])) == 0


@pytest.mark.parametrize(("share", "factor", "within"), [(0.01, 1.09, 20), (0.01, 0.91, 20), (0.03, 1.09, 25)])
@pytest.mark.parametrize("seed", range(6))
def test_by_its_compute_times_a_change_is_found_in_twenty_iterations(
    share: float, factor: float, within: int, seed: int
) -> None:
    watch = ComputeWatch(NATURAL)
    for _, compute in zip(range(100), computed(seed, share), strict=False):
        assert watch.add(compute) == 0
    for i, compute in enumerate(computed(seed + 50, share, factor)):
        if longer := watch.add(compute):
            break
        assert i < within
    assert abs(longer - (factor - 1) * COMPUTE) < 4 * share * COMPUTE / math.sqrt(12)
    # Then there is no other one.
    assert not any(
        watch.add(compute) for _, compute in zip(range(2000), computed(seed + 90, share, factor), strict=False)
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 5 * SECOND_NS), st.integers(0, 300 * MS_NS), st.integers(0, 100 * MS_NS)), max_size=100
    )
)
def test_what_a_job_waits_by_itself_is_a_hundredth_a_quarter_of_what_others_cost_it_and_a_pace(
    asked: list[tuple[int, int, int]],
) -> None:
    pace = 200 * MS_NS
    budget, now, spent, lost = CostBudget(pace, 0), 0, 0, 0
    for later, wait, held_up in asked:
        now += later
        budget.lost(held_up)
        lost += held_up
        if wait <= budget.left_ns(now):
            budget.spend(wait)
            spent += wait
            assert wait <= pace
        assert spent <= pace + CostBudget.SHARE * now + CostBudget.OF_LOSS * lost + 1


@given(st.lists(st.integers(0, 10**9), min_size=RunningCost.WINDOW, max_size=3 * RunningCost.WINDOW))
def test_the_running_cost_is_that_of_the_last_iterations(waits: list[int]) -> None:
    cost = RunningCost()
    for i, wait in enumerate(waits):
        assert (cost.mean_ns is None) == (i < RunningCost.WINDOW)
        cost.add(wait)
    assert cost.mean_ns == sum(waits[-RunningCost.WINDOW :]) // RunningCost.WINDOW
