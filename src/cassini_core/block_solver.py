"""The door to the kernel's joint solver: blocks of links whose jobs have one time-shift each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

__all__ = ["BlockSolver", "SolvedBlock"]


@dataclass(frozen=True, slots=True)
class SolvedBlock:
    """One shift for every job of a block, ticks, and what is known of it.

    ``score`` and ``upper_bound`` are means over the block's physical links; no shifts have a higher mean than
    ``upper_bound``, proven.
    """

    shift: Mapping[str, int]
    score: float
    upper_bound: float


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
    """

    def __init__(
        self,
        problems: Sequence[LinkProblem],
        solved: Sequence[SolvedLink],
        period: Mapping[str, int],
        budget: Budget,
    ) -> None:
        self._problems = problems
        self._solved = solved
        self._period = period
        self._budget = budget

    def solve(self, links: Sequence[MergedLink]) -> SolvedBlock:
        """Best shifts for the links of one block together, within the block's node limit.

        Every link has an answer of its own: its bound, and shifts to begin from.

        Raises
        ------
        KernelError
            Memory, or a defect.
        """
        jobs = sorted({job for one in links for job in one.link.jobs})
        place = {job: k for k, job in enumerate(jobs)}
        answers = [self._solved[one.link.problem.index] for one in links]
        weight = np.array([len(one.ids) for one in links], dtype=np.float64)
        found = self._links.solve_block(
            period=np.array([self._period[job] for job in jobs], dtype=np.int64),
            link=np.array([one.link.problem.index for one in links], dtype=np.int64),
            member=np.array([place[job] for one in links for job in one.link.jobs], dtype=np.int64),
            weight=weight,
            upper_bound=np.array([answer.upper_bound for answer in answers]),
            own_shift=np.concatenate([answer.answer.shift for answer in answers if answer.answer is not None]),
            centred=True,
            options=self._options,
            node_limit=self._budget.block_node_limit,
        )
        if found is None:
            raise KernelError("solve_block: canceled")
        return SolvedBlock(dict(zip(jobs, found.shift.tolist(), strict=True)), found.score, found.upper_bound)

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


def _offsets(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
