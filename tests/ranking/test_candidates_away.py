"""Candidates that an executor searches: the same bytes, whatever becomes of the executor."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.ranking.rounds import Settings, generate

from cassini_core import KernelError, Problem, executor_runner, rank
from cassini_core.joint import search_away
from cassini_core.joint.base_search import BaseSearch
from cassini_core.kernel import link_arrays
from lossy_executors import Failing, Forgetful, Gone, Refusing, die_at_the_third_part

ROUND = Settings(racks=20, gpus_per_rack=32, uplinks=3, jobs=150, candidates=24, moves=3)
"""Some 90 shared links: placements are large."""


@pytest.fixture(scope="module")
def problem() -> Problem:
    return generate(ROUND)


@pytest.fixture(scope="module")
def expected(problem: Problem) -> bytes:
    return ranked(problem, None)


def ranked(problem: Problem, executor: Executor | None, **arguments: Any) -> bytes:
    given = {"threads": 1, "exhaustive": True, "period_tolerance": 0.0, "node_limit": 100} | arguments
    return rank(problem, executor=executor, **given).to_json()


@pytest.fixture
def searched_here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Filled with the searches of this process."""
    seen: list[int] = []
    near = BaseSearch.near

    def count(self: BaseSearch, *arguments: Any) -> Any:
        seen.append(os.getpid())
        return near(self, *arguments)

    monkeypatch.setattr(BaseSearch, "near", count)
    return seen


def processes(**options: Any) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"), **options)


def test_processes_answer_the_same(
    problem: Problem, expected: bytes, searched_here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 60.0)
    options: list[dict[str, Any]] = [
        {"threads": 2},
        {"block_node_limit": 20, "exhaustive": False},
        {"aggregate": "mean", "deadline_s": 1e6},
    ]
    answers = [ranked(problem, None, **one) for one in options]
    searched_here.clear()
    with processes() as pool:
        assert ranked(problem, pool) == expected
        assert [ranked(problem, pool, **one) for one in options] == answers
    assert not searched_here


def test_what_is_limited_together_does_not_depend_on_who_evaluates(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluations that workers made count as if they were made here, once."""
    monkeypatch.setattr("cassini_core.ranking.rank_problem.all_candidates_limit", lambda *_: 3_000)
    some: dict[str, Any] = {"exhaustive": False, "top": ROUND.candidates}
    without = ranked(problem, None, **some)
    assert b"took all search nodes" in without
    with ThreadPoolExecutor(3) as pool:
        assert ranked(problem, pool, **some) == without


def test_the_ground_is_sent_to_each_worker_once_and_no_names(problem: Problem, expected: bytes) -> None:
    sent: list[tuple[Any, ...]] = []

    class Keeping(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            sent.append((fn, *args))
            return super().submit(fn, *args, **kwargs)

    with Keeping(1) as pool:
        assert ranked(problem, pool) == expected
    grounds = [ground for fn, _, ground, *_ in sent if fn is search_away.search_placements and ground is not None]
    assert 1 <= len(grounds) <= 5  # this worker gets another part before it has answered the first
    assert b"job0" not in grounds[0]
    assert b"rack" not in grounds[0]
    for fn, *arguments in sent:
        if fn is not search_away.search_placements:
            assert fn is link_arrays.solve_chunk
            continue
        _, _, questions, _, _ = arguments
        assert all(isinstance(array, np.ndarray) for question in questions for array in question)
        assert len(pickle.dumps(questions)) < 4000 * len(questions)
    assert len(search_away._kept) <= search_away.KEPT


# An executor that loses what it was given


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="sends SIGKILL")
def test_a_worker_killed_in_mid_run_loses_nothing(
    problem: Problem, expected: bytes, tmp_path: Path, searched_here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 60.0)
    token = tmp_path / "killed"
    with processes(initializer=die_at_the_third_part, initargs=(str(token),)) as pool:
        assert ranked(problem, pool) == expected
        assert token.exists()
        with pytest.raises(BrokenExecutor):
            pool.submit(int)
        assert searched_here
        assert ranked(problem, pool) == expected  # a broken pool is of no use, and no harm


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: Failing(BrokenExecutor()), id="broken"),
        pytest.param(lambda: Failing(Gone()), id="of its package"),
        pytest.param(lambda: Failing(KeyboardInterrupt()), id="interrupted"),
        pytest.param(lambda: Refusing(RuntimeError("shut down"), 70), id="shut down"),
        pytest.param(Forgetful, id="silent"),
    ],
)
def test_what_an_executor_loses_is_searched_here(
    problem: Problem,
    expected: bytes,
    made: Callable[[], Executor],
    searched_here: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 0.05)
    begin = time.monotonic()
    assert ranked(problem, made()) == expected
    assert time.monotonic() - begin < 20.0
    assert searched_here


def test_a_defect_in_a_worker_ends_the_ranking(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise KernelError("of ours")

    monkeypatch.setattr(search_away, "search_placements", fail)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KernelError, match="of ours"):
        ranked(problem, pool)


def test_a_deadline_does_not_wait_for_an_executor(problem: Problem) -> None:
    class OnlyLinks(Forgetful):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn, *args, **kwargs)
            if fn is link_arrays.solve_chunk:
                future.set_result(fn(*args, **kwargs))
            return future

    begin = time.monotonic()
    ranking = rank(problem, executor=OnlyLinks(), threads=1, deadline_s=1.0)
    assert time.monotonic() - begin < 10.0
    assert len(ranking) == ROUND.candidates
    assert all(one.score is not None or one.status == "bound_only" for one in ranking)
