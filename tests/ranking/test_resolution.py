"""What is proven only for shifts that are held to some precision says to which."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placements
import strategies
from cassini_core import Problem, _reference, rank, solve_link
from cassini_core.problem_file import ranking_to_json
from placements import problem_of, up
from strategies import LinkCase

RESOLUTIONS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 6.0])
FAST = [up("fast", 0.1, 0, 0.05, 45), up("fast2", 0.1, 0, 0.05, 45)]


def test_what_is_proven_of_fast_jobs_is_proven_at_a_resolution() -> None:
    problem = problem_of(FAST, {"l": 50}, x={"fast": ["l"], "fast2": ["l"]})
    coarse, fine = rank(problem), rank(problem, resolution_ms=0.0)
    assert (coarse[0].score, coarse[0].optimal, coarse[0].resolution_ms) == (0.8, True, 0.5)
    assert (coarse.best_proven, coarse.resolution_ms) == (True, 0.5)
    assert (fine[0].score, fine[0].optimal, fine[0].resolution_ms, fine.resolution_ms) == (1.0, True, None, None)
    said = json.loads(ranking_to_json(coarse))
    assert said["resolution_ms"] == said["candidates"][0]["resolution_ms"] == 0.5
    assert json.loads(solve_link(FAST, 50).to_json())["resolution_ms"] == 0.5
    assert json.loads(solve_link(FAST, 50, resolution_ms=0).to_json())["resolution_ms"] is None


def test_where_nothing_better_is_possible_no_resolution_is_named() -> None:
    assert solve_link(FAST, 90).resolution_ms is None  # room for both at once
    full = [up("a", 0.1, 0, 0.1, 45), up("b", 0.1, 0, 0.1, 45)]
    assert solve_link(full, 50).resolution_ms is None  # 40 of 90 find no room at any time
    assert solve_link([FAST[0]], 40).resolution_ms is None  # alone, no shift matters
    assert rank(problem_of(FAST, {"l": 40}, x={"fast": ["l"], "fast2": []}))[0].resolution_ms is None


@given(strategies.link_cases(max_jobs=3, max_phases=2), RESOLUTIONS)
@settings(max_examples=150)
def test_without_a_resolution_no_shifts_at_all_score_more(case: LinkCase, resolution_ms: float) -> None:
    found = solve_link(case.jobs, case.capacity_gbps, resolution_ms=resolution_ms, node_limit=None)
    assert found.resolution_ms in (None, resolution_ms)
    if found.resolution_ms is None:
        assert found.upper_bound >= _reference.best_score(case.jobs, case.capacity_gbps, 0.0) - 1e-9
    else:
        assert found.free_jobs


@given(placements.rounds(max_jobs=3), RESOLUTIONS)
@settings(max_examples=60)
def test_of_a_ranking_too(problem: Problem, resolution_ms: float) -> None:
    options: dict[str, Any] = {"period_tolerance": 0.0, "exhaustive": True, "node_limit": None}
    ranking = rank(problem, resolution_ms=resolution_ms, **options)
    assert (ranking.resolution_ms is None) == all(one.resolution_ms is None for one in ranking)
    for one in ranking:
        assert one.resolution_ms in (None, resolution_ms)
        if one.resolution_ms is None:
            asked = next(candidate for candidate in problem.candidates if candidate.id == one.id)
            best = _reference.candidate_score(problem, asked, None, resolution_ms=0.0)
            assert one.upper_bound >= best - 1e-9 or one.upper_bound >= placements.best_per_job(problem, asked) - 1e-9
        else:
            assert any(link.upper_bound < 1 for link in one.links)


@pytest.mark.parametrize("resolution_ms", [0.5, 2])
def test_the_number_is_that_asked_for(resolution_ms: float) -> None:
    found = solve_link(FAST, 50, resolution_ms=resolution_ms).resolution_ms
    assert found == resolution_ms
    assert type(found) is float
