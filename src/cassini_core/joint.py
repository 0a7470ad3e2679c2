"""Loops solved: jobs of a cyclic block get their shifts jointly, and blocks are composed by Algorithm 1.

A job through which alone two groups of links hang together separates them: turning one group as a whole changes no
score in it. So every block is solved by itself, and the shifts of a job in two blocks only say how far the second is
turned. Exact for sums of excess (DESIGN section 4, step 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from .affinity import Block, affinity_graph, bfs_time_shifts, blocks, surely_has_loop
from .block_solver import Start
from .link_catalog import Placement
from .merged_links import MergedLink, merge_links
from .shifts import Anchor, Composition, Round

__all__ = ["LARGE_LINKS", "improve_jointly", "is_large", "solve_jointly"]

LARGE_LINKS = 64
"""With more distinct shared links a placement is not taken apart, but searched from the common one's shifts."""


def solve_jointly(placement: Placement, context: Round) -> Composition:
    """One shift per job that is best for all links together, with a certified bound.

    Links that pose the same problem to the same jobs are one, with their number as weight; jobs that are free on a
    link are let go there. Without a loop the answer is that of Algorithm 1 ("tree"). Where loops cost nothing it is
    "consistent": every link reaches its own bound. Else it is "joint".

    Notes
    -----
    Per cyclic block the kernel spends at most ``budget.block_node_limit`` nodes. A placement of more than
    ``LARGE_LINKS`` links is one block, if the round has an anchor: no graph is built for it.
    """
    if context.anchor is not None and is_large(placement):
        return _near_anchor(placement, context, context.anchor)
    merged = {group.ids[0]: group for group in merge_links(placement.shared)}
    time_shifts = context.time_shifts([group.link for group in merged.values()], keep_free=False)
    found = blocks(affinity_graph(time_shifts))
    parts = [_solved(block, merged, time_shifts, context) for block in found]
    composed = affinity_graph({block.links[0]: shift for block, (shift, _) in zip(found, parts, strict=True)})
    shift = {**dict.fromkeys(placement.sharing_jobs(), 0), **bfs_time_shifts(composed, context.period)}
    if not any(block.cyclic for block in found):
        return Composition("tree", shift)
    lost = math.fsum(loss for _, loss in parts)
    own = math.fsum(context.solved[link.problem.index].upper_bound for link in placement.shared)
    return Composition("joint", shift, (own - lost) / len(placement.shared))


def is_large(placement: Placement) -> bool:
    """Whether a placement has many shared links, and surely a loop: counting is enough to see that."""
    return len(placement.shared) > LARGE_LINKS and surely_has_loop({link.id: link.jobs for link in placement.shared})


def improve_jointly(placement: Placement, context: Round, shift: Mapping[str, int], effort: int) -> Composition:
    """The answer of a large placement searched further, everywhere, and its jobs moved to where slack grows."""
    start = Start(shift, frozenset(shift))
    answer = context.blocks.solve(placement.shared, start=start, centred=True, effort=effort)
    return Composition("joint", answer.shift, answer.upper_bound)


def _near_anchor(placement: Placement, context: Round, anchor: Anchor) -> Composition:
    """All links as one block, from the shifts of the common placement: only what is near a difference is searched."""
    start = Start(anchor.shift, anchor.changed(placement))
    answer = context.blocks.solve(placement.shared, start=start, centred=False)
    return Composition("joint", answer.shift, answer.upper_bound)


def _solved(
    block: Block, merged: Mapping[str, MergedLink], time_shifts: Mapping[str, Mapping[str, int]], context: Round
) -> tuple[Mapping[str, int], float]:
    """Shifts of a block's jobs, and by how much, summed over its physical links, they must stay below their bounds."""
    if not block.cyclic:
        return time_shifts[block.links[0]], 0.0
    groups = [merged[link] for link in block.links]
    answer = context.blocks.solve([group.link for group in groups], [len(group.ids) for group in groups])
    own = math.fsum(len(group.ids) * context.solved[group.link.problem.index].upper_bound for group in groups)
    weight = sum(len(group.ids) for group in groups)
    held = {job: ticks for job, ticks in answer.shift.items() if job in block.jobs}
    return held, max(0.0, own - weight * answer.upper_bound)
