"""Any bytes, as a problem, answer, link or job file: read, or refused by one line; what was read is ranked, written."""

from __future__ import annotations

import math
from pathlib import Path

from cassini_core import CassiniError, InputError, rank, solve_link
from cassini_core.model import Problem
from cassini_core.plots.placed_links import placed_links
from cassini_core.problem_file import (
    answer_from_json,
    answer_to_json,
    job_to_json,
    link_solution_to_json,
    load_job,
    load_link,
    problem_from_json,
    problem_to_json,
    ranking_to_json,
)

_FEW_NODES = 20
_MOST_ROUTES = 400
_MOST_PHASES = 400


def run(data: bytes, scratch: Path) -> None:
    """One input; ``scratch`` is a folder for the file. Anything but a refusal that comes out is a finding."""
    path = scratch / "input.json"
    path.write_bytes(data)
    for check in (_problem, _answer, _link, _job):
        try:
            check(data, path)
        except CassiniError as error:
            _check_refusal(error)


def _check_refusal(error: CassiniError) -> None:
    text = str(error)
    if not text or "\n" in text or not text.isprintable():
        raise AssertionError(f"expected one printable line, got {text!r}") from error


def _problem(data: bytes, path: Path) -> None:
    problem = problem_from_json(data, path.name)
    written = problem_to_json(problem)
    again = problem_from_json(written)
    assert again == problem
    assert problem_to_json(again) == written
    assert problem_from_json(problem_to_json(problem, differences=True)) == problem
    if _is_small(problem):
        _rank(problem)


def _answer(data: bytes, path: Path) -> None:
    ranking, problem = answer_from_json(data, path.name)
    assert answer_from_json(ranking.to_json()) == (ranking, None)
    if problem is None:
        return
    assert answer_from_json(answer_to_json(ranking, problem)) == (ranking, problem)
    for candidate in ranking.candidates:
        placed_links(problem, ranking, candidate)


def _is_small(problem: Problem) -> bool:
    phases = sum(len(job.phases) for job in problem.jobs)
    routes = sum(len(route) for candidate in problem.candidates for route in candidate.routes.values())
    return phases <= _MOST_PHASES and routes <= _MOST_ROUTES and len(problem.candidates) <= 8


def _rank(problem: Problem) -> None:
    ranking = rank(problem, threads=1, node_limit=_FEW_NODES, block_node_limit=_FEW_NODES)
    ranking_to_json(ranking)
    for candidate in ranking.candidates:
        assert candidate.score is None or candidate.score <= candidate.upper_bound + 1e-9 * max(
            1.0, abs(candidate.score)
        )
        for job, shift_ms in candidate.shifts_ms.items():
            assert shift_ms >= 0.0
            assert shift_ms <= ranking.paces_ms.get(job, math.inf)


def _link(_data: bytes, path: Path) -> None:
    jobs, capacity_gbps = load_link(path)
    if sum(len(job.phases) for job in jobs) > _MOST_PHASES or len(jobs) > 40:
        return
    solution = solve_link(jobs, capacity_gbps, node_limit=_FEW_NODES)
    link_solution_to_json(solution)
    assert solution.score <= solution.upper_bound + 1e-9 * max(1.0, abs(solution.score))


def _job(_data: bytes, path: Path) -> None:
    job = load_job(path)
    written = job_to_json(job, {"from": "elsewhere"})
    path.write_bytes(written)
    try:
        again = load_job(path)
    except InputError as error:
        raise AssertionError(f"written, then refused: {error}") from error
    assert again == job
