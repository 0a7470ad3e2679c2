"""What the search for iteration times may cost, counted in the time of a search node: some two microseconds."""

from __future__ import annotations

import numpy as np

from ..kernel.prepared_link import LinkAnswer, PreparedLink
from ..node_budget import PACE_WORK

__all__ = ["PACE_EVENTS", "PaceWork", "WorkSpent", "search_work"]


PACE_EVENTS = 2**14
"""Of a link that is judged: what has more is bounded instead of scored exactly (F1)."""


class WorkSpent(Exception):
    """Raised inside the package only: the iteration times that were chosen until now are kept."""


class PaceWork:
    """A count of what was done, and what is left. Depends on the input alone."""

    def __init__(self, most: int = PACE_WORK) -> None:
        self.left = most

    def spend(self, work: int) -> None:
        """Count ``work``.

        Raises
        ------
        WorkSpent
            More was done than there was. What was counted is done: only what comes next is not begun.
        """
        if self.left <= 0:
            raise WorkSpent
        self.left -= work

    def count_search(self, work: int) -> None:
        """Count the search of a link; never raises."""
        self.left -= work


def search_work(link: PreparedLink, answer: LinkAnswer) -> int:
    """What a search took, and what came before it."""
    n_jobs, n_phases = len(link), len(link.phase_start)
    most = int(np.diff(link.phase_offset).max())
    # At a node every job that is left is looked at. Before the first one a search reads all phases,
    # looks for what the iteration times of any two jobs have in common, and reads the kinks of every job's marginal
    # excess. An interval adds every job to bins of levels.
    bins = 8 * n_jobs * n_phases if answer.stopped_by == "limits" else 0
    before = 8 + n_phases // 2 + n_jobs**2 // 16 + n_jobs * n_phases * most // 20 + bins
    return answer.nodes * max(3, n_jobs) // 3 + before
