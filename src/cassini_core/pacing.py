"""Iteration times for a whole problem, found once, before any candidate is looked at (F6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .link_pool import Deadline
from .model import Job, Problem
from .periods import LINK_NODE_LIMIT, pace_problem
from .prepared_link import PreparedLink
from .route_table import RouteTable

__all__ = ["paced_problem"]


class _DeadlinePassed(Exception):
    """Raised through ``pace_problem``: what it has seen by then is not enough to choose by."""


def paced_problem(
    problem: Problem, tolerance: float, resolution_ms: float, deadline: Deadline, routes: RouteTable | None = None
) -> Problem | None:
    """The problem with every job at the iteration time at which it is to be paced.

    Parameters
    ----------
    problem : Problem
    tolerance : float
        Largest lengthening of an iteration time, relative.
    resolution_ms : float
        How precisely a shift can be held, ms: decides which jobs of a link are free (F1b).
    deadline : Deadline
    routes : RouteTable, optional
        Of the problem's candidates, if it was made already.

    Returns
    -------
    Problem or None
        None if the deadline came first.

    Notes
    -----
    Iteration times are judged by what single links reach, each within ``LINK_NODE_LIMIT`` nodes: that is a link's bound
    for a few jobs, and no mere hope for more. The paces thus depend neither on how loops are treated nor on what the
    ranking may spend. Cost: see ``periods.pace_links``.
    """
    if tolerance == 0:
        return problem

    def link_score(
        jobs: Sequence[Job],
        capacity_gbps: float,
        multipliers: Mapping[str, float] | None,
        node_limit: int = LINK_NODE_LIMIT,
    ) -> float:
        if deadline.passed():
            raise _DeadlinePassed
        link = PreparedLink.from_jobs(jobs, capacity_gbps, multipliers)
        return link.solve(resolution_ms=resolution_ms, node_limit=node_limit, with_slack=False).score_lower

    try:
        return pace_problem(problem, tolerance, link_score, link_score, routes=routes)
    except _DeadlinePassed:
        return None
