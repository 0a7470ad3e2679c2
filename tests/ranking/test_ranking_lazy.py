"""Candidates that cannot win are not searched: what ``top`` and ``exhaustive`` promise."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core import Candidate, InputError, Job, Link, Phase, Problem, Ranking, rank
from cassini_core.problem_file import ranking_to_json
from cassini_core.ranking.best_first import FIRST_TOGETHER

N_JOBS = 7


def round_of(seed: int, n_candidates: int) -> Problem:
    """Jobs of one kind of period on few links: many candidates have loops, and bounds differ."""
    rng = random.Random(seed)
    jobs = [
        Job(f"j{k}", 100.0, [Phase(rng.randrange(100), rng.randrange(20, 70), rng.choice([10, 20, 40]))])
        for k in range(N_JOBS)
    ]
    links = [Link(f"l{k}", 50.0) for k in range(6)]
    candidates = [
        Candidate(f"c{place}", {job.id: [link.id for link in rng.sample(links, rng.randrange(1, 4))] for job in jobs})
        for place in range(n_candidates)
    ]
    return Problem(jobs, links, candidates)


def looked_at(ranking: Ranking) -> int:
    return sum(one.status != "bound_only" for one in ranking.candidates)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(17, 60), st.sampled_from(["per_job", "mean"]))
def test_the_first_k_are_those_of_an_exhaustive_ranking(seed: int, top: int, n_candidates: int, aggregate: str) -> None:
    problem = round_of(seed, n_candidates)
    lazy, full = rank(problem, top=top, aggregate=aggregate), rank(problem, exhaustive=True, aggregate=aggregate)
    assert all(one.score is not None for one in full.candidates)
    for ours, theirs in itertools.islice(zip(lazy.candidates, full.candidates, strict=True), top):
        assert ours.score == pytest.approx(theirs.score, abs=2e-9)
    by_id = {one.id: one for one in full.candidates}
    last = lazy.candidates[min(top, n_candidates) - 1].score
    assert last is not None
    for one in lazy.candidates:
        if one.status == "bound_only":
            assert one.score is None
            assert one.upper_bound <= last + 2e-9
            assert any("not searched" in line for line in one.warnings)
        else:
            assert one == by_id[one.id]
    assert not any("bound only" in line for line in lazy.warnings)
    assert lazy.best_proven >= full.best_proven


def test_many_candidates_that_cannot_win_are_not_searched() -> None:
    problem = round_of(3, 200)
    lazy = rank(problem)
    assert FIRST_TOGETHER <= looked_at(lazy) < 200
    assert looked_at(rank(problem, top=100)) > looked_at(lazy)
    assert looked_at(rank(problem, exhaustive=True)) == 200


@pytest.mark.parametrize("loops", ["merge", "discard"])
def test_without_joint_searches_all_are_looked_at(loops: str) -> None:
    """A placement that the paper discards must say so, however little it promises."""
    ranking = rank(round_of(3, 60), loops=loops)
    assert {one.status for one in ranking.candidates} <= {"tree", "consistent", "discarded", "alone"}


def test_which_are_looked_at_does_not_depend_on_threads() -> None:
    problem = round_of(5, 120)
    assert len({ranking_to_json(rank(problem, threads=threads)) for threads in (1, 2, 8)}) == 1


@pytest.mark.parametrize("top", [0, -1, 1.5, True, None, "2"])
def test_a_top_that_is_no_count_is_refused(top: Any) -> None:
    with pytest.raises(InputError, match="top: expected a whole number of at least 1, got"):
        rank(round_of(0, 2), top=top)


def test_exhaustive_is_a_yes_or_no() -> None:
    with pytest.raises(InputError, match="exhaustive: expected True or False, got 1"):
        rank(round_of(0, 2), exhaustive=1)  # type: ignore[arg-type]
