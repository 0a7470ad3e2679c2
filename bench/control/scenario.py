"""One scenario: jobs, a rule, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

from cassini_agent.control.phase import wrap
from cassini_agent.coordinator import events
from cassini_agent.schedule import Schedule

from .agents import AgentControl
from .cluster import Cluster
from .job import Control, JobModel, Trace
from .planning import schedules
from .rules import FirstShift, NextPoint
from .simulated_time import BOOT_NS, UNIX_NS, Clock, SimulatedLoop, simulated
from .simulator import Simulator

__all__ = ["RULES", "Outcome", "Scenario", "relative_phase_ms", "run"]

WARM_UP_MS = 5000.0
JOINING_MS = 10_000.0
"""A job that begins after that is not in the first plan."""
KNOWN_MS = 3000.0
"""So long after it has begun the scheduler knows its profile."""
FIRST_MS = 100.0

RULES: dict[str, Callable[[], Control]] = {
    "agent": AgentControl,
    "first shift only": FirstShift,
    "next grid point": lambda: NextPoint(0.0),
    "next grid point beyond 5 %": lambda: NextPoint(0.05),
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated.

    Attributes
    ----------
    name : str
    models : tuple of JobModel
    rule : str
        Of ``RULES``.
    headroom : bool
        Whether the pace has headroom; without, it is the (longest) uncontrolled iteration time.
    minutes : float
    coordinator_s : tuple of (float, float)
        When there is no coordinator: from, to.
    ranks_again : bool
        The scheduler ranks again where a job's iteration time has changed, and when a job has begun.
    restart_s : float or None
        When the coordinator is started again, with the schedules that the scheduler had sent.
    applied_every_s : float or None
        How often the scheduler has the same schedules applied again (``dispatch.apply``).
    """

    name: str
    models: tuple[JobModel, ...]
    rule: str = "agent"
    headroom: bool = True
    minutes: float = 5.0
    absent_s: tuple[float, float] = (0.0, 0.0)
    ranks_again: bool = False
    restart_s: float | None = None
    applied_every_s: float | None = None


@dataclass(slots=True)
class Outcome:
    """What was measured of one run; times in ms."""

    scenario: str
    rule: str
    seed: int
    pace_ms: list[float]
    shift_ms: list[float]
    hold_ms: float
    slower: list[float]  # mean iteration time relative to the job alone, minus 1
    p99_ms: list[float]
    delay_share: list[float]
    adjustments_per_minute: list[float]  # after the first, which begins the interleaving
    held_share: list[float]
    events: list[str]
    traces: dict[str, Trace] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        kept = asdict(replace(self, traces={}))
        del kept["traces"]
        return kept


def run(scenario: Scenario, seed: int) -> Outcome:
    """Simulate a scenario."""
    models = scenario.models
    first = [model for model in models if model.start_ms < JOINING_MS]
    plan = schedules(first, seed, headroom=scenario.headroom)
    controls = [RULES[scenario.rule]() for _ in models]
    simulator = Simulator(models, controls, seed)
    told: list[str] = []
    if scenario.rule == "agent":
        with TemporaryDirectory() as folder:
            traces = _coordinated(scenario, simulator, plan, seed, told, Path(folder))
    else:
        for job, schedule in zip(simulator.jobs, plan, strict=True):
            here = replace(schedule, epoch_ns=BOOT_NS)
            simulator.at(FIRST_MS, lambda j=job, s=here: j.control.set_schedule(s, j.model.host_ns(FIRST_MS)))
        traces = simulator.run(scenario.minutes * 60e3)
    return _measured(scenario, seed, plan, traces, told)


def relative_phase_ms(first: Trace, second: Trace, pace_ms: float, shift_ms: float) -> list[tuple[float, float]]:
    """When ``second`` starts, and how far it is from where it should be relative to the last start of ``first``."""
    series, k = [], 0
    for start in second.start_ms:
        while k + 1 < len(first.start_ms) and first.start_ms[k + 1] <= start:
            k += 1
        off = wrap(round((start - first.start_ms[k] - shift_ms) * 1e6), round(pace_ms * 1e6))
        series.append((start, off * 1e-6))
    return series


def _coordinated(
    scenario: Scenario, simulator: Simulator, plan: Sequence[Schedule], seed: int, told: list[str], folder: Path
) -> dict[str, Trace]:
    clock = Clock(simulator.events)
    loop = SimulatedLoop(simulator.events)
    try:
        with simulated(clock):
            loop.run_until_complete(_Scheduler(scenario, simulator, plan, seed, told, clock, folder).run())
    finally:
        loop.close()
    return simulator.traces()


