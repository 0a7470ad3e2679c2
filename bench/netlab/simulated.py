"""A run in simulation instead of on a network: the same scenario, and a record of the same form.

All of the product is what runs on the network too: agents, daemons, coordinator, what interleaves. Simulated are time,
the link, and what lies between processes: no HTTP.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.control.events import Events
from bench.control.host import Host, Requests
from bench.control.link import Link, Newcomer
from bench.control.simulated_time import Clock, SimulatedLoop, simulated
from bench.control.training import Training
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.http import HttpDaemons
from cassini_agent.endpoint import Endpoint
from cassini_agent.interleave import Network, describe
from cassini_agent.interleave.engine import Engine
from cassini_agent.interleave.events import Event
from cassini_agent.interleave.scope import Scope

from .marker import RATE_MBIT
from .processes import DAEMON_PORT
from .run import offsets_s, record
from .scenarios import ALONE, HELD, Scenario
from .worker import Compute

__all__ = ["simulate"]

WAY_MS = 1.0
"""A request to a daemon, or its answer."""

IMPORTS_S = 1.0
"""The scheduler's side is there so long after the first start, or after it was started again."""


def simulate(scenario: Scenario, number: int, alone_s: float, newcomer: Newcomer | None = None) -> dict[str, Any]:
    """A run; parameters and result are those of ``run.run``. There are no marks, and nothing is sent twice.

    Seeds are those of the run on the network: the jobs start as far apart, and each rank computes as long.
    """
    events = Events()
    clock = Clock(events)
    loop = SimulatedLoop(events)
    try:
        with tempfile.TemporaryDirectory() as folder, simulated(clock):
            lab = _Lab(scenario, number, alone_s, newcomer, Path(folder), events, clock)
            return loop.run_until_complete(lab.result())
    finally:
        loop.close()


class _Engine(Engine):
    """One whose coordinator keeps simulated time too."""

    def __init__(self, scope: Scope, tell: Callable[[Event], None], daemons: Requests, clock: Clock) -> None:
        super().__init__(scope, tell, daemons)
        asked = HttpDaemons(daemons, scope.hosts, clock.time_ns)
        self.holding.coordinator = Coordinator(asked, self._hear, clock.time_ns, clock.monotonic_ns)


class _Process:
    """A rank, for disturbances. Both are stopped or none: the other would wait for it anyway."""

    def __init__(self, job: Training, is_first: bool) -> None:
        self._job = job
        self._is_first = is_first

    def send_signal(self, sig: int) -> None:
        if self._is_first:
            {signal.SIGSTOP: self._job.stop, signal.SIGCONT: self._job.go_on}[signal.Signals(sig)]()

    def terminate(self) -> None:
        self._job.leave()


