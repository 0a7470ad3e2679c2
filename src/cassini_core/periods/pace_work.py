"""What choosing iteration times may cost, counted in search nodes, of some two microseconds each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Int64Array
from ..kernel.link_arrays import LinkAnswers, LinkArrays
from ..kernel.prepared_link import LinkAnswer, PreparedLink
from ..node_budget import PACE_WORK

__all__ = ["PACE_EVENTS", "PaceWork", "WorkSpent", "links_work", "search_work"]


PACE_EVENTS = 2**14
"""Most events with which a link is scored exactly; beyond them its score is bounded (F1)."""


class WorkSpent(Exception):
    """Raised inside the package only: whoever catches it keeps the iteration times chosen until now."""


class PaceWork:
    """Counts work and says what is left. It depends on the input alone."""

    def __init__(self, most: int = PACE_WORK) -> None:
        self.left = most

    def spend(self, work: int) -> None:
        """Count ``work``.

        Raises
        ------
        WorkSpent
            Nothing was left before this call.
        """
        if self.left <= 0:
            raise WorkSpent
        self.left -= work

    def count_search(self, work: int) -> None:
        """Count the search of a link; never raises."""
        self.left -= work


def search_work(link: PreparedLink, answer: LinkAnswer) -> int:
    """What a search and its preparation took."""
    most = int(np.diff(link.phase_offset).max())
    return int(_work(len(link), len(link.phase_start), most, answer.nodes, answer.stopped_by == "limits"))


def links_work(links: LinkArrays, answers: LinkAnswers) -> Int64Array:
    """The same of each of many links."""
    counts = links.n_jobs(), links.n_phases(), links.most_phases()
    return np.asarray(_work(*counts, answers.nodes, answers.stopped_by_limits()))


def _work(n_jobs: Any, n_phases: Any, most: Any, nodes: Any, by_limits: Any) -> Any:
    # At a node the search tries every job that is left. Before the first node it reads all phases, compares the
    # iteration times of any two jobs, and reads the kinks of every job's marginal excess. An interval adds every job to
    # bins of levels.
    bins = 8 * n_jobs * n_phases * by_limits
    before = 8 + n_phases // 2 + n_jobs**2 // 16 + n_jobs * n_phases * most // 20 + bins
    return nodes * np.maximum(3, n_jobs) // 3 + before
