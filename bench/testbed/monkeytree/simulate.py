"""A trace through the cluster: jobs wait in order of arrival, run where they are put, and share links max-min fairly."""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Sequence

from cassini_core.model import Job, Phase
from cassini_core.simulation.network import NetworkSimulation

from .fabric import RACKS, SERVERS, Running, best_fit, capacities_gbps, route
from .jobs import GPUS, NIC_GBPS
from .routing import Paths
from .trace import Arrival

__all__ = ["profile", "slowdowns"]

Router = Callable[[dict[str, Running], Paths, int], Paths]


def profile(job: Arrival) -> Job:
    """One iteration alone."""
    computing, sending = job.kind.computing_ms(job.gpus), job.kind.sending_ms(job.gpus)
    return Job(job.id, computing + sending, [Phase(computing, sending, NIC_GBPS)])


def slowdowns(arrivals: Sequence[Arrival], router: Router, seed: int = 0) -> dict[str, float]:
    """By job, its time from its start to its end over what its iterations take alone."""
    network = NetworkSimulation(capacities_gbps())
    free = [SERVERS] * RACKS
    to_come, queue = deque(arrivals), deque[Arrival]()
    running: dict[str, tuple[Running, float]] = {}
    there: dict[str, Running] = {}  # those with flows between racks
    ends: list[tuple[float, str]] = []  # of the others
    paths: Paths = {}
    found: dict[str, float] = {}

    def end(name: str, now: float) -> None:
        one, start = running.pop(name)
        alone = one.job.iterations * one.job.kind.iteration_ms(one.job.gpus)
        found[name] = (now - start) / alone
        for rack, count in Counter(one.racks).items():
            free[rack] += count

    while to_come or running:
        until = min(to_come[0].at_ms if to_come else math.inf, ends[0][0] if ends else math.inf)
        done = network.run(until)
        now = network.now_ms
        changed = done is not None
        if done is not None:
            end(done, now)
            del there[done]
        while ends and ends[0][0] <= now:
            end(heapq.heappop(ends)[1], now)
        while to_come and to_come[0].at_ms <= now:
            queue.append(to_come.popleft())
        fresh = []
        while queue and sum(free) * GPUS >= queue[0].gpus:
            job = queue.popleft()
            racks = best_fit(free, job.gpus // GPUS)
            for rack, count in Counter(racks).items():
                free[rack] -= count
            one = Running.of(job, racks)
            running[job.id] = one, now
            if one.flows:
                there[job.id] = one
                fresh.append(job.id)
            else:
                heapq.heappush(ends, (now + job.iterations * job.kind.iteration_ms(job.gpus), job.id))
        if not changed and not fresh:
            continue
        before, paths = paths, router(there, {name: paths[name] for name in there if name in paths}, seed)
        for name, one in there.items():
            if name in fresh:
                network.add(profile(one.job), route(one.flows, paths[name]), iterations=one.job.iterations)
            elif paths[name] != before[name]:
                network.move(name, route(one.flows, paths[name]))
        network.take_iterations()
    return found
