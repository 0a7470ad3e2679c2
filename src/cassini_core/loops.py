"""What becomes of loops in an affinity graph: the values of ``loops`` (DESIGN section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .affinity import affinity_graph, bfs_time_shifts, has_loop, surely_has_loop
from .link_catalog import Placement, SharedLink
from .link_pool import SolvedLink
from .shifts import TOLERANCE, Composition, Round, Strategy, evaluate, merge_links

__all__ = ["STRATEGIES"]


def discard_loops(placement: Placement, context: Round) -> Composition:
    """The paper (Algorithm 2, lines 15-18): a placement whose affinity graph has a loop is given up."""
    time_shifts = _time_shifts(placement.shared, context, keep_free=True)
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
    merged = [group.link for group in merge_links(placement.shared)]
    time_shifts = _time_shifts(merged, context, keep_free=False)
    all_proven = all(_proven(context.solved[link.problem.index]) for link in merged)
    if not all_proven and surely_has_loop(time_shifts):
        return Composition("discarded")
    graph = affinity_graph(time_shifts, placement.sharing_jobs())
    if not has_loop(graph):
        return Composition("tree", bfs_time_shifts(graph, context.period))
    if all_proven:
        shift = bfs_time_shifts(graph, context.period)
        if all(_reaches_bound(link, shift, context) for link in merged):
            return Composition("consistent", shift)
    return Composition("discarded")


STRATEGIES: Mapping[str, Strategy] = {"discard": discard_loops, "merge": merge_then_discard}
"""The values of ``loops``. Solving cyclic blocks jointly is one more entry."""


def _time_shifts(links: Sequence[SharedLink], context: Round, *, keep_free: bool) -> dict[str, dict[str, int]]:
    """Link id to job id to the link's own time-shift; without free jobs where they are not kept.

    The score of a link does not depend on its free jobs (F1b), so their edges hold nothing together.
    """
    time_shifts = {}
    for link in links:
        answer = context.solved[link.problem.index].answer
        assert answer is not None  # a strategy is only asked about placements whose links have one
        own = zip(link.jobs, answer.shift.tolist(), answer.free.tolist(), strict=True)
        held = {job: ticks for job, ticks, is_free in own if keep_free or not is_free}
        if len(held) >= 2:
            time_shifts[link.id] = held
    return time_shifts


def _proven(solved: SolvedLink) -> bool:
    return solved.answer is not None and solved.answer.optimal


def _reaches_bound(link: SharedLink, shift: Mapping[str, int], context: Round) -> bool:
    reached = evaluate(link, shift, context, with_slack=False).score_lower
    return reached >= context.solved[link.problem.index].upper_bound - TOLERANCE
