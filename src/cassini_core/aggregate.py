"""From the scores of a candidate's links to the score of the candidate.

Every aggregate grows when a link's score grows, so the aggregate of the links' certified upper bounds is a certified
upper bound of the candidate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from .errors import InputError, shown

__all__ = ["Aggregate", "aggregate_named", "mean"]

Aggregate = Callable[[Sequence[float], Sequence[Sequence[str]], Collection[str]], float]
"""``aggregate(scores, jobs_on_link, placed_jobs)``: one score and the ids of the jobs per shared link."""

_PERCENTILE = re.compile(r"p(\d{1,3}(?:\.\d+)?)", re.ASCII)


def aggregate_named(name: Any) -> Aggregate:
    """The aggregate a caller asks for by name.

    Parameters
    ----------
    name : str
        ``"mean"`` over the physical shared links (the paper's), ``"min"`` over them, a percentile of them such as
        ``"p10"`` (linear interpolation, NumPy's default), or ``"per_job"``: the mean over all placed jobs of the score
        of the job's worst link, 1 for a job that shares none.

    Returns
    -------
    callable
        Without a shared link each gives 1.

    Raises
    ------
    InputError
        Another name.
    """
    named: dict[str, Aggregate] = {"mean": mean, "min": _minimum, "per_job": _per_job}
    if isinstance(name, str):
        if name in named:
            return named[name]
        match = _PERCENTILE.fullmatch(name)
        if match is not None and float(match[1]) <= 100:
            return _percentile(float(match[1]))
    raise InputError(f"aggregate: expected 'mean', 'min', 'per_job' or a percentile 'p0' to 'p100', got {shown(name)}")


def mean(scores: Sequence[float], jobs: Sequence[Sequence[str]], placed: Collection[str]) -> float:
    """The paper's: all shared links count alike."""
    # fsum is exact: the mean does not depend on the order of the links.
    return math.fsum(scores) / len(scores) if scores else 1.0


def _minimum(scores: Sequence[float], jobs: Sequence[Sequence[str]], placed: Collection[str]) -> float:
    return min(scores, default=1.0)


def _percentile(percent: float) -> Aggregate:
    def percentile(scores: Sequence[float], jobs: Sequence[Sequence[str]], placed: Collection[str]) -> float:
        return float(np.percentile(scores, percent)) if scores else 1.0

    return percentile


def _per_job(scores: Sequence[float], jobs: Sequence[Sequence[str]], placed: Collection[str]) -> float:
    worst = dict.fromkeys(placed, 1.0)
    for score, on_link in zip(scores, jobs, strict=True):
        for job in on_link:
            worst[job] = min(worst[job], score)
    return math.fsum(worst.values()) / len(worst) if worst else 1.0
