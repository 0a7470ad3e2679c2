"""A cluster day: tasks come, a scheduler places them, they train on a network that they share, and go.

A round is asked for when tasks arrive, when one ends, and as often as the scheduler wants. Between two rounds the
network runs (:mod:`cassini_core.simulation.network`); what a round changes is what changes there: tasks that stay
where they are go on in the middle of their iterations, held at their shifts; a task that is moved, given other workers
or stopped loses the iteration under way and, when it runs again, ``restart_s``.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, get_args

from ..errors import refusal, shown
from ..model import Job
from ..placement.cluster import Cluster
from ..placement.worker_routes import WorkerRoutes
from ..schedulers.augmented import Decision
from ..schedulers.ideal import Ideal
from ..schedulers.state import Allocation, ClusterState, TrainingTask, check_allocation, where_of
from ..topology.model import Topology
from ..topology.routing import Router
from .jitter import KINDS, factors
from .marking import Marking
from .network import NetworkSimulation
from .records import Iterations, Loads, joined
from .task_holds import Held, Holding, holds_of

__all__ = ["ClusterOptions", "ClusterResult", "Decider", "Progress", "TaskResult", "simulate_cluster"]


class Decider(Protocol):
    """A scheduler with or without Cassini: ``Augmented`` or ``Plain`` of :mod:`cassini_core.schedulers.augmented`."""

    @property
    def interval_s(self) -> float | None:
        """So long after it was last asked, it is asked again, beside arrivals and ends."""

    def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
        """What is to be done."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What is assumed.

    Parameters
    ----------
    restart_s : float
        What a task that ran before takes until it trains again elsewhere. Pollux's evaluation has 30 s (OSDI 2021,
        section 5.3).
    holding : {"agent", "grid", "none"}
        What holds tasks at their shifts: the agent's controller, or nothing. ``grid`` is pacing by a simple rule
        (:class:`cassini_core.simulation.holding.Grid`), which takes a fraction of the time, and is worse than the agent
        where links are nearly full.
    margin : float, optional
        By how much paces are longer than the decision says, relative. If left out, the agent's margin for this jitter
        and what each component has room for; at least 0.2 %.
    jitter, jitter_share : str, float
        Distribution of compute times, of :data:`cassini_core.simulation.jitter.KINDS`, and their standard deviation
        relative to their mean.
    marking : Marking, optional
    watched : sequence of str
        Links whose loads are recorded.
    until_s : float
        When the simulation ends, whatever is left to do.

    Raises
    ------
    InputError
        A value out of bounds.
    """

    restart_s: float = 30.0
    holding: Holding = "agent"
    margin: float | None = None
    jitter: str = "normal"
    jitter_share: float = 0.0
    marking: Marking | None = None
    watched: Sequence[str] = ()
    until_s: float = math.inf

    def __post_init__(self) -> None:
        if self.holding not in get_args(Holding):
            raise refusal("options", "holding", f"one of {', '.join(get_args(Holding))}", shown(self.holding))
        if self.jitter not in KINDS:
            raise refusal("options", "jitter", f"one of {', '.join(KINDS)}", shown(self.jitter))
        for name in ("restart_s", "margin", "jitter_share", "until_s"):
            value = getattr(self, name)
            if not (value is None and name == "margin") and not value >= 0:
                raise refusal("options", name, "a number, at least 0", shown(value))


@dataclass(frozen=True, slots=True, eq=False)
class TaskResult:
    """What came of a task.

    Attributes
    ----------
    id : str
    arrival_s, first_start_s, end_s : float
        NaN for what did not happen.
    restarts : int
        How often it went on elsewhere or with other workers.
    adjusted : int
        How often it corrected a deviation from its shift.
    solo_ms : float
        Iteration time alone, of its last number of workers; NaN if it never ran.
    iterations : Iterations
        All whole ones, wherever; times in ms from the begin of the simulation.
    """

    id: str
    arrival_s: float
    first_start_s: float
    end_s: float
    restarts: int
    adjusted: int
    solo_ms: float
    iterations: Iterations

    @property
    def completion_s(self) -> float:
        """From its arrival to its end; NaN if it did not end."""
        return self.end_s - self.arrival_s


@dataclass(frozen=True, slots=True, eq=False)
class ClusterResult:
    """What came of all tasks.

    Attributes
    ----------
    tasks : tuple of TaskResult
        By arrival.
    loads : mapping of str to Loads
        Of the watched links.
    rounds : int
        How often the scheduler was asked.
    now_s : float
        When the simulation ended.
    """

    tasks: tuple[TaskResult, ...]
    loads: Mapping[str, Loads]
    rounds: int
    now_s: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a simulation is, after a round."""

    now_s: float
    to_come: int
    waiting: int
    running: int
    done: int