class _Lab:
    """See ``disturbances.Live``."""

    def __init__(
        self,
        scenario: Scenario,
        number: int,
        alone_s: float,
        newcomer: Newcomer | None,
        folder: Path,
        events: Events,
        clock: Clock,
    ) -> None:
        self.ranks: dict[tuple[str, int], _Process] = {}
        self._scenario = scenario
        self._number = number
        self._offsets = offsets_s(scenario, number, alone_s)
        self._folder = folder
        self._events = events
        self._clock = clock
        self._links = [Link(events, newcomer) for _ in range(2)]
        self._jobs: dict[str, Training] = {}
        self._told: list[dict[str, Any]] = []
        self._hosts = {f"{job}0": Host(folder / f"{job}0", clock) for job in scenario.setting.jobs}
        self._daemons = Requests({_url(name): host for name, host in self._hosts.items()}, WAY_MS, number)
        self._scheduler: list[asyncio.Task[None]] = []

    async def result(self) -> dict[str, Any]:
        """Run to the end."""
        for host in self._hosts.values():
            host.start()
        for job, offset_s in self._offsets.items():
            self._start(job, offset_s)
        if self._scenario.mode == HELD:
            self.start_scheduler()
        disturbed = await self._disturb()
        await self._until(self._scenario.seconds)
        while any(job.summary is None for job in self._jobs.values()):
            await self._until(self._clock_s() + 0.1)
        await self._end_scheduler()
        for host in self._hosts.values():
            host.kill()
        return self._record(disturbed)

    def kill_daemon(self, host: str) -> None:
        """See ``Live``."""
        self._hosts[host].kill()

    def daemon(self, host: str) -> None:
        """See ``Live``."""
        self._hosts[host].start()

    def kill_scheduler(self) -> None:
        """See ``Live``."""
        for task in self._scheduler:
            task.cancel()

    def start_scheduler(self) -> None:
        """See ``Live``."""
        self._scheduler.append(asyncio.create_task(self._schedule()))

    async def _schedule(self) -> None:
        """What ``scheduler_side`` does."""
        await asyncio.sleep(IMPORTS_S)
        topology = self._scenario.setting.topology
        routes = {job: dict.fromkeys(topology.route(job), 1.0) for job in self._scenario.setting.jobs}
        network = Network(dict.fromkeys(topology.links, RATE_MBIT / 1e3), routes)
        daemons = {job: Endpoint(_url(f"{job}0")) for job in self._scenario.setting.jobs}
        scope = Scope(network, daemons)
        engine = _Engine(scope, self._tell, self._daemons, self._clock)
        running = asyncio.create_task(engine.run())
        try:
            while True:
                await asyncio.sleep(self._scenario.disturbance.again_every_s or 3600.0)
                engine.update(scope)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _end_scheduler(self) -> None:
        self.kill_scheduler()
        for ended in await asyncio.gather(*self._scheduler, return_exceptions=True):
            if not isinstance(ended, asyncio.CancelledError):
                raise RuntimeError("the scheduler's side ended by itself") from ended

    def _tell(self, event: Any) -> None:
        at_us = round(self._events.now_ms * 1e3)
        self._told.append({"at_us": at_us, "event": type(event).__name__, "said": describe(event)})

    def _start(self, job: str, begin_s: float) -> None:
        scenario, setting = self._scenario, self._scenario.setting
        options = {**setting.options(), **scenario.disturbance.options.get(job, {})}
        seed = f"{setting.name} {self._number} {job}"
        # A stall is one rank's: the others wait for it.
        ranks = [Compute(options, f"{seed} 0"), Compute({**options, "stall_ms": 0.0}, f"{seed} 1")]
        self._jobs[job] = Training(
            job,
            [rank.milliseconds for rank in ranks],
            setting.size.megabytes * 8e3 / RATE_MBIT,
            self._links,
            begin_s * 1e3,
            scenario.seconds * 1e3,
            self._hosts[f"{job}0"].path if scenario.mode in (ALONE, HELD) else None,
            self._events,
            self._clock,
            seed,
        )
        for rank in range(2):
            self.ranks[job, rank] = _Process(self._jobs[job], rank == 0)

    async def _disturb(self) -> list[int] | None:
        one = self._scenario.disturbance
        if one.at_s is None:
            return None
        if one.joins:
            self._start(one.joins, one.at_s)
        await self._until(one.at_s)
        one.begin(self)
        await self._until(one.at_s + one.lasts_s)
        one.end(self)
        return [round(one.at_s * 1e6), round((one.at_s + one.lasts_s) * 1e6)]

    def _clock_s(self) -> float:
        return self._events.now_ms / 1e3

    async def _until(self, time_s: float) -> None:
        await asyncio.sleep(time_s - self._clock_s())

    def _record(self, disturbed: list[int] | None) -> dict[str, Any]:
        jobs = {name: _written(job) for name, job in self._jobs.items()}
        return record(self._scenario, self._number, disturbed, jobs, self._told)


def _url(host: str) -> str:
    return f"http://{host}:{DAEMON_PORT}"


def _written(job: Training) -> Mapping[str, Any]:
    nothing = [0] * len(job.extra_ms)
    return {
        "starts_us": [round(1e3 * one) for one in job.starts_ms],
        "communication_us": [[round(1e3 * one) for one in pair] for pair in job.communication_ms],
        "extra_ms": job.extra_ms,
        "marks": nothing,
        "retransmissions": nothing,
        "agent": job.summary,
    }
