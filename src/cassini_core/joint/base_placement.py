"""Large placements are answered by their difference from the base placement.

The candidates of a scheduling round have most of their shared links in common. In the *base placement* every job has
the route that it has in most candidates. Its shifts are searched once, thoroughly. The search of each candidate begins
there and changes shifts near the links that differ. No graph is built.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Int64Array
from ..deadline import BASE_SHARE, READY_PER_BASE_SEARCH, DeadlinePassed
from ..kernel.prepared_links import BlockAnswer
from ..links.incidence import Incidence
from ..links.placement import Placement
from ..node_budget import BASE_EFFORT, BASE_NODES, IMPROVED_EFFORT, IMPROVED_NODES, enlarged
from .base_search import BaseSearch, Found
from .kept_shifts import AtShifts, BaseShifts
from .placement_solution import PlacementAnswer, verified
from .round import Round

__all__ = ["LARGE_LINKS", "BasePlacement", "Searched", "large_placements", "search_base"]

LARGE_LINKS = 64
"""A placement with more shared links, and surely a loop, is searched from the base placement, not block by block."""


def large_placements(placements: Sequence[Placement], flat: Incidence) -> list[bool]:
    """Which placements have many shared links, and surely a loop: counting edges is enough to see that."""
    return [_is_large(placement, flat) for placement in placements]


def _is_large(placement: Placement, flat: Incidence) -> bool:
    if placement.n_links <= LARGE_LINKS:
        return False
    # A forest has fewer edges than nodes.
    tree = placement.n_links + len(flat.jobs)
    if placement.n_crossings < tree:  # else there is a loop, however many of all jobs are here
        shares = np.zeros(len(flat.jobs), dtype=np.bool_)
        shares[flat.job[flat.rows(placement.links).at]] = True
        tree = placement.n_links + int(np.count_nonzero(shares))
    return placement.n_crossings >= tree


Searched = tuple[Int64Array, BlockAnswer]
"""Numbers of the jobs of the base placement, ascending, and their shifts."""


def search_base(context: Round, links: Int64Array) -> Searched:
    """Shifts of the base placement, searched thoroughly; looks at the answers of its own links alone.

    Raises
    ------
    KernelError
        A defect.
    """
    nodes = enlarged(context.limits.block_node_limit, BASE_EFFORT, BASE_NODES)
    time_for_it = context.links.deadline.part(BASE_SHARE)
    return context.solve_block(links, centred=False, node_limit=nodes, deadline=time_for_it)


class BasePlacement:
    """The base placement of a round, searched; placements are answered from its shifts.

    Parameters
    ----------
    context : Round
    links : int64 array
        Indices of its shared links; at least one.
    searched : Searched, optional
        Its shifts, if they were searched before.

    Raises
    ------
    DeadlinePassed
        No time is left to answer a candidate.
    KernelError
        A defect.

    Attributes
    ----------
    search : BaseSearch
    """

    def __init__(self, context: Round, links: Int64Array, searched: Searched | None = None) -> None:
        self._context = context
        flat, prepared = context.flat, context.links
        begun = prepared.deadline.from_now()
        jobs, found = search_base(context, links) if searched is None else searched
        if not begun.leaves(READY_PER_BASE_SEARCH):
            raise DeadlinePassed
        shift = context.by_number(jobs, found.shift)
        self.search = BaseSearch(prepared, flat, context.bound, links, shift, context.kept)
        context.evaluator.expect(links, self.search.shift)
        seen = context.evaluator.judge(links, self.search.shift, context.held)
        own = AtShifts(links, seen.lower, seen.jobs, seen.shift, seen.slack, seen.free)
        self._base = BaseShifts(own, len(flat.problem), len(flat.jobs), context.scoring)

    def answer(self, placement: Placement, nodes: int | None, found: Found | None = None) -> PlacementAnswer:
        """One shift per job, found near the links that the placement does not share with the base placement.

        Parameters
        ----------
        placement : Placement
        nodes : int or None
        found : Found, optional
            What ``search`` finds, if that is known.

        Raises
        ------
        KernelError
            A defect.

        Notes
        -----
        At most ``nodes`` search nodes, or ``limits.block_node_limit`` if that is less; beside them O(jobs on shared
        links) in whole arrays.
        """
        if found is None:
            found = self.search.near(placement.dropped, placement.added, nodes, self._context.links.deadline)
        shift = self.search.whole(found)
        return verified(placement, self._context, "joint", shift, found.upper_bound, base=self._base, nodes=found.nodes)

    def improved(self, answer: PlacementAnswer) -> PlacementAnswer:
        """The answer of a placement searched further, on all its links, its jobs moved to where slack grows.

        Raises
        ------
        KernelError
            A defect.
        """
        context, placement = self._context, answer.placement
        nodes = enlarged(context.limits.block_node_limit, IMPROVED_EFFORT, IMPROVED_NODES)
        before = answer.found
        assert before is not None
        start = context.by_number(before.jobs, before.shift)
        jobs, found = context.solve_block(before.links, start=start, node_limit=nodes)
        return verified(placement, context, "joint", context.by_number(jobs, found.shift), found.upper_bound)
