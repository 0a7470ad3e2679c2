"""Rankings whose links an executor solves: the same bytes, whatever becomes of the executor."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placements
from cassini_core import InputError, KernelError, Problem, executor_runner
from cassini_core.deadline import DeadlinePassed
from cassini_core.kernel import link_arrays as link_batch
from cassini_core.kernel.search_limits import SearchLimits
from cassini_core.links import batch_solver as link_pool
from cassini_core.ranking.rank_problem import rank
from fork_server import FORK_SERVER
from interrupts import interrupted
from lossy_executors import (
    Failing,
    Forgetful,
    Gone,
    Refusing,
    count_chunks_solved_here,
    die_at_the_second_chunk,
    many_links,
    ranked,
)
from placements import mixed_scores, problem_of, up


@contextlib.contextmanager
def thread_pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """A pool that does not wait for what it still does when the block is left."""
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# The same bytes


@given(placements.rounds(), st.integers(1, 3), st.integers(1, 7), st.sampled_from(["joint", "merge", "discard"]))
@settings(max_examples=30)
def test_no_executor_and_no_chunking_changes_a_byte(problem: Problem, workers: int, size: int, loops: str) -> None:
    expected = ranked(problem, None, loops=loops)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(workers) as pool:
        patch.setattr(link_pool, "_chunk_size", lambda *_: size)
        assert ranked(problem, pool, loops=loops) == expected
        assert ranked(problem, None, loops=loops) == expected
        assert ranked(problem, pool, loops=loops, deadline_s=1e6) == expected


@pytest.mark.parametrize("context", [multiprocessing.get_context("spawn"), FORK_SERVER], ids=["spawn", "forkserver"])
def test_processes_answer_the_same(context: BaseContext) -> None:
    problem = many_links()
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert ranked(problem, pool) == ranked(problem, None)
        assert ranked(problem, pool, node_limit=3) == ranked(problem, None, node_limit=3)
        assert ranked(problem, pool, deadline_s=1e6) == ranked(problem, None)


def test_the_executor_is_sent_arrays_and_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, ...]] = []

    class Keeping(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            sent.append((fn, *args))
            return super().submit(fn, *args, **kwargs)

    solved_here = count_chunks_solved_here(monkeypatch)
    with Keeping(1) as pool:
        rank(many_links(200), executor=pool)
    assert not solved_here
    assert 64 <= len(sent) <= 100
    assert {fn for fn, *_ in sent} == {link_batch.solve_chunk}
    for _, chunk, limits, deadline_s in sent:
        assert isinstance(chunk, link_batch.LinkArrays)
        assert isinstance(limits, SearchLimits)
        assert deadline_s is None


# An executor that loses what it was given


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="sends SIGKILL")
@pytest.mark.parametrize("deadline_s", [None, 1e6])
def test_a_worker_killed_in_mid_run_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline_s: float | None
) -> None:
    problem, token = many_links(), tmp_path / "killed"
    expected = ranked(problem, None)
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 60.0)  # however long the workers take to start
    solved_here = count_chunks_solved_here(monkeypatch)
    with ProcessPoolExecutor(
        2,
        mp_context=FORK_SERVER,
        initializer=die_at_the_second_chunk,
        initargs=(str(token),),
    ) as pool:
        assert ranked(problem, pool, deadline_s=deadline_s) == expected
        assert token.exists()
        with pytest.raises(BrokenExecutor):
            pool.submit(int)
        n_chunks = len(solved_here)
        assert n_chunks > 0
        assert ranked(problem, pool, deadline_s=deadline_s) == expected  # a broken pool is of no use, and no harm
        assert len(solved_here) > n_chunks


def test_an_executor_that_was_shut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    solved_here = count_chunks_solved_here(monkeypatch)
    assert ranked(many_links(), pool) == ranked(many_links(), None)
    assert solved_here


@pytest.mark.parametrize("error", [RuntimeError("cannot schedule"), BrokenExecutor(), ConnectionError(), Gone()])
@pytest.mark.parametrize("after", [0, 5])
def test_an_executor_that_takes_no_more(error: Exception, after: int) -> None:
    assert ranked(many_links(), Refusing(error, after)) == ranked(many_links(), None)


def test_futures_that_others_cancel() -> None:
    class Canceling(Forgetful):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn)
            threading.Timer(0.001 * len(self.futures), future.cancel).start()
            return future

    executor = Canceling()
    assert ranked(many_links(), executor) == ranked(many_links(), None)
    assert executor.futures
    assert all(future.cancelled() for future in executor.futures)


@pytest.mark.parametrize(
    "error",
    [BrokenExecutor(), ConnectionResetError(), BrokenPipeError(), EOFError(), TimeoutError(), Gone(), SystemExit(3)],
)
def test_chunks_that_the_executor_loses(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ranked(many_links(), None)
    solved_here = count_chunks_solved_here(monkeypatch)
    executor = Failing(error)
    assert ranked(many_links(), executor) == expected
    assert len(solved_here) == (executor.count + 1) // 2


WORKERS_OWN = [MemoryError(), ImportError("package"), KernelError("of an older version"), TypeError(), DeadlinePassed()]


@pytest.mark.parametrize("error", WORKERS_OWN)
def test_an_error_that_only_workers_have_loses_nothing(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = ranked(many_links(), None)
    solved_here = count_chunks_solved_here(monkeypatch)
    executor = Failing(error)
    with caplog.at_level("DEBUG", "cassini_core"):
        assert ranked(many_links(), executor) == expected
    assert len(solved_here) == (executor.count + 1) // 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # of all that is lost the first is told
    assert type(error).__name__ in caplog.text


@pytest.mark.parametrize("error", [TypeError("cannot pickle"), NotImplementedError(), MemoryError()])
def test_an_executor_that_cannot_send_loses_nothing(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    assert ranked(many_links(), Refusing(error, 3)) == ranked(many_links(), None)
    assert type(error).__name__ in caplog.text


@pytest.mark.parametrize("error", [KernelError("defect"), InputError("range"), MemoryError()])
def test_an_error_that_the_calling_process_has_too_is_raised(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(link_pool, "_solve", fail)
    with pytest.raises(type(error)):
        ranked(many_links(), Failing(error))


def test_an_error_here_is_no_loss_of_the_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one of making what is sent."""

    def fail(*_: Any) -> Any:
        raise TypeError("of ours")

    monkeypatch.setattr(link_pool.BatchSolver, "_away", fail)
    with thread_pool(1) as pool, pytest.raises(TypeError, match="of ours"):
        ranked(many_links(), pool)


