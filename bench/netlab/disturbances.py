"""What happens to jobs that are held."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["DAEMON", "NOTHING", "PAIR", "TRIO", "Disturbance", "Live"]


class Signalled(Protocol):
    """A process of a job."""

    def send_signal(self, sig: int) -> None:
        """To stop, to go on."""

    def terminate(self) -> None:
        """Ask it to end."""


class Live(Protocol):
    """A lab while it runs."""

    @property
    def ranks(self) -> Mapping[tuple[str, int], Signalled]:
        """By job and number."""

    def kill_daemon(self, host: str) -> None:
        """At once, without a word."""

    def daemon(self, host: str) -> None:
        """Start it again."""

    def kill_scheduler(self) -> None:
        """At once, without a word."""

    def start_scheduler(self) -> None:
        """Start it again, with what it was told the first time."""


def _nothing(live: Live) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Disturbance:
    """One of them.

    Attributes
    ----------
    name : str
    at_s : float or None
        When, after the first start; None: all the time.
    lasts_s : float
        How long; jobs are to be interleaved again some time after that.
    begin, end : callable
        What is done then.
    options : mapping
        For the worker, by job; times after the first start.
    joins, leaves : str
        A job that starts then, one that ends then.
    again_every_s : float
        The scheduler ranks and sends again; 0: it does not.
    """

    name: str
    at_s: float | None = None
    lasts_s: float = 0.0
    begin: Callable[[Live], None] = _nothing
    end: Callable[[Live], None] = _nothing
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    joins: str = ""
    leaves: str = ""
    again_every_s: float = 0.0


AT_S = 45.0
"""After the first start: jobs have been measured, and held for a while."""

STALL_MS = 230.0
ITERATION_MS = 400.0
"""Of a job alone; what follows is a share of it."""


def _to_ranks(number: int) -> Callable[[Live], None]:
    def act(live: Live) -> None:
        for rank in range(2):
            live.ranks["b", rank].send_signal(number)

    return act


def _leave(live: Live) -> None:
    live.ranks["c" if ("c", 0) in live.ranks else "b", 0].terminate()


NOTHING = Disturbance("")
DAEMON = Disturbance(
    "a daemon killed for 10 s", AT_S, 10.0, lambda live: live.kill_daemon("a0"), lambda live: live.daemon("a0")
)
COORDINATOR = Disturbance(
    "the coordinator killed for 10 s",
    AT_S,
    10.0,
    lambda live: live.kill_scheduler(),
    lambda live: live.start_scheduler(),
)
STOPPED = Disturbance("a job stopped for 15 s", AT_S, 15.0, _to_ranks(signal.SIGSTOP), _to_ranks(signal.SIGCONT))
SLOWER = [
    Disturbance(f"+9 % {what} in one job", AT_S, options={"b": {"slower_ms": 0.09 * of_ms, "slower_at_s": AT_S}})
    for what, of_ms in (("compute", 230.0), ("iteration", ITERATION_MS))
]
STALL = Disturbance(f"one stall of {STALL_MS:g} ms", AT_S, options={"b": {"stall_ms": STALL_MS, "stall_at_s": AT_S}})
EVALUATION = Disturbance(
    "every 4th iteration 1.7 times as long", options={"b": {"every_fourth_ms": 0.7 * ITERATION_MS}}
)
ALTERNATING = Disturbance(
    "iterations 5 % longer and shorter by turns", options={"b": {"alternating_ms": 0.05 * ITERATION_MS}}
)
LEAVING = Disturbance("a job leaves", AT_S, begin=_leave, leaves="b")
APPLY = Disturbance("schedules sent again every 15 s", again_every_s=15.0)
JOINING = Disturbance("a third job joins", AT_S, joins="c")
THIRD_LEAVING = Disturbance("the third job leaves", AT_S, begin=_leave, leaves="c")

PAIR = [DAEMON, COORDINATOR, STOPPED, *SLOWER, STALL, EVALUATION, ALTERNATING, LEAVING, APPLY]
"""For two jobs."""
TRIO = [JOINING, THIRD_LEAVING]
"""For three."""
