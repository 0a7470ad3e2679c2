"""Large placements: searched from what they have in common, true and reproducible all the same."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import pytest
from test_ranking_lazy import round_of

import placements
from cassini_core import Candidate, InputError, Job, Link, Phase, Problem, RankedCandidate, rank
from cassini_core.joint import base_placement
from cassini_core.joint.base_placement import LARGE_LINKS, BasePlacement
from cassini_core.joint.round import Round
from cassini_core.node_budget import AUTO, block_limit, link_limit
from cassini_core.problem_file import ranking_to_json
from cassini_core.ranking import candidate_search

RACKS = 24
LIMITS = {"node_limit": 300, "block_node_limit": 500}
KINDS = ((200.0, 60.0, 30.0), (300.0, 120.0, 25.0), (150.0, 40.0, 40.0))


def ring_round(seed: int, n_candidates: int = 4) -> Problem:
    """Rings over two to four of 24 racks, two uplinks and two downlinks each; candidates move two of them."""
    rng = random.Random(seed)

    def ring() -> list[str]:
        racks = rng.sample(range(RACKS), rng.randint(2, 4))
        hops = zip(racks, [*racks[1:], racks[0]], strict=True)
        return [link for a, b in hops for link in (f"up{a}-{rng.randrange(2)}", f"down{b}-{rng.randrange(2)}")]

    jobs = []
    for k in range(90):
        period, up, gbps = rng.choice(KINDS)
        jobs.append(Job(f"j{k:02}", period, [Phase(rng.randrange(int(period)), up, gbps)]))
    current = {job.id: ring() for job in jobs}
    candidates = [Candidate("current", current)]
    for k in range(1, n_candidates):
        moved = {job.id: ring() for job in rng.sample(jobs, 2)}
        candidates.append(Candidate(f"c{k}", {**current, **moved}))
    links = [Link(f"{way}{rack}-{k}", 50.0) for way in ("up", "down") for rack in range(RACKS) for k in range(2)]
    return Problem(tuple(jobs), tuple(links), tuple(candidates))


@pytest.fixture(scope="module")
def problem() -> Problem:
    found = ring_round(1)
    assert all(len(placements.shared_links(found, one)) > LARGE_LINKS for one in found.candidates)
    return found


@pytest.mark.parametrize(("aggregate", "gap"), [("per_job", 0.1), ("mean", 0.05)])
def test_scores_are_those_of_the_shifts_and_below_their_bounds(problem: Problem, aggregate: str, gap: float) -> None:
    ranking = rank(problem, aggregate=aggregate, **LIMITS)
    said = json.loads(ranking_to_json(ranking))
    routes = {candidate.id: candidate for candidate in problem.candidates}
    for one, written in zip(ranking.candidates, said["candidates"], strict=True):
        assert one.status == "joint"
        scores = placements.rescored(problem, said, written)
        on_link, placed = placements.shared_links(problem, routes[one.id]), routes[one.id].routes
        narrow = placements.narrow_scores(problem, routes[one.id], said["paces_ms"])
        score = placements.aggregated(aggregate, scores, narrow, on_link, placed)
        assert one.score == pytest.approx(score, abs=1e-9)
        assert one.score <= one.upper_bound + 1e-9
        assert one.upper_bound - one.score < gap


def test_threads_order_and_time_of_day_change_nothing(problem: Problem) -> None:
    first = ranking_to_json(rank(problem, threads=1, **LIMITS))
    assert ranking_to_json(rank(problem, threads=8, **LIMITS)) == first
    rng = random.Random(2)
    mixed = Problem(
        tuple(rng.sample(problem.jobs, len(problem.jobs))),
        tuple(rng.sample(problem.links, len(problem.links))),
        tuple(rng.sample(problem.candidates, len(problem.candidates))),
    )
    assert ranking_to_json(rank(mixed, **LIMITS)) == first


def test_of_many_equal_candidates_their_order_does_not_choose_those_searched_once_more(problem: Problem) -> None:
    current, other = problem.candidates[:2]
    equal = [Candidate(f"c{k:02}", other.routes) for k in range(12)]

    def answers(candidates: list[Candidate]) -> dict[str, RankedCandidate]:
        asked = Problem(problem.jobs, problem.links, tuple(candidates))
        return {one.id: one for one in rank(asked, exhaustive=True, **LIMITS).candidates}

    assert answers([*equal, current]) == answers([current, *reversed(equal)])


def test_from_the_common_placement_a_candidate_reaches_no_less_than_alone(problem: Problem) -> None:
    # Alone it is taken apart and searched from its links' own shifts, with as many nodes; for the mean over links.
    together = {one.id: one.score for one in rank(problem, aggregate="mean", **LIMITS).candidates}
    for candidate in problem.candidates:
        single = Problem(problem.jobs, problem.links, (candidate,))
        alone = rank(single, aggregate="mean", **LIMITS).candidates[0]
        assert alone.score is not None
        score = together[candidate.id]
        assert score is not None
        assert score >= alone.score - 0.005


def test_a_deadline_leaves_the_best_an_answer(problem: Problem) -> None:
    ranking = rank(problem, deadline_s=0.0, **LIMITS)
    assert {one.status for one in ranking.candidates} <= {"joint", "bound_only"}
    assert all(one.score is None or one.score <= one.upper_bound + 1e-9 for one in ranking.candidates)


@pytest.mark.parametrize("aggregate", ["mean", "min", "p10", "per_job"])
@pytest.mark.parametrize("seed", [13, 14, 15, 25, 26, 30])
def test_to_be_searched_once_more_costs_neither_score_nor_proof(
    monkeypatch: pytest.MonkeyPatch, seed: int, aggregate: str
) -> None:
    """Whichever aggregate counts: candidates that were not looked at were promised that they cannot win."""
    monkeypatch.setattr(base_placement, "LARGE_LINKS", 1)
    problem = round_of(seed, 6)
    for nodes in (5, 100):
        asked: dict[str, Any] = {"aggregate": aggregate, "exhaustive": True, "block_node_limit": nodes}
        more = {one.id: one for one in rank(problem, **asked).candidates}
        with monkeypatch.context() as once:
            once.setattr(candidate_search, "IMPROVED", 0)
            less = rank(problem, **asked).candidates
        for one in less:
            score = more[one.id].score
            assert one.score is not None
            assert score is not None
            assert score >= one.score - 1e-9
            assert more[one.id].upper_bound <= one.upper_bound + 1e-12
            assert more[one.id].optimal >= one.optimal


@pytest.mark.parametrize("large_links", [1, LARGE_LINKS])
def test_no_search_is_made_by_the_calling_thread(monkeypatch: pytest.MonkeyPatch, large_links: int) -> None:
    """It could not be interrupted: Ctrl-C is delivered to the main thread, between calls."""
    searched: list[threading.Thread] = []
    solve, beside = Round.solve_block, BasePlacement.answer

    def noted(search: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            searched.append(threading.current_thread())
            return search(*args, **options)

        return call

    monkeypatch.setattr(Round, "solve_block", noted(solve))
    monkeypatch.setattr(BasePlacement, "answer", noted(beside))
    monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
    rank(round_of(3, 6), threads=1)
    assert searched
    assert threading.current_thread() not in searched


@pytest.mark.parametrize("options", [{"deadline_s": 1e300}, {"deadline_s": 1e11}, {"block_node_limit": 2**63 - 1}])
def test_the_largest_limits_are_no_limits(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    problem = round_of(3, 3)
    for large_links in (1, LARGE_LINKS):
        monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
        assert ranking_to_json(rank(problem, **options)) == ranking_to_json(rank(problem, block_node_limit=10**6))


@pytest.mark.parametrize("period_tolerance", [0.0, 0.01])
@pytest.mark.parametrize("large_links", [1, LARGE_LINKS])
def test_a_link_of_too_many_jobs_is_named(
    monkeypatch: pytest.MonkeyPatch, period_tolerance: float, large_links: int
) -> None:
    monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
    jobs = [Job(f"j{k}", 100.0 + k / 1e6, [Phase(0, 10, 1)]) for k in range(1025)]
    routes = {job.id: ["x", "y"] for job in jobs}
    problem = Problem(jobs, [Link("x", 50), Link("y", 50)], [Candidate(name, routes) for name in "ab"])
    with pytest.raises(InputError, match="link 'x': expected at most 1024 jobs, got 1025"):
        rank(problem, period_tolerance=period_tolerance)


def test_limits_are_shared_and_what_is_asked_for_is_kept() -> None:
    assert link_limit(AUTO, 1) == 50_000
    assert [link_limit(AUTO, 10**6, n) for n in (1, 2, 4, 5, 40)] == [256, 256, 256, 83, 1]
    assert [link_limit(AUTO, n) for n in range(1, 5000, 7)] == sorted(
        (link_limit(AUTO, n) or 0 for n in range(1, 5000, 7)), reverse=True
    )
    assert (link_limit(7, 10**6), link_limit(None, 10**6)) == (7, None)
    assert (block_limit(AUTO, 1), block_limit(AUTO, 10**6)) == (20_000, 500)
    assert (block_limit(7, 10**6), block_limit(None, 10**6)) == (7, None)
