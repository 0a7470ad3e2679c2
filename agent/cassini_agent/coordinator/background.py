"""A coordinator in a thread of its own, for schedulers that have no event loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from ..endpoint import Endpoint
from ..event_loop_thread import EventLoopThread
from ..http_transport import HttpTransport
from . import events
from .coordinator import Coordinator
from .http import HttpDaemons
from .member import Member

__all__ = ["coordinating"]

log = logging.getLogger("cassini_agent")


@contextmanager
def coordinating(
    members: Iterable[Member],
    endpoints: Mapping[str, Endpoint],
    tell: Callable[[events.Event], None],
) -> Iterator[None]:
    """Keep one component together for as long as the block lasts.

    Parameters
    ----------
    members : iterable of Member
        Each with the schedule it was sent, and its host.
    endpoints : mapping of str to Endpoint
        By host.
    tell : callable
        Called with each event, in the coordinator's thread; with ``events.Failed`` at once, if the coordinator ends
        before its time. While it runs nothing is decided.

    Raises
    ------
    Exception
        What ended the coordinator before its time, as soon as the block is left without an error of its own.
    """
    kept = list(members)

    async def coordinate() -> None:
        async with HttpTransport(timeout_s=1.0) as http:
            coordinator = Coordinator(HttpDaemons(http, endpoints), tell)
            coordinator.keep(kept)
            await coordinator.run()

    def ended(error: BaseException) -> None:
        log.exception("the coordinator has ended", exc_info=error)
        tell(events.Failed("the coordinator", f"{type(error).__name__}: {error}", 1))

    with EventLoopThread(coordinate, "cassini-coordinator", ended):
        yield
