"""A training job of two ranks with the agent itself, in simulated time: it computes, then exchanges gradients.

Each rank computes by itself. Then each sends half of what it has to the other, and the second half when the other's
first has come: a ring all-reduce of two. Both directions of the link are apart.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from cassini_agent.control.controller import Controller
from cassini_agent.local_link import LocalLink
from cassini_agent.loop.agent import Agent
from cassini_agent.loop.rank0_controller import Rank0Controller
from cassini_agent.loop.timeline import HostTimeline

from .events import Events
from .link import Burst, Link
from .simulated_time import Clock

__all__ = ["LaterLink", "RankClock", "Training"]

SKEW_MS, OVERSLEPT_MS = 0.05, 0.06
"""By how much a rank leaves a collective later, and a sleep ends later, on average (exponential)."""

TOLD_MS = 1.0
"""From a report until the daemon has it."""

Compute = Callable[[int, float], tuple[float, float]]
"""How long an iteration computes (number; s when it begins): ms by itself, and ms that are added."""


class Monotonic(Protocol):
    """A host's clock."""

    def monotonic_ns(self) -> int: ...


class RankClock:
    """The host's clock as a rank sees it: while the rank sleeps, it is ahead of the simulation."""

    def __init__(self, clock: Monotonic, rng: random.Random, overslept_ms: float = OVERSLEPT_MS) -> None:
        self._clock = clock
        self._rng = rng
        self._overslept_ms = overslept_ms
        self._at_ns = 0

    def now_ns(self) -> int:
        return max(self._at_ns, self._clock.monotonic_ns())

    def wait(self, until_ns: int) -> None:
        late_ns = round(1e6 * self._overslept_ms * self._rng.expovariate(1.0))
        self._at_ns = max(self.now_ns(), until_ns + late_ns)

    def ahead_ms(self) -> float:
        """Of the simulation."""
        return (self.now_ns() - self._clock.monotonic_ns()) / 1e6


class LaterLink(LocalLink):
    """What is sent arrives a little later than it was sent, and never before."""

    def __init__(
        self, path: Path, job: str, ranks: int, events: Events, clock: RankClock, told_ms: float = TOLD_MS
    ) -> None:
        hello = {"type": "hello", "protocol": 1, "job": job, "rank": 0, "world_size": ranks, "pid": 1}
        super().__init__(str(path), hello, clock.now_ns)
        self._events = events
        self._clock = clock
        self._told_ms = told_ms
        self._is_over = False

    def end(self) -> None:
        """The job has ended: what was not sent yet never is."""
        self._is_over = True
        self.close()

    def send(self, message: dict[str, Any]) -> bool:
        data = json.dumps(message)  # as it is now
        when_ms = self._events.now_ms + self._clock.ahead_ms() + self._told_ms
        self._events.at(when_ms, lambda: self._send_now(data))
        return True

    def _send_now(self, data: str) -> None:
        if not self._is_over:
            super().send(json.loads(data))


class _Rank:
    def __init__(self, number: int, agent: Agent, clock: RankClock, compute: Compute) -> None:
        self.number = number
        self.agent = agent
        self.clock = clock
        self.compute = compute
        self.sent = self.got = 0  # halves, in this iteration
        self.began_ms = 0.0
        self.is_ready = False
        self.burst: Burst | None = None


