"""Loops solved: shifts for cyclic blocks, against every combination of shifts, and what they promise."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from cassini_core import Candidate, Link, Problem, RankedCandidate, rank
from cassini_core.problem_file import problem_from_json
from placements import PAIR, best_mean, problem_of, shared_links, up

INSTANCES = json.loads((Path(__file__).parents[1] / "data" / "loops.json").read_text())["instances"]
EXACT: dict[str, Any] = {"period_tolerance": 0.0, "node_limit": None, "block_node_limit": None}


def instance(number: int) -> tuple[dict[str, Any], Problem]:
    one = INSTANCES[number]
    return one, problem_from_json(json.dumps(one["problem"]).encode())


def answer(problem: Problem, **options: Any) -> RankedCandidate:
    """The answer to the only candidate, with the score that joint shifts maximise: the mean over links."""
    (found,) = rank(problem, aggregate="mean", **options).candidates
    return found


# Right


@given(strategies.loop_problems(max_jobs=3))
@settings(max_examples=60)
def test_joint_shifts_are_the_best_of_all_shifts(problem: Problem) -> None:
    if not shared_links(problem, problem.candidates[0]):
        return
    if math.prod(job.iteration_ms for job in problem.jobs) > 2e5:
        return
    found = answer(problem, resolution_ms=0.0, **EXACT)
    assert found.optimal
    assert found.score == pytest.approx(best_mean(problem, problem.candidates[0]), abs=1e-9)


@given(strategies.loop_problems(max_jobs=6, max_phases=1))
@settings(max_examples=60)
def test_blocks_of_up_to_six_single_phase_jobs_are_proven(problem: Problem) -> None:
    found = answer(problem, **EXACT)
    assert found.optimal
    assert found.score == pytest.approx(found.upper_bound, abs=1e-9)


@given(strategies.tree_problems(max_jobs=6))
def test_without_a_loop_joint_is_algorithm_1(problem: Problem) -> None:
    assert answer(problem, **EXACT) == answer(problem, loops="merge", **EXACT)


@given(st.one_of(strategies.loop_problems(), strategies.tree_problems()), st.sampled_from([1, 3, 30, 1000]))
def test_the_score_never_exceeds_the_bound_and_each_job_has_one_shift(problem: Problem, limit: int) -> None:
    cut, exact = answer(problem, block_node_limit=limit, period_tolerance=0.0), answer(problem, **EXACT)
    assert cut.score is not None
    assert exact.score is not None
    assert cut.score <= exact.score + 1e-9 <= cut.upper_bound + 2e-9
    sharing = {job for members in shared_links(problem, problem.candidates[0]).values() for job in members}
    assert cut.shifts_ms.keys() == sharing
    assert cut.status in {"alone", "tree", "consistent", "joint"}
    reached = all(link.score is not None and link.score >= link.upper_bound - 1e-9 for link in cut.links)
    assert cut.status != "consistent" or reached
    assert cut.status != "joint" or not reached


@given(strategies.loop_problems(max_jobs=4), st.integers(2, 3))
def test_copies_of_all_links_change_nothing(problem: Problem, copies: int) -> None:
    candidate = problem.candidates[0]
    links = [Link(f"{link.id}-{k}", link.capacity_gbps) for link in problem.links for k in range(copies)]
    routes = {
        job: {f"{link}-{k}": multiplier for link, multiplier in route.items() for k in range(copies)}
        for job, route in candidate.routes.items()
    }
    more = answer(Problem(problem.jobs, tuple(links), (Candidate("c", routes),)), **EXACT)
    once = answer(problem, **EXACT)
    assert more.score == pytest.approx(once.score, abs=1e-9)
    assert more.upper_bound == pytest.approx(once.upper_bound, abs=1e-9)


def test_a_weight_decides_who_gets_his_way() -> None:
    # Any two of the three jobs fit, but on x they want to be half a turn apart and on y together with the other's gap.
    jobs = [up("a", 100, 0, 50, 50), up("b", 100, 0, 50, 50), up("on", 100, 0, 25, 50)]
    routes = {"a": ["x", "y", "z"], "b": ["x", "y", "z"], "on": ["y", "z"]}
    problem = problem_of(jobs, {"x": 50, "y": 50, "z": 50}, c=routes)
    found = answer(problem, **EXACT)
    assert found.score == pytest.approx(best_mean(problem, problem.candidates[0]), abs=1e-9)
    assert found.status == "joint" or found.status == "consistent"


def test_two_rings_that_hang_together_in_a_job_are_solved_apart_and_composed() -> None:
    a, b, c = PAIR
    routes = {"a": ["up", "down"], "b": {"up": 1.0, "down": 0.9, "left": 1.0, "right": 0.9}, "c": ["left", "right"]}
    found = answer(problem_of([a, b, c], dict.fromkeys(("up", "down", "left", "right"), 50), c=routes))
    assert (found.status, found.score) == ("consistent", pytest.approx(1.0))
    assert found.shifts_ms == {"a": 0.0, "b": 50.0, "c": 0.0}


# The instances


@pytest.mark.parametrize("number", range(len(INSTANCES)), ids=[one["name"] for one in INSTANCES])
def test_instances_by_default_reach_what_local_search_reached_and_are_proven_without_a_limit(number: int) -> None:
    one, problem = instance(number)
    found = answer(problem, period_tolerance=0.0)
    assert found.score is not None
    assert one["reached_by_local_search"] - 1e-9 <= found.score <= one["bound"] + 1e-9
    exact = answer(problem, **EXACT)
    assert exact.optimal
    assert exact.score is not None
    assert found.score <= exact.score + 1e-9 <= found.upper_bound + 2e-9


def test_instances_reach_99_percent_of_their_bounds_on_average() -> None:
    shares = []
    for number in range(len(INSTANCES)):
        one, problem = instance(number)
        shares.append((answer(problem, period_tolerance=0.0).score or 0.0) / one["bound"])
    assert math.fsum(shares) / len(shares) >= 0.99
