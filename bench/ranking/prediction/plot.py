"""The study of predictions as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from bench.measuring.plots import SERIES, saved

from .agreement import agreement, blind_regrets
from .trial import PREDICTORS, Trial, TrialOptions, paced_at, ways

SCATTERED = ("mean", "per_job")


def draw(trials: Sequence[Trial], options: TrialOptions, file: Path, footnote: str) -> None:
    """Above: rank correlation and regret of each predictor. Below: predicted and measured, candidate by candidate."""
    with saved(file, footnote):
        _, axes = pyplot.subplots(2, 2, figsize=(10, 8))
        _correlations(axes[0, 0], trials, options)
        _regrets(axes[0, 1], trials, options)
        for below, name in zip(axes[1], SCATTERED, strict=True):
            _scatter(below, trials, name, paced_at(options.margins[0]))


def _correlations(axes: Axes, trials: Sequence[Trial], options: TrialOptions) -> None:
    for offset, color, way in _series(options):
        found = [agreement(trials, name, way).spearman for name in PREDICTORS]
        middle = [one.mean for one in found]
        spread = [[one.mean - one.low for one in found], [one.high - one.mean for one in found]]
        axes.errorbar(
            np.arange(len(found)) + offset, middle, spread, fmt="o", color=color, capsize=3, markersize=4, label=way
        )
    axes.set_xticks(range(len(PREDICTORS)), labels=_broken(PREDICTORS))
    axes.set(ylabel="Spearman's rank correlation", ylim=(min(0.0, axes.get_ylim()[0]), 1.0))
    axes.set_title("Score against less slowdown, within rounds (95 % interval)", fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=7, loc="lower right")


def _regrets(axes: Axes, trials: Sequence[Trial], options: TrialOptions) -> None:
    names = [*PREDICTORS, "any candidate"]
    for offset, color, way in _series(options):
        found = [agreement(trials, name, way) for name in PREDICTORS]
        blind = blind_regrets(trials, way)
        at = np.arange(len(names)) + offset
        axes.plot(at, [*(one.mean_regret for one in found), float(np.mean(blind))], "o", color=color, markersize=4)
        axes.plot(at[:-1], [one.p95_regret for one in found], "^", color=color, alpha=0.5, markersize=5)
    axes.set_xticks(range(len(names)), labels=_broken(names))
    axes.set(ylabel="slower than the best candidate", ylim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title("Regret of the candidate ranked first: mean (triangle: 95th percentile)", fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)


def _broken(names: Sequence[str]) -> list[str]:
    return [name.replace(" ", "\n") for name in names]


def _series(options: TrialOptions) -> list[tuple[float, str, str]]:
    names = ways(options)
    return [(0.12 * (k - (len(names) - 1) / 2), SERIES[k], way) for k, way in enumerate(names)]


def _scatter(axes: Axes, trials: Sequence[Trial], name: str, way: str) -> None:
    """Differences from the mean of the round: what the ranking has to tell apart."""
    for color, load in zip(SERIES, dict.fromkeys(trial.family.partition(",")[0] for trial in trials), strict=False):
        own = [trial for trial in trials if trial.family.partition(",")[0] == load]
        x = np.concatenate([np.array(trial.predicted[name]) - np.mean(trial.predicted[name]) for trial in own])
        y = np.concatenate([np.array(trial.measured[way]) - np.mean(trial.measured[way]) for trial in own])
        axes.plot(x, y, ".", color=color, markersize=3, alpha=0.5, label=load)
    axes.axhline(0, color="#999999", linewidth=0.6)
    axes.axvline(0, color="#999999", linewidth=0.6)
    axes.set(xlabel=f"{name} score less the round's mean", ylabel="slowdown less the round's mean")
    axes.set_title(f"{name}: every candidate, {way}", fontsize=9)
    axes.legend(fontsize=7, loc="upper right", markerscale=3)
