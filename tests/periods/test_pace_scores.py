"""Links that are scored ahead, by several threads: the same paces, and the same work counted, to the last node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core.deadline import Deadline, DeadlinePassed
from cassini_core.model import Candidate, Job, Link, Phase, Problem
from cassini_core.periods import cluster_pacing
from cassini_core.periods.cluster_pacing import pace_problem, paced_problem
from cassini_core.periods.pace_scores import PaceScores, Question
from cassini_core.periods.pace_work import PaceWork
from cassini_core.problem_file import load_problem
from strategies import loop_problems


def perturbed(problem: Problem, short: int) -> Problem:
    """Some iteration times up to half a percent shorter."""
    jobs = (
        Job(job.id, round(job.iteration_ms * (1 - short * (k % 3) / 30_000), 4), (Phase(0, 1, 50),) * bool(job.phases))
        for k, job in enumerate(problem.jobs)
    )
    return replace(problem, jobs=tuple(jobs))


@settings(max_examples=60)
@given(
    problem=loop_problems(max_candidates=3),
    short=st.integers(0, 150),
    most=st.integers(1, 3000),
    threads=st.integers(1, 3),
    together=st.integers(1, 40),
)
def test_to_look_ahead_changes_neither_paces_nor_the_work_that_is_counted(
    problem: Problem, short: int, most: int, threads: int, together: int
) -> None:
    problem = perturbed(problem, short)

    def paced(ahead: bool) -> tuple[tuple[Job, ...], int]:
        work = PaceWork(most)
        with ThreadPoolExecutor(threads) as pool, pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster_pacing, "LOOKED_AHEAD", together)
            scores = PaceScores(0.5, Deadline(None), work, None, pool if threads > 1 else None, threads)
            look_ahead = scores.look_ahead if ahead else None
            found = pace_problem(problem, 0.01, scores.score, scores.score, work=work, look_ahead=look_ahead)
        return found.jobs, work.left

    assert paced(ahead=True) == paced(ahead=False)


def two_jobs(gbps: float, n_links: int = 20) -> Problem:
    """Pairs of jobs whose iteration times almost agree."""
    jobs = [Job(f"j{k:02}", 100 + 0.3 * (k % 2), (Phase(0, 40, gbps),)) for k in range(2 * n_links)]
    links = [Link(f"l{k:02}", 50.0) for k in range(n_links)]
    routes = {job.id: {f"l{k // 2:02}": 1.0} for k, job in enumerate(jobs)}
    return Problem(tuple(jobs), tuple(links), (Candidate("c", routes),))


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_paces_do_not_depend_on_threads(threads: int) -> None:
    paced = paced_problem(two_jobs(50.0), 0.01, 0.5, Deadline(None), threads=threads)
    assert paced is not None
    assert {job.iteration_ms for job in paced.jobs} == {100.3}


def test_what_few_links_score_at_many_paces_is_asked_in_few_calls() -> None:
    """Each assignment touches a few links; what they score is found with what the next ones need."""
    problem = load_problem(Path(__file__).parents[2] / "examples" / "three-racks.json")
    scores = PaceScores(0.5, Deadline(None), PaceWork(), None, None, 1)
    asked = []

    def look_ahead(questions: Sequence[Question]) -> None:
        asked.append(len(questions))
        scores.look_ahead(questions)

    pace_problem(problem, 0.01, scores.score, scores.score, look_ahead=look_ahead)
    assert sum(asked) > 400
    assert max(asked) <= cluster_pacing.LOOKED_AHEAD
    assert len(asked) < 3 * sum(asked) / cluster_pacing.LOOKED_AHEAD


@given(problem=loop_problems(max_candidates=3), short=st.integers(0, 150), most=st.integers(10, 3000))
@settings(max_examples=30)
def test_hardly_more_is_scored_ahead_than_is_asked_for(problem: Problem, short: int, most: int) -> None:
    """Wherever the search ends: because nothing else can win, or because the work that is allowed is done."""
    scores = PaceScores(0.5, Deadline(None), PaceWork(), None, None, 1)
    ahead, asked = [0], [0]

    def look_ahead(questions: Sequence[Question]) -> None:
        ahead[0] += len(questions)
        scores.look_ahead(questions)

    def score(jobs: Sequence[Job], gbps: float, multipliers: Mapping[str, float] | None) -> float:
        asked[0] += 1
        return scores.score(jobs, gbps, multipliers)

    problem = perturbed(problem, short)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_pacing, "MAX_WORK", most)
        pace_problem(problem, 0.01, score, look_ahead=look_ahead)
    assert ahead[0] <= 2 * asked[0] + cluster_pacing.FIRST_AHEAD * len(problem.jobs)


def test_to_look_ahead_ends_with_the_deadline() -> None:
    problem = two_jobs(50.0, 4)
    scores = PaceScores(0.5, Deadline(0.0), PaceWork(), None, None, 1)
    with pytest.raises(DeadlinePassed):
        scores.look_ahead([(problem.jobs[:2], 50.0, None), (problem.jobs[2:4], 50.0, None)])
