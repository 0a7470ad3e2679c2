"""Two VGG19 jobs on one link (section 2.2): started together, and one after the other as the product arranges it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

import cassini_core as cc
from bench.measuring.plots import SERIES, saved
from cassini_core.simulation.seeds import run_seeds

from ..comparison import Estimate, code_digest, median_of, ratio_of
from ..experiment import Row, Settings
from ..models import CAPACITY_GBPS, MODELS, profile_of
from ..one_link import run_beside
from ..report import number, times
from ..traces import published_jitter_share

TITLE = "Two VGG19 jobs on one link"

WORKERS = 2
"""Of each job, two servers (the paper's figure 2(a))."""

BATCHES = (512, 800, 1024, 1200, 1400, 1600, 1800)
"""The paper prints none for these jobs; its table has 512 to 1,800."""

AT_THE_PAPERS_SHIFT = 1024
"""VGG19's batch in snapshot 3; half an iteration then takes the 120 ms by which the paper shifts the second job."""

SHOWN = int(MODELS["VGG19"].usual_batch.value)

CAPACITIES = (CAPACITY_GBPS, 44.0)
"""What a NIC is said to have; and what the two jobs got together, "roughly 22 Gbps" each."""

_PERCENTILES = (*range(100),)

_WORDS = {"together": "started together", "random": "random phases", "held": "held"}


def run(settings: Settings) -> dict[str, Any]:
    """1,000 iterations or so of both jobs, for each batch size and capacity."""
    seconds = 20.0 if settings.quick else 330.0
    batches = (SHOWN,) if settings.quick else BATCHES
    experiment = {
        "seconds": seconds,
        "batches": batches,
        "code": [code_digest(), hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]],
    }
    found = run_seeds(
        functools.partial(_seed, seconds, batches),
        range(settings.seeds),
        settings.folder / hashlib.sha256(repr(experiment).encode()).hexdigest()[:12],
        experiment,
        processes=settings.processes,
        progress=settings.progress,
    )
    return {
        "jitter_share": published_jitter_share(),
        "alone": {str(batch): _alone(batch) for batch in batches},
        "seeds": [found[seed] for seed in sorted(found)],
    }


def _jobs(batch: int) -> list[cc.Job]:
    job = profile_of("VGG19", WORKERS, batch)
    return [cc.Job(name, job.iteration_ms, job.phases) for name in ("j1", "j2")]


def _alone(batch: int) -> dict[str, float]:
    jobs = _jobs(batch)
    solution = cc.solve_link(jobs, CAPACITY_GBPS)
    (phase,) = jobs[0].phases
    return {
        "iteration_ms": jobs[0].iteration_ms,
        "up_ms": phase.duration_ms,
        "gbps": phase.gbps,
        "score": solution.score,
        "shift_ms": (solution.shifts_ms["j2"] - solution.shifts_ms["j1"]) % jobs[0].iteration_ms,
        "slack_ms": solution.slack_ms["j2"],
    }


def _seed(seconds: float, batches: tuple[int, ...], seed: int) -> dict[str, Any]:
    """By capacity, batch and scenario: both jobs' iterations together."""
    found: dict[str, Any] = {}
    for capacity in CAPACITIES:
        for batch in batches:
            of = {}
            for scenario in _WORDS:
                is_together = scenario == "together"
                courses = run_beside(
                    _jobs(batch),
                    "agent" if scenario == "held" else "none",
                    capacity_gbps=capacity,
                    jitter_share=published_jitter_share(),
                    seed=seed,
                    seconds=seconds,
                    warm_s=0.0 if is_together else min(30.0, seconds / 2),
                    phases_ms={"j1": 0.0, "j2": 0.0} if is_together else None,
                )
                lengths = np.concatenate([one.iteration_ms for one in courses.values()])
                of[scenario] = {
                    "mean_ms": float(lengths.mean()),
                    "p90_ms": float(np.percentile(lengths, 90)),
                    "curve_ms": np.percentile(lengths, _PERCENTILES).round(3).tolist(),
                    "adjusted_per_minute": max(one.adjusted_per_minute for one in courses.values()),
                }
            found[f"{capacity:.0f}, {batch}"] = of
    return found


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper's 1.26 at the 90th percentile, its shift of 120 ms, and what both depend on."""
    alone, shifted = data["alone"][str(SHOWN)], data["alone"].get(str(AT_THE_PAPERS_SHIFT))
    full, less = (f"{capacity:.0f}, {SHOWN}" for capacity in CAPACITIES)
    by_batch = ", ".join(
        f"{batch}: {_gain(data, f'{CAPACITY_GBPS:.0f}, {batch}', 'together')[0]:.2f}×" for batch in data["alone"]
    )
    found = [
        Row(
            "90th percentile of iteration times, started together over held",
            "1.26×",
            times(_gain(data, full, "together")),
            f"batch of {SHOWN}, which is assumed; by batch {by_batch}",
        ),
        Row(
            "the same on a link of 44 Gbit/s",
            "1.26×",
            times(_gain(data, less, "together")),
            "the paper's jobs got 22 Gbit/s each while both sent; on 50 Gbit/s they get 25",
        ),
        Row(
            "the same, from random phases",
            "",
            times(_gain(data, full, "random")),
            "where nobody starts jobs together",
        ),
        *_at_the_papers_shift(data, shifted),
        Row("mean iteration time, started together over held", "", times(_gain(data, full, "together", "mean_ms"))),
        Row(
            "mean iteration time held, over alone",
            "",
            times(_over_alone(data, full), 3),
            f"alone {alone['iteration_ms']:.0f} ms; what the pace adds for jitter",
        ),
        Row(
            "time-shift of the second job, ms",
            "120",
            f"{alone['shift_ms']:.0f}",
            f"any from {alone['shift_ms'] - alone['slack_ms']:.0f} to {alone['shift_ms'] + alone['slack_ms']:.0f} "
            "scores within 0.01 of it; half the iteration time is 120 ms at a batch of "
            f"{_batch_of_half(120.0):.0f}",
        ),
    ]
    middle = median_of([seed[full]["held"]["adjusted_per_minute"] for seed in data["seeds"]])
    return [*found, Row("adjustments per minute of the job with most", "", number(middle, 1))]


