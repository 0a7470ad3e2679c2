"""What becomes of loops in an affinity graph: the values of ``loops`` (DESIGN section 4)."""

from __future__ import annotations

from collections.abc import Mapping

from ..links.shared_links import Placement
from .affinity import affinity_graph, bfs_time_shifts, has_loop, surely_has_loop
from .joint_shifts import solve_jointly
from .merged_links import merge_links
from .placement_solution import TOLERANCE, Composition, Round, Strategy

__all__ = ["STRATEGIES"]


def discard_loops(placement: Placement, context: Round) -> Composition:
    """The paper (Algorithm 2, lines 15-18): a placement whose affinity graph has a loop is given up."""
    time_shifts = context.time_shifts(placement.shared, keep_free=True)
    if surely_has_loop(time_shifts):
        return Composition("discarded")
    graph = affinity_graph(time_shifts, placement.sharing_jobs())
    if has_loop(graph):
        return Composition("discarded")
    return Composition("tree", bfs_time_shifts(graph, context.period))


def merge_then_discard(placement: Placement, context: Round) -> Composition:
    """Give up only what still has a loop once equal links are one, and free jobs are let go where they are free.

    Where a loop is left, the shifts of Algorithm 1 along a spanning tree may still reach the bound of every link: then
    the loop costs nothing and they are optimal ("consistent").
    """
    merged = merge_links(placement.shared)
    time_shifts = context.time_shifts([group.link for group in merged], keep_free=False)
    all_proven = bool(context.solved.optimal[[group.link.problem for group in merged]].all())
    if not all_proven and surely_has_loop(time_shifts):
        return Composition("discarded")
    graph = affinity_graph(time_shifts, placement.sharing_jobs())
    if not has_loop(graph):
        return Composition("tree", bfs_time_shifts(graph, context.period))
    if all_proven:
        shift = bfs_time_shifts(graph, context.period)
        reached = context.evaluator.evaluate(placement.links, context.flat.shifts(shift)).lower
        if (reached >= context.bound[placement.links] - TOLERANCE).all():
            return Composition("consistent", shift)
    return Composition("discarded")


STRATEGIES: Mapping[str, Strategy] = {
    "joint": solve_jointly,
    "merge": merge_then_discard,
    "discard": discard_loops,
}
"""The values of ``loops``."""
