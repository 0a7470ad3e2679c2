"""All shared links of a ranking in flat arrays, with what is known of each: what large candidates are answered from.

Links and jobs are numbers here. The jobs of link ``i`` stand at places ``offset[i]`` to ``offset[i + 1]`` of arrays
over all places of all links.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .shared_links import Placement, SharedLink

__all__ = ["Crossings", "FlatLinks", "Places"]

_Int64 = npt.NDArray[np.int64]


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


class Places(NamedTuple):
    """Places of some links, one link after the other: ``at`` are indices into arrays over all places of all links.

    Those of link ``i`` of the some begin at ``first[i]`` of ``at``, and are ``size[i]``.
    """

    at: _Int64
    first: _Int64
    size: _Int64


class FlatLinks:
    """Shared links as arrays.

    Parameters
    ----------
    shared : sequence of SharedLink
        ``shared[i].index == i``.
    period : mapping of str to int
        Iteration time of each job, ticks.

    Attributes
    ----------
    jobs : list of str
        Ids of the jobs that share a link somewhere, sorted: their numbers.
    name : object array, shape (jobs,)
        The same.
    period : int64 array, shape (jobs,)
        Ticks.
    offset : int64 array, shape (links + 1,)
    job : int64 array, shape (places,)
        Number of the job at each place.
    problem : int64 array, shape (links,)
    capacity_gbps : float64 array, shape (links,)
    """

    def __init__(self, shared: Sequence[SharedLink], period: Mapping[str, int]) -> None:
        self.jobs = sorted({job for link in shared for job in link.jobs})
        self.name = np.array([*self.jobs, None], dtype=object)[:-1]
        number = {job: k for k, job in enumerate(self.jobs)}
        self.period: _Int64 = np.array([period[job] for job in self.jobs], dtype=np.int64)
        self.offset: _Int64 = np.concatenate(([0], np.cumsum([len(link.jobs) for link in shared], dtype=np.int64)))
        self.job: _Int64 = np.array([number[job] for link in shared for job in link.jobs], dtype=np.int64)
        self.problem: _Int64 = np.array([link.problem.index for link in shared], dtype=np.int64)
        self.capacity_gbps: npt.NDArray[np.float64] = np.array(
            [link.capacity_gbps for link in shared], dtype=np.float64
        )

    def shifts(self, shift: Mapping[str, int]) -> _Int64:
        """Shifts by the number of the job; 0 where none is given."""
        return np.array([shift.get(job, 0) for job in self.jobs], dtype=np.int64)

    def places(self, links: _Int64) -> Places:
        """All places of some links, one link after the other; O(places)."""
        begin = self.offset[links]
        count = self.offset[links + 1] - begin
        first = np.cumsum(count) - count
        return Places(np.arange(count.sum()) + np.repeat(begin - first, count), first, count)

    def count_places(self, links: _Int64) -> int:
        """How many places some links have together."""
        return int((self.offset[links + 1] - self.offset[links]).sum())

    def crossings(self, placement: Placement) -> Crossings:
        """The jobs on the shared links of a placement; O(places)."""
        places = self.places(placement.links)
        return Crossings(places.first, self.job[places.at], len(self.jobs), len(placement.placed))

    def relative_shifts(self, places: Places, shift: _Int64) -> _Int64:
        """How the job at each place stands to the first of its link: a common turn changes nothing."""
        job = self.job[places.at]
        ticks = shift[job]
        return np.asarray((ticks - np.repeat(ticks[places.first], places.size)) % self.period[job])
