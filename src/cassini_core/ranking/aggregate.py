"""From the scores of a candidate's links to the score of the candidate.

Every aggregate grows when a link's score grows, so the aggregate of the links' certified upper bounds is a certified
upper bound of the candidate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Float64Array
from ..errors import InputError, shown
from ..links.incidence import Crossings

__all__ = ["DEFAULT_AGGREGATE", "Aggregate", "aggregate_named", "mean"]

DEFAULT_AGGREGATE = "per_job"
"""It predicts slowdown best (bench/results/ranking-prediction.md)."""


Aggregate = Callable[[Float64Array, Crossings], float]
"""``aggregate(scores, crossings)``, one score per shared link of a candidate."""

_PERCENTILE = re.compile(r"p(\d{1,3}(?:\.\d+)?)", re.ASCII)


def aggregate_named(name: Any) -> Aggregate:
    """The aggregate a caller asks for by name.

    Parameters
    ----------
    name : str
        ``"per_job"``: the mean over all placed jobs of the score of the job's worst shared link, 1 for a job that
        shares none; ``"mean"`` over the physical shared links (the paper's), ``"min"`` over them, or a percentile of
        them such as ``"p10"`` (linear interpolation, NumPy's default).

    Returns
    -------
    callable
        Without a shared link each gives 1.

    Raises
    ------
    InputError
        Another name.
    """
    if isinstance(name, str):
        if name in _NAMED:
            return _NAMED[name]
        match = _PERCENTILE.fullmatch(name)
        if match is not None and float(match[1]) <= 100:
            return _percentile(float(match[1]))
    named = ", ".join(map(repr, _NAMED))
    raise InputError(f"aggregate: expected {named} or a percentile 'p0' to 'p100', got {shown(name)}")


def mean(scores: Float64Array, crossings: Crossings) -> float:
    """The paper's: all shared links count alike."""
    # fsum is exact: the mean does not depend on the order of the links.
    return math.fsum(scores.tolist()) / len(scores) if len(scores) else 1.0


def _minimum(scores: Float64Array, crossings: Crossings) -> float:
    return float(scores.min(initial=1.0))


def _percentile(percent: float) -> Aggregate:
    def percentile(scores: Float64Array, crossings: Crossings) -> float:
        return float(np.percentile(scores, percent)) if len(scores) else 1.0

    return percentile


def _per_job(scores: Float64Array, crossings: Crossings) -> float:
    if not crossings.n_placed:
        return 1.0
    worst = np.ones(crossings.n_jobs)
    np.minimum.at(worst, crossings.job, np.repeat(scores, crossings.jobs_per_link()))
    below = worst[worst < 1.0]  # all others are at 1, as are the jobs without a shared link
    return math.fsum([*below.tolist(), float(crossings.n_placed - len(below))]) / crossings.n_placed


_NAMED: dict[str, Aggregate] = {"per_job": _per_job, "mean": mean, "min": _minimum}
