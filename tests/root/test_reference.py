"""The reference against slower and more obvious code still, and the facts F1, F1b and F2 that the kernel builds on."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cassini_core import _reference as ref
from cassini_core._reference import Wave
from cassini_core.model import Job, Phase, Problem
from strategies import LinkCase, link_cases, loop_problems, periods, shifts_ms, tree_problems

UNIT = 1_000_000  # the strategies draw whole ms


def as_units(case: LinkCase) -> tuple[list[Wave], int]:
    """The case with one tick per ms, so that every tick can be looked at."""
    waves = [
        Wave(wave.period // UNIT, tuple((start // UNIT, length // UNIT, rate) for start, length, rate in wave.phases))
        for wave in ref.waves_from_jobs(case.jobs)
    ]
    return waves, round(case.capacity_gbps * 1e6)


@st.composite
def placed(draw: st.DrawFn, min_jobs: int = 1, max_jobs: int = 3) -> tuple[list[Wave], int, list[int]]:
    """Jobs in units, the capacity, and a shift for each job."""
    waves, capacity = as_units(draw(link_cases(min_jobs, max_jobs)))
    return waves, capacity, [draw(st.integers(-30, 30)) for _ in waves]


def scaled(waves: list[Wave], factor: int) -> list[Wave]:
    """The same jobs on a finer clock."""
    return [
        Wave(
            wave.period * factor, tuple((start * factor, length * factor, rate) for start, length, rate in wave.phases)
        )
        for wave in waves
    ]


@given(placed())
def test_demand_steps_agree_with_every_tick(problem: tuple[list[Wave], int, list[int]]) -> None:
    for wave in problem[0]:
        sampled = np.zeros(wave.period, dtype=np.int64)
        for start, length, rate in wave.phases:
            for tick in range(start, start + length):
                sampled[tick % wave.period] += rate
        steps = ref.demand_steps(*wave)
        ends = [time for time, _ in steps[1:]] + [wave.period]
        laid_out = np.concatenate([np.full(end - time, level) for (time, level), end in zip(steps, ends, strict=True)])
        assert laid_out.tolist() == sampled.tolist()
        assert all(a != b for (_, a), (_, b) in itertools.pairwise(steps))


@given(placed())
def test_edges_equal_every_tick(problem: tuple[list[Wave], int, list[int]]) -> None:
    waves, capacity, shifts = problem
    assert ref.mean_excess(waves, capacity, shifts) == ref.mean_excess_by_sampling(waves, capacity, shifts)


@given(placed(1, 3), st.data())
def test_free_jobs_are_independent_uniform_phases(
    problem: tuple[list[Wave], int, list[int]], data: st.DataObject
) -> None:
    waves, capacity, shifts = problem
    free = data.draw(st.sets(st.integers(0, len(waves) - 1), max_size=2))
    assume(math.prod(wave.period for wave in waves) <= 3000)
    expected = ref.mean_excess_by_sampling(waves, capacity, shifts, free)
    assert ref.mean_excess(waves, capacity, shifts, free) == expected


def test_large_times_and_rates_do_not_overflow() -> None:
    waves = [Wave(2**40, ((2**40 - 3, 2**39, 2**40),)), Wave(2**40 - 2, ((0, 2**40 - 2, 2**40),))]
    # The second job is always on, so its shift and its period do not matter.
    assert ref.mean_excess(waves, 2**40 - 1, [5, 7]) == Fraction(2**40 + 1, 2) + Fraction(1, 2)


def test_too_many_edges_are_refused() -> None:
    waves = [Wave(2**20 - 1, ((0, 5, 1),)), Wave(2**20, ((0, 5, 1),))]
    with pytest.raises(ValueError, match="at most"):
        ref.mean_excess(waves, 1, [0, 0])


# F1: folding, with code of its own.


def folded_mean_excess(waves: list[Wave], capacity: int, shifts: list[int]) -> Fraction:
    """F1: at each residue the jobs take their samples R_j apart with equal chance, independently."""
    n = len(waves)
    repeat = [
        math.lcm(*(math.gcd(waves[j].period, waves[k].period) for k in range(n) if k != j))
        if n > 1
        else waves[j].period
        for j in range(n)
    ]
    circle = math.lcm(*repeat)
    total = Fraction(0)
    for residue in range(circle):
        samples = [
            [
                sum(rate for start, length, rate in wave.phases if (residue - s + m * r - start) % wave.period < length)
                for m in range(wave.period // r)
            ]
            for wave, s, r in zip(waves, shifts, repeat, strict=True)
        ]
        combinations = list(itertools.product(*samples))
        total += Fraction(sum(max(0, sum(levels) - capacity) for levels in combinations), len(combinations))
    return total / circle


@given(placed(1, 3))
def test_folding_equals_the_lcm_circle(problem: tuple[list[Wave], int, list[int]]) -> None:
    waves, capacity, shifts = problem
    assert folded_mean_excess(waves, capacity, shifts) == ref.mean_excess(waves, capacity, shifts)


@given(placed(2, 3), st.integers(1, 5), st.integers(0, 2))
def test_shift_matters_only_modulo_r(problem: tuple[list[Wave], int, list[int]], turns: int, which: int) -> None:
    waves, capacity, shifts = problem
    j = which % len(waves)
    repeat = math.lcm(*(math.gcd(waves[j].period, wave.period) for k, wave in enumerate(waves) if k != j))
    moved = [shift + turns * repeat * (k == j) for k, shift in enumerate(shifts)]
    assert ref.mean_excess(waves, capacity, moved) == ref.mean_excess(waves, capacity, shifts)


@given(placed(1, 3), st.integers(-50, 50))
def test_common_rotation_changes_nothing(problem: tuple[list[Wave], int, list[int]], move: int) -> None:
    waves, capacity, shifts = problem
    moved = [shift + move for shift in shifts]
    assert ref.mean_excess(waves, capacity, moved) == ref.mean_excess(waves, capacity, shifts)


# F1b: free jobs.


@pytest.mark.parametrize(
    ("periods", "resolution", "free"),
    [
        ([255, 247, 331], 1, {0, 1, 2}),  # pairwise coprime: every R is 1
        ([255, 247, 331], 0, set()),  # a resolution of 0 marks nothing
        ([40, 60], 9, set()),  # R = 20 for both
        ([40, 60], 10, {0, 1}),
        ([100, 100, 101], 1, {2}),  # the equal pair stays
        ([7], 3, set()),  # alone: R = T
        ([7], 4, {0}),
        ([84, 60, 44, 78], 2, {2}),  # R = 12, 12, 4, 6; without the third still 12, 12, 6
        # A chain that comes apart: R = 3, 15, 35, 7. With the first gone the second has R = 5 left.
        ([6, 15, 35, 77], 1, set()),
        ([6, 15, 35, 77], 2, {0}),
        ([6, 15, 35, 77], 3, {0, 1}),
        ([6, 15, 35, 77], 4, {0, 1, 2, 3}),  # the outer two go at once, which leaves 5 for both inner ones
        # R = 4, 12, 6; a job that is left alone has R = T.
        ([20, 12, 42], 2, {0}),
        ([20, 12, 42], 3, {0, 2}),
        ([20, 12, 42], 6, {0, 1, 2}),
    ],
)
def test_free_jobs_by_hand(periods: list[int], resolution: int, free: set[int]) -> None:
    assert ref.free_jobs(periods, resolution) == free


@given(st.integers(1, 5).flatmap(periods), st.integers(1, 8))
def test_free_jobs_are_settled(drawn: list[int], resolution: int) -> None:
    free = ref.free_jobs(drawn, resolution)
    left = [j for j in range(len(drawn)) if j not in free]
    for j in left:
        common = [math.gcd(drawn[j], drawn[k]) for k in left if k != j]
        assert (math.lcm(*common) if common else drawn[j]) > 2 * resolution
    # A job that is left alone has its whole period again, so one may be held where coarser shifts free all others.
    coarser = ref.free_jobs(drawn, resolution + 1)
    assert free <= coarser or len(drawn) - len(coarser) == 1
    order = sorted(range(len(drawn)), key=lambda j: (drawn[j], j))
    assert {order.index(j) for j in free} == ref.free_jobs([drawn[j] for j in order], resolution)


def test_silent_jobs_are_not_on_the_link() -> None:
    waves = [Wave(30, ((0, 5, 1),)), Wave(30, ()), Wave(7, ((0, 7, 1),))]
    assert ref.free_waves(waves, 1) == {0, 2}
    assert ref.free_waves([waves[0], Wave(30, ((0, 30, 2),)), waves[2]], 1) == {2}


# F2: optima.


@given(link_cases(2, 3, max_phases=2))
def test_vertices_reach_the_optimum_of_a_finer_grid(case: LinkCase) -> None:
    waves, capacity = as_units(case)
    assume(math.prod(wave.period for wave in waves[1:]) * math.lcm(*(wave.period for wave in waves)) <= 20_000)
    by_grid = ref.optimum_on_grid(scaled(waves, 2), capacity)
    by_vertices = ref.optimum(waves, capacity)
    assert by_vertices.mean_excess == by_grid.mean_excess
    assert ref.mean_excess(waves, capacity, by_vertices.shifts) == by_vertices.mean_excess


@given(link_cases(2, 4, max_phases=2))
def test_opposite_edges_are_enough(case: LinkCase) -> None:
    waves, capacity = as_units(case)
    assume(math.prod(max(1, len(ref.jumps(wave))) ** 2 for wave in waves[1:]) <= 600)
    try:
        by_all = ref.optimum(waves, capacity)
    except ValueError:
        assume(False)
    by_opposite = ref.optimum(waves, capacity, opposite_only=True)
    assert by_opposite.mean_excess == by_all.mean_excess
    assert by_opposite.tried <= by_all.tried


@given(link_cases(2, 3, max_phases=2), st.integers(1, 2))
def test_no_shifts_beat_the_optimum_with_free_jobs(case: LinkCase, resolution: int) -> None:
    waves, capacity = as_units(case)
    free = ref.free_waves(waves, resolution)
    held = [j for j in range(len(waves)) if j not in free]
    best = ref.optimum(waves, capacity, free)
    assume(math.prod(waves[j].period for j in held[1:]) <= 200)
    choices = [range(1) if j in free or j == held[0] else range(wave.period) for j, wave in enumerate(waves)]
    everywhere = ref.mean_excess_many(waves, capacity, list(itertools.product(*choices)), free)
    assert min(everywhere) == best.mean_excess


def test_one_lift_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    waves = [Wave(24, ((0, 6, 10),)), Wave(4, ((0, 2, 10),)), Wave(6, ((0, 3, 10),)), Wave(24, ((0, 11, 10),))]
    best = ref.optimum(waves, 10).mean_excess
    assert best == ref.optimum_on_grid(waves, 10).mean_excess == Fraction(85, 12)

    def one_lift(fixed: Wave, shift: int, moving: Wave, opposite_only: bool) -> set[int]:
        return {(shift + there - here) % moving.period for there in ref.jumps(fixed) for here in ref.jumps(moving)}

    monkeypatch.setattr(ref, "_alignments", one_lift)
    assert ref.optimum(waves, 10).mean_excess > best


# The paper's angles.


@given(placed(1, 3), st.integers(1, 24))
def test_angles_claim_the_best_of_their_grid(problem: tuple[list[Wave], int, list[int]], n_angles: int) -> None:
    waves, capacity, _ = problem
    perimeter = math.lcm(*(wave.period for wave in waves))
    counts = [math.ceil(Fraction(n_angles * wave.period, perimeter)) for wave in waves]
    assume(math.prod(counts) * n_angles <= 3000)

    def claimed(turns: tuple[int, ...]) -> Fraction:
        excess = 0
        for k in range(n_angles):
            demand = 0
            for wave, turn in zip(waves, turns, strict=True):
                time = Fraction((k - turn) % n_angles * perimeter, n_angles)
                demand += sum(rate for start, length, rate in wave.phases if (time - start) % wave.period < length)
            excess += max(0, demand - capacity)
        return 1 - Fraction(excess, n_angles * capacity)

    every = {turns: claimed(turns) for turns in itertools.product(*(range(count) for count in counts))}
    answer = ref.angles(waves, capacity, n_angles)
    assert answer.claimed_score == max(every.values())
    assert answer.rotations == min(turns for turns, value in every.items() if value == answer.claimed_score)


def test_angles_by_hand() -> None:
    # Half of the circle each: the second job turns by 2 of 4 angles, which are 2.5 ticks each.
    halves = [Wave(10, ((0, 5, 8),)), Wave(10, ((0, 5, 8),))]
    assert ref.angles(halves, 8, 4) == (Fraction(1), (0, 2), (0, 5))
    # 255/247/331 ms: the circle is so long that every job has a single rotation left.
    long = [Wave(period, ((0, period // 2, 5),)) for period in (255, 247, 331)]
    assert ref.angles(long, 10, 72).rotations == (0, 0, 0)
    # Shifts are rounded half to even: 1 of 4 angles on 10 ticks is 2.5.
    quarter = [Wave(10, ((0, 2, 8),)), Wave(10, ((0, 2, 8),))]
    assert ref.angles(quarter, 8, 4) == (Fraction(1), (0, 1), (0, 2))


# F5: slack and hold.


@given(placed(2, 3), st.sampled_from([0.0, 0.01, 0.1]), st.integers(0, 2))
def test_slack_is_the_largest_safe_move(
    problem: tuple[list[Wave], int, list[int]], tolerance: float, which: int
) -> None:
    waves, capacity, shifts = problem
    j = which % len(waves)
    fine = 4  # looks at quarters of a tick
    waves, shifts = scaled(waves, fine), [shift * fine for shift in shifts]
    reach = ref.slack(waves, capacity, shifts, j, tolerance)
    moves = range(-waves[j].period // 2, waves[j].period // 2 + 1)
    rows = [[shift + move * (k == j) for k, shift in enumerate(shifts)] for move in moves]
    means = ref.mean_excess_many(waves, capacity, rows)
    allowed = ref.mean_excess(waves, capacity, shifts) + Fraction(tolerance) * capacity
    failing = [abs(move) for move, mean in zip(moves, means, strict=True) if mean > allowed]
    assert all(move > reach for move in failing)
    # The next whole tick fails on one side, as the excess is linear between whole units.
    if failing:
        assert min(failing) - reach <= fine
    else:
        assert reach == Fraction(waves[j].period, 2)


def test_slack_by_hand() -> None:
    # 4 of 10 Up each, opposite: a gap of 1 on both sides; beyond it each tick costs a tenth of the score.
    waves = [Wave(10, ((0, 4, 8),)), Wave(10, ((0, 4, 8),))]
    assert ref.slack(waves, 8, [0, 5], 1, 0.0) == 1
    assert ref.slack(waves, 8, [0, 5], 1, Fraction(1, 20)) == Fraction(3, 2)
    assert ref.slack(waves, 8, [0, 5], 1, 1.0) == 5
    assert ref.slack(waves, 8, [0, 4], 1, 0.0) == 0
    assert ref.slack(waves, 8, [0, 6], 1, 0.0) == 0


def test_drop_within_refutes_a_false_hold() -> None:
    waves = [Wave(100, ((0, 40, 8),)), Wave(100, ((0, 40, 8),))]
    rng = np.random.default_rng(0)
    assert ref.drop_within(waves, 8, [0, 50], 5, 20, rng) == 0  # slack 10, so half of it for both
    assert ref.drop_within(waves, 8, [0, 50], 6, 20, rng) == Fraction(2, 100)


# The public types.


@given(link_cases(2, 3, max_phases=2), st.data())
def test_score_agrees_with_sampling(case: LinkCase, data: st.DataObject) -> None:
    shifts = data.draw(shifts_ms(case.jobs))
    waves, capacity = as_units(case)
    mean = ref.mean_excess_by_sampling(waves, capacity, [round(shifts[job.id]) for job in case.jobs])
    assert ref.score(case.jobs, case.capacity_gbps, shifts, resolution_ms=0) == float(1 - mean / capacity)
    assert ref.best_score(case.jobs, case.capacity_gbps, resolution_ms=0) >= float(1 - mean / capacity)


def test_score_of_incommensurate_jobs_is_independence() -> None:
    jobs = [Job(f"j{period}", period, (Phase(10, 0.4 * period, 50.0),)) for period in (255, 247, 331)]
    # Two of three: 3 * 0.4^2 * 0.6 above by C, all three: 0.4^3 above by 2 C.
    assert ref.score(jobs, 50.0, {}) == pytest.approx(1 - (3 * 0.16 * 0.6 + 2 * 0.064), abs=1e-12)


def test_multiplier_scales_the_demand() -> None:
    jobs = [Job("a", 10, (Phase(0, 5, 50.0),)), Job("b", 10, (Phase(0, 5, 25.0),))]
    shifts = {"a": 0.0, "b": 0.0}
    assert ref.score(jobs, 50.0, shifts, multipliers={"b": 2.0}) == 0.5
    assert ref.score(jobs, 50.0, shifts) == 0.75


def test_a_held_job_without_a_shift_is_an_error() -> None:
    jobs = [Job("a", 10, (Phase(0, 5, 50.0),)), Job("b", 10, (Phase(0, 5, 25.0),))]
    with pytest.raises(KeyError):
        ref.score(jobs, 50.0, {"a": 0.0})


# The strategies themselves: what they promise.


def affinity(problem: Problem) -> list[nx.Graph]:
    """For each candidate the bipartite graph of jobs and links, those with several jobs only."""
    graphs = []
    for candidate in problem.candidates:
        graph = nx.Graph([(job, ("link", link)) for job, route in candidate.routes.items() for link in route])
        graph.remove_nodes_from([node for node in list(graph) if isinstance(node, tuple) and graph.degree(node) < 2])
        graphs.append(graph)
    return graphs


@given(tree_problems(max_candidates=2))
def test_tree_problems_are_forests(problem: Problem) -> None:
    for graph in affinity(problem):
        assert nx.is_forest(graph)
        assert all(2 <= graph.degree(node) <= 3 for node in graph if isinstance(node, tuple))


@given(loop_problems())
def test_loop_problems_have_loops(problem: Problem) -> None:
    assert not any(nx.is_forest(graph) for graph in affinity(problem))


@example([5, 7])
@given(st.integers(1, 5).flatmap(periods))
def test_periods_keep_the_circle_small(drawn: list[int]) -> None:
    assert math.lcm(*drawn) <= 210
