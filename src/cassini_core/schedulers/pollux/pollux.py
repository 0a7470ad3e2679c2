"""The scheduler: every minute the cluster is allocated anew, by goodput."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from ...arrays import Float64Array, Int64Array
from ...checks import number, number_between, whole_number
from ...errors import refusal, shown
from ..distinct import distinct
from ..state import Allocation, ClusterState, TrainingTask, where_of
from .goodput import goodput_table
from .search import Question, Rules, search

__all__ = ["Pollux", "Reference"]

Reference = Literal["fair_share", "one_worker"]
"""What speeds are compared with: the task alone in as large a part of the cluster as each, or with least workers."""

_SWAPS = 32
"""Pairs of hosts that are tried at once."""


class Pollux:
    """Goodput-optimised allocations (Pollux, OSDI 2021), several that are as good.

    Needs pymoo: ``pip install 'cassini-core[schedulers]'``.

    Parameters
    ----------
    interval_s : float
        Between re-allocations, s; 60 in Pollux.
    power : float
        ``p`` of the mean over tasks: the lower the fairer; -1 in Pollux (section 4.2). 1 is what its published
        scheduler adds up.
    reference : {"fair_share", "one_worker"}
        Of speed-ups. ``fair_share`` is Pollux's section 4.2, ``one_worker`` what its published scheduler does.
    restart_delay_s : float
        A restart takes so long: the speed-up of a task that is ``T`` old and was restarted ``R`` times is multiplied
        by ``(T - R * delay) / (T + delay)``; 30 in Pollux (section 4.2).
    restart_penalty : float, optional
        A fixed part instead; 0.1 in its published scheduler.
    tolerance : float
        Candidates have at least ``1 - tolerance`` of the fitness of the best that was found.
    one_distributed : bool
        At most one task that runs on several hosts may be on a host (interference avoidance, section 4.2).
    population, generations : int
        Of the search; 100 each in Pollux (section 4.2).
    seed : int

    Attributes
    ----------
    fitness : float
        Of the allocation last proposed first.
    speedups : dict of str to float
        In it, of every task, against the reference; restarts included.

    Raises
    ------
    InputError
        A number is out of bounds.
    ModuleNotFoundError
        pymoo is not there.

    Notes
    -----
    The paper's limit of twice the GPUs that a task ever had is for models that are still being fitted; here they are
    known. The last population starts the next search, as in the paper. O(generations * population * tasks * hosts).
    """

    def __init__(
        self,
        *,
        interval_s: float = 60.0,
        power: float = -1.0,
        reference: Reference = "fair_share",
        restart_delay_s: float = 30.0,
        restart_penalty: float | None = None,
        tolerance: float = 0.01,
        one_distributed: bool = True,
        population: int = 100,
        generations: int = 100,
        seed: int = 0,
    ) -> None:
        self.interval_s: float | None = number_between(interval_s, 1e-3, math.inf, "", "interval_s")
        self._power = number(power, "", "power")
        if reference not in get_args(Reference):
            raise refusal("", "reference", " or ".join(get_args(Reference)), shown(reference))
        self._reference = reference
        self._restart_delay_s = number_between(restart_delay_s, 0.0, math.inf, "", "restart_delay_s")
        penalty = None if restart_penalty is None else number_between(restart_penalty, 0.0, 1.0, "", "restart_penalty")
        self._restart_penalty = penalty
        self._tolerance = number_between(tolerance, 0.0, 1.0, "", "tolerance")
        self._one_distributed = one_distributed
        self._population = whole_number(population, "population")
        self._generations = whole_number(generations, "generations")
        self._seed = seed
        self._round = 0
        self._last: tuple[tuple[str, ...], tuple[str, ...], Int64Array] | None = None
        self.fitness = 0.0
        self.speedups: dict[str, float] = {}

    def propose(self, state: ClusterState, candidates: int) -> list[Allocation]:
        """As of :class:`cassini_core.schedulers.scheduler.Scheduler`.

        After the best come those of the last population that are as good but for the tolerance, then such with
        the columns of two hosts exchanged, again and again.
        """
        most = whole_number(candidates, "candidates")
        if not state.tasks:
            return [{}]
        self._round += 1
        seed = (self._seed * 1_000_003 + self._round) % 2**31
        question = self.question(state)
        found, fitness = search(
            question, self._start(state), population=self._population, generations=self._generations, seed=seed
        )
        self._last = tuple(task.id for task in state.tasks), state.cluster.hosts, found
        self.fitness = float(fitness[0])
        speedups = question.speedups_of(found[:1])[0]
        self.speedups = {task.id: float(speedup) for task, speedup in zip(state.tasks, speedups, strict=True)}
        least = self.fitness * (1.0 - self._tolerance)
        near = found[fitness >= least]
        rng = np.random.default_rng([seed, 1])
        return distinct(_allocations(state, question, near, least, rng), most)

    def question(self, state: ClusterState) -> Question:
        """What is searched for in a state: rules, speed-ups, and what runs."""
        tasks, cluster = state.tasks, state.cluster
        running = np.zeros((len(tasks), len(cluster.hosts)), dtype=np.int64)
        for row, task in enumerate(tasks):
            for host, workers in where_of(cluster, state.running.get(task.id, {})):
                running[row, host] = workers
        starts, ends = cluster.parts
        rules = Rules(
            gpus=cluster.gpus,
            part=np.repeat(np.arange(len(starts)), ends - starts),
            gpus_per_worker=np.array([task.gpus_per_worker for task in tasks]),
            least=np.array([task.min_workers for task in tasks]),
            most=np.array([task.max_workers for task in tasks]),
            one_distributed=self._one_distributed,
        )
        speedups = [self._speedups(state, task) for task in tasks]
        return Question(rules, speedups, running, self._restart_factors(state), self._power)

    def _speedups(self, state: ClusterState, task: TrainingTask) -> Float64Array:
        table = goodput_table(task)
        workers, several = task.min_workers, 0
        if self._reference == "fair_share":
            share = -(-int(state.cluster.gpus.sum()) // (len(state.tasks) * task.gpus_per_worker))
            workers = min(max(share, task.min_workers), task.max_workers)
            several = int(workers > int(state.cluster.gpus.max()) // task.gpus_per_worker)
        possible = table[table > 0]
        if not len(possible):
            raise refusal(f"task {shown(task.id)}", "goodput", "some batch that fits its workers", "none")
        # Too few workers for the initial batch have no goodput: then what the least that run have.
        speedups: Float64Array = table / (table[several, workers] or possible.min())
        return speedups

    def _restart_factors(self, state: ClusterState) -> Float64Array:
        if self._restart_penalty is not None:
            return np.full(len(state.tasks), 1.0 - self._restart_penalty)
        delay_s = self._restart_delay_s
        age_s = np.array([max(0.0, state.now_s - task.arrival_s) for task in state.tasks])
        restarts = np.array([task.restarts for task in state.tasks])
        return np.maximum(age_s - restarts * delay_s, 0.0) / np.maximum(age_s + delay_s, 1e-9)

    def _start(self, state: ClusterState) -> Int64Array:
        """The last population, with the tasks and hosts of now."""
        if self._last is None:
            return np.zeros((1, len(state.tasks), len(state.cluster.hosts)), dtype=np.int64)
        tasks, hosts, found = self._last
        start = np.zeros((len(found), len(state.tasks), len(state.cluster.hosts)), dtype=np.int64)
        row = {task: index for index, task in enumerate(tasks)}
        column = {host: index for index, host in enumerate(hosts)}
        here = [(at, row[task.id]) for at, task in enumerate(state.tasks) if task.id in row]
        there = [(at, column[host]) for at, host in enumerate(state.cluster.hosts) if host in column]
        if here and there:
            new_rows, old_rows = np.array(here).T
            new_columns, old_columns = np.array(there).T
            start[:, new_rows[:, None], new_columns] = found[:, old_rows[:, None], old_columns]
        return start


def _allocations(
    state: ClusterState, question: Question, near: Int64Array, least: float, rng: np.random.Generator
) -> Iterator[Allocation]:
    """Those found, best first; then without end such as differ by exchanges of hosts."""
    hosts = state.cluster.hosts

    def allocation(matrix: Int64Array) -> Allocation:
        return {
            task.id: {hosts[host]: int(row[host]) for host in np.flatnonzero(row)}
            for task, row in zip(state.tasks, matrix, strict=True)
            if row.any()
        }

    for matrix in near:
        yield allocation(matrix)
    current = near[0]
    while True:
        pairs = rng.integers(len(hosts), size=(_SWAPS, 2))
        swapped = np.repeat(current[None], _SWAPS, axis=0)
        for one, (first, second) in zip(swapped, pairs, strict=True):
            one[:, [first, second]] = one[:, [second, first]]
        # A swap changes goodput where hosts differ in GPUs, and where it moves what runs.
        rules = question.rules
        fits = ((swapped * rules.gpus_per_worker[:, None]).sum(axis=1) <= rules.gpus).all(axis=1)
        fits &= rules.part[pairs[:, 0]] == rules.part[pairs[:, 1]]
        good = np.flatnonzero(fits & (question.fitness(swapped) >= least))
        for index in good:
            yield allocation(swapped[index])
        if not len(good):
            yield allocation(current)
        else:
            current = swapped[rng.choice(good)]
