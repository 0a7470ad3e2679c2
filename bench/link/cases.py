"""The link problems that are timed: fixed families of real size, each drawn from its own name.

A smaller set is always the beginning of the larger one. None of them is to be tuned to.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bench.measuring import draw
from bench.measuring.draw import CAPACITY_GBPS
from cassini_core import Job, Phase, harmonize

LOADS = (0.8, 1.0, 1.3)
EQUAL_MS = (100, 180, 255, 320)
MIXED_MS = {
    2: ((40, 60), (90, 120), (200, 300), (150, 250)),
    3: ((100, 150, 225), (200, 250, 300), (150, 200, 100), (60, 84, 140)),
    4: ((120, 180, 240, 300), (100, 150, 200, 300), (80, 120, 160, 240)),
}
MEASURED_MS = ((255, 255), (200, 400), (150, 150, 300), (210, 210, 210), (100, 150, 200, 300), (180, 180, 180, 360))
GPT_PHASES = (6, 12, 25, 50)
MANY_JOBS = (9, 12, 16, 24, 32, 40)
MANY_MS = (150, 200, 300, 600)
LINKS_FILE = Path(__file__).parents[2] / "tests" / "data" / "links.json"


@dataclass(frozen=True, slots=True)
class Case:
    """One link problem.

    Attributes
    ----------
    name, family : str
    jobs : tuple of Job
    capacity_gbps : float
    optimal_score : float or None
        Proven elsewhere.
    resolution_ms : float
        As for ``solve_link``.
    """

    name: str
    family: str
    jobs: tuple[Job, ...]
    capacity_gbps: float = CAPACITY_GBPS
    optimal_score: float | None = None
    resolution_ms: float = 0.5


@cache
def from_file() -> tuple[Case, ...]:
    """The 98 links of ``tests/data/links.json``, optima proven."""
    return tuple(
        Case(
            name=one["name"],
            family=_family_in_file(one["name"], len(one["jobs"])),
            jobs=tuple(Job(j["id"], j["iteration_ms"], [Phase(**p) for p in j["phases"]]) for j in one["jobs"]),
            capacity_gbps=one["capacity_gbps"],
            optimal_score=one["optimal_score"],
        )
        for one in json.loads(LINKS_FILE.read_text())["instances"]
    )


def _family_in_file(name: str, n_jobs: int) -> str:
    if name.startswith("equal"):
        return f"file equal {n_jobs} jobs, {_phases_said('arcs1' in name)}"
    return f"file mixed {n_jobs} jobs"


def _phases_said(single: bool) -> str:
    return "1 phase" if single else "1-3 phases"


def equal(n_jobs: int, phases: int, per_load: int, *, exactly: bool = False) -> list[Case]:
    """Jobs of one iteration time; up to ``phases`` phases each, or ``exactly`` so many."""
    said = f"{phases} phases" if exactly else _phases_said(phases == 1)
    family = f"equal {n_jobs} jobs, {said}"
    return [_drawn(family, load, k, n_jobs, phases, exactly) for k in range(per_load) for load in LOADS]


def mixed(n_jobs: int, per_load: int) -> list[Case]:
    """Round iteration times that differ; up to three phases each."""
    family = f"mixed {n_jobs} jobs"
    return [_drawn(family, load, k, n_jobs, 3, False) for k in range(per_load) for load in LOADS]


def _drawn(family: str, load: float, index: int, n_jobs: int, phases: int, exactly: bool) -> Case:
    name = f"{family}, load {load}, #{index}"
    rng = random.Random(name)
    if family.startswith("equal"):
        periods = [draw.pick(rng, EQUAL_MS)] * n_jobs
    else:
        periods = list(MIXED_MS[n_jobs][draw.below(rng, len(MIXED_MS[n_jobs]))])
    counts = [phases if exactly else 1 + draw.below(rng, phases) for _ in periods]
    return Case(name, family, draw.jobs_of_load(rng, periods, load, counts))


def tight_copies(n_jobs: int, count: int) -> list[Case]:
    """Copies of one job that is Up for one ``n_jobs``-th of its iteration at full rate: they just fit, score 1."""
    family = f"{n_jobs} copies that just fit"
    cases = []
    for index in range(count):
        name = f"{family}, #{index}"
        rng = random.Random(name)
        period = draw.pick(rng, (240, 360, 480))
        phase = Phase(draw.below(rng, period), period / n_jobs, CAPACITY_GBPS)
        jobs = tuple(Job(f"j{k}", period, [phase]) for k in range(n_jobs))
        cases.append(Case(name, family, jobs, optimal_score=1.0))
    return cases


def copies(n_jobs: int, count: int) -> list[Case]:
    """Copies of one job of up to two phases, as replicas of one model are."""
    family = f"{n_jobs} copies"
    cases = []
    for index in range(count):
        name = f"{family}, #{index}"
        rng = random.Random(name)
        period, load = draw.pick(rng, EQUAL_MS), LOADS[index % 3]
        one = draw.job(rng, "j", period, load * CAPACITY_GBPS / n_jobs, 1 + draw.below(rng, 2))
        cases.append(Case(name, family, tuple(Job(f"j{k}", period, one.phases) for k in range(n_jobs))))
    return cases


def measured(per_set: int) -> list[Case]:
    """Iteration times with four decimals, as measurement gives them: within 0.4 % of a common base, nothing shared."""
    cases = []
    for index in range(per_set):
        for periods in MEASURED_MS:
            family = f"measured {len(periods)} jobs"
            name = f"{family}, {'/'.join(map(str, periods))}, #{index}"
            rng = random.Random(name)
            noisy = [round(period * draw.between(rng, 0.998, 1.002), 4) for period in periods]
            load, counts = LOADS[draw.below(rng, 3)], [1 + draw.below(rng, 2) for _ in noisy]
            cases.append(Case(name, family, draw.jobs_of_load(rng, noisy, load, counts, step_ms=1e-4)))
    return cases


def harmonised(per_set: int) -> list[Case]:
    """The same jobs after ``harmonize``: iteration times lengthened by at most 1 %."""
    return [
        Case(
            name=case.name.replace("measured", "harmonised"),
            family=case.family.replace("measured", "harmonised"),
            jobs=harmonize(case.jobs, 0.01, capacity_gbps=case.capacity_gbps).jobs,
        )
        for case in measured(per_set)
    ]


def unheld(per_set: int) -> list[Case]:
    """The measured jobs at resolution 0: no job is free, so the nanoseconds count."""
    return [
        replace(case, name=case.name + " at 0 ms", family=case.family + ", resolution 0", resolution_ms=0.0)
        for case in measured(per_set)
    ]


def many_phases(n_jobs: int, phases: int, count: int) -> list[Case]:
    """GPT-like jobs: phases of differing length and rate, one iteration time."""
    family = f"GPT-like {n_jobs} jobs, {phases} phases"
    cases = []
    for index in range(count):
        name = f"{family}, #{index}"
        rng = random.Random(name)
        load = LOADS[index % 3]
        period = draw.pick(rng, (600, 840, 1200))
        jobs = tuple(
            draw.training_job(rng, f"j{k}", period, load * CAPACITY_GBPS * share, phases)
            for k, share in enumerate(draw.shares(rng, n_jobs))
        )
        cases.append(Case(name, family, jobs))
    return cases


def many_jobs(n_jobs: int, count: int) -> list[Case]:
    """Many jobs on a wide uplink: one phase of 5 to 50 Gbit/s each, the capacity made to fit the load."""
    family = f"{n_jobs} jobs on one uplink"
    cases = []
    for index in range(count):
        name = f"{family}, #{index}"
        rng = random.Random(name)
        load = LOADS[index % 3]
        jobs = tuple(
            draw.job(rng, f"j{k}", draw.pick(rng, MANY_MS), draw.between(rng, 2.0, 18.0), 1) for k in range(n_jobs)
        )
        demand = sum(phase.gbps * phase.duration_ms / job.iteration_ms for job in jobs for phase in job.phases)
        cases.append(Case(name, family, jobs, capacity_gbps=round(demand / load, 3)))
    return cases


def eight_jobs(per_load: int) -> list[Case]:
    """Eight jobs of exactly three phases, one iteration time."""
    return equal(8, 3, per_load, exactly=True)


def of_periods(periods_ms: tuple[int, ...], count: int) -> list[Case]:
    """Jobs of these iteration times, one phase each; at resolution 0, so that all are held."""
    family = "periods " + "/".join(map(str, periods_ms))
    cases = []
    for index in range(count):
        name = f"{family}, #{index}"
        rng = random.Random(name)
        jobs = draw.jobs_of_load(rng, periods_ms, LOADS[index % 3], [1] * len(periods_ms))
        cases.append(Case(name, family, jobs, resolution_ms=0.0))
    return cases


def by_family(cases: list[Case] | tuple[Case, ...]) -> dict[str, list[Case]]:
    """Cases grouped by family, in the order met."""
    grouped: dict[str, list[Case]] = {}
    for case in cases:
        grouped.setdefault(case.family, []).append(case)
    return grouped


def solved_families(quick: bool) -> Iterator[Case]:
    """The families that are solved with proof: the file, other seeds of its families, measured, GPT-like."""
    n = 1 if quick else 10
    yield from from_file()
    for n_jobs in (2, 3, 4, 5, 6):
        # The slowest families have fewer members.
        per_load = n if n_jobs < 6 else max(1, n // 2)
        yield from equal(n_jobs, 1, per_load)
        yield from equal(n_jobs, 3, per_load)
    for n_jobs in (3, 4, 5, 6):
        yield from equal(n_jobs, 3, max(1, n // 2) if n_jobs < 6 else max(1, n // 5), exactly=True)
    for n_jobs in (4, 6):
        yield from copies(n_jobs, 3 if quick else 6)
    for n_jobs in (4, 6, 8):
        yield from tight_copies(n_jobs, 1 if quick else 3)
    for n_jobs in MIXED_MS:
        yield from mixed(n_jobs, n)
    yield from measured(n)
    yield from harmonised(n)
    yield from unheld(max(1, n // 5))
    for n_jobs in (2, 3):
        for phases in GPT_PHASES:
            yield from many_phases(n_jobs, phases, 1 if quick else 6)
    # Four jobs with more phases are among the anytime answers.
    yield from many_phases(4, GPT_PHASES[0], 1 if quick else 6)
