"""How well predictions agree with what was measured: rank correlation within rounds, regret, intervals over rounds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from bench.measuring.timing import percentile

from .trial import PREDICTORS, Trial

RESAMPLES = 2_000
CONFIDENCE = 0.95
SAME = 1e-6
"""Slowdowns that differ by less are equal."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over rounds with its bootstrap confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """One predictor beside one way to run.

    Attributes
    ----------
    rounds : int
        In which candidates differ in what was measured; the others say nothing about correlation.
    spearman, kendall : Interval
        Correlation of the prediction with less slowdown, within a round. A predictor that says the same of all
        candidates of a round has none there.
    gain : Interval
        ``spearman`` less that of the first predictor, round by round.
    mean_regret, p95_regret : float
        Slowdown of the candidate ranked first over that of the best one, less 1; over all rounds.
    found_best : float
        Share of all rounds in which it is the best one.
    """

    rounds: int
    spearman: Interval
    kendall: Interval
    gain: Interval
    mean_regret: float
    p95_regret: float
    found_best: float


def agreement(trials: Sequence[Trial], predictor: str, way: str) -> Agreement:
    """How a predictor agrees with what was measured in one way to run."""
    telling = [trial for trial in trials if differs(trial.measured[way])]
    own = [correlations(trial.predicted[predictor], trial.measured[way]) for trial in telling]
    first = [correlations(trial.predicted[PREDICTORS[0]], trial.measured[way]) for trial in telling]
    regrets = [regret(trial.measured[way], trial.picked[predictor]) for trial in trials]
    return Agreement(
        rounds=len(telling),
        spearman=bootstrap([rho for rho, _ in own]),
        kendall=bootstrap([tau for _, tau in own]),
        gain=bootstrap([ours[0] - theirs[0] for ours, theirs in zip(own, first, strict=True)]),
        mean_regret=statistics.fmean(regrets),
        p95_regret=percentile(regrets, 95),
        found_best=statistics.fmean(one < SAME for one in regrets),
    )


def differs(measured: Sequence[float]) -> bool:
    """Whether the candidates of a round differ in what was measured."""
    return max(measured) - min(measured) > SAME


def correlations(predicted: Sequence[float], measured: Sequence[float]) -> tuple[float, float]:
    """Spearman's and Kendall's correlation of a prediction (higher is better) with less slowdown; ties count as such.

    The slowdowns must differ. Both are 0 where the prediction is the same for all.
    """
    said = np.round(np.asarray(predicted) / 1e-9)
    good = -np.round(np.asarray(measured) / SAME)
    if np.ptp(said) == 0 or np.ptp(good) == 0:
        return 0.0, 0.0
    return float(stats.spearmanr(said, good).statistic), float(stats.kendalltau(said, good).statistic)


def regret(measured: Sequence[float], picked: int) -> float:
    """How much slower the picked candidate is than the best, relative."""
    return measured[picked] / min(measured) - 1.0


def blind_regrets(trials: Sequence[Trial], way: str) -> list[float]:
    """What a pick at random regrets: the mean over the candidates, of each round."""
    return [
        statistics.fmean(regret(trial.measured[way], place) for place in range(len(trial.status))) for trial in trials
    ]


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean and its percentile interval, rounds drawn again with replacement; NaN without a round."""
    if not values:
        return Interval(float("nan"), float("nan"), float("nan"))
    drawn = np.random.default_rng(0).choice(np.asarray(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(drawn.mean(axis=1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(statistics.fmean(values), float(low), float(high))
