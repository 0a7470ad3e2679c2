"""Genetic search for allocations of high fitness (Pollux, section 4.2), with pymoo.

An individual is a matrix of workers, a row per task, a column per host. Fitness is the generalised mean, of power
``p``, of how much faster each task trains than in its fair part of the cluster; a task that would be restarted counts
less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.optimize import minimize

from ...arrays import Float64Array, Int64Array

__all__ = ["Question", "Rules", "search"]

_NOTHING = 1e-3
"""Speed-up of a task that waits: were it 0, a mean of negative power would not tell apart who else waits."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What an allocation may be.

    Attributes
    ----------
    gpus : int64 array, shape (hosts,)
    part : int64 array, shape (hosts,)
        Equal for hosts between which there are paths.
    gpus_per_worker, least, most : int64 array, shape (tasks,)
        Workers of a task are none, or from ``least`` to ``most``.
    one_distributed : bool
        At most one task that runs on several hosts may be on a host.
    """

    gpus: Int64Array
    part: Int64Array
    gpus_per_worker: Int64Array
    least: Int64Array
    most: Int64Array
    one_distributed: bool

    def repaired(self, states: Int64Array, rng: np.random.Generator) -> Int64Array:
        """Allocations, shape (n, tasks, hosts), with workers taken away, at random, until they are allowed."""
        states = np.clip(states, 0, self.gpus // self.gpus_per_worker[:, None])
        if self.part.any():
            states = self._in_one_part(states)
        if self.one_distributed:
            here = (states > 0) & ((states > 0).sum(axis=2, keepdims=True) > 1)
            weight = here * rng.random(states.shape[:2])[:, :, None]
            states = np.where(here & (weight < weight.max(axis=1, keepdims=True)), 0, states)
        states = _at_most(states, self.most[:, None], 2, rng)
        # In an order of the tasks that is drawn for each allocation, each takes what those before it left of a host.
        order = np.argsort(rng.random(states.shape[:2]), axis=1)[:, :, None]
        gpus = np.take_along_axis(states * self.gpus_per_worker[:, None], order, axis=1)
        gpus = np.diff(np.minimum(np.cumsum(gpus, axis=1), self.gpus), axis=1, prepend=0)
        states = np.take_along_axis(gpus, np.argsort(order, axis=1), axis=1) // self.gpus_per_worker[:, None]
        kept: Int64Array = states * (states.sum(axis=2, keepdims=True) >= self.least[:, None])
        return kept

    def _in_one_part(self, states: Int64Array) -> Int64Array:
        """With each task only in the part of the network where it has most workers."""
        parts = np.arange(int(self.part.max()) + 1)
        there = np.stack([states[:, :, self.part == part].sum(axis=2) for part in parts], axis=2)
        kept: Int64Array = states * (self.part == there.argmax(axis=2)[:, :, None])
        return kept


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for.

    Attributes
    ----------
    rules : Rules
    speedups : sequence of float64 array, each of shape (2, most + 1)
        By task, by whether it is on several hosts, and by its workers.
    running : int64 array, shape (tasks, hosts)
    restart_factor : float64 array, shape (tasks,)
        By what the speed-up of a task that runs is multiplied if it is moved or given other workers.
    power : float
    """

    rules: Rules
    speedups: Sequence[Float64Array]
    running: Int64Array
    restart_factor: Float64Array
    power: float

    def fitness(self, states: Int64Array) -> Float64Array:
        """Of each allocation, shape (n, tasks, hosts). O(n * tasks * hosts)."""
        return _power_mean(self.speedups_of(states), self.power)

    def speedups_of(self, states: Int64Array) -> Float64Array:
        """Of each task in each allocation, shape (n, tasks)."""
        workers, several = states.sum(axis=2), ((states > 0).sum(axis=2) > 1).astype(np.int64)
        found = np.empty(workers.shape)
        for task, table in enumerate(self.speedups):
            found[:, task] = table[several[:, task], workers[:, task]]
        moved = (states != self.running).any(axis=2) & self.running.any(axis=1)
        return found * np.where(moved, self.restart_factor, 1.0)


def search(
    question: Question, start: Int64Array, *, population: int, generations: int, seed: int
) -> tuple[Int64Array, Float64Array]:
    """The last population, best first, and its fitness.

    Parameters
    ----------
    question : Question
    start : int64 array, shape (n, tasks, hosts)
        From where it is searched; ``question.running`` is added. At most ``population`` are taken.
    population, generations, seed : int

    Notes
    -----
    O(generations * population * tasks * hosts); the same answer for the same seed and version of pymoo.
    """
    tasks, hosts = question.running.shape
    rng = np.random.default_rng(seed)
    first = np.concatenate([question.running[None], question.rules.repaired(start, rng)])[:population]
    drawn = question.rules.repaired(_mutated(first[rng.integers(len(first), size=population)], question, rng), rng)
    sampling = np.concatenate([first, drawn])[:population].reshape(-1, tasks * hosts)
    algorithm = GA(
        pop_size=population,
        sampling=sampling,
        crossover=_Rows(),
        mutation=_Draws(),
        repair=_Repaired(),
    )
    found = minimize(_Allocations(question), algorithm, ("n_gen", generations), seed=seed, verbose=False)
    states = found.pop.get("X").reshape(-1, tasks, hosts).astype(np.int64)
    fitness = question.fitness(states)
    order = np.argsort(-fitness, kind="stable")
    return states[order], fitness[order]


