"""Many link problems as plain arrays, and their answers: for a thread here, or for a process elsewhere."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, Float64Array, Int32Array, Int64Array, Rows, cut, offsets
from ..choices import StoppedBy
from ..errors import KernelError
from . import _kernel
from .search_limits import SearchLimits

__all__ = ["RESULT_TYPE", "LinkAnswers", "LinkArrays", "chunk_answers", "solve_chunk"]

RESULT_TYPE = _kernel.result_dtype
"""The fields of ``cassini_result``."""

_Columns = tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]

_BY_NODES = _kernel.STOPPED_BY.index("nodes")
_BY_LIMITS = _kernel.STOPPED_BY.index("limits")


@dataclass(frozen=True, slots=True)
class LinkArrays:
    """Link problems one after the other: the arrays of ``cassini_solve_links``, int64. Can be pickled.

    Link ``i`` owns jobs ``job_offset[i]`` to ``job_offset[i + 1] - 1``, job ``j`` owns phases ``phase_offset[j]`` to
    ``phase_offset[j + 1] - 1``. Times are in ticks.

    Attributes
    ----------
    job_offset : shape (n_links + 1,)
    period : shape (n_jobs,)
    phase_offset : shape (n_jobs + 1,)
    phase_start, phase_length, phase_rate : shape (n_phases,)
    capacity : shape (n_links,)
    """

    job_offset: Int64Array
    period: Int64Array
    phase_offset: Int64Array
    phase_start: Int64Array
    phase_length: Int64Array
    phase_rate: Int64Array
    capacity: Int64Array

    def __len__(self) -> int:
        return len(self.capacity)

    def columns(self) -> _Columns:
        """All arrays, in the order in which the extension takes them."""
        phases = self.phase_offset, self.phase_start, self.phase_length, self.phase_rate
        return self.job_offset, self.period, *phases, self.capacity

    def part(self, links: Int64Array) -> LinkArrays:
        """Some of the links, in this order; O(jobs + phases) in whole arrays."""
        jobs = Rows.of(self.job_offset, links)
        phases = Rows.of(self.phase_offset, jobs.at)
        return LinkArrays(
            offsets(jobs.size),
            self.period[jobs.at],
            offsets(phases.size),
            self.phase_start[phases.at],
            self.phase_length[phases.at],
            self.phase_rate[phases.at],
            self.capacity[links],
        )

    def n_jobs(self) -> Int64Array:
        """Jobs of each link."""
        return np.diff(self.job_offset)

    def n_phases(self) -> Int64Array:
        """Phases of all jobs of each link."""
        return np.diff(self.phase_offset[self.job_offset])

    def most_phases(self) -> Int64Array:
        """Phases of that job of each link which has most; every link has a job."""
        return np.maximum.reduceat(np.diff(self.phase_offset), self.job_offset[:-1])

    def area_bounds(self) -> Float64Array:
        """A score of each link that no shifts exceed: on average at least what does not fit is excess (F3)."""
        n_jobs, n_links = len(self.period), len(self.capacity)
        job = np.repeat(np.arange(n_jobs), np.diff(self.phase_offset))
        link = np.repeat(np.arange(n_links), self.n_jobs())
        per_job = np.bincount(job, self.phase_length * self.phase_rate.astype(np.float64), n_jobs)
        demand = np.bincount(link, per_job / self.period, n_links)
        return np.asarray(1.0 - np.maximum(0.0, demand - self.capacity) / self.capacity)

    def contents(self) -> list[bytes]:
        """Capacity and demands of each link: equal for equal links, and none is how another begins. O(phases)."""
        phases = self.phase_offset[self.job_offset]
        columns = (
            *(cut(column, self.job_offset) for column in (self.period, np.diff(self.phase_offset))),
            *(cut(column, phases) for column in (self.phase_start, self.phase_length, self.phase_rate)),
        )
        sizes = zip(self.capacity.tolist(), self.n_jobs().tolist(), strict=True)
        heads = [struct.pack("<qq", *size) for size in sizes]
        return [b"".join(one) for one in zip(heads, *columns, strict=True)]


@dataclass(frozen=True, slots=True)
class LinkAnswers:
    """The answers to many links, in the order of the links. Can be pickled.

    Attributes
    ----------
    job_offset : int64 array, shape (n_links + 1,)
        Link ``i`` owns jobs ``job_offset[i]`` to ``job_offset[i + 1] - 1``.
    shift : int64 array, shape (n_jobs,)
        Ticks, in ``[0, period)``.
    free : bool array, shape (n_jobs,)
        Jobs whose shift does not matter (F1b).
    result : structured array, shape (n_links,)
        The fields of ``RESULT_TYPE``; ``upper_bound`` alone says something of a link without an answer.
    answered : bool array, shape (n_links,)
        Whether the link has an answer; without one its shifts and scores are zeros.
    """

    job_offset: Int64Array
    shift: Int64Array
    free: BoolArray
    result: npt.NDArray[Any]
    answered: BoolArray

    @classmethod
    def none_yet(cls, job_offset: Int64Array, upper_bound: Float64Array | float) -> LinkAnswers:
        """No answers, only bounds."""
        n_jobs, n_links = int(job_offset[-1]), len(job_offset) - 1
        result = np.zeros(n_links, dtype=RESULT_TYPE)
        result["upper_bound"] = upper_bound
        shift, free = np.zeros(n_jobs, dtype=np.int64), np.zeros(n_jobs, dtype=np.bool_)
        return cls(job_offset, shift, free, result, np.zeros(n_links, dtype=np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[LinkAnswers]) -> LinkAnswers:
        """The answers of several groups of links, one after the other."""
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([np.diff(part.job_offset) for part in parts])
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__[1:])
        return cls(offsets(sizes), *columns)

    def __len__(self) -> int:
        return len(self.result)

    @property
    def upper_bound(self) -> Float64Array:
        """What no shifts of each link can exceed."""
        return np.asarray(self.result["upper_bound"])

    @property
    def score_lower(self) -> Float64Array:
        """What the shifts of each link score at least."""
        return np.asarray(self.result["score_lower"])

    @property
    def nodes(self) -> Int64Array:
        """Search nodes that each link took."""
        return np.asarray(self.result["nodes"])

    @property
    def optimal(self) -> BoolArray:
        """Whether each link's shifts are proven to be the best."""
        return np.asarray(self.answered & (self.result["optimal"] != 0))

    def stopped_by(self, link: int) -> StoppedBy:
        """Why the search of a link that has an answer ended; see ``_kernel.LinkAnswer``."""
        reason: StoppedBy = _kernel.STOPPED_BY[self.result["stopped_by"][link]]
        return reason

    def stopped_by_limits(self) -> BoolArray:
        """Of which links exact scoring is beyond the limits of folding."""
        return np.asarray(self.result["stopped_by"] == _BY_LIMITS)

    def want_nodes(self, links: Int64Array) -> BoolArray:
        """Which of some links have an answer that more search nodes can better."""
        return np.asarray(self.answered[links] & (self.result["stopped_by"][links] == _BY_NODES))

    def take(self, links: Int64Array, found: LinkAnswers) -> None:
        """Write ``found`` to ``links``, and keep of two answers the better one, of two bounds the lower.

        A deadline can cut a second search before it is as good as the first.
        """
        had = self.answered[links]
        bound = np.where(had, np.minimum(self.upper_bound[links], found.upper_bound), found.upper_bound)
        better = ~had | (found.score_lower >= self.score_lower[links])
        into = links[better]
        self.result[into] = found.result[better]
        jobs, own = Rows.of(self.job_offset, into).at, Rows.of(found.job_offset, np.flatnonzero(better)).at
        self.shift[jobs], self.free[jobs] = found.shift[own], found.free[own]
        self.answered[links] = True
        self.result["upper_bound"][links] = np.where(had, np.maximum(self.score_lower[links], bound), bound)


