"""The default score: the mean over all placed jobs of each job's worst link. What it is, and what is proven of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import placements
import strategies
from cassini_core import Candidate, Problem, RankedCandidate, Ranker, load_problem, rank
from cassini_core.cli import main
from cassini_core.problem_file import ranking_to_json
from placements import PAIR, best_mean, best_per_job, problem_of, shared_links, up

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "examples/three-racks.json",
    *(ROOT / "tests/data" / f"{name}.json" for name in ("tree", "loop", "two-jobs")),
]
EXACT: dict[str, Any] = {"period_tolerance": 0.0, "node_limit": None, "block_node_limit": None, "resolution_ms": 0.0}
TRIANGLE = {"a": ["x", "z"], "b": ["x", "y"], "c": ["y", "z"]}

ROUNDS = st.one_of(strategies.loop_problems(max_candidates=3), strategies.tree_problems(), placements.rounds())


def asked_for(problem: Problem, one: RankedCandidate) -> Candidate:
    return next(candidate for candidate in problem.candidates if candidate.id == one.id)


def of_links(
    problem: Problem, one: RankedCandidate, values: Mapping[str, float], paces_ms: Mapping[str, float]
) -> float:
    """``per_job`` of one value for each shared link, and of the narrow links, by its definition."""
    asked = asked_for(problem, one)
    narrow = placements.narrow_scores(problem, asked, paces_ms)
    return placements.aggregated("per_job", values, narrow, shared_links(problem, asked), asked.routes)


def with_idle_jobs(problem: Problem, more: int) -> Problem:
    """The same with jobs that every candidate places without network."""
    idle = [up(f"idle{k}", 10, 0, 5, 50) for k in range(more)]
    nowhere: dict[str, dict[str, float]] = {job.id: {} for job in idle}
    candidates = [Candidate(one.id, {**one.routes, **nowhere}) for one in problem.candidates]
    return Problem((*problem.jobs, *idle), problem.links, candidates)


# The default


@settings(max_examples=15)  # another default shows in the first few
@given(ROUNDS, st.sampled_from(["joint", "merge", "discard"]))
def test_per_job_is_the_default(problem: Problem, loops: str) -> None:
    asked_for_it = ranking_to_json(rank(problem, loops=loops, aggregate="per_job"))
    assert ranking_to_json(rank(problem, loops=loops)) == asked_for_it
    assert ranking_to_json(Ranker().rank(problem, loops=loops)) == asked_for_it


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_json_on_the_command_line_has_it_for_every_candidate(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", str(file), "--json"]) == 0
    printed = capsys.readouterr().out
    assert printed.encode().strip() == ranking_to_json(rank(load_problem(file))).strip()
    routes = {one["id"]: one["routes"] for one in json.loads(file.read_text())["candidates"]}
    for one in json.loads(printed)["candidates"]:
        for number in ("score", "upper_bound"):
            of_link = {link["id"]: link[number] for link in one["links"]}
            of_link |= {link["id"]: link["score"] for link in one["narrow_links"]}
            route_of = routes[one["id"]]
            worst = [min([1.0, *(of_link[link] for link in route if link in of_link)]) for route in route_of.values()]
            assert one[number] == pytest.approx(math.fsum(worst) / len(route_of), abs=1e-9)


def test_the_papers_mean_is_another_score() -> None:
    problem = placements.mixed_scores()
    default, paper = rank(problem).best, rank(problem, loops="discard", aggregate="mean").best
    assert default is not None
    assert paper is not None
    assert (default.score, paper.score) == pytest.approx((3.5 / 6, 1.5 / 3))


@given(ROUNDS, st.sampled_from(["joint", "merge", "discard"]))
def test_score_and_bound_are_those_of_the_links_and_routes(problem: Problem, loops: str) -> None:
    ranking = rank(problem, loops=loops)
    for one in ranking.candidates:
        bound = of_links(problem, one, {link.id: link.upper_bound for link in one.links}, ranking.paces_ms)
        assert one.upper_bound == pytest.approx(bound, abs=1e-12)
        scores = {link.id: link.score for link in one.links if link.score is not None}
        assert (one.score is None) == (len(scores) < len(one.links))
        if one.score is not None:
            assert one.score == pytest.approx(of_links(problem, one, scores, ranking.paces_ms), abs=1e-12)


@given(strategies.loop_problems(), st.integers(1, 5))
def test_jobs_that_share_nothing_count_with_one(problem: Problem, more: int) -> None:
    (candidate,) = problem.candidates
    without = rank(problem, period_tolerance=0.0).best
    found = rank(with_idle_jobs(problem, more), period_tolerance=0.0).best
    assert without is not None
    assert found is not None
    assert without.score is not None
    placed = len(candidate.routes)
    assert found.score == pytest.approx((placed * without.score + more) / (placed + more), abs=1e-12)


# Proof


@given(
    st.one_of(strategies.loop_problems(max_jobs=3, max_candidates=3), placements.rounds(max_jobs=3)), st.integers(0, 6)
)
@settings(max_examples=60)
def test_no_shifts_beat_a_bound_or_what_is_called_optimal_or_best(problem: Problem, idle: int) -> None:
    assume(math.prod(job.iteration_ms for job in problem.jobs) <= 1e5)
    problem = with_idle_jobs(problem, idle)
    ranking = rank(problem, **EXACT)
    best = {one.id: best_per_job(problem, asked_for(problem, one)) for one in ranking.candidates}
    for one in ranking.candidates:
        assert best[one.id] <= one.upper_bound + 1e-9
        assert one.score is not None
        assert not one.optimal or best[one.id] <= one.score + 1e-9
    if ranking.best_proven:
        assert ranking.best is not None
        assert ranking.best.score is not None
        first, others = ranking.best, [one for one in ranking.candidates if one is not ranking.best]
        assert all(one.jobs_placed <= first.jobs_placed for one in others)
        rivals = [best[one.id] for one in others if one.jobs_placed == first.jobs_placed]
        assert max(rivals, default=-math.inf) <= ranking.best.score + 1e-9


def test_what_is_proven_of_the_mean_is_not_claimed_per_job() -> None:
    # The best mean has all excess on y. Spread over the links it is more in sum, and less on each job's worst.
    jobs = [up("a", 12, 0, 7, 50), up("b", 12, 0, 5, 30), up("c", 12, 0, 5, 30)]
    problem = problem_of(jobs, {"x": 50, "y": 40, "z": 50}, c=TRIANGLE)
    (in_the_mean,) = rank(problem, aggregate="mean", **EXACT).candidates
    assert (in_the_mean.status, in_the_mean.optimal) == ("joint", True)
    assert in_the_mean.score == pytest.approx(best_mean(problem, problem.candidates[0]), abs=1e-9)
    assert in_the_mean.upper_bound == pytest.approx(in_the_mean.score, abs=1e-12)
    ranking = rank(problem, **EXACT)
    (per_job,) = ranking.candidates
    better = best_per_job(problem, problem.candidates[0])
    assert per_job.shifts_ms == in_the_mean.shifts_ms
    assert per_job.score is not None
    assert per_job.score + 0.04 < better <= per_job.upper_bound
    assert per_job.upper_bound == pytest.approx(1.0)  # each link for itself has room for both
    assert not per_job.optimal
    assert ranking.best_proven  # there is no other candidate


def test_proof_of_the_mean_does_not_prove_the_best_candidate_either() -> None:
    # "loop" is the triangle above. Whoever took its mean for a bound would call "pair", which beats that, the best.
    jobs = [up("a", 12, 0, 7, 50), up("b", 12, 0, 5, 30), up("c", 12, 0, 5, 30), up("on", 12, 0, 12, 10)]
    pair = {"a": ["w"], "on": ["w"], "b": []}
    problem = problem_of(jobs, {"w": 55, "x": 50, "y": 40, "z": 50}, loop=TRIANGLE, pair=pair)
    for aggregate, proven in (("mean", True), ("per_job", False)):
        ranking = rank(problem, aggregate=aggregate, **EXACT)
        first, second = ranking.candidates
        assert (first.id, second.id, first.optimal) == ("pair", "loop", True)
        assert ranking.best_proven is proven, aggregate


def test_a_jobs_worst_links_at_their_bounds_are_proof_whatever_the_others_do() -> None:
    # y falls short of its own bound, but b and c do no better on x and z, and those reach theirs.
    jobs = [up("a", 12, 0, 8, 50), up("b", 12, 1, 6, 40), up("c", 12, 0, 6, 30)]
    problem = problem_of(jobs, {"x": 50, "y": 60, "z": 50}, c=TRIANGLE)
    (found,) = rank(problem, **EXACT).candidates
    short = [link.id for link in found.links if link.score is not None and link.score < link.upper_bound - 1e-9]
    assert (found.status, short, found.optimal) == ("joint", ["y"], True)
    assert found.score == found.upper_bound
    assert best_per_job(problem, problem.candidates[0]) == pytest.approx(found.score, abs=1e-9)


# Order


def test_ties_go_to_more_slack_then_fewer_links_then_input_order_whatever_the_mean() -> None:
    # Three jobs that only fit in pairs: 0.5 on x. Further links with room for all raise the mean, and no job's worst.
    capacities = {"x": 50, "roomy": 500, "wide": 1000}
    few = {job.id: ["x"] for job in PAIR}
    more = {job.id: ["x", "roomy"] for job in PAIR}
    most = {job.id: ["x", "roomy", "wide"] for job in PAIR}
    problem = problem_of(PAIR, capacities, most=most, again=most, more=more, few=few)
    per_job, mean = rank(problem), rank(problem, aggregate="mean")
    assert [one.score for one in per_job.candidates] == pytest.approx([0.5] * 4)
    assert [one.id for one in per_job.candidates] == ["few", "more", "most", "again"]
    assert [one.score for one in mean.candidates] == pytest.approx([2.5 / 3, 2.5 / 3, 0.75, 0.5])
    assert [one.id for one in mean.candidates] == ["most", "again", "more", "few"]


def test_of_equal_scores_more_slack_comes_first_though_more_links_are_shared() -> None:
    jobs = [up("a", 100, 0, 50, 50), up("b", 100, 0, 50, 50), up("c", 100, 0, 20, 50), up("d", 100, 0, 20, 50)]
    tight = {"a": ["x"], "b": ["x"]}
    loose = {"c": ["x", "y"], "d": ["x", "y"]}
    ranking = rank(problem_of(jobs, {"x": 50, "y": 50}, tight=tight, loose=loose))
    assert [(one.id, one.score) for one in ranking.candidates] == [("loose", 1.0), ("tight", 1.0)]


def test_placements_of_the_same_jobs_compare_by_their_slowest_links() -> None:
    # As in docs/ranking.md: sharing nine easy links more lifts a mean, and no job.
    jobs = [up("a", 100, 0, 50, 60), up("b", 100, 0, 100, 10), up("c", 100, 0, 50, 55)]
    capacities = {"bad": 50.0, "fair": 50.0} | {f"easy{k}": 500.0 for k in range(9)}
    easy = [f"easy{k}" for k in range(9)]
    many = {"a": ["bad", *easy], "b": ["bad", *easy], "c": []}
    one = {"a": [], "b": ["fair"], "c": ["fair"]}
    problem = problem_of(jobs, capacities, many=many, one=one)
    default, paper = rank(problem), rank(problem, aggregate="mean")
    assert [(c.id, c.score) for c in default.candidates] == [
        ("one", pytest.approx((1 + 2 * 0.85) / 3)),
        ("many", pytest.approx((2 * 0.8 + 1) / 3)),
    ]
    assert [(c.id, c.score) for c in paper.candidates] == [("many", pytest.approx(0.98)), ("one", pytest.approx(0.85))]
