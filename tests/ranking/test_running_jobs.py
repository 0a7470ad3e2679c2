"""Running jobs keep their shifts: against all shifts of small problems, and what holds for any."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core import InputError, Job, Link, Phase, Problem, Ranker, Ranking, rank
from cassini_core.joint import base_placement
from cassini_core.problem_file import problem_from_json, problem_to_json
from placements import problem_of, up
from strategies import problems

EXACT: dict[str, Any] = {
    "resolution_ms": 0.0,
    "period_tolerance": 0.0,
    "node_limit": None,
    "block_node_limit": None,
    "threads": 1,
}


@st.composite
def one_link(draw: st.DrawFn) -> tuple[Problem, dict[str, int]]:
    """Two to four jobs on one link, and where some of them run, in whole ms."""
    n = draw(st.integers(2, 4))
    periods = draw(
        st.one_of(
            st.sampled_from([4, 6, 8]).map(lambda period: [period] * n),
            st.lists(st.sampled_from([2, 4, 8] if n == 4 else [3, 4, 6, 12]), min_size=n, max_size=n),
        )
    )
    jobs, running = [], {}
    for name, period in zip("abcd", periods, strict=False):
        length = draw(st.integers(1, period))
        jobs.append(up(name, period, draw(st.integers(0, period - 1)), length, draw(st.sampled_from([20, 50]))))
        if draw(st.integers(0, 3)):
            running[name] = draw(st.integers(0, period - 1))
    capacity = draw(st.sampled_from([40, 50, 80]))
    return problem_of(jobs, {"x": capacity}, c={job.id: ["x"] for job in jobs}), running


def all_scores(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """All shifts in whole ms, one row each, and what each scores: demand is laid out ms by ms on the whole circle."""
    periods = [round(job.iteration_ms) for job in problem.jobs]
    whole, capacity = math.lcm(*periods), problem.links[0].capacity_gbps
    demands = []
    for job, period in zip(problem.jobs, periods, strict=True):
        demand = np.zeros(period)
        for phase in job.phases:
            for t in range(round(phase.duration_ms)):
                demand[(round(phase.start_ms) + t) % period] += phase.gbps
        demands.append(np.stack([np.tile(np.roll(demand, shift), whole // period) for shift in range(period)]))
    shifts = np.array(list(itertools.product(*map(range, periods))))
    total = sum(demand[shifts[:, k]] for k, demand in enumerate(demands))
    return shifts, 1 - np.maximum(total - capacity, 0).mean(axis=1) / capacity


FOUR = [*(up(name, 4, 0, 1, 20) for name in "abc"), up("d", 4, 0, 1, 50)]
"""On 40 Gbit/s two of the first three may meet: so there are shifts of the best score that move fewer jobs."""


EXACTLY = [up("a", 6, 0, 3, 50), up("b", 6, 0, 4, 20), up("c", 6, 0, 1, 50)]
"""Kept at 0, two of them cost exactly 0.1 of the score, but for rounding."""


@settings(suppress_health_check=[HealthCheck.too_slow])
@example((problem_of(EXACTLY, {"x": 50}, c={job.id: ["x"] for job in EXACTLY}), {"a": 0, "c": 0}), 0.1)
@example((problem_of(FOUR, {"x": 40}, c={job.id: ["x"] for job in FOUR}), {"b": 0, "c": 0, "d": 0}), 0.0)
@given(one_link(), st.sampled_from([0.0, 0.01, 0.1, 0.4]))
def test_no_shifts_of_a_link_are_worth_more_and_move_fewer_jobs(case, tolerance: float) -> None:
    problem, running = case
    assume(running)
    best = rank(problem, running_shifts_ms=running, running_tolerance=tolerance, **EXACT).best
    assert best is not None
    assert best.disturbance is not None
    assert best.score is not None
    shifts, scores = all_scores(problem)
    n, names = len(problem.jobs), [job.id for job in problem.jobs]
    moves = sum((shifts[:, names.index(job)] != at).astype(int) for job, at in running.items())
    kept = scores[moves == 0].max()
    assert best.disturbance.score_if_kept == pytest.approx(kept, abs=1e-9)
    assert best.disturbance.upper_bound_if_kept == pytest.approx(kept, abs=1e-9)
    if kept >= scores.max() - tolerance - 1e-12:
        assert not best.disturbance.moves_ms
        assert best.score == pytest.approx(kept, abs=1e-9)
    else:
        values = scores - tolerance * moves / n
        own = best.score - tolerance * len(best.disturbance.moves_ms) / n
        assert own == pytest.approx(values.max(), abs=1e-9)
        assert len(best.disturbance.moves_ms) == moves[values > values.max() - 2e-9].min()
    assert best.score >= scores.max() - tolerance - 1e-9
    periods = {job.id: job.iteration_ms for job in problem.jobs}
    for job, at in running.items():
        wait = best.disturbance.moves_ms.get(job, 0.0)
        assert (best.shifts_ms[job] - at - wait) % periods[job] in (pytest.approx(0), pytest.approx(periods[job]))


def run_somewhere(draw: st.DataObject, problem: Problem, paces_ms: Any) -> dict[str, float]:
    jobs = draw.draw(st.sets(st.sampled_from([job.id for job in problem.jobs]), min_size=1))
    return {job: draw.draw(st.integers(0, math.ceil(paces_ms[job]) - 1), label=job) for job in sorted(jobs)}


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    problems(loops=True, max_jobs=5, max_candidates=3),
    st.data(),
    st.sampled_from([0.0, 0.01, 0.2]),
    st.sampled_from(["per_job", "mean", "min", "p30"]),
)
def test_no_candidate_loses_more_than_the_tolerance(problem, data, tolerance: float, aggregate) -> None:
    options: dict[str, Any] = {"aggregate": aggregate, "exhaustive": True}
    free = rank(problem, **options)
    running = run_somewhere(data, problem, free.paces_ms)
    ranking = rank(problem, running_shifts_ms=running, running_tolerance=tolerance, **options)
    assert ranking.running_tolerance == tolerance
    for one in ranking:
        assert one.score is not None
        assert one.disturbance is not None
        before = free[one.id]
        assert one.score >= before.score - tolerance - 1e-9
        assert one.upper_bound == before.upper_bound
        check_moves(one, running, ranking.paces_ms)
        assert one.disturbance.score_if_kept <= one.disturbance.upper_bound_if_kept
        if not one.disturbance.moves_ms:
            assert one.score == pytest.approx(one.disturbance.score_if_kept, abs=1e-9)
    assert ranking.best.score >= free.best.score - tolerance - 1e-9
    as_said = cc.rank(problem, running_shifts_ms=running, running_tolerance=tolerance, threads=3, **options)
    assert as_said.to_json() == ranking.to_json()
    assert Ranker().rank(with_running(problem, running), running_tolerance=tolerance, **options) == ranking


def check_moves(one: cc.RankedCandidate, running: dict[str, float], paces_ms: Any) -> None:
    """Jobs that do not move are where they were, and the others wait as it says."""
    assert one.disturbance is not None
    assert one.disturbance.moves_ms.keys() <= running.keys() & one.shifts_ms.keys()
    for job in running.keys() & one.shifts_ms.keys():
        wait = one.disturbance.moves_ms.get(job, 0.0)
        assert 0 <= wait < paces_ms[job]
        turn = (one.shifts_ms[job] - running[job] - wait) % paces_ms[job]
        assert min(turn, paces_ms[job] - turn) < 1e-5


def with_running(problem: Problem, running: dict[str, float]) -> Problem:
    return Problem(problem.jobs, problem.links, problem.candidates, running)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(problems(loops=True, max_jobs=4, max_candidates=1), st.data())
def test_keeping_all_scores_no_more_than_its_bound(problem, data) -> None:
    running = run_somewhere(data, problem, {job.id: job.iteration_ms for job in problem.jobs})
    for aggregate in ("per_job", "mean", "min"):
        options: dict[str, Any] = {"aggregate": aggregate, "period_tolerance": 0.0}
        best = rank(problem, running_shifts_ms=running, **options).best
        bound = best.disturbance.upper_bound_if_kept
        others = [job for job in best.shifts_ms if job not in running]
        for _ in range(12):
            shifts = {**best.shifts_ms, **running}
            shifts |= {job: data.draw(st.integers(0, 30), label=job) for job in others}
            scored = cc._reference.candidate_score(problem, problem.candidates[0], shifts, aggregate)
            assert scored <= bound + 1e-9


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(problems(loops=True, max_jobs=5, max_candidates=1), st.integers(0, 10_000))
def test_the_best_shifts_are_kept_however_all_jobs_are_turned(problem, turn_ms: int) -> None:
    before = rank(problem)
    running = {job: (at + turn_ms) % before.paces_ms[job] for job, at in before.best.shifts_ms.items()}
    assume(running)
    after = rank(problem, running_shifts_ms=running, running_tolerance=0.0)
    assert after.best.disturbance.moves_ms == {}
    assert after.best.score >= before.best.score - 1e-9
    for job, at in running.items():
        assert after.best.shifts_ms[job] == pytest.approx(at, abs=1e-9)


@given(problems(loops=True, max_jobs=4, max_candidates=2))
def test_where_no_job_runs_nothing_is_different(problem) -> None:
    plain = rank(problem)
    assert rank(problem, running_shifts_ms={}).to_json() == plain.to_json()
    assert b"running" not in plain.to_json()
    assert b"disturbance" not in plain.to_json()
    assert plain.running_tolerance is None
    problem = with_running(problem, {problem.jobs[0].id: 1.0})
    assert rank(problem, running_shifts_ms={}) == plain


PAIR = [up("a", 40, 0, 15, 50), up("b", 40, 0, 15, 50), up("c", 40, 0, 8, 50)]


def test_a_third_job_joins_and_the_others_stay() -> None:
    problem = problem_of(PAIR, {"x": 50}, c={"a": ["x"], "b": ["x"], "c": ["x"]})
    best = rank(problem, running_shifts_ms={"a": 7.0, "b": 30.0}).best
    assert best.score == 1.0
    assert best.disturbance == cc.Disturbance({}, 1.0, 1.0)
    assert (best.shifts_ms["a"], best.shifts_ms["b"], best.shifts_ms["c"]) == (7.0, 30.0, 22.0)


def test_one_job_moves_where_that_wins_more_than_the_tolerance() -> None:
    problem = problem_of(PAIR, {"x": 50}, c={"a": ["x"], "b": ["x"], "c": ["x"]})
    best = rank(problem, running_shifts_ms={"a": 7.0, "b": 27.0}).best
    assert best.disturbance.score_if_kept == best.disturbance.upper_bound_if_kept == pytest.approx(1 - 3 / 40)
    assert best.score == 1.0
    assert len(best.disturbance.moves_ms) == 1
    stays = rank(problem, running_shifts_ms={"a": 7.0, "b": 27.0}, running_tolerance=0.1).best
    assert stays.disturbance.moves_ms == {}
    assert stays.score == pytest.approx(1 - 3 / 40)


def test_of_candidates_that_score_alike_the_one_comes_first_that_moves_nobody() -> None:
    # Both fit; on y the two that meet would have to move.
    jobs = [*PAIR[:2], up("d", 40, 0, 15, 50)]
    together = {"a": ["x"], "b": ["y"], "d": ["y"]}
    apart = {"a": ["x"], "b": ["y"], "d": ["x"]}
    problem = problem_of(jobs, {"x": 50, "y": 50}, together=together, apart=apart)
    running = {"a": 0.0, "b": 3.0, "d": 20.0}
    assert rank(problem).best.id == "together"  # the first in the input
    running["d"] = 6.0
    ranking = rank(problem, running_shifts_ms={"a": 30.0, "b": 3.0, "d": 6.0}, exhaustive=True)
    assert ranking.best.id == "apart"
    assert ranking.best.disturbance.moves_ms == {}
    assert len(ranking["together"].disturbance.moves_ms) == 1
    assert ranking.best_proven


def test_a_loss_within_the_tolerance_moves_nobody_however_many_jobs_share_it() -> None:
    jobs = [up(name, 100, 0, 20, 50) for name in "abcd"]
    problem = problem_of(jobs, {"x": 50}, c={job.id: ["x"] for job in jobs})
    running = {"a": 0.0, "b": 19.5, "c": 40.0, "d": 70.0}
    assert rank(problem, running_shifts_ms=running).best.disturbance.moves_ms == {}
    assert len(rank(problem, running_shifts_ms=running, running_tolerance=0.001).best.disturbance.moves_ms) == 1


def test_jobs_that_are_alone_or_not_placed_never_move() -> None:
    problem = problem_of([*PAIR, up("d", 40, 0, 40, 30)], {"x": 50, "y": 60}, c={"a": ["x"], "c": ["y"], "d": ["y"]})
    best = rank(problem, running_shifts_ms={"a": 3.0, "b": 5.0, "c": 50.0, "d": 39.0}).best
    assert best.disturbance.moves_ms == {}
    assert best.shifts_ms == {"c": 10.0, "d": 39.0}  # of c modulo its pace; d is always on
    alone = rank(problem_of(PAIR, {"x": 50}, c={"a": ["x"]}), running_shifts_ms={"a": 3.0}).best
    assert alone.disturbance == cc.Disturbance({}, 1.0, 1.0)


@pytest.mark.parametrize("large_links", [1, 64])
def test_large_placements_keep_running_jobs_too(monkeypatch: pytest.MonkeyPatch, large_links: int) -> None:
    monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
    jobs = [up(f"j{k}", 40, 0, 12, 50) for k in range(6)]
    ring = {f"j{k}": [f"l{k}", f"l{(k + 1) % 6}"] for k in range(6)}
    links = {f"l{k}": 50 for k in range(6)}
    problem = problem_of(jobs, links, now=ring, other={**ring, "j0": ["l0", "l2"]}, third={**ring, "j1": ["l1", "l3"]})
    before: Ranking = rank(problem)
    running = {job: (at + 7) % 40 for job, at in before.best.shifts_ms.items() if job != "j5"}
    after = rank(problem, running_shifts_ms=running)
    assert after.best.disturbance.moves_ms == {}
    assert after.best.score >= before.best.score - 0.01
    for threads in (1, 3):
        again = rank(problem, running_shifts_ms=running, threads=threads)
        assert again.to_json() == after.to_json()
    for one in after:
        check_moves(one, running, after.paces_ms)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"z": 1.0}, "running_shifts_ms: expected ids of jobs of the problem, got 'z'"),
        ({"a": math.nan}, "running_shifts_ms['a']: expected a finite number, got nan"),
        ({"a": True}, "running_shifts_ms['a']: expected a number, got True"),
        ({"a": -0.5}, "running_shifts_ms['a']: expected 0.0 to 1099511.627776, got -0.5"),
        ({"a": 1e7}, "running_shifts_ms['a']: expected 0.0 to 1099511.627776, got 10000000.0"),
        ({"a": "1"}, "running_shifts_ms['a']: expected a number, got '1'"),
        ({1: 1.0}, "running_shifts_ms: expected a non-empty string, got 1"),
        ([("a", 1.0)], "running_shifts_ms: expected a mapping of job ids to ms, got [('a', 1.0)]"),
    ],
)
def test_wrong_running_shifts_are_refused(value: Any, expected: str) -> None:
    problem = problem_of(PAIR, {"x": 50}, c={"a": ["x"], "b": ["x"], "c": ["x"]})
    with pytest.raises(InputError) as error:
        rank(problem, running_shifts_ms=value)
    assert str(error.value) == expected
    with pytest.raises(InputError) as error:
        Problem(problem.jobs, problem.links, problem.candidates, value)
    assert str(error.value) == f"problem {expected}"


def test_of_the_problem_and_the_argument_the_argument_counts() -> None:
    problem = problem_of(PAIR, {"x": 50}, c={"a": ["x"], "b": ["x"], "c": ["x"]})
    runs = with_running(problem, {"a": 7.0, "b": 30.0})
    assert rank(runs) == rank(problem, running_shifts_ms={"a": 7.0, "b": 30.0})
    assert rank(runs, running_shifts_ms={"a": 9.0}).best.shifts_ms["a"] == 9.0
    again = problem_from_json(problem_to_json(runs))
    assert again == runs != problem
    assert rank(again) == rank(runs)


def test_numpy_scalars_are_shifts() -> None:
    job = Job("a", 40, [Phase(0, 10, 50)])
    problem = Problem([job], [Link("x", 50)], [cc.Candidate("c", {"a": ["x"]})], {np.str_("a"): np.float32(2.0)})
    assert dict(problem.running_shifts_ms) == {"a": 2.0}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"z": 1}', "file: $.running_shifts_ms: expected ids of jobs of the problem, got 'z'"),
        ('{"a": NaN}', "file: $.running_shifts_ms['a']: expected a finite number, got NaN"),
        ('{"a": true}', "file: $.running_shifts_ms['a']: expected a number, got true"),
        ('{"a": -1}', "file: $.running_shifts_ms['a']: expected 0.0 to 1099511.627776, got -1.0"),
        ('{"a": 1, "a": 1}', "file: $.running_shifts_ms: expected each key once, got 'a' twice"),
        ("[]", "file: $.running_shifts_ms: expected an object, got an array"),
        ("null", "file: $.running_shifts_ms: expected an object, got null"),
    ],
)
def test_wrong_running_shifts_in_a_file_are_refused(written: str, expected: str) -> None:
    problem = with_running(problem_of(PAIR, {"x": 50}, c={"a": ["x"]}), {"a": 5.0})
    text = problem_to_json(problem).replace(b'{"a":5.0}', written.encode())
    with pytest.raises(InputError) as error:
        problem_from_json(text, "file")
    assert str(error.value) == expected


@pytest.mark.parametrize("aggregate", ["min", "p10"])
def test_groups_that_are_worth_moving_only_together_move(aggregate: str) -> None:
    """By the worst link nothing is won while another one is as bad."""
    jobs = [Job(name, 40.0, [Phase(0.0, 20.0, 50.0)]) for name in "abcd"]
    routes = {"a": {"u": 1.0}, "b": {"u": 1.0}, "c": {"v": 1.0}, "d": {"v": 1.0}}
    problem = Problem(jobs, [Link("u", 50.0), Link("v", 50.0)], [cc.Candidate("x", routes)])
    found = rank(problem, aggregate=aggregate, running_shifts_ms=dict.fromkeys("abcd", 0.0), running_tolerance=0.01)
    assert found[0].score == 1.0
    assert found[0].disturbance is not None
    assert len(found[0].disturbance.moves_ms) == 2
