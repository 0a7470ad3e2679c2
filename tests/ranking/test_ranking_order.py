"""What candidates are ordered by: the jobs that they place first, unless the scores alone are asked for."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placements
from cassini_core import Candidate, InputError, Job, Link, Order, Phase, Problem, RankedCandidate, Ranker, Ranking, rank
from cassini_core.deadline import Deadline
from cassini_core.problem_file import ranking_to_json
from cassini_core.ranking.best_first import FIRST_TOGETHER
from placements import problem_of, up

ORDERS = st.sampled_from(["jobs_placed", "score"])
A_AND_B = [up("a", 255, 141, 114, 45), up("b", 255, 141, 114, 45)]


def sets() -> Problem:
    """The fewer jobs a candidate places, the earlier it stands and the higher it scores."""
    candidates: dict[str, Any] = {
        "none": {},
        "only-a": {"a": ["l"]},
        "both": {"a": ["l"], "b": ["l"]},
        "both-overlap": {"a": {"l": 1.2}, "b": ["l"]},
    }
    return problem_of(A_AND_B, {"l": 50}, **candidates)


def uneven_round(seed: int, n_candidates: int) -> Problem:
    """Jobs on few links. Each candidate leaves out up to two of them; many have loops."""
    rng = random.Random(seed)
    jobs = [
        Job(f"j{k}", 100.0, [Phase(rng.randrange(100), rng.randrange(20, 70), rng.choice([10, 20, 40]))])
        for k in range(6)
    ]
    links = [Link(f"l{k}", 50.0) for k in range(5)]
    candidates = []
    for place in range(n_candidates):
        placed = rng.sample(jobs, len(jobs) - rng.choice([0, 0, 1, 2]))
        routes = {job.id: [link.id for link in rng.sample(links, rng.randrange(4))] for job in placed}
        candidates.append(Candidate(f"c{place}", routes))
    return Problem(jobs, links, candidates)


def worth(one: RankedCandidate, order: Order) -> tuple[int, float]:
    """What decides between two candidates: more is better."""
    assert one.score is not None
    return (one.jobs_placed if order == "jobs_placed" else 0), round(one.score, 8)


def assert_in_order(problem: Problem, ranking: Ranking) -> None:
    """More jobs first, if that is the order; of as many jobs the solved ones by score, then the others by bound."""
    placed = {one.id: len(one.routes) for one in problem.candidates}
    assert sorted(placed) == sorted(one.id for one in ranking)
    assert all(one.jobs_placed == placed[one.id] for one in ranking)
    first = (lambda one: one.jobs_placed) if ranking.order == "jobs_placed" else (lambda one: 0)
    for before, after in itertools.pairwise(ranking):
        assert first(before) >= first(after)
        if first(before) == first(after):
            assert before.score is not None or after.score is None
            if before.score is not None and after.score is not None:
                assert before.score >= after.score - 2e-9
            if before.score is None and after.score is None:
                assert before.upper_bound >= after.upper_bound - 2e-9
    assert ranking.best is next((one for one in ranking if one.score is not None), None)
    if ranking.best_proven:
        assert ranking.best is not None
        assert ranking.best.score is not None
        for one in ranking:
            assert first(one) <= first(ranking.best)
            if first(one) == first(ranking.best) and one is not ranking.best:
                assert one.upper_bound <= ranking.best.score + 1e-9


def test_placing_nothing_does_not_win() -> None:
    ranking = rank(sets())
    assert [(one.id, one.jobs_placed) for one in ranking] == [
        ("both", 2),
        ("both-overlap", 2),
        ("only-a", 1),
        ("none", 0),
    ]
    assert ranking.best is ranking["both"]
    assert ranking.best_proven
    assert ranking.order == "jobs_placed"
    line = "candidates place from 0 to 2 jobs: those that place more come first, whatever they score"
    assert ranking.warnings == (line,)


def test_the_scores_alone_decide_if_asked_for() -> None:
    ranking = rank(sets(), order="score")
    assert [one.id for one in ranking] == ["none", "only-a", "both", "both-overlap"]
    assert (ranking.order, ranking.best_proven) == ("score", True)
    assert ranking.warnings == ("candidates place from 0 to 2 jobs, and the order looks at their scores alone",)


def test_as_many_jobs_that_are_not_the_same_are_said() -> None:
    problem = problem_of(A_AND_B, {"l": 50}, a={"a": ["l"]}, b={"b": ["l"]})
    assert rank(problem).warnings == ("candidates do not place the same jobs, though each places 1",)
    same = problem_of(A_AND_B, {"l": 50}, c={"a": ["l"], "b": []}, d={"b": ["l"], "a": []})
    assert rank(same).warnings == ()


@given(placements.rounds(max_candidates=6), ORDERS, st.integers(1, 4), st.sampled_from(["joint", "merge", "discard"]))
@settings(max_examples=100)
def test_the_order_is_kept_whatever_is_searched(problem: Problem, order: Order, top: int, loops: Any) -> None:
    ranking = rank(problem, order=order, top=top, loops=loops)
    assert_in_order(problem, ranking)
    assert ranking_to_json(Ranker().rank(problem, order=order, top=top, loops=loops)) == ranking_to_json(ranking)
    said = json.loads(ranking_to_json(ranking))
    assert said["order"] == order
    assert [one["jobs_placed"] for one in said["candidates"]] == [one.jobs_placed for one in ranking]


@given(placements.rounds(max_candidates=6), ORDERS, st.sampled_from([0.0, 1e-5, 1e-3, 60.0]))
@settings(max_examples=60)
def test_the_order_is_kept_whatever_the_deadline(problem: Problem, order: Order, deadline_s: float) -> None:
    assert_in_order(problem, rank(problem, order=order, deadline_s=deadline_s))


@given(st.integers(0, 10**6), ORDERS, st.sampled_from([0.0, 1e-4, 3e-3, 1e-2]))
@settings(max_examples=30)
def test_the_order_is_kept_where_a_deadline_cuts_many(seed: int, order: Order, deadline_s: float) -> None:
    problem = uneven_round(seed, 100)
    assert_in_order(problem, rank(problem, order=order, deadline_s=deadline_s))


def test_the_order_is_kept_where_not_even_all_candidates_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deadline, "check_reading", Deadline.check)
    problem = uneven_round(1, 100)
    ranking = rank(problem, deadline_s=0.0)
    assert ranking.warnings == ("the deadline came before all 100 candidates were read",)
    assert_in_order(problem, ranking)


@given(st.integers(0, 10**6), ORDERS, st.integers(1, 5), st.integers(17, 60), st.sampled_from(["per_job", "mean"]))
@settings(max_examples=25)
def test_the_first_k_are_those_of_an_exhaustive_ranking(
    seed: int, order: Order, top: int, n_candidates: int, aggregate: str
) -> None:
    problem = uneven_round(seed, n_candidates)
    options: dict[str, Any] = {"order": order, "aggregate": aggregate}
    lazy, full = rank(problem, top=top, **options), rank(problem, exhaustive=True, **options)
    assert_in_order(problem, lazy)
    for ours, theirs in itertools.islice(zip(lazy, full, strict=True), top):
        assert worth(ours, order) == pytest.approx(worth(theirs, order), abs=2e-8)
    last = worth(lazy[min(top, n_candidates) - 1], order)
    for one in lazy:
        if one.score is None:
            placed = one.jobs_placed if order == "jobs_placed" else 0
            assert (placed, one.upper_bound) <= (last[0], last[1] + 2e-8)
        else:
            assert one == full[one.id]
    assert lazy.best_proven >= full.best_proven


def test_candidates_that_place_fewer_jobs_are_not_searched() -> None:
    """They score 1, and the others do not: ordered by score they would be searched first."""
    loop = {"a": ["x", "z"], "b": ["x", "y"], "c": ["y", "z"]}
    jobs = [up(name, 100, 10 * k, 60, 40) for k, name in enumerate("abc")]
    few = {f"few{k}": {"a": ["w"], "b": ["w"]} for k in range(40)}
    routes = few | {f"all{k}": loop for k in range(FIRST_TOGETHER)}
    problem = problem_of(jobs, {"w": 90, "x": 50, "y": 51, "z": 52}, **routes)
    by_jobs, by_score = rank(problem), rank(problem, order="score")
    assert all(one.status == "bound_only" for one in by_jobs if one.id.startswith("few"))
    assert all(one.status == "bound_only" for one in by_score if one.id.startswith("all"))
    assert by_score.best_proven


def test_an_unsolved_candidate_that_places_more_keeps_the_best_from_being_proven() -> None:
    loop = {"a": ["x", "z"], "b": ["x", "y"], "c": ["y", "z"]}
    jobs = [up(name, 100, 0, 60, 50) for name in "abc"]
    problem = problem_of(jobs, {"x": 50, "y": 51, "z": 52}, few={"a": ["x"]}, all=loop)
    ranking = rank(problem, loops="discard")
    assert [(one.id, one.status) for one in ranking] == [("all", "discarded"), ("few", "alone")]
    assert ranking.best is ranking["few"]
    assert not ranking.best_proven
    assert rank(problem, loops="discard", order="score").best_proven


@given(placements.rounds(max_candidates=6), ORDERS, st.randoms(use_true_random=False))
def test_permuting_candidates_changes_no_score(problem: Problem, order: Order, rng: random.Random) -> None:
    mixed = Problem(problem.jobs, problem.links, rng.sample(problem.candidates, len(problem.candidates)))
    first, second = (rank(one, order=order, exhaustive=True) for one in (problem, mixed))
    assert {one.id: one for one in first} == {one.id: one for one in second}
    assert [one.score for one in first] == [one.score for one in second]
    assert (first.best_proven, first.warnings) == (second.best_proven, second.warnings)


@pytest.mark.parametrize("order", ["jobs", "", None, 3, "Score", ["score"]])
def test_another_order_is_refused(order: Any) -> None:
    with pytest.raises(InputError, match=r"^order: expected 'jobs_placed' or 'score', got "):
        rank(sets(), order=order)
