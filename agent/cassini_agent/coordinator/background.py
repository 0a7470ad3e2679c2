"""A coordinator in a thread of its own, for schedulers that have no event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..dispatch.http import HttpTransport
from ..dispatch.send import Endpoint
from . import events
from .coordinator import Coordinator
from .http import HttpDaemons
from .member import Member

if TYPE_CHECKING:
    from cassini_core import Job

__all__ = ["coordinating"]

log = logging.getLogger("cassini_agent")

STOP_S = 10.0
"""It ends within moments, unless ``tell`` does not return: perhaps it waits for the very thread that leaves the block.
"""


@contextmanager
def coordinating(
    members: Iterable[Member],
    endpoints: Mapping[str, Endpoint],
    tell: Callable[[events.Event], None],
    profiles: Mapping[str, Job] | None = None,
) -> Iterator[None]:
    """Keep one component together for as long as the block lasts.

    Parameters
    ----------
    members : iterable of Member
        Each with the schedule it was sent, and its host.
    endpoints : mapping of str to Endpoint
        By host.
    tell : callable
        Called with each event, in the coordinator's thread; with ``events.Stopped`` at once, if the coordinator ends
        before its time. While it runs nothing is decided.
    profiles : mapping of str to cassini_core.Job, optional
        See ``Component``.

    Raises
    ------
    Exception
        What ended the coordinator before its time, as soon as the block is left without an error of its own.
    """
    kept = list(members)
    loop = asyncio.new_event_loop()

    async def coordinate() -> None:
        async with HttpTransport(timeout_s=1.0) as http:
            coordinator = Coordinator(HttpDaemons(http, endpoints), tell)
            coordinator.keep(kept, profiles)
            await coordinator.run()

    task = loop.create_task(coordinate())
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
        except BaseException as error:  # handed to the waiting thread, which may wait for hours
            failed.append(error)
            log.exception("the coordinator has ended")
            with suppress(Exception):
                tell(events.Stopped(f"{type(error).__name__}: {error}"))
        finally:
            loop.close()

    thread = threading.Thread(target=run, name="cassini-coordinator", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(task.cancel)
        thread.join(STOP_S)
        if thread.is_alive():
            log.error("the coordinator has not ended within %g s: what it tells is not returned from", STOP_S)
    if failed:
        raise failed[0]
