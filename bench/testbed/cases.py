"""One simulated cluster, said in words that JSON has, and what came of it in figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from cassini_core.arrays import BoolArray, Float64Array
from cassini_core.schedulers.state import TrainingTask
from cassini_core.simulation.cluster import ClusterOptions, ClusterResult, simulate_cluster
from cassini_core.simulation.marking import Marking
from cassini_core.topology.generated import leaf_spine, paper_testbed, paper_two_gpus
from cassini_core.topology.model import Topology
from cassini_core.topology.overlay import TierCables, with_capacities
from cassini_core.topology.routing import Ecmp, Router

from . import traces
from .changed import changed_task
from .deciders import Watched, decider_of

__all__ = ["NETWORKS", "QUANTILES", "Case", "model_of", "record_of_run", "run_case"]

QUANTILES = (*range(95), *(round(95 + 0.2 * step, 1) for step in range(25)), 100)
"""Percentiles of all iterations that are kept, for curves."""

BIN_S = 20.0
"""Of time series."""


def leaves_and_spines(leaves: int, hosts: int, spines: int, gbps: float = 50.0) -> Topology:
    """Leaf switches with so many hosts each, and all cables of one rate: ``hosts / spines`` to 1 above the leaves."""
    return with_capacities(leaf_spine(leaves, spines, hosts), {1: TierCables(gbps), 2: TierCables(gbps)})


NETWORKS: Mapping[str, Callable[..., Topology]] = MappingProxyType(
    {"testbed": paper_testbed, "two GPUs": paper_two_gpus, "leaves and spines": leaves_and_spines}
)


@dataclass(frozen=True, slots=True)
class Case:
    """What is simulated.

    Parameters
    ----------
    decider : str
        Of :data:`bench.testbed.deciders.DECIDERS`.
    trace : str
        A function of :mod:`bench.testbed.traces`,
    tasks : mapping of str to object
        and its arguments but for the seed.
    network : str
        Of ``NETWORKS``,
    size : mapping of str to number
        and its arguments.
    paths : {"hash", "spread"}
        How equal paths are used (:class:`cassini_core.topology.routing.Router`). The paper's switches forward by input
        port and destination (section 5.1): every pair of hosts has one path.
    options : mapping of str to object
        Of :class:`cassini_core.simulation.cluster.ClusterOptions`; ``marking`` is a mapping of what
        :class:`cassini_core.simulation.marking.Marking` takes.
    rank, scheduler : mapping of str to object
        Options of the ranking, and of the scheduler.
    candidates : int
    gpus_per_host : int
        Where the network does not know.
    worn : bool
        Whether what is there at first lies where chance put it.
    changes : mapping of str to number
        Of all tasks: arguments of :func:`bench.testbed.changed.changed_task`.
    series : int or None
        The seed of which iteration times by time are kept.
    """

    decider: str
    trace: str = "poisson"
    tasks: Mapping[str, Any] = field(default_factory=dict)
    network: str = "testbed"
    size: Mapping[str, Any] = field(default_factory=dict)
    paths: Ecmp = "hash"
    options: Mapping[str, Any] = field(default_factory=dict)
    rank: Mapping[str, Any] = field(default_factory=dict)
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    candidates: int = 10
    gpus_per_host: int = 1
    worn: bool = False
    changes: Mapping[str, float] = field(default_factory=dict)
    series: int | None = None

    def __post_init__(self) -> None:
        for name in ("tasks", "size", "options", "rank", "scheduler", "changes"):
            object.__setattr__(self, name, dict(getattr(self, name)))  # what other processes can be sent


def run_case(case: Case, seed: int) -> dict[str, Any]:
    """Simulate it with the tasks, draws and random phases of a seed: :func:`record_of_run`."""
    topology = NETWORKS[case.network](**case.size)
    router = Router(topology, ecmp=case.paths, seed=seed)
    decider = Watched(
        decider_of(
            case.decider,
            topology,
            router,
            seed,
            candidates=case.candidates,
            rank=case.rank,
            scheduler=case.scheduler,
            worn=case.worn,
        )
    )
    options = dict(case.options)
    if options.get("marking") is not None:
        options["marking"] = Marking(**options["marking"])
    tasks: list[TrainingTask] = getattr(traces, case.trace)(seed=seed, **case.tasks)
    if case.changes:
        tasks = [changed_task(task, **case.changes) for task in tasks]
    start = time.perf_counter()
    result = simulate_cluster(
        decider,
        topology,
        tasks,
        ClusterOptions(**options),
        seed=seed,
        gpus_per_host=case.gpus_per_host,
        router=router,
    )
    took_s = time.perf_counter() - start
    return record_of_run(result, tasks, decider, with_series=case.series == seed) | {"took_s": round(took_s, 2)}


def record_of_run(
    result: ClusterResult, tasks: Sequence[TrainingTask], decider: Watched, *, with_series: bool = False
) -> dict[str, Any]:
    """What came of a cluster, in figures.

    Keys: ``iteration_ms`` and ``slowdown`` (iteration time over that of the same workers alone), of all iterations;
    ``shared``, the same of only those of tasks on several hosts; ``completion_s`` and ``waited_s`` of tasks;
    ``models``, each with its iterations and marks; ``restarts``, ``adjusted`` and ``rounds``. A distribution has
    ``n``, ``mean`` and ``quantiles`` (at ``QUANTILES``).
    """
    by_id = {task.id: task for task in tasks}
    lengths, slowdowns, series = [], [], []
    models: dict[str, Any] = {}
    for one in result.tasks:
        came, length = one.iterations.came_ms, one.iterations.length_ms
        workers = _workers_at(decider, one.id, came)
        solo = _solo_ms(by_id[one.id], workers)
        slowdown = length / solo
        lengths.append(length)
        slowdowns.append(slowdown)
        models.setdefault(model_of(by_id[one.id]), []).append((length, slowdown, one.iterations.marked))
        if with_series and len(came):
            series.append({"id": one.id, "bins": _binned(came / 1e3, length, slowdown)})
    ended = [one for one in result.tasks if np.isfinite(one.end_s)]
    record: dict[str, Any] = {
        "iteration_ms": distribution(lengths),
        "slowdown": distribution(slowdowns),
        "completion_s": distribution([np.array([one.completion_s for one in ended])]),
        "waited_s": distribution([np.array([one.first_start_s - one.arrival_s for one in ended])]),
        "models": {name: _model(parts) for name, parts in sorted(models.items())},
        "tasks": len(result.tasks),
        "ended": len(ended),
        "restarts": sum(one.restarts for one in result.tasks),
        "adjusted": sum(one.adjusted for one in result.tasks),
        "rounds": result.rounds,
        "now_s": result.now_s,
        "ranked": decider.rounds,
        "bidders": [sum(each) for each in zip((0, 0), *decider.bidders, strict=True)],
    }
    return record | ({"series": series} if with_series else {})


def model_of(task: TrainingTask) -> str:
    """The name of a task's model, which is its profile's."""
    return task.profiles(task.requested_workers).id


def distribution(parts: Iterable[Float64Array]) -> dict[str, Any]:
    """How many values, their mean and percentiles; no mean of none."""
    values = np.concatenate([np.zeros(0), *parts])
    if not len(values):
        return {"n": 0}
    quantiles = np.percentile(values, QUANTILES)
    return {"n": len(values), "mean": float(values.mean()), "quantiles": [float(f"{one:.6g}") for one in quantiles]}


def _model(parts: Sequence[tuple[Float64Array, Float64Array, Float64Array]]) -> dict[str, Any]:
    lengths, slowdowns, marked = (list(each) for each in zip(*parts, strict=True))
    return {"iteration_ms": distribution(lengths), "slowdown": distribution(slowdowns), "marked": distribution(marked)}


def _workers_at(decider: Watched, task: str, at_ms: Float64Array) -> Float64Array:
    """With how many workers a task ran each of its iterations, which came at these times."""
    decisions = [(at_s, workers[task]) for at_s, workers in decider.decisions if task in workers]
    if not decisions:
        return np.ones(len(at_ms))
    when = np.array([at_s for at_s, _ in decisions]) * 1e3
    counts = np.array([count for _, count in decisions], dtype=np.float64)
    # The first iteration comes when the decision is made, but for rounding.
    place = np.searchsorted(when, at_ms + 1e-6, side="right") - 1
    return counts[np.maximum(place, 0)]


def _solo_ms(task: TrainingTask, workers: Float64Array) -> Float64Array:
    found = np.ones(len(workers))
    for count in np.unique(workers):
        of_count: BoolArray = workers == count
        found[of_count] = task.profiles(int(count)).iteration_ms
    return found


def _binned(at_s: Float64Array, length: Float64Array, slowdown: Float64Array) -> list[list[float]]:
    """By time: the bin's middle, s, mean iteration time, ms, mean slowdown."""
    bins = np.floor(at_s / BIN_S).astype(np.int64)
    found = []
    for one in np.unique(bins):
        inside: BoolArray = bins == one
        found.append(
            [(one + 0.5) * BIN_S, round(float(length[inside].mean()), 3), round(float(slowdown[inside].mean()), 4)]
        )
    return found
