"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["EventLoopThread"]

log = logging.getLogger("cassini_agent")

STOP_S = 10.0
"""It ends within moments, unless a callback does not return: perhaps it waits for the thread that leaves the block."""

Result = TypeVar("Result")


class EventLoopThread:
    """Runs one coroutine for as long as a block lasts.

    Parameters
    ----------
    main : callable
        Makes the coroutine, which goes on until it is cancelled.
    name : str
        Of the thread.
    ended : callable
        Called in the thread, at once, with what ended the coroutine before its time. What it raises is passed over.

    Raises
    ------
    Exception
        That, when the block is left without an error of its own.
    """

    def __init__(
        self, main: Callable[[], Coroutine[Any, Any, None]], name: str, ended: Callable[[BaseException], None]
    ) -> None:
        self._main = main
        self._ended = ended
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> EventLoopThread:
        self._task = self._loop.create_task(self._main())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            with suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(STOP_S)
        if self._thread.is_alive():
            log.error("%s has not ended within %g s: a callback does not return", self._thread.name, STOP_S)
        if error is None:
            self.check()

    def check(self) -> None:
        """Raise what ended the coroutine before its time."""
        if self._failure is not None:
            raise self._failure

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run another coroutine in the loop, and wait for it.

        Raises
        ------
        RuntimeError
            The loop does not run.
        """
        if self._task is None or self._loop.is_closed():
            work.close()
            raise RuntimeError("expected to be used within its block")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _run(self) -> None:
        assert self._task is not None
        try:
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._task)
        except BaseException as error:  # handed to the caller, who may not ask for hours
            self._failure = error
            with suppress(Exception):
                self._ended(error)
        finally:
            self._loop.close()
