"""Longer paces where jobs fit only in part: the least that lets them fit, and none where that costs too much."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core.ranking.fitting import FITTED_SCORE, fitted
from cassini_core.ranking.holding import LEAST_SCORE, held_components
from cassini_core.units import ticks_from_ms

CAPACITY_GBPS = 50.0


def sends(name: str, up_ms: int, period_ms: int, gbps: int = 50) -> cc.Job:
    return cc.Job(name, period_ms, [cc.Phase(0, up_ms, gbps)])


def on_links(routes: dict[str, list[str]], jobs: list[cc.Job]) -> cc.Problem:
    links = [cc.Link(link, CAPACITY_GBPS) for link in sorted({link for route in routes.values() for link in route})]
    return cc.Problem(jobs, links, [cc.Candidate("c", routes)])


def on_one_link(jobs: list[cc.Job]) -> cc.Problem:
    return on_links({job.id: ["x"] for job in jobs}, jobs)


def percent_longer(problem: cc.Problem, longer: cc.Problem) -> dict[str, float]:
    """By job; whole but for the rounding of times to ticks."""
    before = {job.id: ticks_from_ms(job.iteration_ms) for job in problem.jobs}
    return {job.id: 100 * (ticks_from_ms(job.iteration_ms) / before[job.id] - 1) for job in longer.jobs}


PAIRS = st.tuples(st.integers(40, 140), st.integers(40, 140), st.sampled_from([(1, 1), (1, 2), (2, 3)]))


@given(PAIRS)
def test_two_jobs_get_the_least_time_with_which_they_fit_if_that_is_worth_it(
    drawn: tuple[int, int, tuple[int, int]],
) -> None:
    """Against a search of all whole percentages with the solver of one link."""
    up_a, up_b, (laps_a, laps_b) = drawn
    jobs = [sends("a", up_a, 200 * laps_a), sends("b", up_b, 200 * laps_b)]
    problem = on_one_link(jobs)
    ranking = cc.rank(problem)
    longer, ranked, held = fitted(problem, ranking, cc.rank)

    def score_at(percent: int) -> float:
        made = [cc.Job(job.id, job.iteration_ms * (100 + percent) / 100, job.phases) for job in jobs]
        return cc.solve_link(made, CAPACITY_GBPS).score

    at_random = float(1 - Fraction(up_a * up_b, 200 * laps_a * 200 * laps_b))  # the mean overlap of two full bursts
    fits = [percent for percent in range(46) if score_at(percent) >= FITTED_SCORE]
    percents = percent_longer(problem, longer)
    assert percents["a"] == pytest.approx(percents["b"], abs=1e-4)
    assert held == held_components(ranked, longer, problem)
    if percents["a"] > 1e-4:
        assert round(percents["a"]) == fits[0]
        assert fits[0] / 100 < score_at(fits[0]) - at_random
        assert longer.candidates == problem.candidates
        assert ranked == cc.rank(longer)
        assert all(one.why_not is None for one in held)
    else:
        assert longer is problem
        assert ranked is ranking
        # A percent less, where it is a near thing: the gain is rounded to ticks.
        dear = not fits or fits[0] / 100 > score_at(fits[0]) - at_random - 1e-6
        room = [one.why_not for one in held_components(ranking, problem)]
        assert fits[:1] == [0] or dear or room, (fits, room)


def test_what_fits_only_in_part_and_gets_no_longer_paces_is_not_held() -> None:
    jobs = [sends(name, 150, 200) for name in "ab"]  # 300 ms to be sent in 200
    problem = on_one_link(jobs)
    ranking = cc.rank(problem)
    assert fitted(problem, ranking, cc.rank)[:2] == (problem, ranking)
    (found,) = held_components(ranking, problem)
    assert found.score < LEAST_SCORE
    assert found.why_not is not None


def test_a_component_gets_longer_by_itself_and_keeps_its_ratios() -> None:
    """Two that fit only in part, one of them with paces of 1 to 2; two that fit; one alone."""
    jobs = [sends("a", 110, 200), sends("b", 110, 200), sends("c", 40, 200), sends("d", 40, 200)]
    jobs += [sends("e", 54, 100), sends("f", 60, 200), sends("g", 90, 200)]
    routes = {"a": ["x"], "b": ["x"], "c": ["y"], "d": ["y"], "e": ["z"], "f": ["z"], "g": ["w"]}
    problem = on_links(routes, jobs)
    longer, _, held = fitted(problem, cc.rank(problem), cc.rank)
    percents = percent_longer(problem, longer)
    assert percents == pytest.approx({"a": 8, "b": 8, "c": 0, "d": 0, "e": 10, "f": 10, "g": 0}, abs=1e-4)
    of = {one.jobs: one for one in held}
    assert of[("a", "b")].score == pytest.approx(1 - 4 / 216)
    assert of[("a", "b")].why_not is of[("c", "d")].why_not is None


def test_paces_that_cost_more_than_interleaving_wins_are_not_held() -> None:
    """Short bursts meet seldom: margins of 2 % are more than that."""
    natural = on_one_link([sends(name, 20, 200) for name in "ab"])
    paced = on_one_link([sends(name, 20, 204) for name in "ab"])
    (found,) = held_components(cc.rank(natural), natural, natural)
    assert found.why_not is None
    (found,) = held_components(cc.rank(paced), paced, natural)
    assert found.why_not == "its paces would cost more than interleaving wins"
    assert found.gain_ms["a"] == pytest.approx(2.0, abs=1e-5)


def test_whoever_is_to_be_held_anyway_is_at_the_paces_given() -> None:
    """To see what jobs are that hold each other up, they have to be parted, at whatever cost."""
    alone = on_one_link([sends(name, 110, 200) for name in "ab"])
    paced = on_one_link([sends(name, 110, 208) for name in "ab"])
    ranking = cc.rank(paced)
    assert [one.why_not is None for one in held_components(ranking, paced, alone)] == [False]
    assert [one.why_not is None for one in held_components(ranking, paced, alone, anyway={"b"})] == [True]
    assert fitted(paced, ranking, cc.rank, alone, anyway={"b"})[:2] == (paced, ranking)
    assert fitted(paced, ranking, cc.rank, alone, anyway={"c"})[:2] != (paced, ranking)


def test_where_no_time_is_left_to_rank_longer_paces_the_placement_stays() -> None:
    problem = on_one_link([sends(name, 110, 200) for name in "ab"])
    ranking = cc.rank(problem)
    assert fitted(problem, ranking, cc.rank)[0] != problem
    assert fitted(problem, ranking, lambda tried: cc.rank(tried, deadline_s=0.0))[:2] == (problem, ranking)
    calls = 0

    def late(tried: cc.Problem) -> cc.Ranking:
        nonlocal calls
        calls += 1
        return cc.rank(tried) if len(tried.links) < 2 else cc.rank(tried, loops="discard")

    # What is ranked in the end has a loop, and so no best placement; what is tried has not.
    jobs = [sends(name, 110, 200) for name in "ab"] + [sends(name, 20, 200) for name in "cd"]
    routes = {"a": ["x"], "b": ["x"], "c": ["y", "z"], "d": ["y", "z"]}
    looped = on_links(routes, jobs)
    ranking = cc.rank(looped)
    assert fitted(looped, ranking, late)[:2] == (looped, ranking)
    assert calls > 2


def test_a_link_where_a_held_job_meets_a_free_one_alone_frees_nobody() -> None:
    """No shift and no pace of the held ones changes what is lost there."""
    jobs = [sends("a", 40, 100), sends("b", 40, 100), cc.Job("f", 137.3, [cc.Phase(0, 60, 50)])]
    problem = on_links({"a": ["l"], "b": ["l", "m"], "f": ["m"]}, jobs)
    ranking = cc.rank(problem, period_tolerance=0.0)
    assert ranking.best is not None
    assert ranking.best.free_jobs == ("f",)
    (found,) = held_components(ranking, problem)
    assert (found.jobs, found.score, found.why_not) == (("a", "b"), 1.0, None)
