"""Loops solved: jobs of a cyclic block get their shifts jointly, and blocks are composed by Algorithm 1.

A job through which alone two groups of links hang together separates them: turning one group as a whole changes no
score in it. So every block is solved by itself, and the shifts of a job in two blocks only say how far the second is
turned. Exact for sums of excess (DESIGN section 4, step 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..links.shared_links import Placement
from ..node_budget import Allowance
from .affinity import Block, affinity_graph, bfs_time_shifts, blocks
from .merged_links import MergedLink, merge_links
from .placement_solution import Composition, Round

__all__ = ["solve_jointly"]


def solve_jointly(placement: Placement, context: Round) -> Composition:
    """One shift per job that is best for all links together, with a certified bound.

    Links that pose the same problem to the same jobs are one, with their number as weight; jobs that are free on a
    link are let go there. Without a loop the answer is that of Algorithm 1 ("tree"). Where loops cost nothing it is
    "consistent": every link reaches its own bound. Else it is "joint".

    Notes
    -----
    Per cyclic block the kernel spends at most ``limits.block_node_limit`` nodes, and less where there are many.
    """
    merged = {group.ids[0]: group for group in merge_links(placement.shared)}
    time_shifts = context.time_shifts([group.link for group in merged.values()], keep_free=False)
    found = blocks(affinity_graph(time_shifts))
    allowance = Allowance(context.nodes_of_candidate, sum(block.cyclic for block in found))
    parts = [_solved(block, merged, time_shifts, context, allowance) for block in found]
    composed = affinity_graph({block.links[0]: shift for block, (shift, _) in zip(found, parts, strict=True)})
    shift = {**dict.fromkeys(placement.sharing_jobs(), 0), **bfs_time_shifts(composed, context.period)}
    if not any(block.cyclic for block in found):
        return Composition("tree", shift)
    lost = math.fsum(loss for _, loss in parts)
    own = math.fsum(context.bound[placement.links].tolist())
    return Composition("joint", shift, (own - lost) / len(placement.shared), allowance.nodes)


def _solved(
    block: Block,
    merged: Mapping[str, MergedLink],
    time_shifts: Mapping[str, Mapping[str, int]],
    context: Round,
    allowance: Allowance,
) -> tuple[Mapping[str, int], float]:
    """Shifts of a block's jobs, and by how much, summed over its physical links, they must stay below their bounds."""
    if not block.cyclic:
        return time_shifts[block.links[0]], 0.0
    groups = [merged[link] for link in block.links]
    nodes = allowance.limit(context.limits.block_node_limit)
    answer = context.blocks.solve(
        [g.link for g in groups], [len(g.ids) for g in groups], centred=context.limits.with_slack, node_limit=nodes
    )
    allowance.spend(answer.nodes)
    own = math.fsum(len(group.ids) * float(context.bound[group.link.index]) for group in groups)
    weight = sum(len(group.ids) for group in groups)
    held = {job: ticks for job, ticks in answer.shift.items() if job in block.jobs}
    return held, max(0.0, own - weight * answer.upper_bound)
