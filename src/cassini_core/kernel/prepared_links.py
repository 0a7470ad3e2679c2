"""The link problems of a ranking as the kernel keeps them: prepared once, for searches, blocks and evaluations."""

from __future__ import annotations

import threading

import numpy as np

from ..arrays import Int64Array, offsets
from ..deadline import Deadline
from ..lockless_cached_property import lockless_cached_property
from . import _kernel
from ._kernel import Baseline, BlockAnswer
from .link_arrays import LinkAnswers, LinkArrays, chunk_answers
from .search_limits import SearchLimits

__all__ = ["Baseline", "BlockAnswer", "PreparedLinks"]


class PreparedLinks:
    """Link problems, prepared for the kernel when first asked for.

    Parameters
    ----------
    arrays : LinkArrays
    limits : SearchLimits
        How finely links are judged.
    deadline : Deadline

    Attributes
    ----------
    arrays, limits, deadline
        As given.
    cancel : int32 array, shape (1,)
        Not 0: calls under way, and all to come, raise :class:`KernelError`.
    """

    def __init__(self, arrays: LinkArrays, limits: SearchLimits, deadline: Deadline) -> None:
        self.arrays = arrays
        self.limits = limits
        self.deadline = deadline
        self.cancel = np.zeros(1, dtype=np.int32)
        self._preparing = threading.Lock()

    def prepared(self) -> _kernel.Links:
        """The handle; safe to ask from several threads."""
        with self._preparing:
            return self._links

    def solve(
        self, links: Int64Array, node_limit: int | None, *, with_slack: bool = True, deadline: Deadline | None = None
    ) -> LinkAnswers:
        """Solve some links each for itself, as :func:`solve_chunk` does.

        Parameters
        ----------
        links : int64 array
            Which links; with a deadline those that follow each other are handed over together, else all.
        node_limit : int or None
            Of each link; None for no limit.
        with_slack : bool
            See :class:`SearchLimits`.
        deadline : Deadline, optional
            Links it cuts off still get a valid answer.

        Raises
        ------
        InputError, KernelError
            As :func:`solve_chunk`.
        """
        handle, n_jobs = self.prepared(), self.arrays.n_jobs()
        if deadline is None or deadline.remaining_ns() is None:
            found = handle.solve(links, self.options, self.cancel, node_limit, with_slack)
            return chunk_answers(offsets(n_jobs[links]), found)
        parts = []
        for run in np.split(links, np.flatnonzero(np.diff(links) != 1) + 1):
            found = handle.solve(run, self.options, self.cancel, node_limit, with_slack, deadline.remaining_ns())
            parts.append(chunk_answers(offsets(n_jobs[run]), found))
        return LinkAnswers.joined(parts)

    @lockless_cached_property
    def options(self) -> _kernel.Options:
        """For every call that uses the handle."""
        return self.limits.options()

    @lockless_cached_property
    def _links(self) -> _kernel.Links:
        return _kernel.Links(*self.arrays.columns(), self.options)
