"""Small loops against brute force: how far from the best ``per_job`` shifts are, and what is proven."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.ranking.prediction.max_min import simulate
from bench.ranking.prediction.traffic import traffic_of
from cassini_core import Candidate, Job, Link, Phase, Problem
from cassini_core.units import TICKS_PER_MS

from .search import PerJobSearch, ranked

CIRCLE_MS, STEP_MS = 40, 0.5
MARGINS = (0.01, 0.03, 0.06, 0.1)
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Way:
    """What one way to search found of a loop: score, bound, processor time, slowdown by margin of the pace."""

    score: float
    upper_bound: float
    cpu_s: float
    slowdown: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A drawn loop: the best score on a grid, and what was found by number of passes (0: for the mean)."""

    best: float
    ways: dict[int, Way]
    random_slowdown: tuple[float, ...]


def drawn(seed: int, n_jobs: int, number: int, passes: Sequence[int]) -> list[Loop]:
    """So many problems that are solved jointly; brute force where there are at most four jobs."""
    rng, loops = random.Random(seed), list[Loop]()
    while len(loops) < number:
        problem = _draw(rng, n_jobs)
        found = ranked(problem, "auto", resolution_ms=0.0)
        answer = found.entries[0].answer
        if answer.status != "joint":
            continue
        search = PerJobSearch(found.context, answer)
        ways = {}
        for n in (0, *passes):
            begun = time.process_time()
            one = search.run(n)
            took = time.process_time() - begun
            shift_ms = dict(zip(found.context.flat.jobs, (one.shift / TICKS_PER_MS).tolist(), strict=True))
            ways[n] = Way(one.score, one.upper_bound, took, _slowdown(problem, shift_ms))
        best = max(way.score for way in ways.values())
        if n_jobs <= 4:
            on_grid = brute_force(problem)
            assert min(way.upper_bound for way in ways.values()) >= on_grid - _SAME, "a bound that is none"
            best = max(best, on_grid)
        starts = {job.id: rng.random() * job.iteration_ms for job in problem.jobs}
        loops.append(Loop(best, ways, _slowdown(problem, starts)))
    return loops


def row(loops: Sequence[Loop], n: int) -> list[float]:
    """Missed, share at best, share proven, gap, slowdown against the mean's with its standard error, seconds."""
    ways = [loop.ways[n] for loop in loops]
    slower = [
        statistics.fmean(way.slowdown) - statistics.fmean(loop.ways[0].slowdown)
        for way, loop in zip(ways, loops, strict=True)
    ]
    return [
        statistics.fmean(loop.best - way.score for way, loop in zip(ways, loops, strict=True)),
        statistics.fmean(loop.best - way.score < _SAME for way, loop in zip(ways, loops, strict=True)),
        statistics.fmean(way.upper_bound - way.score < _SAME for way in ways),
        statistics.fmean(way.upper_bound - way.score for way in ways),
        statistics.fmean(slower),
        statistics.stdev(slower) / len(slower) ** 0.5,
        statistics.fmean(way.cpu_s for way in ways),
    ]


def random_row(loops: Sequence[Loop]) -> tuple[float, float]:
    """How much slower random shifts are than those for the mean, and the standard error."""
    slower = [statistics.fmean(loop.random_slowdown) - statistics.fmean(loop.ways[0].slowdown) for loop in loops]
    return statistics.fmean(slower), statistics.stdev(slower) / len(slower) ** 0.5


def _draw(rng: random.Random, n_jobs: int) -> Problem:
    jobs = []
    for i in range(n_jobs):
        period = rng.choice((20, 40, 40, 40))
        phase = Phase(rng.randrange(period), rng.randint(period // 8, period // 2), rng.choice((20, 25, 35, 40, 50)))
        jobs.append(Job(f"j{i}", period, [phase]))
    names = [f"l{k}" for k in range(rng.randint(2, n_jobs))]
    on = {name: rng.sample(range(n_jobs), rng.choice((2, 2, 3))) for name in names}
    routes = {f"j{i}": [name for name in names if i in on[name]] for i in range(n_jobs)}
    return Problem(jobs, [Link(name, rng.choice((30, 40, 50))) for name in names], [Candidate("drawn", routes)])


def brute_force(problem: Problem) -> float:
    """The best ``per_job`` with all shifts on the grid; the first job stays."""
    n, routes, jobs = round(CIRCLE_MS / STEP_MS), problem.candidates[0].routes, problem.jobs
    instants = np.arange(n) * STEP_MS
    worst = [np.zeros(()) for _ in jobs]
    for link in problem.links:
        total = np.zeros((1,) * len(jobs) + (n,))
        for i, job in enumerate(jobs):
            if link.id not in routes[job.id]:
                continue
            shifts = np.arange(round(job.iteration_ms / STEP_MS) if i else 1) * STEP_MS
            shape = [1] * len(jobs) + [n]
            shape[i] = len(shifts)
            total = total + _demand(job, instants[None, :] - shifts[:, None]).reshape(shape)
        loss = np.maximum(total - link.capacity_gbps, 0.0).mean(axis=-1) / link.capacity_gbps
        for i, job in enumerate(jobs):
            if link.id in routes[job.id]:
                worst[i] = np.maximum(worst[i], loss)
    shape = [round(job.iteration_ms / STEP_MS) if i else 1 for i, job in enumerate(jobs)]
    total = np.zeros(shape)
    for each in worst:
        total = total + each
    return float(1.0 - total.min() / len(jobs))


def _demand(job: Job, instants: np.ndarray) -> np.ndarray:
    phase = job.phases[0]
    return np.where((instants - phase.start_ms) % job.iteration_ms < phase.duration_ms, phase.gbps, 0.0)


def _slowdown(problem: Problem, shift_ms: dict[str, float]) -> tuple[float, ...]:
    traffic = traffic_of(problem, problem.candidates[0])
    start = np.array([shift_ms.get(job, 0.0) for job in traffic.job_ids])
    own = {job.id: job.iteration_ms for job in problem.jobs}
    pace = np.array([own[job] for job in traffic.job_ids])
    return tuple(
        float(simulate(traffic, start, pace_ms=pace * (1.0 + margin), warm_up=20, iterations=100).slowdown.mean())
        for margin in MARGINS
    )
