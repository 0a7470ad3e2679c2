"""Jobs on one link: what interleaving wins by how much they send, how far their times differ, and how many they are."""

from __future__ import annotations

import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot

from bench.measuring.plots import SERIES, saved
from cassini_core import Candidate, Job, Link, Phase, Problem, rank
from cassini_core.simulation.measure import simulate
from cassini_core.simulation.traffic import traffic

from ..experiment import Row, Settings

TITLE = "Jobs on one link: sending shares, iteration times that differ (with and without harmonising), numbers of jobs"

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
DIFFERENCES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
JOBS = (2, 3, 4, 5, 6)
"""Each sends for 96 % of the time by their number: all of them just fit."""

ITERATION_MS = 250.0
GBPS, CAPACITY_GBPS = 45.0, 50.0
SCHEMES = ("random phases", "shifts, not harmonised", "shifts, harmonised", "shifts, harmonised up to 10 %")
"""The second is the paper's; the third the default, which lengthens iterations by 1 % at most."""


def run(settings: Settings) -> dict[str, Any]:
    """Mean slowdown of both, over seeds of random phases; without jitter, paces without margin."""
    shares = SHARES[::3] if settings.quick else SHARES
    differences = DIFFERENCES[::3] if settings.quick else DIFFERENCES
    points = {
        "by share": [(2, share, 0.0) for share in shares],
        "by difference": [(2, 0.4, difference) for difference in differences],
        "by jobs": [(jobs, round(0.96 / jobs, 3), 0.0) for jobs in (JOBS[:2] if settings.quick else JOBS)],
    }
    found: dict[str, Any] = {}
    for kind, each in points.items():
        found[kind] = [
            {"jobs": jobs, "share": share, "difference": difference}
            | _point(jobs, share, difference, 10 * settings.seeds)
            for jobs, share, difference in each
        ]
    return found


def _point(count: int, share: float, difference: float, draws: int) -> dict[str, Any]:
    """The first of so many jobs has iterations of the usual time, the others of a longer one."""
    times_ms = [ITERATION_MS, *[ITERATION_MS * (1 + difference)] * (count - 1)]
    jobs = [_job(f"job{number}", time_ms, share) for number, time_ms in enumerate(times_ms)]
    routes = {job.id: {"up": 1.0} for job in jobs}
    of = traffic([(job, routes[job.id]) for job in jobs], {"up": CAPACITY_GBPS})
    solo = of.solo_ms()
    rng = random.Random(f"{count} {share} {difference}")
    free = []
    for _ in range(draws):
        starts = np.array([rng.random() * job.iteration_ms for job in jobs])
        free.append(float((simulate(of, starts, warm_up=50, iterations=200).iteration_ms / solo).mean()))
    made: dict[str, Any] = {"random phases": free}
    for name, tolerance in zip(SCHEMES[1:], (0.0, None, 0.1), strict=True):
        options: dict[str, Any] = {} if tolerance is None else {"period_tolerance": tolerance}
        ranking = rank(Problem(jobs, [Link("up", CAPACITY_GBPS)], [Candidate("c0", routes)]), **options)
        best = ranking.best
        assert best is not None
        starts = np.array([best.shifts_ms[job.id] for job in jobs])
        paces = np.array([ranking.paces_ms[job.id] for job in jobs])
        held = simulate(of, starts, pace_ms=paces, warm_up=50, iterations=200)
        made[name] = [float((held.iteration_ms / solo).mean())]
        made[f"score, {name}"] = best.score
    return made


def _job(name: str, iteration_ms: float, share: float) -> Job:
    sending_ms = round(share * iteration_ms, 3)
    return Job(name, round(iteration_ms, 3), [Phase(round(iteration_ms, 3) - sending_ms, sending_ms, GBPS)])


def rows(data: dict[str, Any]) -> list[Row]:
    """Random phases against shifts. The paper's two VGG19 send about 45 % of the time."""
    found = []
    for one in [*data["by share"], *data["by difference"], *data["by jobs"]]:
        what = (
            f"{one['jobs']} jobs, sending {100 * one['share']:g} %, iteration times {100 * one['difference']:g} % apart"
        )
        free = statistics.fmean(one["random phases"])
        shifts, harmonised, further = (one[name][0] for name in SCHEMES[1:])
        note = (
            f"not harmonised {free / shifts:.3f}×, up to 10 % {free / further:.3f}×; slowdown {free:.3f} at random "
            f"phases, {harmonised:.3f} with shifts"
        )
        found.append(Row(f"{what}: mean slowdown, random phases over shifts", "", f"{free / harmonised:.3f}×", note))
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """Slowdown by sending share, and by difference."""
    with saved(path, "250 ms, 45 Gbit/s on 50 Gbit/s, no jitter; random phases: mean and range of draws"):
        _, axes = pyplot.subplots(1, 3, figsize=(14, 4))
        for each, key in zip(axes, ("share", "difference", "jobs"), strict=True):
            points = data[f"by {key}"]
            at = [one[key] * (1 if key == "jobs" else 100) for one in points]
            for name, color in zip(SCHEMES, (SERIES[1], SERIES[3], SERIES[0], SERIES[2]), strict=True):
                each.plot(at, [statistics.fmean(one[name]) for one in points], ".-", color=color, label=name)
            low, high = ([edge(one[SCHEMES[0]]) for one in points] for edge in (min, max))
            each.fill_between(at, low, high, color=SERIES[1], alpha=0.12, linewidth=0)
            each.set(ylabel="iteration time over that alone, mean")
            each.grid(color="#dddddd", linewidth=0.6)
        axes[2].set(xlabel="jobs, which together send for 96 % of the time")
        axes[0].set(xlabel="part of the time that each of two sends, %")
        axes[1].set(xlabel="iteration times apart, %; each of two sends 40 %")
        axes[0].legend(fontsize=8)
