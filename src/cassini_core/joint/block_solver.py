"""The door to the kernel's joint solver: blocks of links whose jobs have one time-shift each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Int64Array, Rows
from ..deadline import Deadline
from ..errors import KernelError
from ..kernel.link_arrays import LinkAnswers
from ..kernel.prepared_links import PreparedLinks
from ..links.shared_links import SharedLink

__all__ = ["BlockSolver", "SolvedBlock"]


@dataclass(frozen=True, slots=True)
class SolvedBlock:
    """One shift for every job of a block, ticks; no shifts have a higher weighted mean of scores than ``upper_bound``,
    proven. ``nodes`` is what the search took.
    """

    shift: Mapping[str, int]
    upper_bound: float
    nodes: int


class BlockSolver:
    """Solves blocks of the link problems of one ranking.

    Parameters
    ----------
    links : PreparedLinks
    solved : LinkAnswers
        Of these links.
    period : mapping of str to int
        Iteration time of each job, ticks.
    """

    def __init__(self, links: PreparedLinks, solved: LinkAnswers, period: Mapping[str, int]) -> None:
        self._links = links
        self._solved = solved
        self._period = period

    def solve(
        self,
        links: Sequence[SharedLink],
        weights: Sequence[int] | None = None,
        *,
        start: Mapping[str, int] | None = None,
        centred: bool = True,
        node_limit: int | None = None,
        deadline: Deadline | None = None,
    ) -> SolvedBlock:
        """Best shifts for the links of one block together.

        Parameters
        ----------
        links : sequence of SharedLink
        weights : sequence of int, optional
            How often each link counts; once if not given.
        start : mapping of str to int, optional
            Shifts to begin from, ticks: the score is no less than theirs. Without them the search begins from the
            links' own shifts, where all have an answer.
        centred : bool
            Move single jobs to where slack grows and no score is lost.
        node_limit : int, optional
            Instead of the budget's for each block.
        deadline : Deadline, optional
            Instead of the ranking's.

        Raises
        ------
        KernelError
            A defect.
        """
        jobs = sorted({job for link in links for job in link.jobs})
        place = {job: k for k, job in enumerate(jobs)}
        problems = np.array([link.problem for link in links], dtype=np.int64)
        found = self._links.prepared().solve_block(
            np.array([self._period[job] for job in jobs], dtype=np.int64),
            problems,
            np.array([place[job] for link in links for job in link.jobs], dtype=np.int64),
            weight=np.ones(len(links)) if weights is None else np.array(weights, dtype=np.float64),
            upper_bound=self._solved.upper_bound[problems],
            own_shift=self._own_shifts(problems) if start is None else None,
            start=None if start is None else np.array([start.get(job, 0) for job in jobs], dtype=np.int64),
            centred=centred,
            options=self._links.options,
            node_limit=self._links.limits.block_node_limit if node_limit is None else node_limit,
            deadline_ns=(deadline or self._links.deadline).remaining_ns(),
            cancel=self._links.cancel,
        )
        if found is None:
            raise KernelError("solve_block: canceled")
        return SolvedBlock(dict(zip(jobs, found.shift.tolist(), strict=True)), found.upper_bound, found.nodes)

    def _own_shifts(self, problems: Int64Array) -> Int64Array | None:
        solved = self._solved
        return solved.shift[Rows.of(solved.job_offset, problems).at] if solved.answered[problems].all() else None
