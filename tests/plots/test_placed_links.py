"""The links of a ranked candidate for pictures: they are those of the ranking, and score what it says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
import strategies
from cassini_core.plots.placed_links import placed_links


@given(strategies.problems(loops=True, max_candidates=2, multipliers=True), st.sampled_from([0.0, 0.5, 3.0]))
@settings(max_examples=60)
def test_each_link_scores_what_the_ranking_says(problem, resolution_ms):
    ranking = cc.rank(problem, exhaustive=True, resolution_ms=resolution_ms)
    for candidate in ranking:
        found = placed_links(problem, ranking, candidate)
        scores = {one.id: one.score for one in (*candidate.links, *candidate.narrow_links)}
        assert {link.id: link.score for link in found} == scores
        assert [link.score for link in found] == sorted(link.score for link in found)
        for link in found:
            shifts = link.shifts_ms
            lower, upper = cc.score_bounds(link.jobs, link.capacity_gbps, shifts, resolution_ms=link.resolution_ms)
            assert lower == pytest.approx(link.score, abs=1e-9) or lower < upper
            solved = cc.solve_link(link.jobs, link.capacity_gbps, resolution_ms=link.resolution_ms, node_limit=1)
            assert set(link.free_jobs) == set(solved.free_jobs)


def test_jobs_that_are_held_however_short_their_common_step_are_not_free():
    jobs = [cc.Job("a", 100.8, [cc.Phase(0, 60.4, 50)]), cc.Job("b", 100, [cc.Phase(0, 60.4, 50)])]
    problem = cc.Problem(jobs, [cc.Link("up", 50)], [cc.Candidate("c", {"a": ["up"], "b": ["up"]})])
    ranking = cc.rank(problem, resolution_ms=0, period_tolerance=0)
    (link,) = placed_links(problem, ranking, ranking[0])
    assert link.free_jobs == ()
    assert cc.score_link(link.jobs, 50, link.shifts_ms, resolution_ms=0) == pytest.approx(link.score, abs=1e-9)


def test_jobs_whose_shifts_hardly_matter_are_held_where_the_ranking_holds_them():
    """Lengthened to a common multiple, two jobs that always send pause: at once or not is 1e-8 of the score."""
    jobs = [cc.Job(name, ms, [cc.Phase(0, ms, 10)]) for name, ms in (("a", 6), ("b", 16))]
    problem = cc.Problem(jobs, [cc.Link("up", 1)], [cc.Candidate("c", {"a": ["up"], "b": ["up"]})])
    ranking = cc.rank(problem, resolution_ms=0)
    (link,) = placed_links(problem, ranking, ranking[0])
    assert link.free_jobs == ()
    assert cc.score_link(link.jobs, 1, link.shifts_ms, resolution_ms=link.resolution_ms) == pytest.approx(
        link.score, abs=1e-12
    )


def test_a_ranking_of_something_else_is_refused():
    jobs = [cc.Job(name, 40, [cc.Phase(0, 20, 50)]) for name in "ab"]
    problem = cc.Problem(jobs, [cc.Link("up", 50)], [cc.Candidate("c", {"a": ["up"], "b": ["up"]})])
    other = cc.Problem(jobs, [cc.Link("up", 50)], [cc.Candidate("d", {"a": ["up"], "b": ["up"]})])
    ranking = cc.rank(problem)
    with pytest.raises(cc.InputError, match="candidate: expected a candidate of the problem, got 'c'"):
        placed_links(other, ranking, ranking[0])


def test_a_link_on_which_no_job_sends_is_refused():
    """As where the jobs of an answer were changed by hand."""
    links, candidates = [cc.Link("up", 50)], [cc.Candidate("c", {"a": ["up"], "b": ["up"]})]
    problem = cc.Problem([cc.Job(name, 40, [cc.Phase(0, 20, 50)]) for name in "ab"], links, candidates)
    silent = cc.Problem([cc.Job(name, 40, [cc.Phase(0, 20, 0)]) for name in "ab"], links, candidates)
    ranking = cc.rank(problem)
    with pytest.raises(cc.InputError, match="link: expected a link on which jobs of candidate 'c' send, got 'up'"):
        placed_links(silent, ranking, ranking[0])
