"""Daemons and coordinator around the simulated jobs: messages take time, clocks differ, the coordinator may be gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cassini_agent.coordinator import events
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.http import HttpDaemons
from cassini_agent.coordinator.member import Member
from cassini_agent.daemon.clocks import Reading
from cassini_agent.dispatch import Plan, send_plan
from cassini_agent.endpoint import Endpoint
from cassini_agent.requests import Reply, put_schedule
from cassini_agent.schedule import Schedule

from .agents import AgentControl
from .events import Events
from .host import Host, Requests
from .job import JobModel
from .simulated_time import BOOT_NS, UNIX_NS, Clock
from .simulator import Simulator

__all__ = ["Cluster"]

FIRST_S = 0.1
WAY_MS = 5.0
"""A request to a daemon, or its answer, on average."""


class _HostClocks(Clock):
    """Of a job's host: its wall clock is as far off as its monotonic clock."""

    def __init__(self, model: JobModel, events: Events) -> None:
        super().__init__(events)
        self._model = model

    def monotonic_ns(self) -> int:
        return self._model.host_ns(self._events.now_ms)

    def read(self) -> Reading:
        return Reading(self.monotonic_ns(), UNIX_NS - BOOT_NS + self.monotonic_ns())


class _Counted(Requests):
    """Counts."""

    sent = 0

    async def request(
        self, method: str, endpoint: Endpoint, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Reply:
        self.sent += method in ("PUT", "DELETE")
        return await super().request(method, endpoint, path, body, timeout_s)


class Cluster:
    """Daemons and a coordinator around the jobs of a simulator, whose controls are ``AgentControl``.

    Parameters
    ----------
    simulator : Simulator
    clock : Clock
        The coordinator's.
    folder : Path
        For the daemons' sockets.
    seed : int
        Of how long messages take.
    tell : callable
        Hears what the scheduler is told.

    Attributes
    ----------
    requests : Requests
        Of the scheduler; ``sent`` counts those that change something.
    """

    def __init__(
        self, simulator: Simulator, clock: Clock, folder: Path, seed: int, tell: Callable[[events.Event], None]
    ) -> None:
        self._clock = clock
        self._tell = tell
        self._where = {job.model.name: Endpoint(f"http://{job.model.name}:1") for job in simulator.jobs}
        self._hosts = {}
        self._agents = [job.control for job in simulator.jobs if isinstance(job.control, AgentControl)]
        for agent, job in zip(self._agents, simulator.jobs, strict=True):
            path = folder / job.model.name
            self._hosts[job.model.name] = Host(path, _HostClocks(job.model, simulator.events))
            agent.connect(job.model, path, simulator.events)
        by_url = {self._where[name].url: host for name, host in self._hosts.items()}
        self.requests = _Counted(by_url, WAY_MS, seed)
        # Those of the coordinator take as long as they take, whatever the scheduler asks.
        self._coordinated = Requests(by_url, WAY_MS, seed + 1)
        self.coordinator = self._begun()
        self._running: asyncio.Task[None] | None = None

    async def begin(self, schedules: Sequence[Schedule]) -> None:
        """Daemons are there, and the scheduler sends the first plan."""
        for host in self._hosts.values():
            host.start()
        await asyncio.sleep(FIRST_S)
        await self.send(schedules)
        self.begin_coordinator()

    async def send(self, schedules: Sequence[Schedule]) -> None:
        """The scheduler has newer schedules than all before."""
        sent = [replace(each, version=self._newer()) for each in schedules]
        await asyncio.gather(*(put_schedule(self.requests, self._where[each.job], each) for each in sent))
        self._keep(sent)

    async def apply(self, schedules: Sequence[Schedule]) -> None:
        """The scheduler has these held, as ``dispatch.apply`` does: what is there already is not sent again."""
        planned = Plan(tuple(schedules), {})
        await send_plan(planned, {each.job: self._where[each.job] for each in schedules}, self.requests)

    def begin_coordinator(self) -> None:
        """It is there from now on."""
        self._running = asyncio.create_task(self.coordinator.run())

    def end_coordinator(self) -> None:
        """It is gone."""
        if self._running is not None:
            self._running.cancel()

    def restart(self, schedules: Sequence[Schedule]) -> None:
        """Another coordinator, that knows no more than what the scheduler had sent."""
        self.end_coordinator()
        self.coordinator = self._begun()
        self._keep(schedules)
        self.begin_coordinator()

    async def end(self) -> None:
        """Let go of all."""
        self.end_coordinator()
        if self._running is not None:
            (ended,) = await asyncio.gather(self._running, return_exceptions=True)
            if not isinstance(ended, asyncio.CancelledError):
                raise RuntimeError("the coordinator ended by itself") from ended
        for agent in self._agents:
            agent.end()
        for host in self._hosts.values():
            host.kill()

    def _newer(self) -> int:
        held = [one.schedule.version for each in self.coordinator.components() for one in each.members.values()]
        return 1 + max(held, default=0)

    def _begun(self) -> Coordinator:
        daemons = HttpDaemons(self._coordinated, self._where, self._clock.time_ns)
        return Coordinator(daemons, self._tell, self._clock.time_ns, self._clock.monotonic_ns)

    def _keep(self, schedules: Sequence[Schedule]) -> None:
        self.coordinator.keep(Member(each, each.job) for each in schedules)