def _power_mean(speedups: Float64Array, power: float) -> Float64Array:
    """Over the last axis; the geometric mean for a power of 0."""
    kept = np.maximum(speedups, _NOTHING)
    if power == 0:
        return np.asarray(np.exp(np.log(kept).mean(axis=-1)))
    return np.asarray((kept**power).mean(axis=-1) ** (1.0 / power))


def _at_most(states: Int64Array, most: Int64Array, axis: int, rng: np.random.Generator) -> Int64Array:
    """With at most so many along an axis, taken away at random."""
    order = np.argsort(rng.random(states.shape), axis=axis)
    drawn = np.minimum(np.cumsum(np.take_along_axis(states, order, axis=axis), axis=axis), most)
    return np.take_along_axis(np.diff(drawn, axis=axis, prepend=0), np.argsort(order, axis=axis), axis=axis)


def _mutated(states: Int64Array, question: Question, rng: np.random.Generator) -> Int64Array:
    """Allocations with some changes, not yet repaired; of each one of three kinds.

    The paper's: a number of workers becomes any that the host has room for, with a chance of one in as many as there
    are hosts. That changes most tasks at once, so beside it: one task is put anew, on hosts in an order that is drawn,
    those with free GPUs first; or one task gets one worker more, for which the repair takes one from another.
    """
    n, tasks, hosts = states.shape
    rules = question.rules
    room = rules.gpus // rules.gpus_per_worker[:, None]
    kind = rng.integers(3, size=n)
    drawn = (kind == 0)[:, None, None] & (rng.random(states.shape) < 1.0 / hosts)
    states = np.where(drawn, rng.integers(0, room + 1, states.shape), states)
    chosen = rng.integers(tasks, size=(n,))
    anew, more = np.flatnonzero(kind == 1), np.flatnonzero(kind == 2)
    states[anew, chosen[anew]] = 0
    states[anew, chosen[anew]] = _put(states[anew], chosen[anew], rules, rng)
    states[more, chosen[more], rng.integers(hosts, size=len(more))] += 1
    return states


def _put(states: Int64Array, chosen: Int64Array, rules: Rules, rng: np.random.Generator) -> Int64Array:
    """For one task of each allocation: its least number of workers or any, by host; shape (n, hosts)."""
    n, _, hosts = states.shape
    gpus_per_worker = rules.gpus_per_worker[chosen][:, None]
    free = np.maximum(rules.gpus - (states * rules.gpus_per_worker[:, None]).sum(axis=1), 0) // gpus_per_worker
    wanted = rng.integers(rules.least[chosen], rules.most[chosen] + 1)
    wanted = np.where(rng.random(n) < 0.5, rules.least[chosen], wanted)
    order = np.argsort((free == 0) + rng.random((n, hosts)), axis=1)
    put = np.take_along_axis(np.where(free > 0, free, rules.gpus // gpus_per_worker), order, axis=1)
    put = np.diff(np.minimum(np.cumsum(put, axis=1), wanted[:, None]), axis=1, prepend=0)
    return np.take_along_axis(put, np.argsort(order, axis=1), axis=1)


class _Allocations(Problem):
    """The question as pymoo has it: flat rows of numbers, and less is better."""

    def __init__(self, question: Question) -> None:
        self.question = question
        super().__init__(n_var=question.running.size, n_obj=1, xl=0, xu=int(question.rules.gpus.max()), vtype=int)

    def states(self, flat: Any) -> Int64Array:
        """Of shape (n, tasks, hosts)."""
        return np.asarray(flat, dtype=np.int64).reshape(-1, *self.question.running.shape)

    def _evaluate(self, x: Any, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        out["F"] = -self.question.fitness(self.states(x))[:, None]


class _Rows(Crossover):
    """Each task's row from one of two parents."""

    def __init__(self) -> None:
        super().__init__(2, 2)

    def _do(self, problem: Any, x: Any, *args: Any, random_state: Any = None, **kwargs: Any) -> Any:
        tasks, hosts = problem.question.running.shape
        parents = x.reshape(2, -1, tasks, hosts)
        other = random_state.random((parents.shape[1], tasks, 1)) < 0.5
        return np.where(other, parents[::-1], parents).reshape(x.shape)


class _Draws(Mutation):
    def _do(self, problem: Any, x: Any, *args: Any, random_state: Any = None, **kwargs: Any) -> Any:
        return _mutated(problem.states(x), problem.question, random_state).reshape(len(x), -1)


class _Repaired(Repair):
    def _do(self, problem: Any, x: Any, *args: Any, random_state: Any = None, **kwargs: Any) -> Any:
        rng = random_state if random_state is not None else np.random.default_rng(0)
        return problem.question.rules.repaired(problem.states(x), rng).reshape(len(x), -1)
