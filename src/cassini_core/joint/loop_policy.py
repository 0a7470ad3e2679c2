"""What becomes of loops in an affinity graph: the values of ``loops`` (docs/method.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..choices import Loops, Status
from ..links.placement import Placement
from .affinity import affinity_graph, bfs_time_shifts, has_loop, surely_has_loop
from .joint_shifts import merge_links, solve_jointly
from .placement_solution import PlacementAnswer, bounds_only, verified
from .round import Round

__all__ = ["LOOP_POLICIES", "answer_placement"]


def discard_loops(placement: Placement, context: Round, nodes: int | None) -> PlacementAnswer:
    """The paper's rule (Algorithm 2, lines 15-18): give up a placement whose affinity graph has a loop."""
    time_shifts = context.time_shifts(placement.shared, keep_free=True)
    if not surely_has_loop(time_shifts):
        graph = affinity_graph(time_shifts)
        if not has_loop(graph):
            return verified(placement, context, "tree", context.flat.shifts(bfs_time_shifts(graph, context.period)))
    return bounds_only(placement, context, status="discarded")


def merge_then_discard(placement: Placement, context: Round, nodes: int | None) -> PlacementAnswer:
    """Give up a placement if it has a loop once equal links are merged and free jobs have left the graph.

    Where a loop is left, the shifts of Algorithm 1 along a spanning tree may still reach the bound of every link. Then
    the loop costs nothing and these shifts are optimal ("consistent").
    """
    time_shifts = context.time_shifts([group[0] for group in merge_links(placement.shared)], keep_free=False)
    all_proven = bool(context.solved.optimal[context.flat.problem[placement.links]].all())
    if all_proven or not surely_has_loop(time_shifts):
        graph = affinity_graph(time_shifts)
        status: Status = "joint" if has_loop(graph) else "tree"
        if all_proven or status == "tree":
            shift = context.flat.shifts(bfs_time_shifts(graph, context.period))
            answer = verified(placement, context, status, shift)
            if answer.status != "joint":
                return answer
    return bounds_only(placement, context, status="discarded")


LOOP_POLICIES: Mapping[Loops, Callable[[Placement, Round, int | None], PlacementAnswer]] = {
    "joint": solve_jointly,
    "merge": merge_then_discard,
    "discard": discard_loops,
}
"""The values of ``loops``: how one shift per job is found, where every link has an answer."""


def answer_placement(placement: Placement, context: Round, loops: Loops, nodes: int | None = None) -> PlacementAnswer:
    """Shifts, scores and bounds of one placement.

    Parameters
    ----------
    placement : Placement
    context : Round
    loops : Loops
    nodes : int or None
        What the search may take; None for no limit but the one of each block.

    Returns
    -------
    PlacementAnswer
        ``alone`` without a shared link; ``bound_only`` if a shared link has no answer; else as ``loops`` says.

    Raises
    ------
    KernelError
        A defect.
    """
    if not placement.n_links or not context.answered[placement.links].all():
        return bounds_only(placement, context)
    return LOOP_POLICIES[loops](placement, context, nodes)
