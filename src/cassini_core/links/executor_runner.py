"""Has chunks of link problems solved: by threads of this process, which use the prepared links, or by an executor.

An executor gets the arrays of the links. What it loses is solved here: its workers may be killed, it may be shut down,
cancel what it was given, or never begin. Only errors of the solver itself end the run.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from ..arrays import Int64Array
from ..deadline import RETURN_S, RETURN_SHARE, Deadline
from ..kernel.link_arrays import LinkAnswers, solve_chunk
from ..kernel.prepared_links import PreparedLinks
from ..kernel.search_limits import SearchLimits

__all__ = ["Chunk", "ChunkRunner"]

PATIENCE_S = 5.0
"""After so many seconds without an answer from an executor, chunks that it has not begun are taken back: one for each
thread here."""

_CANCEL_S = 0.02
_LONGEST_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Links that are solved in one call, by their numbers, ascending; ``limits`` are those of each."""

    links: Int64Array
    limits: SearchLimits


Take = Callable[[Chunk, LinkAnswers | None], None]
"""Gets a chunk and its answers; None where the deadline came first."""


class ChunkRunner:
    """Runs chunks until all have an answer or the deadline has come.

    An executor is trusted to end what it has begun: without a deadline the runner waits for it, however long it takes.

    Parameters
    ----------
    links : PreparedLinks
        Its ``cancel`` ends searches in ``pool``.
    pool : ThreadPoolExecutor
        Threads of this process.
    threads : int
        How many.
    deadline : Deadline
    executor : Executor, optional
        Where chunks go first.
    """

    def __init__(
        self,
        links: PreparedLinks,
        pool: ThreadPoolExecutor,
        threads: int,
        deadline: Deadline,
        executor: Executor | None = None,
    ) -> None:
        self._links = links
        self._pool = pool
        self._threads = threads
        self._deadline = deadline
        self._executor = executor
        self._accepts = executor is not None
        self._finished: SimpleQueue[Future[Any]] = SimpleQueue()
        self._here: dict[Future[LinkAnswers | None], Chunk] = {}
        self._away: dict[Future[LinkAnswers], Chunk] = {}
        self._begun: set[Future[LinkAnswers]] = set()  # away, and cannot be taken back
        self._heard = 0.0

    def run(self, chunks: Iterable[Chunk], take: Take) -> None:
        """Solve ``chunks``; ``take`` is called in the calling thread as each comes back, in any order.

        Raises
        ------
        InputError, KernelError
            Of the first chunk that cannot be solved, and whatever else it raised. What an executor has not begun is
            then canceled, as on any exception.
        """
        try:
            for chunk in chunks:
                self._send(chunk)
            self._heard = time.monotonic()
            while self._here or self._away:
                self._await_one(take)
        finally:
            self._forget()

    def _send(self, chunk: Chunk) -> None:
        if self._executor is None or not self._accepts or self._deadline.passed():
            self._solve_here(chunk)
            return
        try:
            arrays = self._links.arrays.part(chunk.links)
            future = self._executor.submit(solve_chunk, arrays, chunk.limits, self._handed_s())
        except Exception as error:
            # A plain RuntimeError is what executors raise that were shut down, or have no threads to begin with.
            if type(error) is not RuntimeError and not _is_loss(error, self._executor):
                raise
            self._accepts = False
            self._solve_here(chunk)
        else:
            self._away[future] = chunk
            future.add_done_callback(self._finished.put)

    def _handed_s(self) -> float | None:
        remaining_s = self._deadline.remaining_s()
        return None if remaining_s is None else remaining_s - min(RETURN_S, RETURN_SHARE * remaining_s)

    def _solve_here(self, chunk: Chunk) -> None:
        future = self._pool.submit(_solve, chunk, self._links, self._deadline)
        self._here[future] = chunk
        future.add_done_callback(self._finished.put)

    def _await_one(self, take: Take) -> None:
        try:
            future = self._finished.get(timeout=self._longest_wait_s())
        except Empty:
            if self._deadline.passed():
                for away in self._away.values():
                    take(away, None)
                self._forget()
            elif self._is_quiet():
                self._take_back()
            return
        if future in self._here:
            chunk = self._here.pop(future)
            take(chunk, future.result())
        elif future in self._away:
            self._heard = time.monotonic()
            self._begun.discard(future)
            self._receive(future, self._away.pop(future), take)

    def _receive(self, future: Future[LinkAnswers], chunk: Chunk, take: Take) -> None:
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            take(chunk, future.result())
        elif _is_loss(error, self._executor):
            self._solve_here(chunk)
        else:
            raise error

    # An executor that is silent

    def _longest_wait_s(self) -> float | None:
        """Seconds until the runner must act though nothing came back; None to wait for what is solved here."""
        if not self._away:
            return None
        waits = [_LONGEST_WAIT_S, self._deadline.remaining_s()]
        if self._can_take_back():
            waits.append(max(0.0, self._heard + PATIENCE_S - time.monotonic()))
        return min(wait for wait in waits if wait is not None)

    def _is_quiet(self) -> bool:
        return self._can_take_back() and time.monotonic() >= self._heard + PATIENCE_S

    def _can_take_back(self) -> bool:
        return len(self._here) < self._threads and len(self._begun) < len(self._away)

    def _take_back(self) -> None:
        """Take one chunk back, of those that the executor will begin last."""
        future = next(future for future in reversed(self._away) if future not in self._begun)
        _cancel([future])
        if future.cancelled():
            self._solve_here(self._away.pop(future))
        else:
            self._begun.add(future)

    def _forget(self) -> None:
        away = list(self._away)
        self._away.clear()
        self._begun.clear()
        if away:
            _cancel(away)


def _solve(chunk: Chunk, links: PreparedLinks, deadline: Deadline) -> LinkAnswers | None:
    """Solve a chunk in a thread of this process; None if the deadline came first."""
    if deadline.passed():
        return None
    limits = chunk.limits
    return links.solve(chunk.links, limits.node_limit, with_slack=limits.with_slack, deadline=deadline)


def _cancel(futures: Collection[Future[Any]]) -> None:
    """Cancel what has not begun, in a thread: some executors ask another machine, which may never answer."""

    def cancel() -> None:
        for future in futures:
            with contextlib.suppress(Exception):  # of an executor that is gone
                future.cancel()

    thread = threading.Thread(target=cancel, name="cassini-cancel", daemon=True)
    thread.start()
    thread.join(_CANCEL_S)


def _is_loss(error: BaseException, executor: Executor | None) -> bool:
    """Whether the executor failed, not what it was given.

    Executors fail with the standard library's errors, with errors of their own package (if workers were killed too
    often, for example), and with what ends a worker but is no error, such as Ctrl-C.
    """
    if isinstance(error, (BrokenExecutor, CancelledError, OSError, EOFError)) or not isinstance(error, Exception):
        return True
    return executor is not None and _package(error) == _package(executor)


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]