class Training:
    """One job.

    Parameters
    ----------
    name : str
    compute : sequence of callable
        Per rank.
    send_ms : float
        What a rank sends in an iteration, at line rate.
    links : sequence of Link
        Per rank, the direction it sends in.
    begin_ms, until_ms : float
        When it begins; the iteration that communicates after the other is its last.
    socket : Path or None
        Of its daemon; None: it has no agent.
    seed : str
        Of what is late by chance.

    Attributes
    ----------
    starts_ms, communication_ms, extra_ms : list
        Of rank 0: starts of iterations, and one more; begin and end of communication; what was added to computing.
    """

    def __init__(
        self,
        name: str,
        compute: Sequence[Compute],
        send_ms: float,
        links: Sequence[Link],
        begin_ms: float,
        until_ms: float,
        socket: Path | None,
        events: Events,
        clock: Clock,
        seed: str,
    ) -> None:
        self.name = name
        self.starts_ms: list[float] = []
        self.communication_ms: list[tuple[float, float]] = []
        self.extra_ms: list[float] = []
        self.summary: dict[str, Any] | None = None
        self._send_ms = send_ms
        self._links = links
        self._until_ms = until_ms
        self._events = events
        self._rng = random.Random(seed)
        self._is_stopped = self._leaves = self._is_last = False
        self._link: LaterLink | None = None
        self._sends_from_ms = 0.0  # in this iteration
        self._added_ms = 0.0  # to the iteration under way
        self._put_off: list[Callable[[], None]] = []
        self._ranks = []
        for number, each in enumerate(compute):
            own = RankClock(clock, self._rng)
            rank0_controller = None
            if socket is not None and number == 0:
                self._link = LaterLink(socket, name, 2, events, own)
                rank0_controller = Rank0Controller(self._link, Controller())
            agent = Agent(HostTimeline(own.now_ns), rank0_controller, own.now_ns, own.wait)
            self._ranks.append(_Rank(number, agent, own, each))
        self._at(begin_ms, self._reach)

    def stop(self) -> None:
        """Stand still, as a process does that gets SIGSTOP."""
        self._is_stopped = True
        for rank in self._ranks:
            if rank.burst is not None:
                self._links[rank.number].halt(rank.burst)

    def go_on(self) -> None:
        """After a stop."""
        self._is_stopped = False
        for rank in self._ranks:
            if rank.burst is not None:
                self._links[rank.number].resume(rank.burst)
        put_off, self._put_off = self._put_off, []
        for what in put_off:
            self._events.at(self._events.now_ms, what)

    def leave(self) -> None:
        """The iteration under way is the last."""
        self._leaves = True

    def _at(self, when_ms: float, what: Callable[[], None]) -> None:
        def now() -> None:
            if self._is_stopped:
                self._put_off.append(what)
            else:
                what()

        self._events.at(when_ms, now)

    def _reach(self) -> None:
        """All ranks have come to an iteration."""
        if self._is_last:
            self.starts_ms.append(self._events.now_ms)
            self.summary = self._ranks[0].agent.summary()
            if self.summary["note"] == "stopped after a failure":
                raise RuntimeError(f"{self.name}: the agent failed")
            for rank in self._ranks:
                rank.agent.close()
            if self._link is not None:
                self._link.end()
            return
        for rank in self._ranks:
            late_ms = self._rng.expovariate(1.0) * SKEW_MS
            self._at(self._events.now_ms + late_ms, lambda rank=rank: self._begin(rank))  # type: ignore[misc]

    def _begin(self, rank: _Rank) -> None:
        rank.agent.iteration()
        start_ms = self._events.now_ms + rank.clock.ahead_ms()
        natural_ms, extra_ms = rank.compute(len(self.extra_ms), start_ms / 1e3)
        if rank.number == 0:
            self.starts_ms.append(start_ms)
            self._added_ms = extra_ms
        self._at(start_ms + natural_ms + extra_ms, lambda: self._communicate(rank))

    def _communicate(self, rank: _Rank) -> None:
        rank.agent.communication_started()
        rank.began_ms, rank.is_ready = self._events.now_ms, True
        if rank.number == 0:
            self._is_last = self._leaves or rank.began_ms > self._until_ms
        if all(each.is_ready for each in self._ranks):  # nobody sends what the other is not there to take
            self._sends_from_ms = self._events.now_ms
            for each in self._ranks:
                self._send_half(each)

    def _send_half(self, rank: _Rank) -> None:
        def sent() -> None:
            rank.burst = None
            rank.sent += 1
            self._ranks[1 - rank.number].got += 1
            for each in self._ranks:
                if each.burst is None and each.sent == 1 and each.got >= 1:
                    self._send_half(each)
            if all(each.sent == each.got == 2 for each in self._ranks):
                self._end()

        rank.burst = self._links[rank.number].send(self._send_ms / 2, sent, self._sends_from_ms)

    def _end(self) -> None:
        for rank in self._ranks:
            rank.agent.communication_ended()
            rank.sent = rank.got = 0
            rank.is_ready = False
        self.communication_ms.append((self._ranks[0].began_ms, self._events.now_ms))
        self.extra_ms.append(self._added_ms)
        self._reach()
