"""pytest-benchmark entry points of the link solver, for comparing two commits on one machine.

``python -m pytest bench -o python_files='bench_*.py' --benchmark-enable``. Each benchmark is one pass over fixed links
whose answers are checked; divide by ``extra_info["links"]`` for the time of one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from bench.link import cases, engine
from bench.measuring import machine
from cassini_core import Job
from cassini_core.kernel.prepared_link import PreparedLink

from .verify import check_answer

FAMILIES: dict[str, Callable[[], list[cases.Case]]] = {
    "equal 2 jobs, 1 phase": partial(cases.equal, 2, 1, 4),
    "equal 2 jobs, 1-3 phases": partial(cases.equal, 2, 3, 4),
    "equal 3 jobs, 1 phase": partial(cases.equal, 3, 1, 4),
    "equal 3 jobs, 1-3 phases": partial(cases.equal, 3, 3, 4),
    "equal 4 jobs, 1 phase": partial(cases.equal, 4, 1, 4),
    "equal 4 jobs, 3 phases": partial(cases.equal, 4, 3, 2, exactly=True),
    "equal 5 jobs, 1 phase": partial(cases.equal, 5, 1, 4),
    "equal 5 jobs, 1-3 phases": partial(cases.equal, 5, 3, 1),
    "equal 6 jobs, 1 phase": partial(cases.equal, 6, 1, 2),
    "mixed 2 jobs": partial(cases.mixed, 2, 4),
    "mixed 3 jobs": partial(cases.mixed, 3, 4),
    "mixed 4 jobs": partial(cases.mixed, 4, 2),
    "measured": partial(cases.measured, 2),
    "harmonised": partial(cases.harmonised, 2),
    "GPT-like 2 jobs, 25 phases": partial(cases.many_phases, 2, 25, 3),
    "GPT-like 3 jobs, 6 phases": partial(cases.many_phases, 3, 6, 3),
    "periods 255/247/331": partial(cases.of_periods, (255, 247, 331), 3),
}


def _record(benchmark: Any, links: int) -> None:
    benchmark.extra_info.update(machine.about(), links=links)


@pytest.mark.parametrize("family", FAMILIES)
def test_solve(benchmark: Any, family: str) -> None:
    calls = [engine.PreparedCall(case) for case in FAMILIES[family]()]

    def solve_all() -> None:
        for call in calls:
            call()

    benchmark(solve_all)
    assert all(call.checked_answer().optimal for call in calls)
    _record(benchmark, len(calls))


def test_call_without_demand(benchmark: Any) -> None:
    answer = benchmark(PreparedLink.from_jobs([Job("idle", 255.0)], 50.0).solve)
    assert answer.score_lower == 1.0
    _record(benchmark, 1)


def test_solve_prepared_pair(benchmark: Any) -> None:
    case = cases.equal(2, 1, 1)[1]
    problem = engine.prepared(case)
    check_answer(case, problem, benchmark(problem.solve))
    _record(benchmark, 1)


def test_solve_pair_from_jobs(benchmark: Any) -> None:
    case = cases.equal(2, 1, 1)[1]
    solution = benchmark(engine.whole_call, case, None)
    assert solution.optimal
    _record(benchmark, 1)


@pytest.mark.parametrize("with_slack", [False, True])
@pytest.mark.parametrize("n_jobs", [2, 3, 5])
def test_evaluate(benchmark: Any, n_jobs: int, with_slack: bool) -> None:
    case = cases.equal(n_jobs, 3, 1)[1]
    problem = engine.prepared(case)
    answer = problem.solve()
    found = benchmark(problem.evaluate, answer.shift, with_slack=with_slack)
    assert found.score_lower == pytest.approx(answer.score_lower, abs=1e-9)
    _record(benchmark, 1)