def solve_chunk(
    arrays: LinkArrays,
    limits: SearchLimits,
    deadline_s: float | None = None,
    cancel: Int32Array | None = None,
) -> LinkAnswers:
    """Solve each link; every answer is, bit by bit, that of ``PreparedLink.solve``.

    Parameters
    ----------
    arrays : LinkArrays
    limits : SearchLimits
    deadline_s : float, optional
        Seconds from now for all links together; those it cuts off still get a valid answer.
    cancel : int32 array, shape (1,), optional
        Not 0: the call is given up, at the latest at the next link.

    Raises
    ------
    InputError
        A link or an option is out of range.
    KernelError
        Canceled, or a defect.

    Notes
    -----
    Releases the GIL for the whole call.
    """
    found = _kernel.solve_links(
        *arrays.columns(),
        limits.options(deadline_s),
        cancel,
        limits.node_limit,
        limits.with_slack,
    )
    return chunk_answers(arrays.job_offset, found)


def chunk_answers(
    job_offset: Int64Array,
    found: tuple[Int64Array, Int64Array, BoolArray, npt.NDArray[Any], Int32Array] | None,
) -> LinkAnswers:
    """What the extension says of some links, None if canceled.

    Raises
    ------
    InputError, KernelError
        As :func:`solve_chunk`.
    """
    if found is None:
        raise KernelError("solve_links: canceled")
    shift, _, free, result, status = found
    _kernel.check_status(status)
    return LinkAnswers(job_offset, shift, free, result, np.ones(len(result), dtype=np.bool_))
