"""The fast kernel against the slow reference: scores, optima, bounds, slack, hold, and symmetries."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies
from cassini_core import Job, Phase, _reference, score_bounds, score_link, solve_link
from cassini_core.kernel import _kernel
from cassini_core.kernel.prepared_link import PreparedLink
from cassini_core.units import kbps_from_gbps, ticks_from_ms
from strategies import TICK_MS, LinkCase

CLOSE = 1e-9

resolutions_ms = st.sampled_from([0.0, 0.5, 2.0])


@st.composite
def placed_cases(draw: st.DrawFn, min_jobs: int = 1, max_jobs: int = 4) -> tuple[LinkCase, dict[str, float]]:
    unit_ms = draw(st.sampled_from([1.0, TICK_MS]))
    case = draw(strategies.link_cases(min_jobs, max_jobs, unit_ms=unit_ms))
    return case, draw(strategies.shifts_ms(case.jobs, unit_ms))


def integers(case: LinkCase, resolution_ms: float) -> tuple[list[_reference.Wave], int, set[int]]:
    waves = _reference.waves_from_jobs(case.jobs)
    return waves, kbps_from_gbps(case.capacity_gbps), _reference.free_waves(waves, ticks_from_ms(resolution_ms))


def gbps_scaled(job: Job, factor: float) -> Job:
    return Job(job.id, job.iteration_ms, [Phase(p.start_ms, p.duration_ms, p.gbps * factor) for p in job.phases])


@given(st.integers(3, 6), st.lists(st.floats(0.2, 0.9), min_size=6, max_size=6), st.floats(20, 500))
def test_gaps_of_bursts_side_by_side_are_nearly_equal(n_jobs: int, fill: list[float], iteration_ms: float) -> None:
    # With equal gaps each job may be held to half a gap; packed at first, no move of one job alone widens two gaps.
    bursts_ms = [share * iteration_ms / n_jobs for share in fill[:n_jobs]]
    gap_ms = (iteration_ms - sum(bursts_ms)) / n_jobs
    jobs = [Job(f"{i}", iteration_ms, [Phase(0, burst, 50)]) for i, burst in enumerate(bursts_ms)]
    solution = solve_link(jobs, 50, slack_tolerance=0)
    assert solution.score == 1
    # Of some thousand cases with six jobs one stops earlier: only single jobs are moved.
    share = 0.98 if n_jobs < 6 else 0.85
    assert share * gap_ms / 2 - 2 * TICK_MS <= solution.hold_ms <= gap_ms / 2 + 2 * TICK_MS


@given(placed_cases(), resolutions_ms)
def test_folded_score_equals_the_lcm_circle(placed: tuple[LinkCase, dict[str, float]], resolution_ms: float) -> None:
    (jobs, capacity), shifts = placed
    expected = _reference.score(jobs, capacity, shifts, resolution_ms)
    assert score_link(jobs, capacity, shifts, resolution_ms=resolution_ms) == pytest.approx(expected, abs=CLOSE)


@given(strategies.link_cases(1, 3), resolutions_ms)
def test_solution_is_the_optimum_with_proof(case: LinkCase, resolution_ms: float) -> None:
    solution = solve_link(*case, resolution_ms=resolution_ms, node_limit=None)
    expected = _reference.best_score(*case, resolution_ms)
    assert solution.score == pytest.approx(expected, abs=CLOSE)
    assert solution.optimal
    assert solution.upper_bound >= expected - CLOSE
    assert solution.score == pytest.approx(_reference.score(*case, solution.shifts_ms, resolution_ms), abs=CLOSE)


@given(strategies.link_cases(4, 4, max_phases=1))
def test_four_jobs_are_solved_to_the_optimum(case: LinkCase) -> None:
    try:
        expected = _reference.best_score(*case, 0.5)
    except ValueError:
        assume(False)
    assert solve_link(*case, node_limit=None).score == pytest.approx(expected, abs=CLOSE)


@given(strategies.link_cases(2, 4), resolutions_ms, st.sampled_from([1, 3, 10, 100]))
def test_bounds_hold_at_every_node_limit(case: LinkCase, resolution_ms: float, node_limit: int) -> None:
    best = solve_link(*case, resolution_ms=resolution_ms, node_limit=None)
    cut = solve_link(*case, resolution_ms=resolution_ms, node_limit=node_limit)
    assert cut.score <= best.score + CLOSE
    assert cut.upper_bound >= best.score - CLOSE
    if cut.optimal:
        assert cut.score == pytest.approx(best.score, abs=CLOSE)


@given(strategies.link_cases(1, 4), resolutions_ms)
def test_free_jobs_are_those_of_the_definition(case: LinkCase, resolution_ms: float) -> None:
    waves, _, free = integers(case, resolution_ms)
    solution = solve_link(*case, resolution_ms=resolution_ms)
    assert set(solution.free_jobs) == {case.jobs[j].id for j in free}
    assert len(waves) == len(case.jobs)


@given(strategies.link_cases(1, 4), st.sampled_from([0.0, 0.01, 0.2]))
def test_slack_is_exact_at_the_returned_shifts(case: LinkCase, tolerance: float) -> None:
    waves, capacity, free = integers(case, 0.5)
    solution = solve_link(*case, slack_tolerance=tolerance)
    shifts = [ticks_from_ms(solution.shifts_ms[job.id]) for job in case.jobs]
    for j, job in enumerate(case.jobs):
        got = ticks_from_ms(solution.slack_ms[job.id])
        tight = _reference.slack(waves, capacity, shifts, j, tolerance, free)
        loose = _reference.slack(waves, capacity, shifts, j, Fraction(tolerance) + Fraction(1, 10**9), free)
        assert int(tight) - 1 <= got <= loose, job.id


@given(strategies.link_cases(2, 4), st.sampled_from([0.0, 0.01, 0.2]), st.integers(0, 2**32 - 1))
def test_hold_survives_simultaneous_moves(case: LinkCase, tolerance: float, seed: int) -> None:
    waves, capacity, free = integers(case, 0.5)
    solution = solve_link(*case, slack_tolerance=tolerance)
    shifts = [ticks_from_ms(solution.shifts_ms[job.id]) for job in case.jobs]
    hold = ticks_from_ms(solution.hold_ms)
    held = [job.id for j, job in enumerate(case.jobs) if j not in free and _reference.jumps(waves[j])]
    assert all(hold <= ticks_from_ms(solution.slack_ms[job]) for job in held)
    drop = _reference.drop_within(waves, capacity, shifts, hold, 20, np.random.default_rng(seed), free)
    assert drop <= tolerance + CLOSE


@given(placed_cases(min_jobs=2), st.integers(-300, 300))
def test_common_rotation_changes_nothing(placed: tuple[LinkCase, dict[str, float]], turn: int) -> None:
    (jobs, capacity), shifts = placed
    turned = {job: shift + turn * TICK_MS for job, shift in shifts.items()}
    assert score_link(jobs, capacity, turned) == pytest.approx(score_link(jobs, capacity, shifts), abs=CLOSE)


@given(placed_cases(min_jobs=2), st.data())
def test_full_turn_changes_nothing(placed: tuple[LinkCase, dict[str, float]], data: st.DataObject) -> None:
    (jobs, capacity), shifts = placed
    turned = {job.id: shifts[job.id] + data.draw(st.integers(-3, 3)) * job.iteration_ms for job in jobs}
    assert score_link(jobs, capacity, turned) == score_link(jobs, capacity, shifts)


@given(strategies.link_cases(2, 4), st.randoms(use_true_random=False))
def test_permuting_jobs_permutes_the_answer(case: LinkCase, random: object) -> None:
    jobs = list(case.jobs)
    random.shuffle(jobs)  # type: ignore[attr-defined]
    one = solve_link(*case)
    two = solve_link(jobs, case.capacity_gbps)
    assert (one.score, one.upper_bound, one.optimal) == (two.score, two.upper_bound, two.optimal)
    assert one.hold_ms == two.hold_ms
    assert set(one.free_jobs) == set(two.free_jobs)
    # Equal jobs may trade places; the slacks as a set may not change.
    assert sorted(one.slack_ms.values()) == sorted(two.slack_ms.values())


@given(strategies.link_cases(2, 3), st.sampled_from([2.0, 0.5, 8.0]))
def test_scaling_bandwidth_and_capacity_changes_nothing(case: LinkCase, factor: float) -> None:
    jobs = [gbps_scaled(job, 2) for job in case.jobs]  # even kbit/s survive a half
    scaled = [gbps_scaled(job, factor) for job in jobs]
    one = solve_link(jobs, 2 * case.capacity_gbps)
    two = solve_link(scaled, 2 * factor * case.capacity_gbps)
    assert one.score == pytest.approx(two.score, abs=CLOSE)
    assert one.shifts_ms == two.shifts_ms


@given(strategies.link_cases(2, 3), st.sampled_from([1.01, 1.5, 3.0]))
def test_more_capacity_never_hurts(case: LinkCase, factor: float) -> None:
    assert solve_link(case.jobs, case.capacity_gbps * factor).score >= solve_link(*case).score - CLOSE


@given(strategies.link_cases(2, 4))
def test_another_job_never_helps_a_link(case: LinkCase) -> None:
    # Without free jobs: whether a job is free may change with the company it keeps.
    fewer = solve_link(case.jobs[:-1], case.capacity_gbps, resolution_ms=0)
    assert solve_link(*case, resolution_ms=0).score <= fewer.score + CLOSE


@given(st.integers(1, 4), st.integers(1, 4), st.integers(2, 40), st.data())
def test_pair_rule(first: int, second: int, common: int, data: st.DataObject) -> None:
    """Two full-rate jobs with one phase each fit exactly if their phases fit the gcd of their periods together."""
    assume(np.gcd(first, second) == 1)
    up_1 = data.draw(st.integers(1, first * common))
    up_2 = data.draw(st.integers(1, second * common))
    jobs = [
        Job("a", first * common, [Phase(data.draw(st.integers(0, first * common - 1)), up_1, 50)]),
        Job("b", second * common, [Phase(data.draw(st.integers(0, second * common - 1)), up_2, 50)]),
    ]
    solution = solve_link(jobs, 50, resolution_ms=0)
    assert (solution.score >= 1 - CLOSE) == (up_1 + up_2 <= common)


@given(strategies.link_cases(1, 3, max_phases=2), st.sampled_from([1, 2, 3, 5, 8, 12]))
def test_angles_is_the_papers_formulation(case: LinkCase, angles: int) -> None:
    waves = _reference.waves_from_jobs(case.jobs)
    try:
        expected = _reference.angles(waves, kbps_from_gbps(case.capacity_gbps), angles)
    except ValueError:
        assume(False)
    solution = solve_link(*case, method="angles", angles=angles, node_limit=None)
    assert solution.claimed_score == pytest.approx(float(expected.claimed_score), abs=CLOSE)
    assert solution.score == pytest.approx(_reference.score(*case, solution.shifts_ms), abs=CLOSE)
    assert solution.score <= solve_link(*case, node_limit=None).score + CLOSE
    assert solution.upper_bound >= solve_link(*case, node_limit=None).score - CLOSE


@given(placed_cases(min_jobs=2, max_jobs=4), st.sampled_from([1, 4, 30]), st.sampled_from([1, 2, 3]))
def test_interval_beyond_the_limits_holds_the_score(
    placed: tuple[LinkCase, dict[str, float]], max_events: int, max_levels: int
) -> None:
    """With limits far too small for the instance the interval still contains what the reference says."""
    (jobs, capacity), shifts = placed
    problem = PreparedLink.from_jobs(jobs, capacity)
    options = _kernel.Options(max_events=max_events, max_levels=max_levels)
    ticks = np.array([ticks_from_ms(shifts[job.id]) for job in jobs], dtype=np.int64)
    found = problem._evaluate(ticks, options, False)
    exact = _reference.score(jobs, capacity, shifts)
    assert found.score_lower - CLOSE <= exact <= found.score_upper + CLOSE
    solved = problem._solve(options)
    assert solved is not None
    best = solve_link(jobs, capacity, node_limit=None).score
    assert solved.upper_bound >= best - CLOSE
    at = {job.id: ticks / 1e6 for job, ticks in zip(jobs, solved.shift.tolist(), strict=True)}
    own = _reference.score(jobs, capacity, at)
    assert solved.score_lower - CLOSE <= own <= solved.score_upper + CLOSE


def test_bounds_equal_the_score_within_the_limits() -> None:
    jobs = [Job("a", 40, [Phase(0, 20, 50)]), Job("b", 60, [Phase(10, 30, 40)])]
    lower, upper = score_bounds(jobs, 50, {"b": 7.0})
    assert lower == upper == score_link(jobs, 50, {"b": 7.0})


def test_shifts_stand_in_the_iteration_and_the_first_job_at_zero() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        jobs = [
            Job(f"j{k}", float(t), [Phase(float(rng.integers(t)), float(rng.integers(1, t)), 40.0)])
            for k, t in enumerate(rng.choice([100, 150, 225, 300], size=4).tolist())
        ]
        shifts = solve_link(jobs, 50).shifts_ms
        assert shifts["j0"] == 0
        assert all(0 <= shifts[job.id] < job.iteration_ms for job in jobs)


def test_every_order_of_three_jobs_gives_the_same_score() -> None:
    jobs = [
        Job("a", 100, [Phase(3, 40, 50), Phase(60, 10, 20)]),
        Job("b", 150, [Phase(140, 55, 45)]),
        Job("c", 225, [Phase(0, 70, 30), Phase(30, 70, 30)]),
    ]
    scores = {solve_link(order, 50).score for order in itertools.permutations(jobs)}
    assert len(scores) == 1
