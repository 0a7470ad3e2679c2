"""What a scheduler is to the rest: something that proposes allocations. This page is all there is to write.

:class:`cassini_core.schedulers.augmented.Augmented` takes any of them, ranks what it proposes by how well the jobs
interleave on the links that they share, and gives the best with its time-shifts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .state import Allocation, ClusterState

__all__ = ["Scheduler"]


class Scheduler(Protocol):
    """Decides which tasks run, with how many workers, and where.

    Attributes
    ----------
    interval_s : float or None
        It is asked when a task arrives, when one ends, and so long after it was last asked: s; looked at after each
        time. None: not in between.
    """

    @property
    def interval_s(self) -> float | None: ...

    def propose(self, state: ClusterState, candidates: int) -> Sequence[Allocation]:
        """Allocations that are equally good in the scheduler's own eyes.

        Parameters
        ----------
        state : ClusterState
            A task that is in ``state.running`` and not in an allocation is stopped by it.
        candidates : int
            At most so many, at least 1.

        Returns
        -------
        sequence of Allocation
            At least one, all different. The first is what it does when nobody asks for more than one; it must be the
            same whatever ``candidates`` is, so that with and without others can be compared.
        """
        ...
