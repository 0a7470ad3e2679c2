"""One scheduling round, ranked and then simulated: what was predicted of each candidate, and what happened to it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.ranking.rounds import Settings, generate
from cassini_core import Candidate, Problem, RankedCandidate, rank
from cassini_core.arrays import Float64Array, int64, offsets
from cassini_core.links.incidence import Crossings, Narrow
from cassini_core.periods.harmonize_jobs import lengthen
from cassini_core.ranking.aggregate import aggregate_named
from cassini_core.simulation.measure import simulate
from cassini_core.simulation.traffic import Traffic, traffic_of
from cassini_core.units import ticks_from_ms

AGGREGATES = ("mean", "min", "p10", "per_job")
"""What ``rank`` can sort by."""

TOTAL_EXCESS = "total excess"
PREDICTORS = (*AGGREGATES, TOTAL_EXCESS)
"""The last is no aggregate: ``total_excess_gbps``, which every candidate reports, with its sign turned."""

RANDOM, SHIFTED = "random starts", "shifts"

PERIOD_TOLERANCE = 0.01

_BUCKET = 1e-9
"""Scores compare as in the ranking."""


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """How rounds are ranked and simulated.

    Attributes
    ----------
    loops : str
        As for ``rank``.
    node_limit : int or None
        As for ``rank``.
    margins : tuple of float
        Paced jobs are paced so much above their iteration time, relative.
    random_starts : int
        Runs with random starts per candidate; the mean counts.
    warm_up, iterations : int
        As for :func:`cassini_core.simulation.measure.simulate`.
    """

    loops: str = "joint"
    node_limit: int | None = 2_000
    margins: tuple[float, ...] = (0.01,)
    random_starts: int = 3
    warm_up: int = 10
    iterations: int = 30


@dataclass(frozen=True, slots=True)
class Trial:
    """One round.

    Attributes
    ----------
    name, family : str
    racks, routed_jobs : int
    status : tuple of str
        Of each candidate, as ranked.
    predicted : dict of str to tuple of float
        Predictor to what it says of each candidate, higher is better.
    picked : dict of str to int
        Predictor to the candidate it ranks first, ties broken as in the ranking.
    measured : dict of str to tuple of float
        Way to run to the mean slowdown of each candidate, over the jobs that use the network: the same in all.
    """

    name: str
    family: str
    racks: int
    routed_jobs: int
    status: tuple[str, ...]
    predicted: dict[str, tuple[float, ...]]
    picked: dict[str, int]
    measured: dict[str, tuple[float, ...]]


def paced_at(margin: float) -> str:
    """The name of running with shifts, paced so much above the iteration time."""
    return f"{SHIFTED}, paced {margin:+.1%}"


def ways(options: TrialOptions) -> tuple[str, ...]:
    """Names of the ways in which candidates are run."""
    return (*(paced_at(margin) for margin in options.margins), SHIFTED, RANDOM)


def run_trial(settings: Settings, family: str, options: TrialOptions) -> Trial:
    """Generate a round, rank it and simulate each of its candidates in every way."""
    problem = generate(settings)
    # Round periods have a common multiple as they are.
    tolerance = PERIOD_TOLERANCE if settings.perturbation else 0.0
    ranked, paces_ms = _ranked(problem, options, tolerance)
    measured = [
        simulated(problem, candidate, one, paces_ms, settings.name, options)
        for candidate, one in zip(problem.candidates, ranked, strict=True)
    ]
    predicted = {name: tuple(prediction(problem, one, name) for one in ranked) for name in PREDICTORS}
    return Trial(
        name=settings.name,
        family=family,
        racks=settings.racks,
        routed_jobs=sum(map(bool, problem.candidates[0].routes.values())),
        status=tuple(one.status for one in ranked),
        predicted=predicted,
        picked={name: _first(ranked, said, problem) for name, said in predicted.items()},
        measured={way: tuple(one[way] for one in measured) for way in ways(options)},
    )


def _ranked(
    problem: Problem, options: TrialOptions, period_tolerance: float
) -> tuple[list[RankedCandidate], Mapping[str, float]]:
    """The candidates in their own order, and the paces.

    One that could not win, and was left with a bound only, is ranked alone, on jobs that have their paces already.
    """
    answer = rank(
        problem,
        exhaustive=True,
        aggregate="mean",  # decides which large candidates are searched once more; links' scores are aggregated here
        loops=options.loops,
        node_limit=options.node_limit,
        period_tolerance=period_tolerance,
        threads=1,
    )
    found = {one.id: one for one in answer.candidates}
    paced = [lengthen(job, ticks_from_ms(answer.paces_ms[job.id])) for job in problem.jobs]
    for candidate in problem.candidates:
        if found[candidate.id].status == "bound_only":
            alone = Problem(paced, problem.links, [candidate])
            ranking = rank(
                alone,
                aggregate="mean",
                loops=options.loops,
                node_limit=options.node_limit,
                period_tolerance=0.0,
                threads=1,
            )
            found[candidate.id] = ranking.candidates[0]
    return [found[candidate.id] for candidate in problem.candidates], answer.paces_ms


def prediction(problem: Problem, one: RankedCandidate, name: str) -> float:
    """What a predictor says of a candidate: of its scores, or of its bounds if the ranking gave it up."""
    scores = [link.upper_bound if link.score is None else link.score for link in one.links]
    if name == TOTAL_EXCESS:
        capacity = {link.id: link.capacity_gbps for link in problem.links}
        excess = [(1.0 - s) * capacity[link.id] for s, link in zip(scores, one.links, strict=True)]
        return -math.fsum([*excess, *(link.excess_gbps for link in one.narrow_links)])
    routes = next(candidate for candidate in problem.candidates if candidate.id == one.id).routes
    on_link: dict[str, list[int]] = {}
    for number, route in enumerate(routes.values()):
        for link_id in route:
            on_link.setdefault(link_id, []).append(number)
    jobs = [on_link[link.id] for link in one.links]
    crossing = int64(itertools.chain.from_iterable(jobs))
    number = {job: k for k, job in enumerate(routes)}
    worst_first = sorted(one.narrow_links, key=lambda link: link.score)
    narrow = Narrow(int64(number[link.job] for link in worst_first), np.array([link.score for link in worst_first]))
    ends = offsets(map(len, jobs))
    crossings = Crossings(np.arange(len(jobs)), ends, crossing, len(routes), len(routes), narrow)
    return aggregate_named(name)(np.array(scores, dtype=np.float64), crossings)


def _first(ranked: Sequence[RankedCandidate], predicted: Sequence[float], problem: Problem) -> int:
    """The candidate a ranking by this prediction puts first: solved before given up, then ties as in ``rank``."""
    period = {job.id: job.iteration_ms for job in problem.jobs}

    def key(place: int) -> tuple[bool, int, float, int, int]:
        one = ranked[place]
        slack = min((slack / period[job] for job, slack in one.slack_ms.items()), default=math.inf)
        return one.score is None, -round(predicted[place] / _BUCKET), -slack, len(one.links), place

    return min(range(len(ranked)), key=key)


def simulated(
    problem: Problem,
    candidate: Candidate,
    one: RankedCandidate,
    paces_ms: Mapping[str, float],
    name: str,
    options: TrialOptions,
) -> dict[str, float]:
    """Mean slowdown of a candidate in each way. A job without shift starts at random, the same in every candidate."""
    traffic = traffic_of(problem, candidate)
    starts = [_random_starts(traffic, f"{name}, starts {index}") for index in range(options.random_starts)]
    held = np.array([job in one.shifts_ms and job not in one.free_jobs for job in traffic.job_ids])
    shifts = np.array([one.shifts_ms.get(job, 0.0) for job in traffic.job_ids])
    paces = np.where(held, np.array([paces_ms[job] for job in traffic.job_ids]), np.nan)
    shifted = np.where(held, shifts, starts[0])

    def slowdown(start: Float64Array, pace: Float64Array | None = None) -> float:
        measured = simulate(traffic, start, pace_ms=pace, warm_up=options.warm_up, iterations=options.iterations)
        return float(measured.slowdown.mean())

    found = {paced_at(margin): slowdown(shifted, paces * (1.0 + margin)) for margin in options.margins}
    found[SHIFTED] = slowdown(shifted)
    found[RANDOM] = float(np.mean([slowdown(start) for start in starts]))
    return found


def _random_starts(traffic: Traffic, seed: str) -> Float64Array:
    """A start within its iteration for each job, drawn from the job's id: who else is there does not matter."""
    fractions = np.array([random.Random(f"{seed}, {job}").random() for job in traffic.job_ids])
    found: Float64Array = fractions * traffic.solo_ms()
    return found
