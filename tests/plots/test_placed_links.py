"""The links of a ranked candidate for pictures: they are those of the ranking, and score what it says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import cassini_core as cc
import strategies
from cassini_core.plots.placed_links import placed_links


@given(strategies.problems(loops=True, max_candidates=2, multipliers=True))
@settings(max_examples=50)
def test_each_link_scores_what_the_ranking_says(problem):
    ranking = cc.rank(problem, exhaustive=True)
    for candidate in ranking:
        found = placed_links(problem, ranking, candidate)
        scores = {one.id: one.score for one in (*candidate.links, *candidate.narrow_links)}
        assert {link.id: link.score for link in found} == scores
        assert [link.score for link in found] == sorted(link.score for link in found)
        for link in found:
            assert cc.score_link(link.jobs, link.capacity_gbps, link.shifts_ms) == pytest.approx(link.score, abs=1e-9)
            solved = cc.solve_link(link.jobs, link.capacity_gbps)
            assert set(link.free_jobs) == set(solved.free_jobs)


def test_a_ranking_of_something_else_is_refused():
    jobs = [cc.Job(name, 40, [cc.Phase(0, 20, 50)]) for name in "ab"]
    problem = cc.Problem(jobs, [cc.Link("up", 50)], [cc.Candidate("c", {"a": ["up"], "b": ["up"]})])
    other = cc.Problem(jobs, [cc.Link("up", 50)], [cc.Candidate("d", {"a": ["up"], "b": ["up"]})])
    ranking = cc.rank(problem)
    with pytest.raises(cc.InputError, match="candidate: expected a candidate of the problem, got 'c'"):
        placed_links(other, ranking, ranking[0])
