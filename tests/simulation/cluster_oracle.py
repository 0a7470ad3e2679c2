"""A cluster, event by event and obviously: what ``simulate_cluster`` is compared with. No holds, no jitter. Slow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from simulation.flow_oracle import Segment, rates

from cassini_core.schedulers.state import TrainingTask

Hosts = Mapping[str, int]


@dataclass
class _Task:
    task: TrainingTask
    left: float  # iterations of the requested workers
    hosts: Hosts | None = None
    starts: int = 0
    begins_ms: float = 0.0
    segment: int = -1  # -1: waits for its begin
    remaining: float = 0.0  # ms, or Mbit
    began_ms: float = 0.0
    iterations: list[tuple[float, float]] = field(default_factory=list)
    end_ms: float = math.nan


def run(
    tasks: Sequence[TrainingTask],
    decide: Callable[[int, Sequence[str]], Mapping[str, Hosts]],
    segments: Callable[[TrainingTask, int], Sequence[Segment]],
    route: Callable[[TrainingTask, Hosts], Mapping[str, float]],
    capacity: Mapping[str, float],
    *,
    phase_ms: Callable[[str, int, float], float],
    restart_ms: float,
    interval_ms: float,
    until_ms: float,
) -> dict[str, tuple[list[tuple[float, float]], float, int]]:
    """By task its whole iterations, when it ended (ms) and how often it was restarted."""
    all_tasks = {one.id: _Task(one, one.iterations) for one in tasks}
    to_come = sorted(all_tasks.values(), key=lambda one: one.task.arrival_s)
    there: dict[str, _Task] = {}
    now = 0.0
    next_round = math.inf
    played = 0
    while True:
        # What happens next: the end of a segment or of a wait, an arrival, a round.
        going = [one for one in there.values() if one.hosts is not None]
        wants = {
            index: segments(one.task, sum(one.hosts.values()))[one.segment][1]
            for index, one in enumerate(going)
            if one.hosts and one.segment >= 0 and segments(one.task, sum(one.hosts.values()))[one.segment][1]
        }
        rate = rates(wants, [route(one.task, one.hosts or {}) for one in going], capacity)
        steps = [
            one.begins_ms - now if one.segment < 0 else one.remaining / rate.get(index, 1.0)
            for index, one in enumerate(going)
        ]
        arrival = to_come[0].task.arrival_s * 1e3 if to_come else math.inf
        step = min([*steps, arrival - now, (next_round if there else math.inf) - now])
        if now + step > until_ms:
            return {name: (one.iterations, one.end_ms, max(0, one.starts - 1)) for name, one in all_tasks.items()}
        now += step
        for index, one in enumerate(going):
            if one.segment >= 0:
                one.remaining -= step * rate.get(index, 1.0)
        asks = False
        if steps and min(steps) <= step:
            asks = _goes_on(going[steps.index(min(steps))], now, segments)
            if asks:
                del there[going[steps.index(min(steps))].task.id]
        while to_come and to_come[0].task.arrival_s * 1e3 <= now:
            one = to_come.pop(0)
            there[one.task.id], asks = one, True
        if asks or (there and now >= next_round):
            allocation = decide(played, list(there))
            played += 1
            next_round = now + interval_ms
            for name, one in there.items():
                hosts = allocation.get(name)
                if hosts == one.hosts:
                    continue
                one.hosts, one.segment = hosts, -1
                if hosts:
                    one.starts += 1
                    length = sum(ms for ms, _ in segments(one.task, sum(hosts.values())))
                    wait = restart_ms if one.starts > 1 else 0.0
                    one.begins_ms = now + wait + phase_ms(name, one.starts, length)


def _goes_on(one: _Task, now: float, segments: Callable[[TrainingTask, int], Sequence[Segment]]) -> bool:
    """The next segment; whether the task has ended."""
    assert one.hosts is not None
    workers = sum(one.hosts.values())
    own = segments(one.task, workers)
    one.segment += 1
    if one.segment == len(own):
        one.iterations.append((one.began_ms, now))
        one.left -= workers / one.task.requested_workers if one.task.scaling == "weak" else 1.0
        if one.left <= 1e-9:
            one.end_ms, one.hosts = now, None
            return True
        one.segment = 0
    if one.segment == 0:
        one.began_ms = now
    ms, gbps = own[one.segment]
    one.remaining = ms * gbps if gbps else ms
    return False