# An executor that is slow, or silent


def test_an_executor_that_never_begins_is_not_waited_for_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 0.05)
    executor = Forgetful()
    assert ranked(many_links(), executor) == ranked(many_links(), None)
    assert all(future.cancelled() for future in executor.futures)


def test_a_ranking_may_run_in_the_only_thread_of_its_own_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 0.05)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ranked, many_links(), pool).result(timeout=60) == ranked(many_links(), None)


def test_what_has_begun_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 0.01)

    class Slow(ThreadPoolExecutor):
        futures: list[Future[Any]]

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            def slowly() -> Any:
                time.sleep(0.3)
                return fn(*args, **kwargs)

            self.futures.append(super().submit(slowly))
            return self.futures[-1]

    expected = ranked(many_links(), None)
    solved_here = count_chunks_solved_here(monkeypatch)
    with Slow(1) as pool:
        pool.futures = []
        assert ranked(many_links(), pool) == expected
        taken_back = [future for future in pool.futures if future.cancelled()]
    assert len(solved_here) == len(taken_back) < len(pool.futures)


@pytest.mark.parametrize("canceling_takes_s", [0.0, 120.0])
def test_a_deadline_is_kept_whatever_the_executor_does(
    canceling_takes_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_SHARE", 1.0)
    released = threading.Event()

    class Stuck(Future[Any]):
        def cancel(self) -> bool:
            released.wait(canceling_takes_s)
            return super().cancel()

    class Silent(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return Stuck()

    problem = many_links()
    start = time.monotonic()
    ranking = rank(problem, executor=Silent(), deadline_s=0.3, period_tolerance=0.0)
    took = time.monotonic() - start
    released.set()
    assert 0.2 <= took < 60.0  # a busy machine may take seconds; the executor would take 120 s, or never answer
    assert all(one.status == "bound_only" for one in ranking.candidates)
    assert any("not reached before the deadline" in line for line in ranking.warnings)
    full = {one.id: one for one in rank(problem, period_tolerance=0.0).candidates}
    for one in ranking.candidates:
        assert one.upper_bound >= full[one.id].upper_bound - 1e-9


def test_what_came_back_before_the_deadline_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_SHARE", 1.0)

    class Half(Forgetful):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn)
            if len(self.futures) % 2:
                future.set_result(fn(*args, **kwargs))
            return future

    executor = Half()
    ranking = rank(many_links(), executor=executor, deadline_s=1.0, period_tolerance=0.0)
    handed = len(executor.futures)  # all, if the machine is not too busy
    said = re.search(r"(\d+) of (\d+) link problems were not reached before the deadline", "".join(ranking.warnings))
    assert said is not None
    lost, n_links = map(int, said.groups())
    assert 2 <= handed <= n_links
    assert n_links - lost == (handed + 1) // 2
    kept = [one.upper_bound for candidate in ranking.candidates for one in candidate.links]
    assert len(set(kept)) > 1


def test_the_executor_is_told_how_long_it_has() -> None:
    handed: list[float] = []

    class Asking(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            handed.append(args[2])
            return super().submit(fn, *args, **kwargs)

    with Asking(1) as pool:
        rank(many_links(), executor=pool, deadline_s=30.0)
    assert handed
    assert all(20.0 < seconds < 30.0 for seconds in handed)


def test_no_time_at_all() -> None:
    executor = Forgetful()
    assert ranked(mixed_scores(), executor, deadline_s=0.0) == ranked(mixed_scores(), None, deadline_s=0.0)
    assert not executor.futures


# The calling thread


def test_an_error_in_progress_cancels_what_has_not_begun() -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    class FirstOnly(Forgetful):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn)
            if len(self.futures) == 1:
                future.set_result(fn(*args, **kwargs))
            return future

    executor = FirstOnly()
    with pytest.raises(Stop):
        rank(many_links(), executor=executor, progress=stop)
    assert len(executor.futures) > 1
    assert all(future.cancelled() for future in executor.futures[1:])


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.unsanitized(reason="the signal comes before any link is handed to the executor")
def test_ctrl_c_cancels_what_the_executor_has_not_begun() -> None:
    script = """
        from lossy_executors import Forgetful, many_links, rank
        executor = Forgetful()
        print("ready", flush=True)
        try:
            rank(many_links(), executor=executor)
        except KeyboardInterrupt:
            print("interrupted", all(future.cancelled() for future in executor.futures), len(executor.futures) > 0)
        """
    rest, _ = interrupted(script)
    assert rest == "interrupted True True\n"


def test_progress_is_that_of_all_links() -> None:
    calls: list[tuple[int, int]] = []
    with thread_pool(2) as pool:
        rank(mixed_scores(), executor=pool, progress=lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert {total for _, total in calls} == {len(calls)}


@pytest.mark.parametrize("executor", [2, "threads", ThreadPoolExecutor, object()])
def test_something_else_than_an_executor(executor: Any) -> None:
    with pytest.raises(InputError, match=r"executor: expected None or a concurrent\.futures\.Executor, got"):
        rank(problem_of([up("a", 100, 0, 50, 50)], {"x": 50}, c={"a": ["x"]}), executor=executor)