class _Scheduler:
    """What happens to a cluster in a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        simulator: Simulator,
        plan: Sequence[Schedule],
        seed: int,
        told: list[str],
        clock: Clock,
        folder: Path,
    ) -> None:
        self._scenario = scenario
        self._simulator = simulator
        self._plan = plan
        self._seed = seed
        self._told = told
        self._cluster = Cluster(simulator, clock, folder, seed, self._tell)
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """To the end."""
        scenario, cluster = self._scenario, self._cluster
        await cluster.begin(self._plan)
        begins_s, ends_s = scenario.absent_s
        if ends_s > begins_s:
            self._at(begins_s, cluster.end_coordinator)
            self._at(ends_s, cluster.begin_coordinator)
        if scenario.restart_s is not None:
            self._at(scenario.restart_s, lambda: cluster.restart(self._plan))
        if scenario.applied_every_s is not None:
            for k in range(1, int(60 * scenario.minutes / scenario.applied_every_s) + 1):
                self._at(k * scenario.applied_every_s, self._apply)
        for model in scenario.models:
            if model.start_ms >= JOINING_MS:
                self._at((model.start_ms + KNOWN_MS) / 1e3, lambda: self._rank_again(scenario.models))
        await self._until(60 * scenario.minutes)
        await asyncio.gather(*self._tasks)
        await cluster.end()

    def _at(self, when_s: float, what: Callable[[], Awaitable[None] | None]) -> None:
        async def then() -> None:
            await self._until(when_s)
            if (more := what()) is not None:
                await more

        self._tasks.append(asyncio.create_task(then()))

    async def _until(self, when_s: float) -> None:
        await asyncio.sleep(max(0.0, when_s - self._simulator.now_ms / 1e3))

    def _tell(self, event: events.Event) -> None:
        self._told.append(f"{self._simulator.now_ms / 1e3:.3f} s: {event}")
        if self._scenario.ranks_again and isinstance(event, events.IterationChanged):
            # What the scheduler finds in the job's new profile: its computing has changed.
            now = [
                model
                if model.change is None
                else replace(model, compute_ms=max(1.0, event.iteration_ns * 1e-6 - model.communicate_ms), change=None)
                for model in self._scenario.models
            ]
            self._at(self._simulator.now_ms / 1e3 + 0.5, lambda: self._rank_again(now))

    async def _rank_again(self, models: Sequence[JobModel]) -> None:
        epoch_ns = UNIX_NS + round(self._simulator.now_ms * 1e6)
        found = schedules(models, self._seed + 1)
        await self._cluster.send([replace(each, epoch_ns=epoch_ns) for each in found])

    async def _apply(self) -> None:
        before = self._cluster.requests.sent
        await self._cluster.apply(self._plan)
        if self._cluster.requests.sent > before:
            self._told.append(f"applied again: {self._cluster.requests.sent - before} requests")


def _slower(model: JobModel, trace: Trace) -> float:
    """Mean iteration time against the job alone, minus 1; what has changed is changed alone too."""
    alone = replace(model, compute_ms=model.compute_ms * model.change[1]) if model.change else model
    changed_ms = model.change[0] if model.change else float("inf")
    spent = expected = 0.0
    for begun, next_begun in pairwise(trace.start_ms):
        if begun >= WARM_UP_MS:
            spent += next_begun - begun
            expected += alone.solo_ms if begun >= changed_ms else model.solo_ms
    return spent / expected - 1


def _measured(
    scenario: Scenario, seed: int, plan: Sequence[Schedule], traces: dict[str, Trace], told: list[str]
) -> Outcome:
    models = scenario.models
    minutes = scenario.minutes
    spans = {
        m.name: [b - a for a, b in zip(t.start_ms, t.start_ms[1:], strict=False) if a >= WARM_UP_MS]
        for m, t in zip(models, traces.values(), strict=True)
    }
    return Outcome(
        scenario.name,
        scenario.rule + ("" if scenario.headroom else ", no margin"),
        seed,
        [schedule.pace_ns * 1e-6 for schedule in plan],
        [schedule.shift_ns * 1e-6 for schedule in plan],
        min(schedule.hold_ns for schedule in plan) * 1e-6,
        [_slower(m, traces[m.name]) for m in models],
        [quantiles(spans[m.name], n=100)[98] for m in models],
        [sum(traces[m.name].wait_ms) / traces[m.name].start_ms[-1] for m in models],
        [max(0, len(traces[m.name].adjusted_ms) - 1) / minutes for m in models],
        [traces[m.name].state.count("held") / len(traces[m.name].state) for m in models],
        told,
        traces,
    )
