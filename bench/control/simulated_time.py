"""An event loop in which time is simulated: nothing is waited for, and the agent's own code does not know.

Sockets are real ones. What lies in them is read before time goes on; so only such may be used that deliver at once, as
Unix sockets do.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from cassini_agent.coordinator import adoption
from cassini_agent.daemon.clocks import Reading

from .events import Events

__all__ = ["Clock", "SimulatedLoop", "simulated"]

BOOT_NS, UNIX_NS = 10**12, 18 * 10**17
"""What the clocks show at time 0."""


class Clock:
    """The clocks of all hosts; for modules that ask ``time``, and for a daemon."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def monotonic_ns(self) -> int:
        return BOOT_NS + round(self._events.now_ms * 1e6)

    def monotonic(self) -> float:
        return self.monotonic_ns() / 1e9

    def time_ns(self) -> int:
        return UNIX_NS + round(self._events.now_ms * 1e6)

    def read(self) -> Reading:
        return Reading(self.monotonic_ns(), self.time_ns())


class _Selector(selectors.DefaultSelector):
    """Waits by letting the simulation go on."""

    def __init__(self, events: Events) -> None:
        super().__init__()
        self._events = events

    def select(self, timeout: float | None = None) -> list[Any]:
        ready: list[Any] = super().select(0)
        if not ready and timeout != 0:
            until_ms = float("inf") if timeout is None else self._events.now_ms + 1e3 * timeout
            if not self._events.step(until_ms) and timeout is None:
                raise RuntimeError("everything waits for something else")
        return ready


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Runs what is to be done in a simulation between its own calls; ``time`` is that of the simulation, in s."""

    def __init__(self, events: Events) -> None:
        super().__init__(_Selector(events))
        self._events = events

    def time(self) -> float:
        return self._events.now_ms / 1e3

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """At once, and in no time: a thread would be of another one."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def simulated(clock: Clock) -> Iterator[None]:
    """All modules of the agent that ask ``time`` are told by a clock, and versions grow the same each time."""
    with ExitStack() as held:
        held.enter_context(patch.object(adoption, "random", random.Random(1)))
        for name, module in list(sys.modules.items()):
            if name.startswith("cassini_agent.") and getattr(module, "time", None) is time:
                held.enter_context(patch.object(module, "time", clock))
        yield
