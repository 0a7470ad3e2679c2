"""Which jobs cross which shared links, in flat arrays: what candidates are answered from.

Links and jobs are numbers here. A *crossing* is one job on one link. Link ``i`` owns the crossings ``offset[i]`` to
``offset[i + 1] - 1`` of all arrays over crossings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Float64Array, Int64Array, Rows, objects
from ..lockless_cached_property import lockless_cached_property

__all__ = ["NO_NARROW", "Crossings", "Incidence", "Narrow"]


class Narrow(NamedTuple):
    """The narrow links of one candidate, each with the number of its only job, and its score; the lowest score first.

    A job that shares no link anywhere has a number that no job of an :class:`Incidence` has.
    """

    job: Int64Array
    score: Float64Array


NO_NARROW = Narrow(np.zeros(0, dtype=np.int64), np.zeros(0))


class Crossings(NamedTuple):
    """Which jobs cross the shared links of one candidate, and which links are too narrow for their only job.

    ``job[offset[link] : offset[link + 1]]`` are numbers, below ``n_jobs``, of the jobs on each link of ``links``. The
    candidate places ``n_placed`` jobs, those without a shared link included.
    """

    links: Int64Array
    offset: Int64Array
    job: Int64Array
    n_jobs: int
    n_placed: int
    narrow: Narrow = NO_NARROW


@dataclass(frozen=True)
class Incidence:
    """The shared links of a ranking as arrays.

    Attributes
    ----------
    jobs : list of str
        Ids of the jobs that share a link somewhere, sorted: their numbers.
    period : int64 array, shape (jobs,)
        Iteration times, ticks.
    offset : int64 array, shape (links + 1,)
    job : int64 array, shape (crossings,)
        Number of the job at each crossing.
    problem : int64 array, shape (links,)
        Number of each link's problem.
    capacity_gbps : float64 array, shape (links,)
    """

    jobs: list[str]
    period: Int64Array
    offset: Int64Array
    job: Int64Array
    problem: Int64Array
    capacity_gbps: Float64Array

    @lockless_cached_property
    def name(self) -> npt.NDArray[np.object_]:
        """``jobs`` as an array, shape (jobs,)."""
        return objects(self.jobs)

    @lockless_cached_property
    def _size(self) -> Int64Array:
        return np.diff(self.offset)

    def shifts(self, shift: Mapping[str, int]) -> Int64Array:
        """Shifts by the number of the job; 0 where none is given."""
        return np.array([shift.get(job, 0) for job in self.jobs], dtype=np.int64)

    def rows(self, links: Int64Array) -> Rows:
        """The crossings of some links; O(crossings)."""
        return Rows.of(self.offset, links)

    def count(self, links: Int64Array) -> int:
        """How many crossings some links have together."""
        return int(self._size[links].sum())

    def crossings(self, links: Int64Array, n_placed: int, narrow: Narrow = NO_NARROW) -> Crossings:
        """The jobs on the shared links of a candidate that places ``n_placed`` jobs; O(1)."""
        return Crossings(links, self.offset, self.job, len(self.jobs), n_placed, narrow)

    def relative_shifts(self, rows: Rows, shift: Int64Array) -> Int64Array:
        """At each crossing, the job's shift from the first of its link: turning all jobs of a link changes nothing."""
        job = self.job[rows.at]
        ticks = shift[job]
        return np.asarray((ticks - np.repeat(ticks[rows.first], rows.size)) % self.period[job])
