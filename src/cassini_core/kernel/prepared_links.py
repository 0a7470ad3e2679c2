"""The link problems of a ranking as the kernel keeps them: prepared once, for blocks and evaluations alike."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..deadline import Deadline
from ..kept_property import kept_property
from . import _kernel
from ._kernel import BlockAnchor
from .link_arrays import LinkChunk
from .link_problem import LinkProblem
from .prepared_link import kernel_options
from .search_limits import Budget

__all__ = ["BlockAnchor", "KernelLinks"]


class KernelLinks:
    """Link problems, prepared for the kernel when first asked for.

    Parameters
    ----------
    problems : sequence of LinkProblem
    budget : Budget
        How finely links are judged.
    deadline : Deadline

    Attributes
    ----------
    cancel : int32 array, shape (1,)
        Not 0: calls under way, and all to come, raise :class:`KernelError`.
    deadline : Deadline
    """

    def __init__(self, problems: Sequence[LinkProblem], budget: Budget, deadline: Deadline) -> None:
        self.cancel = np.zeros(1, dtype=np.int32)
        self.deadline = deadline
        self._problems = problems
        self._budget = budget
        self._preparing = threading.Lock()

    def prepared(self) -> _kernel.Links:
        """The handle; safe to ask from several threads."""
        with self._preparing:
            return self._links

    @kept_property
    def options(self) -> _kernel.Options:
        """For every call that uses the handle."""
        budget = self._budget
        return kernel_options(
            budget.resolution_ms, budget.slack_tolerance, max_events=budget.max_events, max_levels=budget.max_levels
        )

    @kept_property
    def period(self) -> npt.NDArray[np.int64]:
        """Iteration times, ticks, of the jobs of all problems, one problem after the other."""
        return self._arrays.period

    @kept_property
    def _arrays(self) -> LinkChunk:
        return LinkChunk.of(self._problems)

    @kept_property
    def _links(self) -> _kernel.Links:
        arrays = self._arrays
        return _kernel.Links(
            job_offset=arrays.job_offset,
            period=arrays.period,
            phase_offset=arrays.phase_offset,
            phase_start=arrays.phase_start,
            phase_length=arrays.phase_length,
            phase_rate=arrays.phase_rate,
            capacity=arrays.capacity,
            options=self.options,
        )
