"""The snapshot table (section 5.5), the link's utilisation (its figure), and adjustments per minute (section 5.7)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

import cassini_core as cc
from bench.measuring.plots import SERIES, saved
from cassini_core.simulation.seeds import run_seeds

from ..comparison import Estimate, code_digest, median_of, ratio_of
from ..experiment import Row, Settings
from ..models import CAPACITY_GBPS
from ..one_link import Course, Holding, run_beside
from ..report import number, times
from ..snapshots import PERIODS, SNAPSHOTS, Periods, Snapshot, jobs_of, up_ms
from ..traces import published_jitter_share

TITLE = "Snapshots: compatibility, communication times, the link's utilisation, adjustments"

SHOWN: Periods = "parts"
"""Iteration times of the main figures: of those that have a common one, what changes the jobs least."""

LONGER = (1.04, 1.08, 1.12)
"""Paces beyond those that the product arranges."""

_SCANNED = (*range(80, 200, 2),)  # % of the longest iteration time
_WARM_S = 30.0
_SHOWN_MS = 1_500.0
_BIN_MS = 2.0


def run(settings: Settings) -> dict[str, Any]:
    """Scores and shifts, and the jobs side by side: at random phases, and held."""
    seconds = 20.0 if settings.quick else 330.0
    experiment = {
        "seconds": seconds,
        "code": [code_digest(), hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]],
    }
    found = run_seeds(
        functools.partial(_seed, seconds),
        range(settings.seeds),
        settings.folder / hashlib.sha256(repr(experiment).encode()).hexdigest()[:12],
        experiment,
        processes=settings.processes,
        progress=settings.progress,
    )
    percents = _SCANNED[::10] if settings.quick else _SCANNED
    return {
        "jitter_share": published_jitter_share(),
        "scores": {str(one.number): _scores(one) for one in SNAPSHOTS.values()},
        "scan": {str(one.number): _scan(one, percents) for one in SNAPSHOTS.values()},
        "seeds": [found[seed] for seed in sorted(found)],
        "loads": {
            str(one.number): {"none": _loads(one, "none"), "agent": _loads(one, "agent")} for one in SNAPSHOTS.values()
        },
    }


# --- what is computed ---


def _scores(snapshot: Snapshot) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for periods in PERIODS:
        jobs = jobs_of(snapshot, periods)
        exact = cc.solve_link(jobs, CAPACITY_GBPS)
        angles = cc.solve_link(jobs, CAPACITY_GBPS, method="angles", angles=72)
        first = snapshot.ids[0]
        by_id = {job.id: job.iteration_ms for job in jobs}
        found[periods] = {
            "iteration_ms": by_id,
            "up_ms": up_ms(jobs),
            "score": exact.score,
            "free": list(exact.free_jobs),
            "shifts_ms": {job: (at - exact.shifts_ms[first]) % by_id[job] for job, at in exact.shifts_ms.items()},
            "slack_ms": dict(exact.slack_ms),
            "angles_claimed": angles.claimed_score,
            "angles_score": angles.score,
            "of_the_papers_shifts": cc.score_link(jobs, CAPACITY_GBPS, snapshot.shifts_ms),
            "at_45_gbps": cc.solve_link(jobs, 45.0).score,
        }
    return found


def _scan(snapshot: Snapshot, percents: Sequence[int]) -> list[dict[str, Any]]:
    """Were the common iteration time another one: the score, and communication at random phases."""
    longest_ms = max(job.iteration_ms for job in jobs_of(snapshot))
    found = []
    for percent in percents:
        iteration_ms = longest_ms * percent / 100
        if iteration_ms < 1.02 * max(up_ms(jobs_of(snapshot)).values()):
            continue
        jobs = jobs_of(snapshot, "equal", iteration_ms)
        parts = [_beside(jobs, "none", seed, 60.0, warm_s=5.0) for seed in range(5)]
        sent = {job.id: fmean(float(part[job.id].communication_ms.mean()) for part in parts) for job in jobs}
        found.append(
            {
                "iteration_ms": iteration_ms,
                "score": cc.solve_link(jobs, CAPACITY_GBPS).score,
                "random_communication_ms": sent,
            }
        )
    return found


def _seed(seconds: float, seed: int) -> dict[str, Any]:
    """All snapshots with a seed's phases and jitter: figures by snapshot, iteration times, and holding."""
    found: dict[str, Any] = {}
    for snapshot in SNAPSHOTS.values():
        of: dict[str, Any] = {}
        for periods in PERIODS:
            jobs = jobs_of(snapshot, periods)
            holdings: tuple[Holding, ...] = ("none", "agent", "paper's rule") if periods == SHOWN else ("none", "agent")
            of[periods] = {holding: _figures(_beside(jobs, holding, seed, seconds)) for holding in holdings}
        jobs = jobs_of(snapshot, SHOWN)
        of["longer"] = {str(by): _figures(_beside(jobs, "agent", seed, seconds, longer=by)) for by in LONGER}
        found[str(snapshot.number)] = of
    return found


