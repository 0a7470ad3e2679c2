"""Shifts of placements and what they are worth, kept whole or as their difference from those of the base placement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, Float64Array, Int64Array
from .scoring import ARRAYS, Scoring

__all__ = ["AtShifts", "BaseShifts", "NearBase"]

Int32Array = npt.NDArray[np.int32]

MOST_CHANGED = 1 / 4
"""With a larger share of changed scores, or jobs, arrays of their own are as good."""


@dataclass(frozen=True, slots=True)
class AtShifts:
    """Shifts of the jobs of a placement, ticks, and what its links score at them.

    Attributes
    ----------
    links : int64 array
        Indices of the shared links, as ``Placement.links``.
    scores : float64 array, shape (links,)
    jobs : int64 array
        Numbers of the jobs that share a link, ascending.
    shift, slack : int64 array, shape (jobs,)
    free : bool array, shape (jobs,)
        Whether the job's shift matters on none of its links.
    """

    links: Int64Array
    scores: Float64Array
    jobs: Int64Array
    shift: Int64Array
    slack: Int64Array
    free: BoolArray


@dataclass(frozen=True, slots=True)
class NearBase:
    """What differs from the base placement: scores by their place among the links, jobs by their place among the jobs.

    ``gone`` and ``come`` are numbers of jobs that share a link in one of both alone.
    """

    base: BaseShifts
    link_at: Int32Array
    scores: Float64Array
    gone: Int32Array
    come: Int32Array
    job_at: Int32Array
    shift: Int64Array
    slack: Int64Array
    free: BoolArray

    def whole(self, links: Int64Array) -> AtShifts:
        """With all arrays; O(links and jobs). ``links`` are those of the placement."""
        base = self.base
        scores = base.scores[links]
        scores[self.link_at] = self.scores
        shares = base.shares.copy()
        shares[self.gone], shares[self.come] = False, True
        jobs = np.flatnonzero(shares)
        shift, slack, free = base.shift[jobs], base.slack[jobs], base.free[jobs]
        shift[self.job_at], slack[self.job_at], free[self.job_at] = self.shift, self.slack, self.free
        return AtShifts(links, scores, jobs, shift, slack, free)


class BaseShifts:
    """What the base placement has, by index of link and number of job: of others zeros.

    Parameters
    ----------
    found : AtShifts
    n_links, n_jobs : int
        Of the round.
    scoring : Scoring, optional
    """

    def __init__(self, found: AtShifts, n_links: int, n_jobs: int, scoring: Scoring = ARRAYS) -> None:
        self._differ = scoring.differ
        self.scores = np.zeros(n_links)
        self.scores[found.links] = found.scores
        self.shares, self.free = np.zeros((2, n_jobs), dtype=np.bool_)
        self.shift, self.slack = np.zeros((2, n_jobs), dtype=np.int64)
        self.shares[found.jobs] = True
        self.shift[found.jobs], self.slack[found.jobs], self.free[found.jobs] = found.shift, found.slack, found.free

    def near(self, found: AtShifts) -> AtShifts | NearBase:
        """The same, in little memory where little differs; O(links and jobs)."""
        links, jobs = found.links, found.jobs
        link_at = np.empty(len(links), dtype=np.int64)
        gone, come, job_at = np.empty((3, len(self.shift)), dtype=np.int64)
        own = found.scores, jobs, found.shift, found.slack, found.free
        base = self.scores, self.shares, self.shift, self.slack, self.free
        n_links, n_gone, n_come, n_jobs = self._differ(links, *own, *base, link_at, gone, come, job_at)
        if n_links > MOST_CHANGED * len(links) or n_jobs > MOST_CHANGED * len(jobs):
            return found
        link_at, job_at = link_at[:n_links], job_at[:n_jobs]
        return NearBase(
            self,
            link_at.astype(np.int32),
            found.scores[link_at],
            gone[:n_gone].astype(np.int32),
            come[:n_come].astype(np.int32),
            job_at.astype(np.int32),
            found.shift[job_at],
            found.slack[job_at],
            found.free[job_at],
        )
