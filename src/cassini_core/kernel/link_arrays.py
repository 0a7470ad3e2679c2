"""Many link problems in one call of the kernel, as plain arrays: for a thread here, or for a process elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..choices import StoppedBy
from ..errors import KernelError
from . import _kernel
from .link_problem import LinkProblem
from .prepared_link import DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS, Int64Array, kernel_options

__all__ = ["ChunkAnswers", "ChunkOptions", "LinkChunk", "ProblemAnswer", "solve_chunk"]


class ProblemAnswer(NamedTuple):
    """The answer to one link problem, in ticks; the fields of ``LinkAnswer`` that a ranking reads.

    ``shift`` and ``free`` have shape (n_jobs,), in the order of the problem's jobs, and are read-only.
    """

    shift: Int64Array
    free: npt.NDArray[np.bool_]
    score_lower: float
    score_upper: float
    upper_bound: float
    optimal: bool
    nodes: int
    stopped_by: StoppedBy

    def own(self) -> ProblemAnswer:
        """The same with arrays of its own: views keep those of all links that were solved together."""
        shift, free = self.shift.copy(), self.free.copy()
        shift.setflags(write=False)
        free.setflags(write=False)
        return self._replace(shift=shift, free=free)


@dataclass(frozen=True, slots=True)
class LinkChunk:
    """Link problems one after the other: the arrays of ``cassini_solve_links``, int64. Can be pickled.

    ``job_offset`` has shape (n_links + 1,), ``period`` (n_jobs,), ``phase_offset`` (n_jobs + 1,), ``phase_start``,
    ``phase_length`` and ``phase_rate`` (n_phases,), ``capacity`` (n_links,); times in ticks.
    """

    job_offset: Int64Array
    period: Int64Array
    phase_offset: Int64Array
    phase_start: Int64Array
    phase_length: Int64Array
    phase_rate: Int64Array
    capacity: Int64Array

    @classmethod
    def of(cls, problems: Sequence[LinkProblem]) -> LinkChunk:
        """The arrays of ``problems``, in their order. O(jobs + phases)."""
        demands = [demand for problem in problems for demand in problem.demands]
        phases = [phase for demand in demands for phase in demand.phases]
        start, length, rate = np.array(phases, dtype=np.int64).reshape(-1, 3).T.copy()
        return cls(
            job_offset=_offsets([len(problem.demands) for problem in problems]),
            period=np.array([demand.period for demand in demands], dtype=np.int64),
            phase_offset=_offsets([len(demand.phases) for demand in demands]),
            phase_start=start,
            phase_length=length,
            phase_rate=rate,
            capacity=np.array([problem.capacity for problem in problems], dtype=np.int64),
        )

    def area_bounds(self) -> npt.NDArray[np.float64]:
        """A score of each link that no shifts exceed: on average at least what does not fit is excess (F3)."""
        n_jobs, n_links = len(self.period), len(self.capacity)
        job = np.repeat(np.arange(n_jobs), np.diff(self.phase_offset))
        link = np.repeat(np.arange(n_links), np.diff(self.job_offset))
        per_job = np.bincount(job, self.phase_length * self.phase_rate.astype(np.float64), n_jobs)
        demand = np.bincount(link, per_job / self.period, n_links)
        return np.asarray(1.0 - np.maximum(0.0, demand - self.capacity) / self.capacity)

    def __len__(self) -> int:
        return len(self.capacity)


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """What each link of a chunk may cost, how finely it is judged, and whether its shifts are centred; see ``rank``."""

    node_limit: int | None
    resolution_ms: float
    slack_tolerance: float
    with_slack: bool = True
    max_events: int = DEFAULT_MAX_EVENTS
    max_levels: int = DEFAULT_MAX_LEVELS


@dataclass(frozen=True, slots=True)
class ChunkAnswers:
    """What the kernel found for a chunk. Can be pickled.

    ``shift`` (ticks) and ``free`` have one entry per job, ``result`` (``_kernel.result_dtype``) one per link.
    """

    shift: Int64Array
    free: npt.NDArray[np.bool_]
    result: npt.NDArray[Any]

    def each(self, job_offset: Int64Array) -> list[ProblemAnswer]:
        """One answer per link of the chunk whose ``job_offset`` is given; views, about a microsecond each."""
        self.shift.setflags(write=False)
        self.free.setflags(write=False)
        jobs = [slice(begin, end) for begin, end in itertools.pairwise(job_offset.tolist())]
        found = self.result
        columns = zip(
            [self.shift[own] for own in jobs],
            [self.free[own] for own in jobs],
            *(found[name].tolist() for name in ("score_lower", "score_upper", "upper_bound")),
            (found["optimal"] != 0).tolist(),
            found["nodes"].tolist(),
            [_kernel.STOPPED_BY[reason] for reason in found["stopped_by"].tolist()],
            strict=True,
        )
        return [ProblemAnswer(*one) for one in columns]


def solve_chunk(
    chunk: LinkChunk,
    options: ChunkOptions,
    deadline_s: float | None = None,
    cancel: npt.NDArray[np.int32] | None = None,
) -> ChunkAnswers:
    """Solve each link of a chunk; every answer is, bit by bit, that of ``PreparedLink.solve``.

    Parameters
    ----------
    chunk : LinkChunk
    options : ChunkOptions
    deadline_s : float, optional
        Seconds from now for all links together; those it cuts off still get a valid answer.
    cancel : int32 array, shape (1,), optional
        Not 0: the chunk is given up, at the latest at the next link.

    Raises
    ------
    InputError
        A link or an option is out of range.
    KernelError
        Canceled, or a defect.

    Notes
    -----
    Releases the GIL for the whole chunk. Without slack (``options.with_slack``) shifts are not centred.
    """
    found = _kernel.solve_links(
        chunk.job_offset,
        chunk.period,
        chunk.phase_offset,
        chunk.phase_start,
        chunk.phase_length,
        chunk.phase_rate,
        chunk.capacity,
        kernel_options(
            options.resolution_ms, options.slack_tolerance, deadline_s, options.max_events, options.max_levels
        ),
        cancel,
        options.node_limit,
        options.with_slack,
    )
    if found is None:
        raise KernelError("solve_links: canceled")
    shift, _, free, result, status = found
    _kernel.check_status(status)
    return ChunkAnswers(shift, free, result)


def _offsets(counts: Sequence[int]) -> Int64Array:
    return np.array([0, *itertools.accumulate(counts)], dtype=np.int64)
