"""The door to the kernel's joint solver: blocks of links whose jobs have one time-shift each."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from . import _kernel
from .errors import KernelError
from .link_catalog import LinkProblem
from .link_pool import Budget, SolvedLink
from .merged_links import MergedLink
from .prepared_link import kernel_options

__all__ = ["BlockSolver", "LinkScores", "SolvedBlock", "Start"]

_Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SolvedBlock:
    """One shift for every job of a block, ticks, and what is known of it.

    ``score`` and ``upper_bound`` are means over the block's physical links; no shifts have a higher mean than
    ``upper_bound``, proven.
    """

    shift: Mapping[str, int]
    score: float
    upper_bound: float


@dataclass(frozen=True, slots=True)
class LinkScores:
    """Each merged link at given shifts: certified bounds on its score, slack of its jobs there (in the order of the
    link's jobs, links one after the other) and hold; ticks.
    """

    score_lower: list[float]
    score_upper: list[float]
    slack: list[int]
    hold: list[int]


@dataclass(frozen=True, slots=True)
class Start:
    """Shifts found for a placement that is much like this one, and on whose links something changed since."""

    shift: Mapping[str, int]
    changed: Collection[str]


class BlockSolver:
    """Solves blocks of the link problems of one ranking; they are prepared for the kernel when first asked.

    Parameters
    ----------
    problems : sequence of LinkProblem
    solved : sequence of SolvedLink
        The answers of ``problems``, in their order.
    period : mapping of str to int
        Iteration time of each job, ticks.
    budget : Budget

    Attributes
    ----------
    cancel : int32 array, shape (1,)
        Not 0: calls under way, and all to come, raise :class:`KernelError`.
    """

    def __init__(
        self,
        problems: Sequence[LinkProblem],
        solved: Sequence[SolvedLink],
        period: Mapping[str, int],
        budget: Budget,
    ) -> None:
        self.cancel = np.zeros(1, dtype=np.int32)
        self._problems = problems
        self._solved = solved
        self._period = period
        self._budget = budget
        self._preparing = threading.Lock()

    def solve(self, links: Sequence[MergedLink], start: Start | None = None) -> SolvedBlock:
        """Best shifts for the links of one block together, within the block's node limit.

        Every link has an answer of its own: its bound, and shifts to begin from. With ``start`` only what is near the
        changes is searched, and the score is no less than at the shifts it gives.

        Raises
        ------
        KernelError
            Memory, or a defect.
        """
        jobs = _jobs(links)
        answers = [self._solved[one.link.problem.index] for one in links]
        found = self._prepared().solve_block(
            *self._arrays(links, jobs),
            weight=np.array([len(one.ids) for one in links], dtype=np.float64),
            upper_bound=np.array([answer.upper_bound for answer in answers]),
            own_shift=np.concatenate([answer.answer.shift for answer in answers if answer.answer is not None]),
            start=None if start is None else np.array([start.shift.get(job, 0) for job in jobs], dtype=np.int64),
            dirty=None if start is None else np.array([job in start.changed for job in jobs], dtype=np.uint8),
            centred=True,
            options=self._options,
            node_limit=self._budget.block_node_limit,
            cancel=self.cancel,
        )
        if found is None:
            raise KernelError("solve_block: canceled")
        return SolvedBlock(dict(zip(jobs, found.shift.tolist(), strict=True)), found.score, found.upper_bound)

    def evaluate(self, links: Sequence[MergedLink], shift: Mapping[str, int]) -> LinkScores:
        """Score, slack and hold of each link at given shifts.

        Raises
        ------
        KernelError
            Memory, or a defect.
        """
        jobs = _jobs(links)
        seen = self._prepared().evaluate_block(
            *self._arrays(links, jobs),
            shift=np.array([shift[job] for job in jobs], dtype=np.int64),
            options=self._options,
            cancel=self.cancel,
        )
        if seen is None:
            raise KernelError("evaluate_block: canceled")
        lower, upper, slack, hold = seen
        assert slack is not None  # asked for
        assert hold is not None
        return LinkScores(lower.tolist(), upper.tolist(), slack.tolist(), hold.tolist())

    def _arrays(self, links: Sequence[MergedLink], jobs: Sequence[str]) -> tuple[_Int64, _Int64, _Int64]:
        """Periods of ``jobs``; the problem of each link; which of ``jobs`` stands at each place of each link."""
        place = {job: k for k, job in enumerate(jobs)}
        return (
            np.array([self._period[job] for job in jobs], dtype=np.int64),
            np.array([one.link.problem.index for one in links], dtype=np.int64),
            np.array([place[job] for one in links for job in one.link.jobs], dtype=np.int64),
        )

    def _prepared(self) -> _kernel.Links:
        with self._preparing:
            return self._links

    @cached_property
    def _options(self) -> _kernel.Options:
        return kernel_options(self._budget.resolution_ms, self._budget.slack_tolerance)

    @cached_property
    def _links(self) -> _kernel.Links:
        prepared = [problem.prepared for problem in self._problems]
        n_phases = np.concatenate([np.diff(one.phase_offset) for one in prepared])
        return _kernel.Links(
            job_offset=_offsets([len(one) for one in prepared]),
            period=np.concatenate([one.period for one in prepared]),
            phase_offset=_offsets(n_phases),
            phase_start=np.concatenate([one.phase_start for one in prepared]),
            phase_length=np.concatenate([one.phase_length for one in prepared]),
            phase_rate=np.concatenate([one.phase_rate for one in prepared]),
            capacity=np.array([one.capacity for one in prepared], dtype=np.int64),
            options=self._options,
        )


def _jobs(links: Sequence[MergedLink]) -> list[str]:
    return sorted({job for one in links for job in one.link.jobs})


def _offsets(counts: npt.ArrayLike) -> _Int64:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
