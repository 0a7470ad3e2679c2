"""The door to the kernel's joint solver: blocks of links whose jobs have one time-shift each."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import _kernel
from .errors import KernelError
from .kept_property import kept_property
from .link_catalog import LinkProblem, SharedLink
from .link_pool import Budget, SolvedLink
from .prepared_link import kernel_options

__all__ = ["BlockSolver", "LinkScore", "SolvedBlock", "Start"]

_Int64 = npt.NDArray[np.int64]
_Key = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class SolvedBlock:
    """One shift for every job of a block, ticks, and what is known of it.

    ``score`` and ``upper_bound`` are weighted means over the block's links; no shifts have a higher mean than
    ``upper_bound``, proven.
    """

    shift: Mapping[str, int]
    score: float
    upper_bound: float


class LinkScore(NamedTuple):
    """One link at given shifts: certified bounds on its score, each job's slack there and the hold, ticks."""

    lower: float
    upper: float
    slack: tuple[int, ...]
    hold: int


@dataclass(frozen=True, slots=True)
class Start:
    """Shifts to begin from, and the jobs on whose links something changed since they were found."""

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
        # Candidates of one round differ in few links: most stand at shifts at which they were seen before.
        self._seen: dict[_Key, LinkScore] = {}

    def solve(
        self,
        links: Sequence[SharedLink],
        weights: Sequence[int] | None = None,
        *,
        start: Start | None = None,
        centred: bool = True,
        effort: int = 1,
    ) -> SolvedBlock:
        """Best shifts for the links of one block together.

        Parameters
        ----------
        links : sequence of SharedLink
            Each with an answer of its own: its bound, and shifts to begin from.
        weights : sequence of int, optional
            How often each link counts; once if not given.
        start : Start, optional
            Only what is near its changes is searched, and the score is no less than at its shifts.
        centred : bool
            Move single jobs to where slack grows and no score is lost.
        effort : int
            Multiplies the block's node limit.

        Raises
        ------
        KernelError
            Memory, or a defect.
        """
        jobs, limit = _jobs(links), self._budget.block_node_limit
        answers = [self._solved[link.problem.index] for link in links]
        period, problem, member = self._arrays(links, jobs)
        found = self._prepared().solve_block(
            period,
            problem,
            member,
            weight=np.ones(len(links)) if weights is None else np.array(weights, dtype=np.float64),
            upper_bound=np.array([answer.upper_bound for answer in answers]),
            own_shift=_own_shifts(answers) if start is None else None,
            start=None if start is None else np.array([start.shift.get(job, 0) for job in jobs], dtype=np.int64),
            dirty=None if start is None else np.array([job in start.changed for job in jobs], dtype=np.uint8),
            centred=centred,
            options=self._options,
            node_limit=None if limit is None else limit * effort,
            cancel=self.cancel,
        )
        if found is None:
            raise KernelError("solve_block: canceled")
        return SolvedBlock(dict(zip(jobs, found.shift.tolist(), strict=True)), found.score, found.upper_bound)

    def evaluate(self, links: Sequence[SharedLink], shift: Mapping[str, int]) -> list[LinkScore]:
        """Score, slack and hold of each link at given shifts; what was seen before is not computed again.

        Raises
        ------
        KernelError
            Memory, or a defect.
        """
        keys = self._keys(links, shift)
        new = {key: link for key, link in zip(keys, links, strict=True) if key not in self._seen}
        if new:
            self._seen.update(self._evaluate(new))
        return [self._seen[key] for key in keys]

    def _keys(self, links: Sequence[SharedLink], shift: Mapping[str, int]) -> list[_Key]:
        """Link problem, and how its jobs stand to the first of them: a common turn changes nothing."""
        period = self._period
        keys = []
        for link in links:
            first = shift[link.jobs[0]]
            keys.append((link.problem.index, tuple([(shift[job] - first) % period[job] for job in link.jobs])))
        return keys

    def _evaluate(self, links: Mapping[_Key, SharedLink]) -> dict[_Key, LinkScore]:
        # Each link as its key says, with jobs of its own: not turned as in the candidate that asked first, of which the
        # last digits would tell.
        jobs = [job for link in links.values() for job in link.jobs]
        seen = self._prepared().evaluate_block(
            np.array([self._period[job] for job in jobs], dtype=np.int64),
            np.array([index for index, _ in links], dtype=np.int64),
            np.arange(len(jobs), dtype=np.int64),
            shift=np.array([ticks for _, stands in links for ticks in stands], dtype=np.int64),
            options=self._options,
            cancel=self.cancel,
        )
        if seen is None:
            raise KernelError("evaluate_block: canceled")
        lower, upper, slack, hold = seen
        assert slack is not None  # asked for
        assert hold is not None
        slacks = iter(slack.tolist())
        each = zip(links, lower.tolist(), upper.tolist(), hold.tolist(), strict=True)
        return {key: LinkScore(low, high, tuple(next(slacks) for _ in key[1]), least) for key, low, high, least in each}

    def _arrays(self, links: Sequence[SharedLink], jobs: Sequence[str]) -> tuple[_Int64, _Int64, _Int64]:
        """Periods of ``jobs``; the problem of each link; which of ``jobs`` stands at each place of each link."""
        place = {job: k for k, job in enumerate(jobs)}
        return (
            np.array([self._period[job] for job in jobs], dtype=np.int64),
            np.array([link.problem.index for link in links], dtype=np.int64),
            np.array([place[job] for link in links for job in link.jobs], dtype=np.int64),
        )

    def _prepared(self) -> _kernel.Links:
        with self._preparing:
            return self._links

    @kept_property
    def _options(self) -> _kernel.Options:
        return kernel_options(self._budget.resolution_ms, self._budget.slack_tolerance)

    @kept_property
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


def _own_shifts(answers: Sequence[SolvedLink]) -> _Int64:
    return np.concatenate([answer.answer.shift for answer in answers if answer.answer is not None])


def _jobs(links: Sequence[SharedLink]) -> list[str]:
    return sorted({job for link in links for job in link.jobs})


def _offsets(counts: npt.ArrayLike) -> _Int64:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
