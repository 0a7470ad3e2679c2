"""Large placements, answered by their difference from one that they are all much like.

The candidates of a scheduling round have most of their shared links in common. The common placement's shifts are
searched once, thoroughly; every candidate is searched from there, near its own differences alone. No graph is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Int64Array
from ..deadline import ANCHOR_SHARE, READY_PER_ANCHOR, DeadlinePassed
from ..errors import KernelError
from ..kernel.prepared_links import BlockAnchor
from ..links.incidence import Incidence
from ..links.shared_links import Placement, SharedLink
from ..node_budget import ANCHOR_EFFORT, ANCHOR_NODES, IMPROVED_EFFORT, IMPROVED_NODES, enlarged, smaller
from .placement_solution import PlacementAnswer, Round, verified

__all__ = ["LARGE_LINKS", "NearAnchor", "large_ones"]

LARGE_LINKS = 64
"""With more shared links, and surely a loop, a placement is not taken apart but searched from the anchor."""


def large_ones(placements: Sequence[Placement], flat: Incidence) -> list[bool]:
    """Which placements have many shared links, and surely a loop: counting edges is enough to see that."""
    return [_is_large(placement, flat) for placement in placements]


def _is_large(placement: Placement, flat: Incidence) -> bool:
    if len(placement.links) <= LARGE_LINKS:
        return False
    crossings = flat.rows(placement.links).at
    shares = np.zeros(len(flat.jobs), dtype=np.bool_)
    shares[flat.job[crossings]] = True
    # A forest has fewer edges than nodes.
    return len(crossings) >= len(placement.links) + int(np.count_nonzero(shares))


class NearAnchor:
    """Answers placements of one round from the shifts of their common placement.

    Parameters
    ----------
    context : Round
    common : sequence of SharedLink
        The shared links of the common placement; at least one.

    Raises
    ------
    DeadlinePassed
        No time is left to answer a candidate.
    KernelError
        A defect.
    """

    def __init__(self, context: Round, common: Sequence[SharedLink]) -> None:
        self._context = context
        flat, prepared = context.flat, context.links
        begun, time_for_it = prepared.deadline.from_now(), prepared.deadline.part(ANCHOR_SHARE)
        nodes = enlarged(context.limits.block_node_limit, ANCHOR_EFFORT, ANCHOR_NODES)
        found = context.blocks.solve(common, centred=False, node_limit=nodes, deadline=time_for_it)
        if not begun.leaves(READY_PER_ANCHOR):
            raise DeadlinePassed
        shift = flat.shifts(found.shift)
        links: Int64Array = np.array([link.index for link in common], dtype=np.int64)
        self._position: Int64Array = np.full(len(flat.problem), -1, dtype=np.int64)
        self._position[links] = np.arange(len(links))
        self._n_links = len(links)
        self._anchor = BlockAnchor(
            prepared.prepared(),
            period=flat.period,
            link=flat.problem[links],
            member=flat.job[flat.rows(links).at],
            upper_bound=context.bound[links],
            shift=shift,
            options=prepared.options,
        )
        context.expect(links, shift)

    def answer(self, placement: Placement) -> PlacementAnswer:
        """One shift per job, found near what the placement does not have in common with the others.

        Raises
        ------
        KernelError
            A defect.

        Notes
        -----
        At most ``limits.block_node_limit`` nodes; beside them O(crossings) in whole arrays.
        """
        context, flat = self._context, self._context.flat
        position = self._position[placement.links]
        added = placement.links[position < 0]
        there = np.zeros(self._n_links, dtype=np.bool_)
        there[position[position >= 0]] = True
        found = self._anchor.solve(
            dropped=np.flatnonzero(~there),
            link=flat.problem[added],
            member=flat.job[flat.rows(added).at],
            upper_bound=context.bound[added],
            options=context.links.options,
            node_limit=smaller(context.limits.block_node_limit, context.nodes_of_candidate),
            deadline_ns=context.links.deadline.remaining_ns(),
            cancel=context.links.cancel,
        )
        if found is None:
            raise KernelError("solve_beside: canceled")
        return replace(verified(placement, context, "joint", found.shift, found.upper_bound), nodes=found.nodes)

    def improved(self, answer: PlacementAnswer) -> PlacementAnswer:
        """The answer of a placement searched further, everywhere, its jobs moved to where slack grows.

        Raises
        ------
        KernelError
            A defect.
        """
        context, placement = self._context, answer.placement
        nodes = enlarged(context.limits.block_node_limit, IMPROVED_EFFORT, IMPROVED_NODES)
        found = context.blocks.solve(placement.shared, start=answer.shift, node_limit=nodes)
        return verified(placement, context, "joint", context.flat.shifts(found.shift), found.upper_bound)
