"""Links that blow up other methods: bounded time and memory, and an interval that is true."""

from __future__ import annotations

import itertools
import math
import resource
from collections.abc import Callable

import numpy as np
import pytest

from cassini_core import Job, LimitError, LinkSolution, Phase, _reference, score_bounds, score_link, solve_link
from work import works_less_than

TICK_MS = 1e-6
CLOSE = 1e-9

# Stated limits of a default call, several times what is seen on two busy cores.
MAX_SECONDS = 20.0
MAX_GROWTH_KIB = 500 * 1024


def bounded(call: Callable[[], LinkSolution]) -> LinkSolution:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with works_less_than(MAX_SECONDS):
        solution = call()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KIB
    assert solution.score <= solution.upper_bound + CLOSE
    assert not solution.optimal or solution.score >= solution.upper_bound - CLOSE
    return solution


def up(index: int, period_ticks: int, share: float = 0.45) -> Job:
    return Job(f"j{index}", period_ticks * TICK_MS, [Phase(0, round(period_ticks * share) * TICK_MS, 50)])


def drawn(rng: np.random.Generator, n_jobs: int, n_phases: int, gbps: tuple[float, float]) -> list[Job]:
    """Periods are whole ns at random: what two real measurements have in common, nothing."""
    jobs = []
    for index in range(n_jobs):
        period = int(rng.integers(100_000_000, 600_000_000))
        phases = [
            Phase(
                float(rng.integers(period)) * TICK_MS, float(rng.integers(1, period // 5)) * TICK_MS, rng.uniform(*gbps)
            )
            for _ in range(n_phases)
        ]
        jobs.append(Job(f"j{index}", period * TICK_MS, phases))
    return jobs


def test_periods_with_pairwise_factors_are_solved_exactly() -> None:
    """101*103, 103*107, 101*107 ticks: an LCM of 1.1 million ticks, every pair shares one prime."""
    jobs = [up(index, period) for index, period in enumerate([10403, 11021, 10807])]
    solution = bounded(lambda: solve_link(jobs, 50, resolution_ms=0))
    assert solution.optimal
    assert solution.score == pytest.approx(_reference.score(jobs, 50, solution.shifts_ms, 0), abs=CLOSE)
    rng = np.random.default_rng(5)
    for _ in range(20):
        shifts = {job.id: float(rng.integers(10403)) * TICK_MS for job in jobs}
        assert _reference.score(jobs, 50, shifts, 0) <= solution.score + CLOSE
    # At the default resolution of 0.5 ms nobody can hold these shifts.
    assert set(solve_link(jobs, 50).free_jobs) == {"j0", "j1", "j2"}


def test_an_lcm_beyond_any_layout_gives_a_true_interval() -> None:
    """Four periods whose folded circle has 1.7e12 ticks."""
    jobs = [up(index, period) for index, period in enumerate([1113121, 1244017, 1425829, 1535557])]
    solution = bounded(lambda: solve_link(jobs, 50, resolution_ms=0))
    assert not solution.score_is_exact
    assert not solution.optimal
    lower, upper = score_bounds(jobs, 50, solution.shifts_ms, resolution_ms=0)
    assert solution.score == lower < upper <= solution.upper_bound + CLOSE
    with pytest.raises(LimitError) as caught:
        score_link(jobs, 50, solution.shifts_ms, resolution_ms=0)
    assert (caught.value.lower, caught.value.upper) == (lower, upper)
    # A sample of the circle: 4 million random instants give the mean excess to within a thousandth.
    rng = np.random.default_rng(3)
    perimeter = math.lcm(*(round(job.iteration_ms / TICK_MS) for job in jobs))
    at = rng.integers(0, perimeter, size=4_000_000)
    total = np.zeros(at.size)
    for job in jobs:
        period = round(job.iteration_ms / TICK_MS)
        local = (at - round(solution.shifts_ms[job.id] / TICK_MS)) % period
        total += 50.0 * (local < round(period * 0.45))
    sampled = 1 - np.maximum(total - 50, 0).mean() / 50
    assert lower - 2e-3 <= sampled <= upper + 2e-3


@pytest.mark.parametrize("resolution_ms", [0.0, 0.5])
def test_forty_jobs_with_random_periods(resolution_ms: float) -> None:
    jobs = drawn(np.random.default_rng(1), 40, 1, (1.0, 10.0))
    bounded(lambda: solve_link(jobs, 30, resolution_ms=resolution_ms))


@pytest.mark.parametrize("resolution_ms", [0.0, 0.5])
def test_eight_jobs_with_four_levels_each_and_random_periods(resolution_ms: float) -> None:
    jobs = drawn(np.random.default_rng(2), 8, 4, (1.0, 10.0))
    solution = bounded(lambda: solve_link(jobs, 20, resolution_ms=resolution_ms))
    if resolution_ms == 0.5:
        # All free: independent phases. A sample of them must fall into the interval.
        assert len(solution.free_jobs) == 8
        rng = np.random.default_rng(4)
        total = np.zeros(1_000_000)
        for job in jobs:
            at = rng.uniform(0, job.iteration_ms, size=total.size)
            for phase in job.phases:
                total += phase.gbps * (((at - phase.start_ms) % job.iteration_ms) < phase.duration_ms)
        sampled = 1 - np.maximum(total - 20, 0).mean() / 20
        assert solution.score - 3e-3 <= sampled <= solution.upper_bound + 3e-3


def test_eight_jobs_with_four_levels_each_and_round_periods() -> None:
    rng = np.random.default_rng(6)
    jobs = [
        Job(f"j{k}", (120.0, 180.0, 240.0, 300.0)[k % 4], [Phase(25.0 * i, 15.0, rng.uniform(1, 10)) for i in range(4)])
        for k in range(8)
    ]
    solution = bounded(lambda: solve_link(jobs, 20))
    assert solution.score_is_exact


def test_forty_jobs_that_can_be_held() -> None:
    rng = np.random.default_rng(8)
    jobs = [
        Job(f"j{k}", (150.0, 200.0, 300.0, 600.0)[k % 4], [Phase(float(rng.integers(100)), 40.0, rng.uniform(5, 50))])
        for k in range(40)
    ]
    solution = bounded(lambda: solve_link(jobs, 150))
    assert solution.score_is_exact
    assert solution.score > solve_link(jobs, 150, method="angles", angles=4, node_limit=200).score


def test_jobs_with_thousands_of_phases() -> None:
    rng = np.random.default_rng(9)
    jobs = [
        Job(f"j{k}", 2000.0, [Phase(float(i), 0.5, float(rng.integers(5, 50))) for i in range(2000)]) for k in range(3)
    ]
    bounded(lambda: solve_link(jobs, 50))


def test_one_job_that_cannot_be_held_among_two_that_can() -> None:
    """A common divisor of one tick must not become a branch for every tick of the period."""
    jobs = [up(0, 255_000_000), up(1, 255_000_000), up(2, 247_000_001)]
    assert bounded(lambda: solve_link(jobs, 50)).free_jobs == ("j2",)
    bounded(lambda: solve_link(jobs, 50, resolution_ms=0))


def test_the_smallest_and_the_largest_numbers() -> None:
    largest = 2**40
    jobs = [
        Job("a", largest * TICK_MS, [Phase(0, largest // 2 * TICK_MS, 2**40 / 1e6)]),
        Job("b", largest * TICK_MS, [Phase(0, largest // 2 * TICK_MS, 2**40 / 1e6)]),
        Job("c", TICK_MS, [Phase(0, TICK_MS, 1e-6)]),
    ]
    solution = bounded(lambda: solve_link(jobs, 2**40 / 1e6, resolution_ms=0))
    assert solution.score == pytest.approx(1.0, abs=CLOSE)
    in_phase = score_link(jobs[:2], 1e-6, {})
    assert in_phase == pytest.approx(1 - (2.0**40 * 2 - 1) / 2, rel=1e-12)


def at_random(n_jobs: int, n_phases: int, gbps: float, *, odd_periods: bool = False, seed: int = 1) -> list[Job]:
    """Many jobs or many phases: short bursts of up to ``gbps``, on 255 ms or on periods with nothing in common."""
    rng = np.random.default_rng(seed)
    jobs = []
    for index in range(n_jobs):
        period = int(rng.integers(100_000_000, 600_000_000)) if odd_periods else 255_000_000
        starts = rng.integers(0, period, n_phases)
        lengths = rng.integers(1, period // (3 * n_phases), n_phases)
        rates = rng.uniform(0.001, gbps, n_phases)
        phases = [
            Phase(int(start) * TICK_MS, int(length) * TICK_MS, float(rate))
            for start, length, rate in zip(starts, lengths, rates, strict=True)
        ]
        jobs.append(Job(f"j{index}", period * TICK_MS, phases))
    return jobs


def renamed(jobs: list[Job]) -> list[Job]:
    return [Job(f"other-{job.id}", job.iteration_ms, job.phases) for job in jobs]


@pytest.mark.parametrize(
    ("jobs", "capacity_gbps"),
    [
        pytest.param(at_random(2, 300, 50), 40, id="pair of 300 phases"),
        pytest.param(at_random(2, 2000, 50), 40, id="pair of 2000 phases"),
        pytest.param(at_random(3, 60, 50), 60, id="3 jobs of 60 phases"),
        pytest.param(at_random(48, 20, 50), 500, id="48 jobs of 20 phases"),
        pytest.param(at_random(40, 100, 50), 300, id="40 jobs of 100 phases"),
        pytest.param(at_random(1024, 5, 5), 3000, id="1024 jobs"),
        pytest.param(at_random(200, 10, 1, odd_periods=True), 20, id="200 free jobs of 10 levels"),
        pytest.param(at_random(1024, 4, 1, odd_periods=True), 100, id="1024 free jobs of 4 levels"),
        pytest.param(
            [*at_random(24, 1000, 1, odd_periods=True), *renamed(at_random(3, 4000, 1))],
            10,
            id="levels and events both beyond the limits",
        ),
    ],
)
def test_no_default_call_runs_away(jobs: list[Job], capacity_gbps: float) -> None:
    bounded(lambda: solve_link(jobs, capacity_gbps))


def test_levels_whose_probability_underflows_are_harmless() -> None:
    """64 free jobs that are silent all but a billionth of the time: products of probabilities reach zero."""
    rng = np.random.default_rng(12)
    jobs = []
    for index in range(64):
        period = 2**39 + 1 + 2 * index
        starts = rng.choice(2**30, size=300, replace=False)
        phases = [Phase(int(at) * TICK_MS, TICK_MS, int(rng.integers(1000, 1_001_000)) / 1e6) for at in starts]
        jobs.append(Job(f"j{index}", period * TICK_MS, phases))
    solution = bounded(lambda: solve_link(jobs, 0.0005))
    assert solution.score == pytest.approx(1.0, abs=1e-3)


def test_a_chain_of_common_factors_is_marked_free_in_good_time() -> None:
    """Each job shares a prime with the next: jobs become free from both ends inwards, in hundreds of passes."""
    primes = [p for p in range(700_001, 708_000, 2) if all(p % d for d in range(3, 842, 2))][:401]
    jobs = [up(k, a * b) for k, (a, b) in enumerate(itertools.pairwise(primes))]
    solution = bounded(lambda: solve_link(jobs, 5000))
    assert len(solution.free_jobs) == len(jobs)


def test_a_deadline_holds_on_large_links() -> None:
    for jobs in (at_random(48, 20, 50), at_random(2, 300, 50), at_random(40, 100, 50)):
        with works_less_than(3.0):
            solution = solve_link(jobs, 300, deadline_s=0.01)
        assert solution.score <= solution.upper_bound + CLOSE
