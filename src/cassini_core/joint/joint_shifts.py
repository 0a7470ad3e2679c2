"""Loops are solved: the links of each cyclic block get their shifts jointly, and Algorithm 1 composes the blocks.

Where two groups of links have one job in common and no other connection, turning one group as a whole changes no score
in it. So each block is solved by itself, and the shifts of the common job say how far the second block is turned. This
is exact for sums of excess (docs/method.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..arrays import int64
from ..links.placement import Placement, SharedLink
from ..node_budget import Allowance
from .affinity import Block, affinity_graph, bfs_time_shifts, blocks
from .placement_solution import PlacementAnswer, verified
from .round import Round

__all__ = ["merge_links", "solve_jointly"]


def merge_links(shared: Sequence[SharedLink]) -> list[list[SharedLink]]:
    """Groups the links of one candidate that pose the same problem to the same jobs; O(links).

    On all links of a group each job demands the same share of the capacity, exactly, so the first link can stand for
    all. Groups and their links keep the order of ``shared``.
    """
    groups: dict[tuple[tuple[str, ...], int], list[SharedLink]] = {}
    for link in shared:
        groups.setdefault((link.jobs, link.problem), []).append(link)
    return list(groups.values())


def solve_jointly(placement: Placement, context: Round, nodes: int | None) -> PlacementAnswer:
    """One shift per job that is best for all links together, with a certified bound.

    Links that pose the same problem to the same jobs count as one link, with their number as its weight. A job that is
    free on a link leaves the graph there. Without a loop the answer is that of Algorithm 1 ("tree"). Where every link
    reaches its own bound, loops cost nothing ("consistent"). Else the answer is "joint".

    Notes
    -----
    All blocks together may take ``nodes`` search nodes, and each at most ``limits.block_node_limit``.
    """
    merged = {group[0].id: group for group in merge_links(placement.shared)}
    time_shifts = context.time_shifts([group[0] for group in merged.values()], keep_free=False)
    found = blocks(affinity_graph(time_shifts))
    allowance = Allowance(nodes, sum(block.cyclic for block in found))
    lost = []
    for block in found:
        if block.cyclic:
            groups = [merged[link] for link in block.links]
            shifts, loss = _solve_block(block, groups, context, allowance)
            time_shifts[block.links[0]] = shifts
            lost.append(loss)
    composed = affinity_graph({block.links[0]: time_shifts[block.links[0]] for block in found})
    shift = context.flat.shifts(bfs_time_shifts(composed, context.period))
    if not lost:
        return verified(placement, context, "tree", shift)
    own = math.fsum(context.bound[placement.links].tolist())
    mean_bound = (own - math.fsum(lost)) / placement.n_links
    return verified(placement, context, "joint", shift, mean_bound, nodes=allowance.nodes)


def _solve_block(
    block: Block, groups: Sequence[Sequence[SharedLink]], context: Round, allowance: Allowance
) -> tuple[dict[str, int], float]:
    """Shifts of a block's jobs, and what loops cost at least: scores below the links' bounds, summed over the links."""
    links = int64(group[0].index for group in groups)
    weight = np.array([len(group) for group in groups], dtype=np.float64)
    jobs, answer = context.solve_block(
        links, weight, centred=context.limits.with_slack, node_limit=allowance.limit(context.limits.block_node_limit)
    )
    allowance.spend(answer.nodes)
    shift = dict(zip(context.flat.name[jobs].tolist(), answer.shift.tolist(), strict=True))
    own = math.fsum((weight * context.bound[links]).tolist())
    return {job: shift[job] for job in block.jobs}, max(0.0, own - float(weight.sum()) * answer.upper_bound)
