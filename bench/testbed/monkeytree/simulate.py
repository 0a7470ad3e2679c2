"""A trace through the cluster: jobs wait in order of arrival, run where they are put, and share links max-min fairly.

A job's flows are sent at one rate, that of the slowest (:mod:`cassini_core.simulation.network`): where flows of a job
have other links they could be done sooner, and leave those links to others a little earlier.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cassini_core.model import Job, Phase
from cassini_core.simulation.holding import Grid
from cassini_core.simulation.network import NetworkSimulation

from .fabric import RACKS, SERVERS, Running, capacities_gbps, route
from .flows import FlowNetwork
from .jobs import GPUS, NIC_GBPS
from .placing import best_fit
from .routing import Paths, Spines
from .shifts import Shifts
from .trace import Arrival

__all__ = ["Choose", "Policy", "profile", "slowdowns"]

Choose = Callable[[Mapping[str, Running], Paths], Paths]
"""Of the jobs with flows between racks, and the paths that they had: the paths of all."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is decided when jobs come and go. No job that runs is ever moved.

    Parameters
    ----------
    paths : Choose
    shifts : Shifts, optional
    place : callable
        Of free servers by rack, a job, and those with flows between racks: the rack of each of its servers.
    """

    paths: Choose
    shifts: Shifts | None = None
    place: Callable[[Sequence[int], Arrival, Mapping[str, Running]], list[int]] = best_fit


def profile(job: Arrival) -> Job:
    """One iteration alone."""
    computing, sending = job.kind.computing_ms(job.gpus), job.kind.sending_ms(job.gpus)
    return Job(job.id, computing + sending, [Phase(computing, sending, NIC_GBPS)])


def slowdowns(arrivals: Sequence[Arrival], policy: Policy, flows: FlowNetwork | None = None) -> dict[str, float]:
    """By job, its time from its start to its end over what its iterations take alone.

    Parameters
    ----------
    arrivals : sequence of Arrival
    policy : Policy
    flows : FlowNetwork, optional
        An empty one: instead of the package's simulator. Paths are whole, and nothing is shifted.
    """
    run = _Run(arrivals, policy, flows)
    while run.go_on():
        pass
    return run.found


class _Run:
    def __init__(self, arrivals: Sequence[Arrival], policy: Policy, flows: FlowNetwork | None) -> None:
        self.found: dict[str, float] = {}
        self._policy = policy
        self._network = _OneRate() if flows is None else flows
        self._free = [SERVERS] * RACKS
        self._to_come, self._queue = deque(arrivals), deque[Arrival]()
        self._running: dict[str, tuple[Running, float]] = {}
        self._there: dict[str, Running] = {}  # those with flows between racks
        self._ends: list[tuple[float, str]] = []  # of the others, whom nothing slows down
        self._paths: Paths = {}

    def go_on(self) -> bool:
        """To the next arrival or end, and through it; False if all is done."""
        if not self._to_come and not self._running:
            return False
        arrival_ms = self._to_come[0].at_ms if self._to_come else math.inf
        done = self._network.run(min(arrival_ms, self._ends[0][0] if self._ends else math.inf))
        if done is not None:
            del self._there[done]
            self._end(done, self._network.now_ms)
        while self._ends and self._ends[0][0] <= self._network.now_ms:
            at_ms, name = heapq.heappop(self._ends)
            self._end(name, at_ms)
        while self._to_come and self._to_come[0].at_ms <= self._network.now_ms:
            self._queue.append(self._to_come.popleft())
        fresh = list(self._start())
        if done is not None or fresh:
            self._arrange(fresh)
        return True

    def _end(self, name: str, now_ms: float) -> None:
        one, start_ms = self._running.pop(name)
        self.found[name] = (now_ms - start_ms) / (one.job.iterations * one.job.kind.iteration_ms(one.job.gpus))
        for rack in one.racks:
            self._free[rack] += 1

    def _start(self) -> list[str]:
        """Jobs for which there is room, in their order; those that have flows between racks are returned."""
        fresh = []
        while self._queue and sum(self._free) * GPUS >= self._queue[0].gpus:
            job = self._queue.popleft()
            one = Running.of(job, self._policy.place(self._free, job, self._there))
            for rack, count in Counter(one.racks).items():
                self._free[rack] -= count
            self._running[job.id] = one, self._network.now_ms
            if one.flows:
                self._there[job.id] = one
                fresh.append(job.id)
            else:
                alone_ms = job.iterations * job.kind.iteration_ms(job.gpus)
                heapq.heappush(self._ends, (self._network.now_ms + alone_ms, job.id))
        return fresh

    def _arrange(self, fresh: Sequence[str]) -> None:
        """New paths and shifts."""
        before = {name: self._paths[name] for name in self._there if name in self._paths}
        self._paths = self._policy.paths(self._there, before)
        held = self._shifts(fresh)
        for name, one in self._there.items():
            if name in fresh:
                self._network.add(name, one, self._paths[name])
            elif self._paths[name] != before[name]:
                self._network.move(name, self._paths[name])
        if isinstance(self._network, _OneRate):
            self._network.hold(held)

    def _shifts(self, fresh: Sequence[str]) -> dict[str, Grid]:
        if self._policy.shifts is None or not isinstance(self._network, _OneRate):
            return {}
        routes = {name: route(one.flows, self._paths[name]) for name, one in self._there.items()}
        begun_ms = self._network.begun_ms()
        running = {name: begun_ms[name] for name in self._there if name not in fresh}
        return self._policy.shifts([profile(one.job) for one in self._there.values()], routes, running)


class _OneRate:
    """The package's simulator: all flows of a job have one rate."""

    def __init__(self) -> None:
        self._network = NetworkSimulation(capacities_gbps())
        self._there: dict[str, Running] = {}
        self._begun_ms: dict[str, float] = {}

    @property
    def now_ms(self) -> float:
        return self._network.now_ms

    def add(self, name: str, one: Running, spines: Spines) -> None:
        self._there[name], self._begun_ms[name] = one, self._network.now_ms
        self._network.add(profile(one.job), route(one.flows, spines), iterations=one.job.iterations)

    def move(self, name: str, spines: Spines) -> None:
        self._network.move(name, route(self._there[name].flows, spines))

    def hold(self, grids: Mapping[str, Grid]) -> None:
        for name, grid in grids.items():
            self._network.hold(name, grid)
            self._begun_ms[name] = grid.at_ms

    def begun_ms(self) -> dict[str, float]:
        """When the iteration under way of each job began, up to whole iterations."""
        for name, log in self._network.take_iterations().items():
            self._begun_ms[name] = float(log.end_ms[-1])
        return self._begun_ms

    def run(self, until_ms: float) -> str | None:
        done = self._network.run(until_ms)
        if done is not None:
            del self._there[done]
            self.begun_ms()  # what is recorded is not to pile up
        return done
