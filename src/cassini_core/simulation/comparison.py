"""What schedulers make of the same tasks on the same network, each as it is and with Cassini, over several seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import items_of, whole_number
from ..errors import refusal, shown
from ..formats import json_line
from ..placement.cluster import Cluster
from ..placement.packed import packed
from ..schedulers.augmented import PAPERS_CANDIDATES, Augmented, Decision, Plain
from ..schedulers.named import SchedulerName, scheduler_named
from ..schedulers.state import ClusterState, TrainingTask
from ..topology.formats.native import topology_to_json
from ..topology.model import Topology
from ..topology.routing import Ecmp, Router
from .cluster import ClusterOptions, simulate_cluster
from .estimate import Estimate, confidence_of, estimate_of
from .run_figures import FIGURES, SHARES, figures_of, percentiles_ms
from .seeds import Experiment, record_of, run_experiments
from .side_by_side import report_share

__all__ = ["DEFAULT_OPTIONS", "GAINS", "Compared", "Comparison", "compare_schedulers"]

DEFAULT_OPTIONS = ClusterOptions(jitter_share=0.01)
"""Compute times vary by 1 %: without any, nothing would ever have to be held."""

DEFAULT_SEEDS = 6
"""The fewest that give an interval of 95 % confidence."""

GAINS = ("mean_ms", "p99_ms", "completion_s")
"""The figures of which it is said how many times Cassini makes them less."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A scheduler, as it is or with Cassini.

    Attributes
    ----------
    scheduler : str
        Its name.
    cassini : bool
    runs : mapping of int to mapping
        By seed, ready for JSON: ``figures`` (:data:`cassini_core.simulation.run_figures.FIGURES`), ``percentiles_ms``
        of the times of all iterations (at :data:`cassini_core.simulation.run_figures.SHARES`), and what
        :func:`cassini_core.simulation.seeds.record_of` says of each task.
    """

    scheduler: str
    cassini: bool
    runs: Mapping[int, Mapping[str, Any]] = field(hash=False)

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.scheduler} + Cassini" if self.cassini else self.scheduler

    def values(self, figure: str) -> list[float | None]:
        """A figure, seed by seed."""
        return [run["figures"][figure] for run in self.runs.values()]

    def estimate(self, figure: str) -> Estimate | None:
        """A figure over the seeds; None where one of them has none."""
        values = self.values(figure)
        known = [value for value in values if value is not None]
        return estimate_of(known) if len(known) == len(values) else None

    def percentiles_ms(self) -> list[float]:
        """Of the times of all iterations, at ``SHARES``: the median over the seeds that have iterations."""
        rows = [run["percentiles_ms"] for run in self.runs.values() if run["percentiles_ms"]]
        found: list[float] = np.median(rows, axis=0).tolist() if rows else []
        return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """All schedulers that were compared.

    Attributes
    ----------
    tasks : int
    compared : tuple of Compared
        As they were asked for; each with Cassini comes after itself without.
    """

    tasks: int
    compared: tuple[Compared, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """That were run."""
        return tuple(self.compared[0].runs)

    @property
    def confidence(self) -> float:
        """Of all intervals, from 0 to 1."""
        return confidence_of(len(self.seeds))

    def gain(self, scheduler: str, figure: str) -> Estimate | None:
        """How many times less a figure is with Cassini: above 1 where Cassini helps.

        The ratio is taken seed by seed, so that what seeds have in common does not count. None where the scheduler was
        not run with Cassini, or a seed has no such figure.
        """
        found = {one.cassini: one.values(figure) for one in self.compared if one.scheduler == scheduler}
        if len(found) < 2:
            return None
        ratios = [plain / less for plain, less in zip(found[False], found[True], strict=True) if plain and less]
        return estimate_of(ratios) if len(ratios) == len(self.seeds) else None

    def to_json(self) -> bytes:
        """One line of JSON, ``cassini-simulation/1`` (docs/formats.md): the same bytes for the same runs."""
        compared = [
            {
                "scheduler": one.scheduler,
                "cassini": one.cassini,
                "figures": {name: _told(one.estimate(name)) for name in FIGURES},
                "percentiles_ms": one.percentiles_ms(),
                "runs": [{"seed": seed, **_without_tasks(run)} for seed, run in one.runs.items()],
            }
            for one in self.compared
        ]
        gains = [
            {"scheduler": one.scheduler, **{name: _told(self.gain(one.scheduler, name)) for name in GAINS}}
            for one in self.compared
            if one.cassini
        ]
        return json_line(
            {
                "format": "cassini-simulation/1",
                "tasks": self.tasks,
                "confidence": self.confidence,
                "percentiles": SHARES,
                "schedulers": compared,
                "gains": gains,
            }
        )


def compare_schedulers(
    topology: Topology,
    tasks: Iterable[TrainingTask],
    schedulers: Iterable[SchedulerName] = ("packed", "ideal"),
    *,
    seeds: int | Iterable[int] = DEFAULT_SEEDS,
    candidates: int = PAPERS_CANDIDATES,
    rank_options: Mapping[str, Any] | None = None,
    options: ClusterOptions = DEFAULT_OPTIONS,
    gpus_per_host: int | None = None,
    ecmp: Ecmp = "spread",
    folder: Path | None = None,
    processes: int | None = 1,
    progress: Callable[[float, int], None] | None = None,
) -> Comparison:
    """Run tasks on a network under several schedulers, each as it is and with Cassini.

    Parameters
    ----------
    topology : Topology
        With capacities (:func:`cassini_core.topology.overlay.with_capacities`).
    tasks : iterable of TrainingTask
        Of :func:`cassini_core.schedulers.tasks_file.load_tasks`, for example. With several processes they are pickled:
        lambdas will not do.
    schedulers : iterable of {"first-fit", "packed", "random", "themis", "pollux", "ideal"}
        With their default settings. ``"ideal"`` is each task alone: what nobody can do better than.
    seeds : int or iterable of int
        How many, from 0 on, or which. They differ in the phases at which tasks start that are not held, in jitter, in
        what schedulers draw and, with ``ecmp="hash"``, in routes. A scheduler is run with the same seeds as it is and
        with Cassini.
    candidates : int
        Allocations that Cassini ranks in a round, at most.
    rank_options : mapping of str to object, optional
        As for :func:`cassini_core.rank`; :data:`cassini_core.schedulers.augmented.PAPERS_RULE` for the paper's.
    options : ClusterOptions
        What is assumed.
    gpus_per_host : int, optional
        For hosts of which the topology does not know.
    ecmp : {"spread", "hash"}
        As for :class:`cassini_core.topology.routing.Router`.
    folder : Path, optional
        Keeps each run, in ``packed/seed-0.json`` and ``packed-cassini/seed-0.json`` for example, so that a call that
        was interrupted, or is made again with more seeds or schedulers, runs only what is not there.
    processes : int, optional
        At a time; None for as many as there are processors. With more than one the calling script needs its
        ``if __name__ == "__main__"``.
    progress : callable, optional
        Told how many runs are done, and of how many; a run counts in part while it is under way.

    Returns
    -------
    Comparison
        The same for the same arguments, whatever ``processes`` is and whatever was kept before.

    Raises
    ------
    InputError
        A task has no room on the empty cluster, there is no such scheduler or no task, or the folder has runs of
        something else.

    Notes
    -----
    Cost: that of :func:`cassini_core.simulation.cluster.simulate_cluster` times schedulers times seeds, twice.

    Examples
    --------
    >>> from cassini_core import Job, Phase
    >>> from cassini_core.schedulers.state import TrainingTask
    >>> from cassini_core.simulation.comparison import compare_schedulers
    >>> from cassini_core.topology.generated import paper_testbed
    >>> burst = Job("vgg16", iteration_ms=255, phases=[Phase(start_ms=141, duration_ms=114, gbps=45)])
    >>> tasks = [TrainingTask(name, 0.0, 200, lambda workers: burst, 6) for name in "abcd"]
    >>> found = compare_schedulers(paper_testbed(), tasks, ["random"], seeds=3)
    >>> [one.name for one in found.compared]
    ['random', 'random + Cassini']
    >>> found.gain("random", "mean_ms").median > 1.05
    True
    """
    given = items_of(tasks, TrainingTask, "", "tasks")
    names = list(dict.fromkeys(schedulers))
    which = list(range(whole_number(seeds, "seeds"))) if isinstance(seeds, int) else list(seeds)
    for words, found in (("tasks", given), ("schedulers", names), ("seeds", which)):
        if not found:
            raise refusal("", words, "at least one", "none")
    for name in names:
        scheduler_named(name)  # refused before anything runs
    _check_room(Cluster(topology, gpus_per_host), given)
    ways = [(name, cassini) for name in names for cassini in ((False,) if name == "ideal" else (False, True))]
    common = partial(
        _run,
        topology,
        given,
        candidates=candidates,
        # One process with threads beside others of its kind gains nothing.
        rank_options=dict(rank_options or {}) | ({} if processes == 1 else {"threads": 1}),
        options=options,
        gpus_per_host=gpus_per_host,
        ecmp=ecmp,
    )
    about: dict[str, Any] = {}
    if folder is not None:
        about = _about(topology, given, gpus_per_host) | {"options": _plain(options), "ecmp": ecmp}
    experiments = []
    for name, cassini in ways:
        more = {"candidates": candidates, "rank_options": dict(rank_options or {})} if cassini else {}
        where = folder / f"{name}{'-cassini' * cassini}" if folder is not None else None
        experiments.append(Experiment(partial(common, name, cassini), where, about | more))
    records = run_experiments(experiments, which, processes=processes, progress=progress)
    return Comparison(len(given), tuple(Compared(*way, runs) for way, runs in zip(ways, records, strict=True)))


def _run(
    topology: Topology,
    tasks: Sequence[TrainingTask],
    name: SchedulerName,
    cassini: bool,
    seed: int,
    *,
    candidates: int,
    rank_options: Mapping[str, Any],
    options: ClusterOptions,
    gpus_per_host: int | None,
    ecmp: Ecmp,
) -> dict[str, Any]:
    """One run, here."""
    scheduler, router = scheduler_named(name, seed), Router(topology, ecmp=ecmp, seed=seed)
    decider: Plain | _Counting = Plain(scheduler)
    if cassini:
        decider = _Counting(Augmented(scheduler, topology, candidates=candidates, router=router, **rank_options))
    result = simulate_cluster(
        decider,
        topology,
        tasks,
        options,
        seed=seed,
        gpus_per_host=gpus_per_host,
        router=router,
        progress=lambda now: report_share(now.done / len(tasks)),
    )
    discarded = decider.discarded_rounds if isinstance(decider, _Counting) else None
    figures = figures_of(result, marking=options.marking is not None, discarded_rounds=discarded)
    return {"figures": figures, "percentiles_ms": percentiles_ms(result), **record_of(result)}


class _Counting:
    """A scheduler with Cassini that counts the rounds in which nothing could be ranked."""

    def __init__(self, augmented: Augmented) -> None:
        self._augmented = augmented
        self.discarded_rounds = 0

    @property
    def interval_s(self) -> float | None:
        return self._augmented.interval_s

    def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
        decision = self._augmented.decide(state, running_shifts_ms)
        self.discarded_rounds += decision.ranking is not None and decision.ranking.best is None
        return decision


def _check_room(cluster: Cluster, tasks: Sequence[TrainingTask]) -> None:
    """Refuse tasks that would wait for ever."""
    for task in tasks:
        if packed(cluster, cluster.gpus // task.gpus_per_worker, task.requested_workers) is None:
            each = f" of {task.gpus_per_worker} GPUs" if task.gpus_per_worker > 1 else ""
            expected = f"workers{each} for which the network's {int(cluster.gpus.sum())} GPUs have room"
            raise refusal(f"task {shown(task.id)}", "workers", expected, str(task.requested_workers))


def _about(topology: Topology, tasks: Sequence[TrainingTask], gpus_per_host: int | None) -> dict[str, Any]:
    """What tells runs of these tasks on this network from others."""
    most = int(Cluster(topology, gpus_per_host).gpus.sum())
    told = []
    for task in tasks:
        counts = range(task.min_workers, min(task.max_workers, most) + 1)
        patterns = [task.pattern(count) if callable(task.pattern) else task.pattern for count in counts]
        kept = {name: getattr(task, name) for name in task.__slots__ if name not in ("profiles", "pattern", "goodput")}
        goodput = None if task.goodput is None else asdict(task.goodput)
        told.append([kept, goodput, [asdict(task.profile(count)) for count in counts], list(map(repr, patterns))])
    return {
        "version": version("cassini-core"),
        "network": sha256(topology_to_json(topology)).hexdigest(),
        "gpus_per_host": gpus_per_host,
        "tasks": sha256(json_line(told)).hexdigest(),
    }


def _plain(options: ClusterOptions) -> dict[str, Any]:
    """Options as JSON can say them."""
    return {name: None if value == math.inf else value for name, value in asdict(options).items()}


def _without_tasks(run: Mapping[str, Any]) -> dict[str, Any]:
    return {key: run[key] for key in ("figures", "rounds")}


def _told(one: Estimate | None) -> dict[str, float] | None:
    return None if one is None else asdict(one)
