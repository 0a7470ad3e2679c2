"""What holding wins at which score (section 5.5 says that it vanishes at 0.6), on links of the paper's models."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import pyplot

import cassini_core as cc
from bench.measuring.plots import SERIES, saved
from cassini_core.simulation.seeds import run_seeds

from ..comparison import code_digest, median_of
from ..experiment import Row, Settings
from ..models import CAPACITY_GBPS
from ..one_link import Holding, run_beside
from ..report import times
from ..snapshots import SNAPSHOTS, drawn_jobs
from ..traces import published_jitter_share

TITLE = "Gain of holding against the compatibility score"

BINS = ((0.99, 1.01), (0.9, 0.99), (0.8, 0.9), (0.7, 0.8), (0.6, 0.7), (0.0, 0.6))
HELD: Mapping[str, tuple[Holding, float]] = {
    "as arranged": ("agent", 1.0),
    "paper's rule": ("paper's rule", 1.0),
    "4 % longer": ("agent", 1.04),
    "8 % longer": ("agent", 1.08),
    "12 % longer": ("agent", 1.12),
}
"""What holds the jobs, and how much longer their paces are than what the product arranges."""

_LINKS = 48  # with two jobs, and as many with three
_MATTERS = 0.02
"""Where the best shifts score no more than this above random phases, nothing can be won, and nobody is held."""


def run(settings: Settings) -> dict[str, Any]:
    """Mean slowdown of the jobs of each link: at random phases, and held."""
    seconds, count = (20.0, 2) if settings.quick else (330.0, _LINKS)
    experiment = {
        "seconds": seconds,
        "count": count,
        "seeds": settings.seeds,
        "code": [code_digest(), hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]],
    }
    found = run_seeds(
        functools.partial(_link, seconds, count, min(3, settings.seeds)),
        range(2 * count),
        settings.folder / hashlib.sha256(repr(experiment).encode()).hexdigest()[:12],
        experiment,
        processes=settings.processes,
        progress=settings.progress,
    )
    return {"links": [found[number] for number in sorted(found) if found[number]["matters"]]}


def _link(seconds: float, count: int, seeds: int, number: int) -> dict[str, Any]:
    """One link: scores, and the mean over jobs and seeds of the iteration time over that alone."""
    jobs = drawn_jobs(f"partial, {2 + number % 2}", 2 + number % 2, count)[number // 2]
    best = cc.solve_link(jobs, CAPACITY_GBPS).score
    at_random = cc.solve_link(jobs, CAPACITY_GBPS, resolution_ms=1e6).score
    if best - at_random < _MATTERS:
        return {"matters": False}
    found = {name: _slowdown(jobs, holding, longer, seconds, seeds) for name, (holding, longer) in HELD.items()}
    return {
        "matters": True,
        "jobs": [job.id for job in jobs],
        "score": best,
        "at_random": at_random,
        "random phases": _slowdown(jobs, "none", 1.0, seconds, seeds),
        **found,
    }


def _slowdown(jobs: Sequence[cc.Job], holding: Holding, longer: float, seconds: float, seeds: int) -> float:
    slowdowns = []
    for seed in range(seeds):
        courses = run_beside(
            jobs,
            holding,
            capacity_gbps=CAPACITY_GBPS,
            jitter_share=published_jitter_share(),
            seed=seed,
            seconds=seconds,
            warm_s=min(30.0, seconds / 2),
            longer=longer,
        )
        slowdowns += [float(courses[job.id].iteration_ms.mean()) / job.iteration_ms for job in jobs]
    return fmean(slowdowns)


def rows(data: dict[str, Any]) -> list[Row]:
    """The gain in mean iteration time by score, and what longer paces would win."""
    found = []
    for low, high in BINS:
        links = [one for one in data["links"] if low <= one["score"] < high]
        if not links:
            continue
        printed = [one for one in SNAPSHOTS.values() if low <= one.score < high]
        paper = [
            fmean(member.themis_ms for member in one.members) / fmean(member.cassini_ms for member in one.members)
            for one in printed
        ]
        longer = [name for name in HELD if name.endswith("longer")]
        note = (
            f"{len(links)} links, {fmean(one['random phases'] for one in links):.2f} times slower than alone at random "
            f"phases; {', '.join(f'{name} {times(_gain(links, name))}' for name in HELD if name != 'as arranged')}; "
            f"the best of these paces {times(median_of([_best(one, longer) for one in links]))}"
        )
        words = "above 0.99" if high > 1 else f"{low} to {high}"
        communication = ", ".join(f"{gain:.2f}×" for gain in paper)
        found.append(
            Row(
                f"score {words}: mean iteration time at random phases over held",
                f"{communication} (of communication)" if paper else "",
                times(_gain(links, "as arranged")),
                note,
            )
        )
    return found


def _gain(links: Sequence[Mapping[str, Any]], name: str) -> tuple[float, float, float]:
    return median_of([one["random phases"] / one[name] for one in links])


def _best(link: Mapping[str, Any], longer: Sequence[str]) -> float:
    best: float = link["random phases"] / min(link[name] for name in ("as arranged", *longer))
    return best


def plot(data: dict[str, Any], path: Path) -> None:
    """A point per link."""
    with saved(path, "links of two and three jobs of the paper's models on which shifts matter; 1: nothing is won"):
        _, every = pyplot.subplots(1, 3, figsize=(12, 4), sharey=True)
        longer = [name for name in HELD if name.endswith("longer")]
        gains = {
            "held as arranged": lambda one: one["random phases"] / one["as arranged"],
            "held by the paper's 5 % rule": lambda one: one["random phases"] / one["paper's rule"],
            "at the best of 0, 4, 8, 12 % longer paces": lambda one: _best(one, longer),
        }
        for axes, (title, gain) in zip(every, gains.items(), strict=True):
            for count, color in ((2, SERIES[0]), (3, SERIES[1])):
                links = [one for one in data["links"] if len(one["jobs"]) == count]
                scores = [one["score"] for one in links]
                axes.plot(scores, list(map(gain, links)), "o", color=color, markersize=4, label=f"{count} jobs")
            axes.axhline(1, color="#333333", linewidth=0.7)
            axes.axvline(0.6, color="#333333", linewidth=0.7, linestyle="--")
            axes.set(title=title, xlabel="score (dashed: where the paper's gain vanishes)")
        every[0].set_ylabel("gain in mean iteration time")
        every[0].legend(fontsize=8)