def _at_the_papers_shift(data: Mapping[str, Any], alone: Mapping[str, float] | None) -> list[Row]:
    """Were the shift that the paper prints half the iteration time."""
    if alone is None:
        return []
    case = f"{CAPACITY_GBPS:.0f}, {AT_THE_PAPERS_SHIFT}"
    note = f"half an iteration is {alone['iteration_ms'] / 2:.0f} ms then, the shift that the paper prints"
    what = f"90th percentile, started together over held, at a batch of {AT_THE_PAPERS_SHIFT}"
    return [Row(what, "1.26×", times(_gain(data, case, "together")), note)]


def _gain(data: Mapping[str, Any], case: str, scenario: str, key: str = "p90_ms") -> Estimate:
    of = [seed[case] for seed in data["seeds"]]
    return ratio_of([one[scenario][key] for one in of], [one["held"][key] for one in of])


def _over_alone(data: Mapping[str, Any], case: str) -> Estimate:
    alone = data["alone"][case.split(", ")[1]]["iteration_ms"]
    return median_of([seed[case]["held"]["mean_ms"] / alone for seed in data["seeds"]])


def _batch_of_half(half_ms: float) -> float:
    """At which batch half an iteration takes so long."""
    job = profile_of("VGG19", WORKERS)
    return (2 * half_ms - job.phases[0].duration_ms) / MODELS["VGG19"].ms_per_sample.value


def plot(data: dict[str, Any], path: Path) -> None:
    """The paper's figure 2(d), and the gain over the batch size."""
    with saved(path, f"jitter of computing times {100 * data['jitter_share']:.1f} %, lognormal; medians over seeds"):
        _, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
        _curves(left, data)
        batches = list(map(int, data["alone"]))
        for capacity, color in zip(CAPACITIES, SERIES, strict=False):
            for scenario, style in (("together", "-"), ("random", ":")):
                gains = [_gain(data, f"{capacity:.0f}, {batch}", scenario) for batch in batches]
                label = f"{'started together' if scenario == 'together' else 'random phases'}, {capacity:.0f} Gbit/s"
                right.plot(
                    batches, [one[0] for one in gains], style, color=color, label=label, marker="o", markersize=3
                )
        right.axhline(1.26, color=SERIES[3], linestyle="--", linewidth=1, label="paper")
        right.set(xlabel="batch size (the paper prints none)", ylabel="gain at the 90th percentile", ylim=(0.98, None))
        right.legend(fontsize=7)


def _curves(axes: Axes, data: Mapping[str, Any]) -> None:
    case = f"{CAPACITY_GBPS:.0f}, {SHOWN}"
    for (scenario, label), color in zip(_WORDS.items(), (SERIES[1], SERIES[3], SERIES[0]), strict=True):
        curve = np.median([seed[case][scenario]["curve_ms"] for seed in data["seeds"]], axis=0)
        axes.plot(curve, np.array(_PERCENTILES) / 100, color=color, label=label)
    axes.axvline(data["alone"][str(SHOWN)]["iteration_ms"], color="#333333", linewidth=0.7, linestyle="--")
    axes.set(xlabel=f"iteration time, ms (batch of {SHOWN}; dashed: alone)", ylabel="share of iterations", ylim=(0, 1))
    axes.legend(fontsize=7, loc="lower right")
