"""From the scores of a candidate's links to the score of the candidate.

Every aggregate grows when a link's score grows, so the aggregate of the links' certified upper bounds is a certified
upper bound of the candidate.

A narrow link counts like a shared one, where counting it lowers the score. Whoever counted all narrow links in a mean
would give a candidate a higher score for a link that is a little too narrow than for one that is wide enough: the
former counts as almost 1, the latter not at all.
"""

from __future__ import annotations

import math
import re
from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Float64Array
from ..errors import InputError, shown
from ..joint import placement_arrays
from ..links.incidence import Crossings

__all__ = ["DEFAULT_AGGREGATE", "Aggregate", "aggregate_named", "mean", "per_job"]

DEFAULT_AGGREGATE = "per_job"
"""It predicts slowdown best (bench/results/ranking-prediction.md)."""


Aggregate = Callable[[Float64Array, Crossings], float]
"""``aggregate(scores, crossings)``, one score per shared link of a candidate; narrow links are in ``crossings``."""

_PERCENTILE = re.compile(r"p(\d{1,3}(?:\.\d+)?)", re.ASCII)


def aggregate_named(name: Any) -> Aggregate:
    """The aggregate a caller asks for by name.

    Parameters
    ----------
    name : str
        ``"per_job"``: the mean over all placed jobs of the score of the job's worst link, 1 for a job whose links are
        neither shared nor narrow; ``"mean"`` over the physical shared links (the paper's), ``"min"`` over them, or a
        percentile of them such as ``"p10"`` (linear interpolation, NumPy's default). Narrow links count where that
        lowers the score.

    Returns
    -------
    callable
        Without a shared or narrow link each gives 1.

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
    """The paper's: all shared links count alike. O(links)."""
    # fsum is exact: the mean does not depend on the order of the links.
    counted = scores.tolist()
    total = math.fsum(counted)
    for score in crossings.narrow.score.tolist():  # the lowest first, until one does not lower the mean
        if counted and score * len(counted) >= total:
            break
        counted.append(score)
        total += score
    return math.fsum(counted) / len(counted) if counted else 1.0


def _minimum(scores: Float64Array, crossings: Crossings) -> float:
    return float(min(scores.min(initial=1.0), crossings.narrow.score.min(initial=1.0)))


def _percentile(percent: float) -> Aggregate:
    def percentile(scores: Float64Array, crossings: Crossings) -> float:
        if not len(crossings.narrow.score):
            return float(np.percentile(scores, percent)) if len(scores) else 1.0
        # Of each number of narrow links the lowest make the least percentile. More of them may raise it again.
        counted = sorted(scores.tolist())
        least = _interpolated(counted, percent) if counted else 1.0
        for score in crossings.narrow.score.tolist():
            insort(counted, score)
            least = min(least, _interpolated(counted, percent))
        return least

    return percentile


def _interpolated(ascending: Sequence[float], percent: float) -> float:
    """The percentile of some numbers, at least one; O(1)."""
    place = percent / 100 * (len(ascending) - 1)
    low = min(int(place), len(ascending) - 1)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (place - low) * (ascending[high] - ascending[low])


def per_job(
    scores: Float64Array, crossings: Crossings, over_jobs: Callable[..., float] = placement_arrays.per_job
) -> float:
    """The mean over all placed jobs of the score of each job's worst link. O(crossings).

    ``over_jobs`` is that function of :class:`cassini_core.joint.scoring.Scoring`: all give the same.
    """
    if not crossings.n_placed:
        return 1.0
    links, offset, job, n_jobs, n_placed, narrow = crossings
    worst = np.empty(max(n_jobs, 1 + int(narrow.job.max())) if len(narrow.job) else n_jobs)
    return over_jobs(links, scores, offset, job, narrow.job, narrow.score, n_placed, worst)


_NAMED: dict[str, Aggregate] = {"per_job": per_job, "mean": mean, "min": _minimum}