@dataclass(slots=True, eq=False)
class _Tracked:
    task: TrainingTask
    hosts: Mapping[str, int] | None = None
    profile: Job | None = None
    held: Held | None = None
    before: float = 0.0  # iterations done up to its last start
    first_start_s: float = math.nan
    end_s: float = math.nan
    starts: int = 0
    parts: list[Iterations] = field(default_factory=list)


def simulate_cluster(
    decider: Decider,
    topology: Topology,
    tasks: Iterable[TrainingTask],
    options: ClusterOptions | None = None,
    *,
    seed: int = 0,
    gpus_per_host: int | None = None,
    router: Router | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ClusterResult:
    """Run a cluster until all tasks are done.

    Parameters
    ----------
    decider : Decider
        With :class:`cassini_core.schedulers.ideal.Ideal` each task has a network of its own.
    topology : Topology
        With capacities.
    tasks : iterable of TrainingTask
    options : ClusterOptions, optional
    seed : int
        Of jitter, and of the phases at which tasks without shift begin.
    gpus_per_host : int, optional
        For hosts of which the topology does not know.
    router : Router, optional
        The one that the decider has; by default traffic is spread over equal paths.
    progress : callable, optional
        Told after each round.

    Returns
    -------
    ClusterResult
        Also of tasks that did not end: because of ``until_s``, or because the scheduler leaves them waiting for ever.

    Raises
    ------
    InputError
        Two tasks of one id, or a decision that cannot be.

    Notes
    -----
    Keeps some 32 bytes per iteration. The same arguments give the same result.

    A task that is not held begins at a random phase, and one that is held at a point of its grid: either waits half an
    iteration on average. Completion times have both waits; the lengths of iterations only that for the grid, in the
    first one.
    """
    run = _Run(decider, topology, tasks, options or ClusterOptions(), seed, gpus_per_host, router)
    while run.go_on():
        if progress is not None:
            progress(run.progress())
    return run.result()


class _Run:
    """One cluster, from round to round."""

    def __init__(
        self,
        decider: Decider,
        topology: Topology,
        tasks: Iterable[TrainingTask],
        options: ClusterOptions,
        seed: int,
        gpus_per_host: int | None,
        router: Router | None,
    ) -> None:
        self._decider, self._options, self._seed = decider, options, seed
        self._cluster = Cluster(topology, gpus_per_host)
        self._routes = WorkerRoutes(router if router is not None else Router(topology))
        self._capacity_gbps = {link.id: link.capacity_gbps for link in topology.links()}
        self._network = NetworkSimulation(self._capacity_gbps, marking=options.marking, watched=options.watched)
        self._is_ideal = isinstance(getattr(decider, "scheduler", None), Ideal)
        self._tracked: dict[str, _Tracked] = {}
        for task in sorted(tasks, key=lambda task: task.arrival_s):
            if task.id in self._tracked:
                raise refusal("", "tasks", "ids all different", f"{shown(task.id)} again")
            self._tracked[task.id] = _Tracked(task, before=task.done_iterations)
        self._to_come = list(reversed(self._tracked.values()))
        self._there: dict[str, _Tracked] = {}
        self._next_round_s = math.inf
        self._now_s = 0.0
        self._rounds = self._idle_rounds = 0

    def go_on(self) -> bool:
        """To the next round, and through it; False if there is none any more."""
        arrival_s = self._to_come[-1].task.arrival_s if self._to_come else math.inf
        until_s = min(arrival_s, self._next_round_s if self._there else math.inf, self._options.until_s)
        if not self._network.jobs and (until_s == math.inf or (arrival_s == math.inf and self._idle_rounds > 1)):
            return False  # nobody comes, and the scheduler has left all waiting twice although nothing runs
        ended = self._network.run(until_s * 1e3)
        self._now_s = self._network.now_ms / 1e3 if ended is not None else until_s
        self._keep()
        if ended is not None:
            self._end(ended)
        elif self._now_s >= self._options.until_s:
            return False
        while self._to_come and self._to_come[-1].task.arrival_s <= self._now_s:
            one = self._to_come.pop()
            self._there[one.task.id] = one
        self._round()
        return True

    def progress(self) -> Progress:
        """How far it is."""
        running = sum(one.hosts is not None for one in self._there.values())
        done = len(self._tracked) - len(self._to_come) - len(self._there)
        return Progress(self._now_s, len(self._to_come), len(self._there) - running, running, done)

    def result(self) -> ClusterResult:
        """What came of all."""
        adjusted = self._network.adjusted()
        found = tuple(
            TaskResult(
                name,
                one.task.arrival_s,
                one.first_start_s,
                one.end_s,
                max(0, one.starts - 1),
                adjusted.get(name, 0),
                one.profile.iteration_ms if one.profile is not None else math.nan,
                joined(one.parts),
            )
            for name, one in self._tracked.items()
        )
        return ClusterResult(found, self._network.take_loads(), self._rounds, self._now_s)

    def _keep(self) -> None:
        """What was recorded, and how far tasks are."""
        for name, iterations in self._network.take_iterations().items():
            self._tracked[name].parts.append(iterations)
        for name, completed in self._network.completed().items():
            one = self._tracked[name]
            assert one.hosts is not None  # it is on the network
            done = one.before + completed * one.task.trained_by(sum(one.hosts.values()))
            one.task = replace(one.task, done_iterations=done)

    def _end(self, name: str) -> None:
        one = self._there.pop(name)
        one.end_s, one.task = self._now_s, replace(one.task, done_iterations=one.task.iterations)
        one.hosts = one.held = None

    def _round(self) -> None:
        """Ask, and do it."""
        self._rounds += 1
        decision = self._ideal() if self._is_ideal else self._decided()
        interval_s = self._decider.interval_s
        self._next_round_s = math.inf if interval_s is None else self._now_s + interval_s
        for name, one in self._there.items():
            if one.hosts is not None and decision.allocation.get(name) != one.hosts:
                self._stop(name, one)
        placed = {name: self._there[name].task.profile(sum(at.values())) for name, at in decision.allocation.items()}
        holds = holds_of(
            decision,
            placed,
            {name: one.held for name, one in self._there.items() if one.held is not None},
            self._now_s * 1e3,
            holding=self._options.holding,
            margin=self._options.margin,
            jitter=self._options.jitter,
            jitter_share=self._options.jitter_share,
        )
        for name, hosts in decision.allocation.items():
            one, held = self._there[name], holds.get(name)
            if one.hosts is None:
                self._start(name, one, hosts, held)
            elif one.held is not held:
                self._network.hold(name, None if held is None else held.hold)
            one.held = held
        self._idle_rounds = 0 if self._network.jobs else self._idle_rounds + 1

    def _decided(self) -> Decision:
        state = self._state()
        decision = self._decider.decide(state, self._running_shifts_ms())
        check_allocation(state, decision.allocation)
        return decision

    def _state(self) -> ClusterState:
        running: Allocation = {name: one.hosts for name, one in self._there.items() if one.hosts is not None}
        return ClusterState(self._cluster, self._now_s, [one.task for one in self._there.values()], running)

    def _running_shifts_ms(self) -> dict[str, float]:
        return {name: one.held.shift_ms for name, one in self._there.items() if one.held is not None}

    def _ideal(self) -> Decision:
        """Each task as if it were alone: those that run stay, and the others are placed."""
        allocation = {name: one.hosts for name, one in self._there.items() if one.hosts is not None}
        waiting = [one.task for one in self._there.values() if one.hosts is None]
        for task in waiting:
            allocation.update(self._decider.decide(ClusterState(self._cluster, self._now_s, [task])).allocation)
        return Decision(allocation)

    def _stop(self, name: str, one: _Tracked) -> None:
        self._network.remove(name)
        one.hosts = one.held = None
        one.before = one.task.done_iterations

    def _start(self, name: str, one: _Tracked, hosts: Mapping[str, int], held: Held | None) -> None:
        one.hosts, one.profile = hosts, one.task.profile(sum(hosts.values()))
        one.starts += 1
        drawn = random.Random(f"{self._seed}, {name}, {one.starts}")
        start_s = self._now_s + (self._options.restart_s if one.starts > 1 else 0.0)
        phase_ms = 0.0 if held is not None else drawn.random() * one.profile.iteration_ms
        if one.starts == 1:
            one.first_start_s = start_s
        else:
            one.task = replace(one.task, restarts=one.task.restarts + 1)
        share, jitter_seed = self._options.jitter_share, zlib.crc32(f"{self._seed}, {name}, {one.starts}".encode())
        self._network.add(
            one.profile,
            self._route(name, one.task, hosts),
            start_ms=max(self._network.now_ms, start_s * 1e3 + phase_ms),  # s are rounded
            hold=None if held is None else held.hold,
            factors=factors(self._options.jitter, share, jitter_seed) if share else None,
            iterations=max(1, math.ceil(one.task.left_iterations / one.task.trained_by(sum(hosts.values())) - 1e-9)),
        )

    def _route(self, name: str, task: TrainingTask, hosts: Mapping[str, int]) -> Mapping[str, float]:
        """The links that a task crosses: its own ones where it is alone."""
        route = self._routes.of(self._cluster, task.request(hosts).pattern, where_of(self._cluster, hosts))
        if not self._is_ideal:
            return route
        own = {f"{link} of {name}": self._capacity_gbps[link] for link in route}
        self._network.add_links(own)
        return dict(zip(own, route.values(), strict=True))
