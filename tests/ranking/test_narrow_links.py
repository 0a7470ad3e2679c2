"""Links that are too narrow for their only job: what they cost is exact, and more capacity never costs anything."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import placements
import strategies
from cassini_core import Candidate, Link, Problem, RankedCandidate, _reference, rank, score_link
from cassini_core.arrays import int64
from cassini_core.kernel.demand import Demand
from cassini_core.links.incidence import Narrow
from cassini_core.ranking.aggregate import aggregate_named
from placements import problem_of, up

AGGREGATES = ("per_job", "mean", "min", "p10", "p50", "p97.5")
TREES = strategies.tree_problems(max_jobs=5)
ROUNDS = st.one_of(TREES, strategies.loop_problems(max_jobs=4, max_candidates=2), placements.rounds())


def starved(**gbps: float) -> Problem:
    """A job of 380 Gbit/s alone on a link s, or on the link b with two others."""
    jobs = [up("a", 255, 141, 114, 45), up("b", 255, 141, 114, 45), up("c", 255, 0, 200, 380)]
    capacities = {"s": 50.0, "b": 400.0} | gbps
    return problem_of(
        jobs, capacities, starved={"c": ["s"], "a": ["b"], "b": ["b"]}, shared={job: ["b"] for job in "abc"}
    )


def asked_for(problem: Problem, one: RankedCandidate) -> Candidate:
    return next(candidate for candidate in problem.candidates if candidate.id == one.id)


def with_capacities(problem: Problem, gbps: dict[str, float]) -> Problem:
    links = [Link(link.id, gbps.get(link.id, link.capacity_gbps)) for link in problem.links]
    return Problem(problem.jobs, links, problem.candidates)


def wider(problem: Problem, data: st.DataObject, some: list[str] | None = None) -> Problem:
    """Some links have more capacity."""
    factors = st.sampled_from([1.0, 1.0, 1.001, 1.25, 2.0, 6.0])
    links = [link for link in problem.links if some is None or link.id in some]
    return with_capacities(problem, {link.id: link.capacity_gbps * data.draw(factors) for link in links})


# What it costs


def test_a_starved_job_does_not_win() -> None:
    ranking = rank(starved())
    first, second = ranking
    assert (first.id, second.id) == ("shared", "starved")
    assert ranking.best_proven
    # 330 of 380 Gbit/s find no room, 200 of 255 ms long.
    excess = 330 * 200 / 255
    (narrow,) = second.narrow_links
    assert (narrow.id, narrow.job) == ("s", "c")
    assert narrow.excess_gbps == pytest.approx(excess, rel=1e-15)
    assert narrow.score == pytest.approx(1 - excess / 50, rel=1e-15)
    assert second.score == second.upper_bound == pytest.approx((1 + 1 + narrow.score) / 3, rel=1e-15)
    assert second.optimal
    assert second.worst_link == "s"
    assert second.total_excess_gbps == pytest.approx(excess)
    assert second.warnings == ("link 's': job 'c' alone needs 380 of 50 Gbit/s",)
    assert [link.id for link in second.links] == ["b"]
    assert first.narrow_links == ()


@pytest.mark.parametrize(
    ("aggregate", "score"), [("min", 0.5), ("mean", 0.75), ("p0", 0.5), ("p50", 0.75), ("p100", 1.0), ("per_job", 0.75)]
)
def test_what_a_narrow_link_costs_by_each_aggregate(aggregate: str, score: float) -> None:
    # x has room for a and b; y lets half of c's demand through, and half of the time there is none.
    jobs = [up("a", 100, 0, 50, 50), up("b", 100, 0, 50, 50), up("c", 100, 0, 50, 100)]
    problem = problem_of(jobs, {"x": 50, "y": 50}, c={"a": ["x"], "b": ["x"], "c": ["y"]})
    best = rank(problem, aggregate=aggregate).best
    assert best is not None
    assert best.narrow_links[0].score == 0.5
    expected = (1 + 1 + 0.5) / 3 if aggregate == "per_job" else score
    assert best.score == best.upper_bound == pytest.approx(expected)


def test_without_a_shared_link_a_narrow_one_is_all_there_is() -> None:
    problem = problem_of([up("a", 100, 0, 50, 100)], {"x": 50, "y": 75, "z": 100}, c={"a": ["x", "y", "z"]})
    for aggregate in AGGREGATES:
        (one,) = rank(problem, aggregate=aggregate)
        assert (one.status, one.score, one.upper_bound, one.optimal) == ("alone", 0.5, 0.5, True)
        assert [(link.id, link.score) for link in one.narrow_links] == [("x", 0.5), ("y", 1 - 12.5 / 75)]
        assert (one.worst_link, one.total_excess_gbps, one.shifts_ms) == ("x", 25 + 12.5, {})


def test_a_link_a_little_too_narrow_is_no_gain_for_the_mean() -> None:
    """Whoever counts it as almost 1 beside a link at 0.5 has the narrow link pay."""
    jobs = [up("a", 100, 0, 50, 50), up("b", 100, 0, 100, 25), up("c", 100, 0, 50, 50)]
    candidates = {
        name: {"a": ["x"], "b": ["x"], "c": [link]} for name, link in (("wide", "enough"), ("narrow", "nearly"))
    }
    for aggregate in AGGREGATES:
        wide, narrow = rank(
            problem_of(jobs, {"x": 50, "enough": 50, "nearly": 49.9}, **candidates), aggregate=aggregate
        )
        assert (wide.id, narrow.id) == ("wide", "narrow")
        assert wide.score is not None
        assert narrow.score is not None
        assert narrow.score <= wide.score


@given(ROUNDS, st.sampled_from(AGGREGATES))
@settings(max_examples=100)
def test_scores_and_narrow_links_are_those_of_the_reference(problem: Problem, aggregate: str) -> None:
    for one in rank(problem, aggregate=aggregate, exhaustive=True, period_tolerance=0.0):
        asked = asked_for(problem, one)
        assert one.score is not None
        by_reference = _reference.candidate_score(problem, asked, one.shifts_ms, aggregate)
        assert one.score == pytest.approx(by_reference, abs=1e-9)
        loads = _reference.link_loads(problem, asked)
        scores = _reference.link_scores(problem, asked, one.shifts_ms)
        narrow = {link: scores[link] for link, load in loads.items() if len(load) == 1 and scores[link] < 1}
        assert [link.id for link in one.narrow_links] == sorted(narrow)
        for link in one.narrow_links:
            assert link.score == narrow[link.id]  # to the last bit
            assert [link.job] == list(loads[link.id])
        assert len(one.warnings) >= len(one.narrow_links)
        assert (
            one.worst_link
            == min(((link.score, link.id) for link in (*one.links, *one.narrow_links)), default=(None, None))[1]
        )


@given(TREES, st.sampled_from(AGGREGATES))
def test_without_loops_the_score_is_the_best_by_the_reference(problem: Problem, aggregate: str) -> None:
    for one in rank(problem, aggregate=aggregate, period_tolerance=0.0):
        best = _reference.candidate_score(problem, asked_for(problem, one), None, aggregate)
        assert one.score == pytest.approx(best, abs=1e-9)
        assert one.upper_bound == pytest.approx(best, abs=1e-9)
        assert one.optimal


@given(ROUNDS)
@settings(max_examples=30)
def test_a_narrow_link_scores_what_score_link_says(problem: Problem) -> None:
    jobs = {job.id: job for job in problem.jobs}
    gbps = {link.id: link.capacity_gbps for link in problem.links}
    for one in rank(problem, period_tolerance=0.0):
        routes = asked_for(problem, one).routes
        for link in one.narrow_links:
            load = {link.job: routes[link.job][link.id]}
            score = score_link([jobs[link.job]], gbps[link.id], {}, multipliers=load)
            assert link.score == pytest.approx(score, abs=1e-9)
            assert link.excess_gbps == pytest.approx((1 - score) * gbps[link.id], abs=1e-6)


@given(strategies.jobs(12), st.integers(0, 600_000_000))
def test_levels_say_what_is_above_any_capacity(job: Any, capacity: int) -> None:
    (wave,) = _reference.waves_from_jobs([job])
    levels = Demand.of(job).levels()
    assert levels.ticks_from[0] == wave.period
    assert levels.level == sorted({level for _, level in _reference.demand_steps(*wave)})
    expected = _reference.mean_excess([wave], capacity, [0]) * wave.period
    assert levels.excess(capacity) == expected
    assert Demand.of(job).peak() == levels.level[-1]


# More capacity


@given(TREES, st.sampled_from(AGGREGATES), st.data())
@settings(max_examples=100)
def test_more_capacity_never_lowers_a_score(problem: Problem, aggregate: str, data: st.DataObject) -> None:
    options: dict[str, Any] = {"aggregate": aggregate, "period_tolerance": 0.0}
    before, after = rank(problem, **options), rank(wider(problem, data), **options)
    for one in before:
        assert after[one.id].upper_bound >= one.upper_bound - 1e-9
        assert one.score is not None
        score = after[one.id].score
        assert score is not None
        assert score >= one.score - 1e-9


@given(ROUNDS, st.sampled_from(AGGREGATES), st.data())
@settings(max_examples=100)
def test_more_capacity_of_narrow_links_never_lowers_a_score_whatever_loops_there_are(
    problem: Problem, aggregate: str, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"aggregate": aggregate, "period_tolerance": 0.0, "exhaustive": True}
    before = rank(problem, **options)
    shared = {link.id for one in before for link in one.links}
    narrow = [link.id for one in before for link in one.narrow_links if link.id not in shared]
    after = rank(wider(problem, data, narrow), **options)
    for one in before:
        more = after[one.id]
        assert more.shifts_ms == one.shifts_ms
        assert one.score is not None
        assert more.score is not None
        assert more.score >= one.score - 1e-9
        assert more.upper_bound >= one.upper_bound - 1e-9


@given(ROUNDS, st.sampled_from(AGGREGATES), st.sampled_from([1.0, 1.001, 1.5, 10.0]), st.integers(1, 3))
@settings(max_examples=100)
def test_a_starved_job_never_ranks_above_the_same_with_more_capacity(
    problem: Problem, aggregate: str, factor: float, top: int
) -> None:
    candidate = problem.candidates[0]
    single = [link for link, load in _reference.link_loads(problem, candidate).items() if len(load) == 1]
    assume(single)
    gbps = {link.id: link.capacity_gbps for link in problem.links}
    links = [*problem.links, *(Link(f"wider {link}", gbps[link] * factor) for link in single)]
    routes = {
        job: {f"wider {link}" if link in single else link: times for link, times in route.items()}
        for job, route in candidate.routes.items()
    }
    wide = Candidate("wide", routes)
    both = Problem(problem.jobs, links, [wide, *problem.candidates])
    ranking = rank(both, aggregate=aggregate, top=top, period_tolerance=0.0)
    ids = [one.id for one in ranking]
    assert ids.index("wide") < ids.index(candidate.id)
    assert ranking["wide"].upper_bound >= ranking[candidate.id].upper_bound - 1e-9


# The search


def test_candidates_that_a_narrow_link_rules_out_are_not_searched() -> None:
    rng = random.Random(1)
    jobs = [up(f"j{k}", 100, rng.randrange(100), 40, 20) for k in range(5)] + [up("wide", 100, 0, 100, 80)]
    links = {"l0": 50.0, "l1": 50.0, "l2": 50.0, "thin": 10.0, "thick": 100.0}
    routes = {
        f"c{k}": {f"j{n}": rng.sample(["l0", "l1", "l2"], 2) for n in range(5)}
        | {"wide": ["thick" if k < 4 else "thin"]}
        for k in range(60)
    }
    lazy, full = (rank(problem_of(jobs, links, **routes), exhaustive=exhaustive) for exhaustive in (False, True))
    assert lazy.best is not None
    assert full.best is not None
    assert lazy.best.id == full.best.id
    assert lazy.best.id in {"c0", "c1", "c2", "c3"}
    assert sum(one.status == "bound_only" for one in lazy) == 60 - 16
    for one in lazy:
        if one.status == "bound_only":
            assert [link.id for link in one.narrow_links] == ["thin"]
            assert one.upper_bound == pytest.approx(full[one.id].upper_bound)


@given(strategies.loop_problems(max_jobs=3), st.integers(1, 60))
@settings(max_examples=40)
def test_no_shifts_beat_the_bound_of_the_mean_with_narrow_links(problem: Problem, gbps: int) -> None:
    """What a joint search proves of the shared links counts, however many narrow links there are beside."""
    assume(math.prod(job.iteration_ms for job in problem.jobs) <= 1e5)
    (candidate,) = problem.candidates
    alone = up("alone", 10, 0, 5, 60)
    routes = {**candidate.routes, "alone": {"thin": 1.0, "thinner": 1.0}}
    links = [*problem.links, Link("thin", gbps), Link("thinner", gbps / 2)]
    problem = Problem([*problem.jobs, alone], links, [Candidate("c", routes)])
    exact: dict[str, Any] = {"node_limit": None, "block_node_limit": None, "resolution_ms": 0.0}
    (one,) = rank(problem, aggregate="mean", period_tolerance=0.0, **exact)
    best = placements.best_mean(problem, problem.candidates[0])
    assert best <= one.upper_bound + 1e-9
    assert one.score is not None
    assert not one.optimal or one.score >= best - 1e-9


# The aggregates by themselves


@st.composite
def scored(draw: st.DrawFn) -> tuple[list[float], list[list[str]], list[tuple[float, str]]]:
    """Scores of shared links with the jobs there, and scores of narrow links with their jobs."""
    levels = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 0.75]), st.floats(-3, 1, exclude_max=True))
    shared = draw(st.lists(st.one_of(st.just(1.0), levels), max_size=5))
    jobs = [draw(st.lists(st.sampled_from("abcd"), min_size=2, unique=True)) for _ in shared]
    narrow = draw(st.lists(st.tuples(levels, st.sampled_from("abcdxy")), max_size=5))
    return shared, jobs, sorted(narrow)


def aggregate_of(name: str, shared: list[float], jobs: list[list[str]], narrow: list[tuple[float, str]]) -> float:
    number = {job: k for k, job in enumerate(sorted({job for on_link in jobs for job in on_link}))}
    for _, job in narrow:
        number.setdefault(job, len(number))
    beside = Narrow(int64(number[job] for _, job in narrow), np.array([score for score, _ in narrow], dtype=np.float64))
    crossings = placements.crossings_of(jobs, 6)._replace(narrow=beside)
    return aggregate_named(name)(np.array(shared, dtype=np.float64), crossings)


@given(scored(), st.sampled_from(AGGREGATES))
@settings(max_examples=300)
def test_narrow_links_count_where_that_lowers_the_score(
    links: tuple[list[float], list[list[str]], list[tuple[float, str]]], aggregate: str
) -> None:
    shared, jobs, narrow = links
    on_link: dict[str, Any] = {f"s{k}": on_it for k, on_it in enumerate(jobs)}
    on_link |= {f"n{k}": [job] for k, (_, job) in enumerate(narrow)}
    scores = {f"s{k}": score for k, score in enumerate(shared)}
    beside = {f"n{k}": score for k, (score, _) in enumerate(narrow)}
    least = min(
        _reference.aggregated(aggregate, scores | dict(some), on_link, 6)
        for size in range(len(narrow) + 1)
        for some in itertools.combinations(beside.items(), size)
    )
    assert aggregate_of(aggregate, shared, jobs, narrow) == pytest.approx(least, abs=1e-12)


@given(scored(), st.sampled_from(AGGREGATES), st.data())
@settings(max_examples=300)
def test_aggregates_grow_with_every_narrow_link_also_where_it_becomes_wide_enough(
    links: tuple[list[float], list[list[str]], list[tuple[float, str]]], aggregate: str, data: st.DataObject
) -> None:
    shared, jobs, narrow = links
    higher = sorted(
        (more, job) for score, job in narrow if (more := score + data.draw(st.sampled_from([0.0, 0.1, 0.5, 9.0]))) < 1
    )
    before, after = (aggregate_of(aggregate, shared, jobs, some) for some in (narrow, higher))
    assert before <= after + 1e-12
