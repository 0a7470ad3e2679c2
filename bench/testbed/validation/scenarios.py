"""What both simulators run: jobs on links, with starts, jitter and pacing, as JSON."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

from cassini_core import Job, Phase
from cassini_core.placement.cluster import Cluster
from cassini_core.placement.job_request import flows_of
from cassini_core.simulation.holding import Grid
from cassini_core.simulation.jitter import factors
from cassini_core.simulation.network import NetworkSimulation
from cassini_core.simulation.traffic import segments_of
from cassini_core.topology.generated import paper_testbed
from cassini_core.topology.routing import Router

__all__ = ["mean_ms", "ours", "scenario", "scenarios"]

FACTORS = 128
"""Of a job with jitter; they repeat."""

_PERIODS_MS = (150, 197, 240, 300, 331)


def scenarios(seeds: int, testbed_ms: float) -> dict[str, dict[str, Any]]:
    """By name; those of the testbed run for so long."""
    vgg = [Phase(110, 87, 50)]
    found = {
        f"two jobs, {start} ms apart": scenario(
            {"up": 50.0}, [(Job(name, 197, vgg), ["up"], start * (name == "b"), None, 0.0) for name in "ab"], 40_000.0
        )
        for start in (0, 30, 98)
    }
    found["two jobs of other periods"] = scenario(
        {"up": 50.0},
        [(Job("a", 197, vgg), ["up"], 0.0, None, 0.0), (Job("b", 233.7, vgg), ["up"], 20.0, None, 0.0)],
        60_000.0,
    )
    for seed in range(seeds):
        found[f"testbed, ten rings, {seed}"] = _testbed(seed, testbed_ms, 0.0, paced=False)
        found[f"testbed, ten rings, 3 % jitter, {seed}"] = _testbed(seed, testbed_ms, 0.03, paced=False)
        found[f"testbed, ten rings, 3 % jitter, paced, {seed}"] = _testbed(seed, testbed_ms, 0.03, paced=True)
    return found


def scenario(
    capacity_gbps: dict[str, float], jobs: Sequence[tuple[Job, list[str], float, Grid | None, float]], until_ms: float
) -> dict[str, Any]:
    """Jobs with route, start, grid and jitter."""
    return {
        "capacity_gbps": capacity_gbps,
        "until_ms": until_ms,
        "jobs": [
            {
                "id": job.id,
                "iteration_ms": job.iteration_ms,
                "phases": [(phase.start_ms, phase.duration_ms, phase.gbps) for phase in job.phases],
                "segments": segments_of(job),
                "route": route,
                "start_ms": float(start),
                "at_ms": grid.at_ms if grid is not None else 0.0,
                "pace_ms": grid.pace_ms if grid is not None else None,
                "factors": [round(one, 4) for one in itertools.islice(factors("normal", jitter, number), FACTORS)]
                if jitter
                else [1.0],
            }
            for number, (job, route, start, grid, jitter) in enumerate(jobs)
        ],
    }


def ours(given: dict[str, Any]) -> dict[str, list[float]]:
    """When the iterations of each job end, ms."""
    simulation = NetworkSimulation(given["capacity_gbps"])
    for one in given["jobs"]:
        simulation.add(
            Job(one["id"], one["iteration_ms"], [Phase(*phase) for phase in one["phases"]]),
            dict.fromkeys(one["route"], 1.0),
            start_ms=one["start_ms"],
            hold=Grid(one["at_ms"], one["pace_ms"]) if one["pace_ms"] is not None else None,
            factors=itertools.cycle(one["factors"]),
        )
    simulation.run(given["until_ms"])
    return {job: found.end_ms.tolist() for job, found in simulation.take_iterations().items()}


def mean_ms(given: dict[str, Any], ends_ms: dict[str, list[float]]) -> dict[str, float]:
    """Mean iteration time of each job, waits included."""
    start = {job["id"]: job["start_ms"] for job in given["jobs"]}
    return {job: (ends[-1] - start[job]) / len(ends) for job, ends in ends_ms.items()}


def _testbed(seed: int, until_ms: float, jitter: float, *, paced: bool) -> dict[str, Any]:
    """Rings of three to five workers, drawn on the paper's 24 servers, with two GPUs each so that jobs meet."""
    rng = random.Random(f"testbed {seed}")
    topology = paper_testbed()
    cluster, router = Cluster(topology), Router(topology, ecmp="hash")
    capacity = {link.id: link.capacity_gbps for link in topology.links()}
    free = [host for host in cluster.hosts for _ in range(2)]
    rng.shuffle(free)
    jobs: list[tuple[Job, list[str], float, Grid | None, float]] = []
    for number in range(10):
        workers = rng.randint(3, 5)
        hosts = sorted({free.pop() for _ in range(workers)}, key=cluster.number.__getitem__)
        period = rng.choice(_PERIODS_MS)
        up = round(period * rng.uniform(0.2, 0.5))
        phases = [Phase(period - up, up, rng.choice([20, 40, 50]))]
        if rng.random() < 0.4:
            phases = [Phase(period - up, up - up // 3, 50), Phase(period // 4, up // 3, 25)]
        route = list(router.route(hosts, flows_of("ring", len(hosts))))
        start = round(rng.uniform(0, period), 3)
        grid = Grid(start, 1.5 * period) if paced else None
        jobs.append((Job(f"j{number}", period, phases), route, start, grid, jitter))
    used = {link for _, route, _, _, _ in jobs for link in route}
    return scenario({link: capacity[link] for link in sorted(used)}, jobs, until_ms)
