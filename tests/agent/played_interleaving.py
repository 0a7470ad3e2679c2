"""An interleaving of jobs that a test plays, whose rounds come when the test wants them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from played_daemons import MS, PlayedDaemons, PlayedJob

from cassini_agent.coordinator.events import Failed
from cassini_agent.interleave import Network
from cassini_agent.interleave.engine import Engine
from cassini_agent.interleave.events import Arranged, Event
from cassini_agent.interleave.scope import Scope

ONE = Network.one_link("up", 50.0)


class Played:
    """An engine whose rounds a test calls for."""

    def __init__(self, daemons: PlayedDaemons, network: Network = ONE, wanted: Collection[str] | None = None) -> None:
        self.daemons = daemons
        self.told: list[Event] = []
        self.scope = Scope(network, daemons.endpoints(), None if wanted is None else frozenset(wanted))
        self.engine = Engine(self.scope, self.told.append, daemons)
        self.coordinator = self.engine.holding.coordinator

    def look(self, iterations: int = 0, *, coordinate: bool = False) -> list[Event]:
        """What is told of a round after so many iterations; with one of the coordinator before it, if asked."""
        self.daemons.run(iterations)
        before = len(self.told)

        async def rounds() -> None:
            if coordinate:
                await self.coordinator.poll()
            await self.engine.look()

        asyncio.run(rounds())
        assert not [event for event in self.told if isinstance(event, Failed)]
        return self.told[before:]

    def update(self, **changes: Any) -> None:
        """Another network, other daemons, jobs or secrets."""
        self.scope = replace(self.scope, **changes)
        self.engine.update(self.scope)

    def settle(self) -> None:
        """Until jobs that were parted have been seen apart."""
        for known in self.daemons.hosts.values():
            for job in known.values():
                job.state = "held"
        for _ in range(6):
            self.look(6)

    def arranged(self) -> list[str]:
        return [event.because for event in self.told if isinstance(event, Arranged)]

    def paces(self) -> dict[str, float]:
        return {job: round(one.pace_ns / MS, 1) for job, one in self.daemons.schedules.items()}


def two(**more: PlayedJob) -> PlayedDaemons:
    a = PlayedJob(240, 173, jitter=0.004)
    return PlayedDaemons(one={"a": a, **more}, other={"b": PlayedJob(239, 174, jitter=0.004)})
