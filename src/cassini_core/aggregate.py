"""From the scores of a candidate's links to the score of the candidate.

Every aggregate grows when a link's score grows, so the aggregate of the links' certified upper bounds is a certified
upper bound of the candidate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import InputError, shown

__all__ = ["DEFAULT_AGGREGATE", "Aggregate", "Crossings", "aggregate_named", "mean"]

_Float64 = npt.NDArray[np.float64]

DEFAULT_AGGREGATE = "per_job"
"""Of the aggregates the one that predicts slowdown best (bench/results/ranking-prediction.md)."""


class Crossings(NamedTuple):
    """Which jobs cross the shared links of one candidate.

    ``job[first[i]:first[i + 1]]`` are numbers, below ``n_jobs``, of the jobs on link ``i``; the last link's go to the
    end. ``n_placed`` jobs have a place in the candidate, those without a shared link included.
    """

    first: npt.NDArray[np.int64]
    job: npt.NDArray[np.int64]
    n_jobs: int
    n_placed: int

    @classmethod
    def of(cls, jobs: Sequence[Sequence[str]], placed: Collection[str]) -> Crossings:
        """From the ids of the jobs on each link, and of all jobs that have a place."""
        number = {job: k for k, job in enumerate(sorted({job for on_link in jobs for job in on_link}))}
        ends = np.cumsum([0, *map(len, jobs)], dtype=np.int64)
        members = np.array([number[job] for on_link in jobs for job in on_link], dtype=np.int64)
        return cls(ends[:-1], members, len(number), len(placed))

    def jobs_per_link(self) -> npt.NDArray[np.int64]:
        """How many jobs cross each link."""
        return np.diff(self.first, append=len(self.job))


Aggregate = Callable[[_Float64, Callable[[], Crossings]], float]
"""``aggregate(scores, crossings)``, one score per shared link; ``crossings()`` is asked only where jobs matter."""

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
    named: dict[str, Aggregate] = {"per_job": _per_job, "mean": mean, "min": _minimum}
    if isinstance(name, str):
        if name in named:
            return named[name]
        match = _PERCENTILE.fullmatch(name)
        if match is not None and float(match[1]) <= 100:
            return _percentile(float(match[1]))
    raise InputError(f"aggregate: expected 'per_job', 'mean', 'min' or a percentile 'p0' to 'p100', got {shown(name)}")


def mean(scores: _Float64, crossings: Callable[[], Crossings]) -> float:
    """The paper's: all shared links count alike."""
    # fsum is exact: the mean does not depend on the order of the links.
    return math.fsum(scores.tolist()) / len(scores) if len(scores) else 1.0


def _minimum(scores: _Float64, crossings: Callable[[], Crossings]) -> float:
    return float(scores.min(initial=1.0))


def _percentile(percent: float) -> Aggregate:
    def percentile(scores: _Float64, crossings: Callable[[], Crossings]) -> float:
        return float(np.percentile(scores, percent)) if len(scores) else 1.0

    return percentile


def _per_job(scores: _Float64, crossings: Callable[[], Crossings]) -> float:
    crossing = crossings()
    if not crossing.n_placed:
        return 1.0
    worst = np.ones(crossing.n_jobs)
    np.minimum.at(worst, crossing.job, np.repeat(scores, crossing.jobs_per_link()))
    below = worst[worst < 1.0]  # all others are at 1, as are the jobs without a shared link
    return math.fsum([*below.tolist(), float(crossing.n_placed - len(below))]) / crossing.n_placed
