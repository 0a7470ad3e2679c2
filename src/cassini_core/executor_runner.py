"""Has the parts of some work done: by threads of this process, or by an executor.

What an executor loses is done here: its workers may be killed, it may be shut down, cancel what it was given, or never
begin.

Whatever an executor raises, when a part is handed over or in a worker, is a loss too, of whatever kind it is: a worker
may lack memory, a module or this version of the package, and no list of exceptions tells that from a defect. Doing the
part here does: what is wrong with the part or with this package is raised here again, and then ends the run. What only
a worker has ends nothing, and is told to the log ``cassini_core.executor_runner``.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .deadline import PATIENCE_SHARE, RETURN_S, RETURN_SHARE, Deadline

__all__ = ["ExecutorRunner"]

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # nothing is written where the host does not ask for it

PATIENCE_S = 5.0
"""After so many seconds without an answer from an executor, parts that it has not begun are taken back: one for each
thread here that has nothing to do."""

_CANCEL_S = 0.02
_LONGEST_WAIT_S = 3600.0


Part = TypeVar("Part")
Answer = TypeVar("Answer")

Take = Callable[[Part, Answer | None], Future[Any] | None]
"""Gets a part and its answer, None where the deadline came first. It may begin more work in threads of this process,
and return its future."""


class ExecutorRunner(Generic[Part, Answer]):
    """Runs parts until all have an answer or the deadline has come.

    An executor is trusted to end what it has begun: without a deadline the runner waits for it, however long it takes.

    Parameters
    ----------
    pool : ThreadPoolExecutor
        Threads of this process.
    threads : int
        How many.
    deadline : Deadline
    here : callable
        ``here(part)``, called in ``pool``: the answer, or None where the deadline came first.
    away : callable
        ``away(part, seconds, again)``: a function and its arguments for the executor, which has so many seconds, None
        for any number. Where the function returns None it lacks something, and is sent once more, with ``again`` True.
    executor : Executor, optional
        Where parts go first.
    """

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        threads: int,
        deadline: Deadline,
        here: Callable[[Part], Answer | None],
        away: Callable[[Part, float | None, bool], tuple[Callable[..., Answer | None], Any]],
        executor: Executor | None = None,
    ) -> None:
        self._pool = pool
        self._threads = threads
        self._deadline = deadline
        self._do_here = here
        self._for_executor = away
        self._executor = executor
        self._accepts = executor is not None
        self._is_silent = False
        self._has_lost = False
        self._finished: SimpleQueue[Future[Any]] = SimpleQueue()
        self._here: dict[Future[Answer | None], Part] = {}
        self._away: dict[Future[Answer | None], Part] = {}
        self._begun: set[Future[Answer | None]] = set()  # away, and cannot be taken back
        self._beside: set[Future[Any]] = set()  # other work in threads of this process
        self._patient_until = 0.0

    def run(self, parts: Iterable[Part], take: Take[Part, Answer], beside: Iterable[Future[Any]] = ()) -> None:
        """Have ``parts`` done; ``take`` is called in the calling thread as each comes back, in any order.

        Work ``beside`` them, in threads of this process, and what ``take`` begins is waited for as well.

        Raises
        ------
        Exception
            The first of a part that cannot be done, or of other work. What an executor has not begun is then canceled.
        """
        try:
            for future in beside:
                self._await_too(future)
            for part in parts:
                self._send(part)
            self._be_patient()
            while self._here or self._away or self._beside:
                self._await_one(take)
        finally:
            self._forget()

    def _send(self, part: Part, again: bool = False) -> None:
        if self._executor is None or not self._accepts or self._is_silent or self._deadline.passed():
            self._send_here(part)
            return
        function, *arguments = self._for_executor(part, self._handed_s(), again)
        try:
            future = self._executor.submit(function, *arguments)
        except Exception as error:
            self._note_loss(error)
            self._accepts = False
            self._send_here(part)
        else:
            self._away[future] = part
            future.add_done_callback(self._finished.put)

    def _handed_s(self) -> float | None:
        remaining_s = self._deadline.remaining_s()
        return None if remaining_s is None else remaining_s - min(RETURN_S, RETURN_SHARE * remaining_s)

    def _send_here(self, part: Part) -> None:
        future = self._pool.submit(self._do_here, part)
        self._here[future] = part
        future.add_done_callback(self._finished.put)

    def _await_too(self, future: Future[Any]) -> None:
        self._beside.add(future)
        future.add_done_callback(self._finished.put)

    def _take(self, part: Part, answer: Answer | None, take: Take[Part, Answer]) -> None:
        after = take(part, answer)
        if after is not None:
            self._await_too(after)

    def _await_one(self, take: Take[Part, Answer]) -> None:
        try:
            future = self._finished.get(timeout=self._longest_wait_s())
        except Empty:
            if self._deadline.passed():
                for part in self._away.values():
                    self._take(part, None, take)
                self._forget()
            elif self._is_quiet():
                self._take_back()
            return
        if future in self._here:
            part = self._here.pop(future)
            self._take(part, future.result(), take)
        elif future in self._beside:
            self._beside.remove(future)
            future.result()
        elif future in self._away:
            self._be_patient()
            self._begun.discard(future)
            self._receive(future, self._away.pop(future), take)

    def _receive(self, future: Future[Answer | None], part: Part, take: Take[Part, Answer]) -> None:
        error = CancelledError() if future.cancelled() else future.exception()
        if error is not None:
            self._note_loss(error)
            self._send_here(part)
        elif (answer := future.result()) is not None:
            self._take(part, answer, take)
        else:
            self._send(part, again=True)

    def _note_loss(self, error: BaseException) -> None:
        """Tells the first of what may be very many."""
        if not self._has_lost:
            self._has_lost = True
            _log.warning("an executor lost what is done here instead, for the first time", exc_info=error)

    # An executor that is silent

    def _longest_wait_s(self) -> float | None:
        """Seconds until the runner must act though nothing came back; None to wait for what is done here."""
        if not self._away:
            return None
        waits = [_LONGEST_WAIT_S, self._deadline.remaining_s()]
        if self._can_take_back():
            waits.append(max(0.0, self._patient_until - time.monotonic()))
        return min(wait for wait in waits if wait is not None)

    def _be_patient(self) -> None:
        """Wait for the next answer of the executor, but not until there is no time left to do without."""
        remaining_s = self._deadline.remaining_s()
        patience_s = PATIENCE_S if remaining_s is None else min(PATIENCE_S, PATIENCE_SHARE * remaining_s)
        self._patient_until = time.monotonic() + patience_s
        self._is_silent = False

    def _is_quiet(self) -> bool:
        return self._can_take_back() and time.monotonic() >= self._patient_until

    def _can_take_back(self) -> bool:
        return len(self._here) + len(self._beside) < self._threads and len(self._begun) < len(self._away)

    def _take_back(self) -> None:
        """Take one part back, of those that the executor will begin last."""
        self._is_silent = True
        future = next(future for future in reversed(self._away) if future not in self._begun)
        _cancel([future])
        if future.cancelled():
            self._send_here(self._away.pop(future))
        else:
            self._begun.add(future)

    def _forget(self) -> None:
        away = list(self._away)
        self._away.clear()
        self._begun.clear()
        if away:
            _cancel(away)


def _cancel(futures: Collection[Future[Any]]) -> None:
    """Cancel what has not begun, in a thread: some executors ask another machine, which may never answer."""

    def cancel() -> None:
        for future in futures:
            with contextlib.suppress(Exception):  # of an executor that is gone
                future.cancel()

    thread = threading.Thread(target=cancel, name="cassini-cancel", daemon=True)
    thread.start()
    thread.join(_CANCEL_S)
