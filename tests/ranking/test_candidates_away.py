"""Candidates that an executor searches: the same bytes, whatever becomes of the executor."""

from __future__ import annotations

import os
import pickle
import signal
import threading
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
from cassini_core.joint.base_placement import BasePlacement
from cassini_core.joint.base_search import BaseSearch
from cassini_core.kernel import link_arrays
from fork_server import FORK_SERVER
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
    given = {
        "threads": 1,
        "exhaustive": True,
        "period_tolerance": 0.0,
        "node_limit": 100,
        "block_node_limit": 50,
    } | arguments
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
    return ProcessPoolExecutor(2, mp_context=FORK_SERVER, **options)


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


@pytest.mark.parametrize("error", [MemoryError(), ModuleNotFoundError("numba"), KernelError("of theirs"), TypeError()])
def test_what_only_workers_cannot_do_is_searched_here(
    problem: Problem, expected: bytes, error: Exception, searched_here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(search_away, "search_placements", fail)
    with ThreadPoolExecutor(1) as pool:
        assert ranked(problem, pool) == expected
    assert searched_here


def test_a_defect_that_workers_have_too_ends_the_ranking(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise KernelError("of ours")

    monkeypatch.setattr(BaseSearch, "near", fail)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KernelError, match="of ours"):
        ranked(problem, pool)


class OnlyLinks(Forgetful):
    """Solves links; it searches the first few parts of candidates, and forgets the others."""

    def __init__(self, parts: int = 0) -> None:
        super().__init__()
        self.parts = parts

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(fn)
        searches = fn is search_away.search_placements
        if not searches or self.parts > 0:
            answer = fn(*args, **kwargs)
            future.set_result(answer)
            self.parts -= searches and answer is not None  # a worker first says that it lacks the ground
        return future


@pytest.mark.parametrize("parts", [0, 3])
def test_an_error_here_does_not_wait_for_the_executor(
    problem: Problem, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it comes of a part that is back, or of a candidate that was never sent."""
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 60.0)

    def fail(*_: Any) -> Any:
        raise KernelError("of ours")

    if parts:
        monkeypatch.setattr(BasePlacement, "answer", fail)
    else:
        large = [True, False] * (len(problem.candidates) // 2)
        monkeypatch.setattr("cassini_core.ranking.rank_problem.large_placements", lambda *_: large)
        monkeypatch.setattr("cassini_core.ranking.candidate_search.answer_placement", fail)
    executor = OnlyLinks(parts)
    begin = time.monotonic()
    with pytest.raises(KernelError, match="of ours"):
        ranked(problem, executor)
    assert time.monotonic() - begin < 50.0
    left = [future for future in executor.futures if not future.done() or future.cancelled()]
    assert left
    assert all(future.cancelled() for future in left)


def test_near_a_deadline_less_is_waited_for(problem: Problem) -> None:
    """An executor that begins nothing costs a part of the time that is left."""
    ranking = rank(problem, executor=Forgetful(), threads=1, deadline_s=3.0, exhaustive=True, node_limit=100)
    assert sum(one.score is not None for one in ranking) > ROUND.candidates // 4


@pytest.mark.parametrize("deadline_s", [None, 1e6])
def test_workers_compile_nothing_where_there_is_a_deadline(
    problem: Problem, deadline_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: dict[bool, list[bool]] = {True: [], False: []}  # by whether a worker asked

    def keep(functions: Any, *, wait: bool = True) -> None:
        waited[threading.current_thread().name.startswith("worker")].append(wait)

    monkeypatch.setattr("cassini_core.joint.scoring.MANY_CROSSINGS", 1)
    monkeypatch.setattr("cassini_core.joint.scoring.FEW_CROSSINGS", 1)
    monkeypatch.setattr("cassini_core.joint.scoring.compiled", keep)
    with ThreadPoolExecutor(1, thread_name_prefix="worker") as pool:
        ranked(problem, pool, deadline_s=deadline_s)
    in_hurry = deadline_s is not None
    assert waited == {True: [not in_hurry], False: [not in_hurry]}


def test_a_deadline_does_not_wait_for_an_executor(problem: Problem) -> None:
    begin = time.monotonic()
    ranking = rank(problem, executor=OnlyLinks(), threads=1, deadline_s=1.0)
    assert time.monotonic() - begin < 10.0
    assert len(ranking) == ROUND.candidates
    assert all(one.score is not None or one.status == "bound_only" for one in ranking)