def _beside(
    jobs: list[cc.Job], holding: Holding, seed: int, seconds: float, *, warm_s: float = _WARM_S, longer: float = 1.0
) -> dict[str, Course]:
    return run_beside(
        jobs,
        holding,
        capacity_gbps=CAPACITY_GBPS,
        jitter_share=published_jitter_share(),
        seed=seed,
        seconds=seconds,
        warm_s=min(warm_s, seconds / 2),
        longer=longer,
    )


def _figures(courses: Mapping[str, Course]) -> dict[str, Any]:
    return {
        job: {
            "communication_ms": float(one.communication_ms.mean()),
            "iteration_ms": float(one.iteration_ms.mean()),
            "adjusted_per_minute": one.adjusted_per_minute,
        }
        for job, one in courses.items()
    } | {"contended": _contended(courses)}


def _contended(courses: Mapping[str, Course]) -> float:
    """Of the time in which the link carries something, the share in which it is full; without the first half."""
    changes = np.unique(np.concatenate([one.loads.at_ms for one in courses.values()]))
    edges = changes[len(changes) // 2 :]
    lengths, whole = np.diff(edges), sum(one.loads.mean_gbps(edges) for one in courses.values())
    return float(lengths[whole > CAPACITY_GBPS * (1 - 1e-6)].sum() / lengths[whole > 1e-6].sum())


def _loads(snapshot: Snapshot, holding: Holding) -> dict[str, list[float]]:
    """What each job sends on the link by time, seed 0, after a minute."""
    courses = _beside(jobs_of(snapshot, SHOWN), holding, 0, 70.0)
    edges = 60e3 + np.arange(0.0, _SHOWN_MS + _BIN_MS, _BIN_MS)
    return {job: [round(float(x), 2) for x in one.loads.mean_gbps(edges)] for job, one in courses.items()}


# --- the paper against ours ---


def rows(data: dict[str, Any]) -> list[Row]:
    """The table of snapshots, then utilisation, adjustments, and what longer paces would do."""
    snapshots = list(SNAPSHOTS.values())
    found = [row for one in snapshots for row in (*_scored(data, one), *_communicating(data, one), _gained(data, one))]
    found += [_contention(data, one) for one in snapshots]
    found += [row for one in snapshots[:3] for row in _adjustments(data, one)]
    return found + [_longer(data, one) for one in snapshots]


def _scored(data: Mapping[str, Any], snapshot: Snapshot) -> list[Row]:
    """Scores and shifts: what they would be with other iteration times, and what the paper's shifts are worth here."""
    scores = data["scores"][str(snapshot.number)]
    shown, own, equal = scores[SHOWN], scores["own"], scores["equal"]
    alone = ", ".join(f"{job} {ms:.0f}" for job, ms in own["iteration_ms"].items())
    free = "; at these no shift matters" if len(own["free"]) == len(own["iteration_ms"]) else ""
    fitting = [
        one["iteration_ms"] for one in data["scan"][str(snapshot.number)] if round(one["score"], 1) == snapshot.score
    ]
    fits = f"common times of {min(fitting):.0f} to {max(fitting):.0f} ms round to {snapshot.score}" if fitting else ""
    note = (
        f"own iteration times: {alone} ms{free}; {fits}; 72 angles claim {shown['angles_claimed']:.2f}, which score "
        f"{shown['angles_score']:.2f}; on 45 Gbit/s {shown['at_45_gbps']:.2f}"
    )
    ours = f"{shown['score']:.2f} (all equal {equal['score']:.2f}, own times {own['score']:.2f})"
    name = f"Snapshot {snapshot.number}"
    row = Row(f"{name} ({' + '.join(snapshot.ids)}): score", f"{snapshot.score}", ours, note)
    slack = ", ".join(f"{shown['slack_ms'][job]:.0f}" for job in snapshot.ids)
    note = (
        f"the paper's score {shown['of_the_papers_shifts']:.2f} here (all equal {equal['of_the_papers_shifts']:.2f}); "
        f"each of ours may move by {slack} ms"
    )
    printed, found = (
        ", ".join(f"{shifts[job]:.0f}" for job in snapshot.ids) for shifts in (snapshot.shifts_ms, shown["shifts_ms"])
    )
    return [row, Row(f"{name}: time-shifts, ms", printed, found, note)]


def _communicating(data: Mapping[str, Any], snapshot: Snapshot) -> list[Row]:
    up = data["scores"][str(snapshot.number)][SHOWN]["up_ms"]
    found = []
    for job, member in zip(snapshot.ids, snapshot.members, strict=True):
        before, after = (median_of(_by_seed(data, snapshot, SHOWN, one, job)) for one in ("none", "agent"))
        others = "; ".join(
            " → ".join(f"{median_of(_by_seed(data, snapshot, periods, one, job))[0]:.0f}" for one in ("none", "agent"))
            + f" with {words}"
            for periods, words in (("equal", "all equal"), ("own", "own times"))
        )
        found.append(
            Row(
                f"Snapshot {snapshot.number}: {job} communicates, Themis → Th+Cassini, ms",
                f"{member.themis_ms:.0f} → {member.cassini_ms:.0f}",
                f"{number(before, 0)} → {number(after, 0)}",
                f"alone {up[job]:.0f}; {others}",
            )
        )
    return found


def _gained(data: Mapping[str, Any], snapshot: Snapshot) -> Row:
    printed_ms = fmean(one.themis_ms for one in snapshot.members)
    scan = data["scan"][str(snapshot.number)]
    near = min(scan, key=lambda one: abs(fmean(one["random_communication_ms"].values()) - printed_ms))
    note = (
        f"all equal {times(_gain(data, snapshot, 'equal'))}; own times {times(_gain(data, snapshot, 'own'))}. Random "
        f"phases give the paper's mean of {printed_ms:.0f} ms best at a common time of {near['iteration_ms']:.0f} ms "
        f"({fmean(near['random_communication_ms'].values()):.0f} ms), where the score is {near['score']:.2f}"
    )
    return Row(
        f"Snapshot {snapshot.number}: gain in mean communication time",
        f"{printed_ms / fmean(one.cassini_ms for one in snapshot.members):.2f}×",
        times(_gain(data, snapshot, SHOWN)),
        note,
    )


def _contention(data: Mapping[str, Any], snapshot: Snapshot) -> Row:
    before, after = (
        median_of([seed[str(snapshot.number)][SHOWN][one]["contended"] for seed in data["seeds"]])
        for one in ("none", "agent")
    )
    paper = "interleaved" if snapshot.number < len(SNAPSHOTS) else "the link is shared most of the time"
    ours = f"{100 * before[0]:.0f} % → {100 * after[0]:.0f} %"
    return Row(f"Snapshot {snapshot.number}: share of its busy time in which the link is full", paper, ours)


def _adjustments(data: Mapping[str, Any], snapshot: Snapshot) -> list[Row]:
    found = []
    for periods, holding, words in (
        (SHOWN, "agent", "the agent's controller"),
        ("equal", "agent", "the same, all equal"),
        (SHOWN, "paper's rule", "the paper's 5 % rule"),
    ):
        each = [seed[str(snapshot.number)][periods][holding] for seed in data["seeds"]]
        most = median_of([max(one[job]["adjusted_per_minute"] for job in snapshot.ids) for one in each])
        what = f"Snapshot {snapshot.number}: adjustments per minute of the job with most, {words}"
        found.append(Row(what, "below 2", number(most, 1)))
    return found


def _longer(data: Mapping[str, Any], snapshot: Snapshot) -> Row:
    """Mean iteration times at random phases, held as arranged, and held at longer paces."""
    seeds = [seed[str(snapshot.number)] for seed in data["seeds"]]
    cases = [SHOWN, SHOWN, *["longer"] * len(LONGER)], ["none", "agent", *map(str, LONGER)]
    free, arranged, *longer = (
        median_of([fmean(seed[periods][case][job]["iteration_ms"] for job in snapshot.ids) for seed in seeds])[0]
        for periods, case in zip(*cases, strict=True)
    )
    adjusted = []
    for by in LONGER:
        each = [seed["longer"][str(by)] for seed in seeds]
        adjusted.append(median_of([max(one[job]["adjusted_per_minute"] for job in snapshot.ids) for one in each])[0])
    found = "; ".join(
        f"{100 * (by - 1):.0f} %: {ms:.0f} ms, {count:.1f} adjustments per minute"
        for by, ms, count in zip(LONGER, longer, adjusted, strict=True)
    )
    return Row(
        f"Snapshot {snapshot.number}: mean iteration time, random phases → held",
        "",
        f"{free:.0f} → {arranged:.0f} ms",
        f"at paces that are longer than arranged by {found}",
    )


def _by_seed(data: Mapping[str, Any], snapshot: Snapshot, periods: str, holding: str, job: str) -> list[float]:
    return [seed[str(snapshot.number)][periods][holding][job]["communication_ms"] for seed in data["seeds"]]


def _gain(data: Mapping[str, Any], snapshot: Snapshot, periods: str) -> Estimate:
    means = [
        [
            fmean(seed[str(snapshot.number)][periods][holding][job]["communication_ms"] for job in snapshot.ids)
            for seed in data["seeds"]
        ]
        for holding in ("none", "agent")
    ]
    return ratio_of(*means)


# --- plots ---


def plot(data: dict[str, Any], path: Path) -> None:
    """The link's utilisation by job, Themis beside Th+Cassini; scores over the common iteration time; communication."""
    jitter = f"jitter of computing times {100 * data['jitter_share']:.1f} %, lognormal"
    with saved(path, f"dashed: the longest own iteration time; loads: seed 0; {jitter}"):
        figure = pyplot.figure(figsize=(13, 11))
        grid = figure.add_gridspec(len(SNAPSHOTS), 4, width_ratios=(3, 3, 2, 2))
        for row, snapshot in enumerate(SNAPSHOTS.values()):
            for column, (holding, title) in enumerate((("none", "Themis"), ("agent", "Th+Cassini"))):
                axes = figure.add_subplot(grid[row, column])
                _draw_loads(axes, data["loads"][str(snapshot.number)][holding])
                axes.set_title(f"{title}, snapshot {snapshot.number}: paper's score {snapshot.score}", fontsize=8)
                axes.set(xlabel="ms" if row == len(SNAPSHOTS) - 1 else "", ylabel="Gbit/s")
            _draw_times(figure.add_subplot(grid[row, 2]), data, snapshot)
            _draw_scan(figure.add_subplot(grid[row, 3]), data, snapshot)


def _draw_loads(axes: Axes, loads: Mapping[str, list[float]]) -> None:
    count = len(next(iter(loads.values())))
    at = [_BIN_MS * step for step in range(count)]
    axes.stackplot(at, list(loads.values()), labels=list(loads), colors=SERIES, step="post", linewidth=0)
    axes.axhline(CAPACITY_GBPS, color="#333333", linewidth=0.7, linestyle=":")
    axes.set(ylim=(0, 1.45 * CAPACITY_GBPS), xlim=(0, at[-1]))
    axes.legend(fontsize=6, loc="upper right", ncol=3)


def _draw_times(axes: Axes, data: Mapping[str, Any], snapshot: Snapshot) -> None:
    for at, (job, member) in enumerate(zip(snapshot.ids, snapshot.members, strict=True)):
        for offset, holding, printed, color in (
            (-0.2, "none", member.themis_ms, SERIES[1]),
            (0.2, "agent", member.cassini_ms, SERIES[0]),
        ):
            middle, low, high = median_of(_by_seed(data, snapshot, SHOWN, holding, job))
            label = ("Themis" if holding == "none" else "Th+Cassini") if at == 0 else None
            axes.bar(at + offset, middle, 0.36, color=color, label=label)
            axes.plot([at + offset] * 2, [low, high], color="#333333", linewidth=1)
            axes.plot(at + offset, printed, "D", color="white", markeredgecolor="#333333", markersize=5)
    axes.set_xticks(range(len(snapshot.ids)), [name.replace("WideResNet", "WRN") for name in snapshot.ids], fontsize=7)
    axes.set_ylabel("communication, ms", fontsize=7)
    if snapshot.number == 1:
        axes.plot([], [], "D", color="white", markeredgecolor="#333333", markersize=5, label="paper")
        axes.legend(fontsize=6, loc="lower right", frameon=True)


def _draw_scan(axes: Axes, data: Mapping[str, Any], snapshot: Snapshot) -> None:
    scan = data["scan"][str(snapshot.number)]
    at = [one["iteration_ms"] for one in scan]
    axes.plot(at, [one["score"] for one in scan], color=SERIES[2])
    axes.axhspan(snapshot.score - 0.05, min(1.0, snapshot.score + 0.05), color=SERIES[3], alpha=0.25, linewidth=0)
    longest = max(data["scores"][str(snapshot.number)]["own"]["iteration_ms"].values())
    axes.axvline(longest, color="#333333", linewidth=0.7, linestyle="--")
    axes.set_ylabel("score", fontsize=7)
    axes.set_ylim(top=1.02)
    if snapshot.number == len(SNAPSHOTS):
        axes.set_xlabel("common iteration time, ms", fontsize=7)
