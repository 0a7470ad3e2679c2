"""Whole rankings: every number is checked by the reference, and nothing depends on order or threads."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placements
import strategies
from cassini_core import Candidate, Job, Link, Phase, Problem, Ranking, _reference
from cassini_core.problem_file import ranking_to_json
from cassini_core.ranking.rank_problem import rank
from placements import PAIR, mixed_scores, problem_of, up

AGGREGATES = ("mean", "min", "p10", "p50", "p97.5", "per_job")


# Every number is true


@given(
    st.one_of(strategies.loop_problems(max_candidates=2), strategies.tree_problems(), placements.rounds()),
    st.sampled_from(["joint", "merge", "discard"]),
    st.sampled_from(AGGREGATES),
    st.sampled_from([0.0, 0.01, 0.05]),
)
def test_every_score_equals_an_independent_rescore_of_the_json(
    problem: Problem, loops: str, aggregate: str, period_tolerance: float
) -> None:
    ranking = rank(problem, loops=loops, aggregate=aggregate, period_tolerance=period_tolerance)
    said = json.loads(ranking_to_json(ranking))
    assert sorted(one["id"] for one in said["candidates"]) == sorted(one.id for one in problem.candidates)
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    for one in said["candidates"]:
        asked = next(candidate for candidate in problem.candidates if candidate.id == one["id"])
        on_link = placements.shared_links(problem, asked)
        assert sorted(link["id"] for link in one["links"]) == sorted(on_link)
        if one["score"] is None:
            assert one["status"] == "discarded"
            continue
        scores = placements.rescored(problem, said, one)
        for link in one["links"]:
            assert link["score"] == pytest.approx(scores[link["id"]], abs=1e-9)
            assert link["score"] <= link["upper_bound"] + 1e-9
        narrow = placements.narrow_scores(problem, asked, said["paces_ms"])
        score = placements.aggregated(aggregate, scores, narrow, on_link, asked.routes)
        assert one["score"] == pytest.approx(score, abs=1e-9)
        assert one["score"] <= one["upper_bound"] + 1e-9
        assert one["optimal"] == (one["score"] >= one["upper_bound"] - 1e-9)
        assert {link["id"]: (link["job"], link["score"]) for link in one["narrow_links"]} == narrow
        scores |= {link: score for link, (_, score) in narrow.items()}
        excess = sum((1 - score) * capacity[link] for link, score in scores.items())
        assert one["total_excess_gbps"] == pytest.approx(excess, abs=1e-6)
        if scores:
            assert scores[one["worst_link"]] == pytest.approx(min(scores.values()), abs=1e-9)
        assert set(one["shifts_ms"]) == {job for members in on_link.values() for job in members}
        assert all(0 <= shift < said["paces_ms"][job] for job, shift in one["shifts_ms"].items())


@given(
    st.one_of(strategies.loop_problems(max_jobs=4), placements.rounds()), st.sampled_from(["joint", "merge", "discard"])
)
def test_no_shifts_beat_the_upper_bound_of_a_link(problem: Problem, loops: str) -> None:
    ranking = rank(problem, loops=loops, period_tolerance=0.0)
    jobs = {job.id: job for job in problem.jobs}
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    for one in ranking.candidates:
        asked = next(candidate for candidate in problem.candidates if candidate.id == one.id)
        on_link = placements.shared_links(problem, asked)
        for link in one.links:
            members = on_link[link.id]
            best = _reference.best_score([jobs[job] for job in members], capacity[link.id], multipliers=members)
            assert link.upper_bound == pytest.approx(best, abs=1e-9)


@given(placements.rounds(), st.sampled_from([1, 2, 5]), st.sampled_from(AGGREGATES))
def test_scores_and_bounds_stay_true_when_the_search_is_cut_short(
    problem: Problem, node_limit: int, aggregate: str
) -> None:
    options: dict[str, Any] = {"aggregate": aggregate, "period_tolerance": 0.0}
    short = rank(problem, node_limit=node_limit, **options)
    full = {one.id: one for one in rank(problem, node_limit=None, **options).candidates}
    said = json.loads(ranking_to_json(short))
    for one, written in zip(short.candidates, said["candidates"], strict=True):
        assert one.upper_bound >= full[one.id].upper_bound - 1e-9
        if one.score is not None:
            asked = next(candidate for candidate in problem.candidates if candidate.id == one.id)
            scores, on_link = placements.rescored(problem, said, written), placements.shared_links(problem, asked)
            narrow = placements.narrow_scores(problem, asked)
            score = placements.aggregated(aggregate, scores, narrow, on_link, asked.routes)
            assert one.score == pytest.approx(score, abs=1e-9)
            assert one.score <= full[one.id].upper_bound + 1e-9
        if any(link.score is not None and link.score < link.upper_bound - 1e-9 for link in one.links):
            assert one.status == "consistent" or any("bound" in line for line in one.warnings)


# Nothing depends on order or threads


def _without_order(ranking: Ranking) -> dict[str, Any]:
    candidates = {one.id: dataclasses.asdict(one) for one in ranking.candidates}
    return {"candidates": candidates, "paces": ranking.paces_ms, "proven": ranking.best_proven}


@given(
    st.one_of(strategies.loop_problems(max_candidates=2), placements.rounds()),
    st.randoms(use_true_random=False),
    st.sampled_from(AGGREGATES),
)
def test_permuting_jobs_links_candidates_and_routes_changes_no_number(
    problem: Problem, rng: random.Random, aggregate: str
) -> None:
    def shuffled(items: Any) -> list[Any]:
        return rng.sample(list(items), len(items))

    mixed = Problem(
        tuple(shuffled(problem.jobs)),
        tuple(shuffled(problem.links)),
        tuple(
            Candidate(one.id, {job: dict(shuffled(route.items())) for job, route in shuffled(one.routes.items())})
            for one in shuffled(problem.candidates)
        ),
    )
    first, second = rank(problem, aggregate=aggregate), rank(mixed, aggregate=aggregate)
    assert _without_order(first) == _without_order(second)
    if first.best is not None:
        assert second.best is not None
        assert second.best.score == first.best.score


@given(st.one_of(strategies.loop_problems(max_candidates=3), placements.rounds()))
@settings(max_examples=20)
def test_one_two_and_eight_threads_give_the_same_bytes(problem: Problem) -> None:
    one, two, eight = (ranking_to_json(rank(problem, threads=threads)) for threads in (1, 2, 8))
    assert one == two == eight


@given(placements.rounds(max_candidates=2))
def test_a_candidate_is_judged_alone(problem: Problem) -> None:
    together = {one.id: one for one in rank(problem, period_tolerance=0.0).candidates}
    for candidate in problem.candidates:
        alone = rank(Problem(problem.jobs, problem.links, (candidate,)), period_tolerance=0.0)
        assert alone.candidates[0] == together[candidate.id]


@given(placements.rounds(max_candidates=1))
def test_two_copies_of_a_candidate_stay_in_input_order(problem: Problem) -> None:
    first = problem.candidates[0]
    twice = Problem(problem.jobs, problem.links, (Candidate("z", first.routes), Candidate("a", first.routes)))
    ranking = rank(twice)
    assert [one.id for one in ranking.candidates] == ["z", "a"]
    assert ranking.best is None or ranking.best_proven == ranking.best.optimal


# Statuses


def test_alone_scores_one_and_has_no_shifts() -> None:
    ranking = rank(problem_of(PAIR, {"x": 50}, c={"a": ["x"], "b": []}))
    best = ranking.best
    assert best is not None
    assert (best.status, best.score, best.upper_bound, best.optimal) == ("alone", 1.0, 1.0, True)
    assert (best.shifts_ms, best.slack_ms, best.hold_ms, best.worst_link) == ({}, {}, None, None)
    assert (best.free_jobs, best.total_excess_gbps, best.links) == ((), 0.0, ())
    assert ranking.best_proven


def test_tree_consistent_discarded_and_alone_in_one_ranking() -> None:
    jobs = [*PAIR, up("on", 100, 0, 100, 1)]
    capacities = {"x": 51, "y": 60, "z": 70}
    problem = problem_of(
        jobs,
        capacities,
        tree={"a": ["x"], "b": ["x"]},
        consistent={job: ["x", "y"] for job in ("a", "b", "on")},
        discarded={"a": ["x", "z"], "b": ["x", "y"], "c": ["y", "z"]},
        alone={"a": ["x"], "b": ["y"]},
    )
    ranking = rank(problem, loops="merge")
    assert {one.id: one.status for one in ranking.candidates} == {one.id: one.id for one in ranking.candidates}
    discarded = ranking["discarded"]
    assert discarded.score is None
    assert discarded.upper_bound == pytest.approx(1.0)
    assert [(link.id, link.score) for link in discarded.links] == [("x", None), ("y", None), ("z", None)]
    assert (discarded.shifts_ms, discarded.hold_ms, discarded.worst_link) == ({}, None, None)
    assert not discarded.optimal


def test_discard_and_merge_differ_on_an_uplink_and_a_downlink() -> None:
    problem = problem_of(PAIR, {"up": 50, "down": 50}, c={"a": ["up", "down"], "b": ["up", "down"]})
    paper, merged = rank(problem, loops="discard"), rank(problem, loops="merge")
    assert paper.best is None
    assert not paper.best_proven
    assert paper.candidates[0].status == "discarded"
    assert paper.candidates[0].upper_bound == pytest.approx(1.0)
    assert merged.best is not None
    assert (merged.best.status, merged.best.score) == ("tree", pytest.approx(1.0))
    assert merged.best.shifts_ms == {"a": 0.0, "b": 50.0}


@given(strategies.tree_problems(max_jobs=5))
def test_discard_and_merge_agree_where_there_is_no_loop(problem: Problem) -> None:
    paper, merged = rank(problem, loops="discard"), rank(problem, loops="merge")
    assert paper.best is not None
    assert merged.best is not None
    assert paper.best.status == merged.best.status
    assert [link.score for link in paper.best.links] == pytest.approx([link.score for link in merged.best.links])


def test_all_discarded_has_no_best_and_sorts_by_bound() -> None:
    routes = {"a": ["x", "z"], "b": ["x", "y"], "c": ["y", "z"]}
    heavy = {job: dict.fromkeys(route, 2.0) for job, route in routes.items()}
    ranking = rank(problem_of(PAIR, {"x": 50, "y": 51, "z": 52}, heavy=heavy, light=routes), loops="merge")
    assert ranking.best is None
    assert [one.id for one in ranking.candidates] == ["light", "heavy"]
    assert [one.status for one in ranking.candidates] == ["discarded", "discarded"]


def test_no_candidates() -> None:
    ranking = rank(Problem(tuple(PAIR), (Link("x", 50),), ()))
    assert (ranking.best, ranking.best_proven, ranking.candidates) == (None, False, ())


# Aggregates


@pytest.mark.parametrize(
    ("aggregate", "score"),
    [
        ("mean", (1 + 0.5 + 0) / 3),
        ("min", 0.0),
        ("p0", 0.0),
        ("p25", 0.25),
        ("p50", 0.5),
        ("p10", 0.1),
        ("p100", 1.0),
        ("p62.5", 0.625),
        ("per_job", (0.5 + 1 + 0 + 0 + 1 + 1) / 6),
    ],
)
def test_aggregates(aggregate: str, score: float) -> None:
    best = rank(mixed_scores(), aggregate=aggregate).best
    assert best is not None
    assert [link.score for link in best.links] == pytest.approx([1.0, 0.5, 0.0])
    assert best.score == pytest.approx(score)
    assert best.upper_bound == pytest.approx(score)
    assert best.worst_link == "z"
    assert best.total_excess_gbps == pytest.approx(0.5 * 50 + 50)


@given(
    st.lists(st.floats(-3, 1), min_size=1, max_size=8),
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
    st.sampled_from(AGGREGATES),
    st.data(),
)
def test_aggregates_grow_with_every_link(
    scores: list[float], gains: list[float], aggregate: str, data: st.DataObject
) -> None:
    """Why the aggregate of the bounds is a bound."""
    from cassini_core.ranking.aggregate import aggregate_named

    placed = ["a", "b", "c", "d"]
    jobs = [data.draw(st.lists(st.sampled_from(placed), min_size=2, unique=True)) for _ in scores]
    higher = [min(1.0, score + gain) for score, gain in zip(scores, gains, strict=False)]
    function, crossings = aggregate_named(aggregate), placements.crossings_of(jobs, len(placed))
    assert function(np.array(scores), crossings) <= function(np.array(higher), crossings) + 1e-12


@given(st.lists(st.floats(-3, 1), min_size=1, max_size=8), st.data())
def test_aggregates_are_what_they_say(scores: list[float], data: st.DataObject) -> None:
    from cassini_core.ranking.aggregate import aggregate_named

    placed = ["a", "b", "c", "d", "e"]
    jobs = [data.draw(st.lists(st.sampled_from(placed), min_size=2, unique=True)) for _ in scores]
    crossings, array = placements.crossings_of(jobs, len(placed)), np.array(scores)
    worst = [min([1.0, *(score for score, on in zip(scores, jobs, strict=True) if job in on)]) for job in placed]
    assert aggregate_named("per_job")(array, crossings) == math.fsum(worst) / len(placed)
    assert aggregate_named("mean")(array, crossings) == math.fsum(scores) / len(scores)
    assert aggregate_named("min")(array, crossings) == min(scores)
    assert aggregate_named("p100")(array, crossings) == max(scores)


def test_another_aggregate_can_put_another_candidate_first() -> None:
    # "many": nine links at 1 and one at 0.25; "one": a single link at 0.92. The mean rewards sharing.
    jobs = [up("a", 100, 0, 50, 40), up("b", 100, 0, 100, 10), up("c", 100, 0, 20, 25)]
    capacities = {f"l{k}": 50.0 for k in range(9)} | {"half": 20.0, "nine": 25.0}
    many = {job: [f"l{k}" for k in range(9)] + ["half"] for job in ("a", "b")}
    problem = problem_of(jobs, capacities, many=many, one={"b": ["nine"], "c": ["nine"]})
    for aggregate, first in (("mean", "many"), ("min", "one"), ("p50", "many"), ("per_job", "one")):
        best = rank(problem, aggregate=aggregate).best
        assert best is not None
        assert best.id == first, aggregate


@given(strategies.loop_problems(max_jobs=4))
@settings(max_examples=30)
def test_shifts_do_not_depend_on_the_aggregate(problem: Problem) -> None:
    """They are those of the mean over links, whatever the score is made of."""
    of_the_mean, *others = (rank(problem, aggregate=one).candidates[0] for one in AGGREGATES)
    for one in others:
        assert one.shifts_ms == of_the_mean.shifts_ms
        assert one.links == of_the_mean.links


# Order


def test_ties_go_to_more_slack_then_fewer_links_then_input_order() -> None:
    jobs = [up("a", 100, 0, 50, 50), up("b", 100, 0, 50, 50), up("c", 100, 0, 20, 50), up("d", 100, 0, 20, 50)]
    tight = {"a": ["x"], "b": ["x"]}
    loose = {"c": ["x"], "d": ["x"]}
    more_links = {"c": ["x", "y"], "d": ["x", "y"]}
    problem = problem_of(jobs, {"x": 50, "y": 50}, tight=tight, more=more_links, loose=loose, again=loose, none={})
    ranking = rank(problem, order="score")
    assert all(one.score == pytest.approx(1.0) for one in ranking.candidates)
    assert [one.id for one in ranking.candidates] == ["none", "loose", "again", "more", "tight"]


def test_scores_within_a_billionth_are_a_tie() -> None:
    # b is always on and leaves a 1 kbit/s too little, a fifth of the time: 2e-10 of score, but all slack there is.
    jobs = [up("a", 100, 0, 20, 40), up("b", 100, 0, 100, 960.000001), up("c", 100, 0, 50, 1000)]
    routes = {"exact": {"c": {"x": 1.0}, "d": {"x": 1.0}}, "loose": {"a": {"x": 1.0}, "b": {"x": 1.0}}}
    ranking = rank(problem_of([*jobs, up("d", 100, 0, 50, 1000)], {"x": 1000}, **routes))
    assert [one.id for one in ranking.candidates] == ["loose", "exact"]
    assert [one.score for one in ranking.candidates] == pytest.approx([1 - 2e-10, 1.0], abs=1e-12)
    assert ranking.best_proven


def test_slack_counts_in_parts_of_the_iteration() -> None:
    jobs = [up("a", 100, 0, 30, 50), up("b", 100, 0, 30, 50), up("c", 400, 0, 160, 50), up("d", 400, 0, 160, 50)]
    slow_and_fast = {"slow": {"c": ["x"], "d": ["x"]}, "fast": {"a": ["x"], "b": ["x"]}}
    fast, slow = rank(problem_of(jobs, {"x": 50}, **slow_and_fast), slack_tolerance=0.0).candidates
    assert (fast.id, slow.id) == ("fast", "slow")
    assert (fast.slack_ms["a"], slow.slack_ms["c"]) == (20.0, 40.0)


def test_best_proven_needs_every_other_bound() -> None:
    jobs = [*PAIR, up("on", 100, 0, 100, 25)]
    solved = {"a": ["x"], "on": ["x"]}
    loop = {"a": ["x", "z"], "b": ["x", "y"], "c": ["y", "z"]}
    ranking = rank(problem_of(jobs, {"x": 50, "y": 51, "z": 52}, solved=solved, loop=loop), loops="merge")
    assert ranking.best is not None
    assert ranking.best.id == "solved"
    assert ranking.best.optimal
    assert not ranking.best_proven
    without = rank(problem_of(jobs, {"x": 50, "y": 51, "z": 52}, solved=solved, other={"b": ["x"], "on": ["x"]}))
    assert without.best_proven


# Harmonising


def test_two_copies_of_a_measured_job_get_a_common_pace_and_a_shift() -> None:
    first = Job("vgg-0", 253.8712, [Phase(140.1234, 110.4321, 45.0)])
    second = Job("vgg-1", 255.9034, [Phase(141.2345, 111.0987, 45.0)])
    problem = problem_of([first, second], {"up": 50, "down": 50}, c={"vgg-0": ["up", "down"], "vgg-1": ["up", "down"]})
    ranking = rank(problem)
    best = ranking.best
    assert best is not None
    assert ranking.paces_ms["vgg-0"] == ranking.paces_ms["vgg-1"] == 255.9034
    assert best.score == pytest.approx(1.0)
    assert best.free_jobs == ()
    assert best.hold_ms is not None
    assert best.hold_ms > 1.0
    assert abs(best.shifts_ms["vgg-1"] - best.shifts_ms["vgg-0"]) > 100.0

    off = rank(problem, period_tolerance=0.0)
    assert off.best is not None
    assert off.paces_ms == {"vgg-0": 253.8712, "vgg-1": 255.9034}
    assert set(off.best.free_jobs) == {"vgg-0", "vgg-1"}
    assert off.best.score is not None
    assert off.best.score < 0.9


def test_paces_are_given_for_every_job_and_the_problem_keeps_its_times() -> None:
    jobs = [Job("b", 254.7, [Phase(200, 100, 50)]), Job("a", 255.2, [Phase(0, 100, 50)]), up("idle", 70, 0, 1, 1)]
    problem = problem_of(jobs, {"x": 50}, c={"a": ["x"], "b": ["x"]}, d={"a": ["x"], "b": ["x"], "idle": []})
    ranking = rank(problem)
    assert ranking.paces_ms == {"a": 255.2, "b": 255.2, "idle": 70.0}
    assert [job.iteration_ms for job in problem.jobs] == [254.7, 255.2, 70.0]
