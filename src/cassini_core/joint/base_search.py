"""Searches the shifts of a placement near those of the base placement, of which it differs in few links."""

from __future__ import annotations

from typing import NamedTuple

from ..arrays import Float64Array, Int64Array
from ..deadline import Deadline
from ..errors import KernelError
from ..kernel.prepared_links import Baseline, PreparedLinks
from ..links.incidence import Incidence
from ..node_budget import smaller
from .kept_searches import KeptSearches

__all__ = ["BaseSearch", "Found"]


class Found(NamedTuple):
    """The jobs whose shifts are not those of the base placement, by number, and their shifts, ticks.

    No shifts score more than ``upper_bound`` on average over the links; the search took ``nodes``.
    """

    jobs: Int64Array
    shift: Int64Array
    upper_bound: float
    nodes: int


class BaseSearch:
    """The base placement as the kernel keeps it; may be used from several threads.

    Parameters
    ----------
    links : PreparedLinks
    flat : Incidence
        Their shared links.
    bound : float64 array, shape (shared links,)
        Certified upper bounds.
    base_links : int64 array
        Indices of the shared links of the base placement.
    shift : int64 array, shape (jobs of ``flat``,)
        Its shifts, ticks.
    kept : KeptSearches, optional
        Searches of earlier rounds, and what to add new ones to.
    """

    def __init__(
        self,
        links: PreparedLinks,
        flat: Incidence,
        bound: Float64Array,
        base_links: Int64Array,
        shift: Int64Array,
        kept: KeptSearches | None = None,
    ) -> None:
        self.base_links = base_links
        self.shift = shift
        self._links = links
        self._flat = flat
        self._bound = bound
        self._kept = kept
        problems, member, own_bound = flat.problem[base_links], flat.job[flat.rows(base_links).at], bound[base_links]
        self._baseline = Baseline(
            links.prepared(),
            period=flat.period,
            link=problems,
            member=member,
            upper_bound=own_bound,
            shift=shift,
            options=links.options,
        )
        self._base = (
            b"" if kept is None else kept.question(b"base", flat.period, member, own_bound, shift, problems=problems)
        )

    def near(self, dropped: Int64Array, added: Int64Array, nodes: int | None, deadline: Deadline) -> Found:
        """Shifts of the placement without some links of the base placement, and with others.

        Parameters
        ----------
        dropped : int64 array
            Positions in ``base_links``, ascending.
        added : int64 array
            Indices of shared links.
        nodes : int or None
            Search nodes, or ``limits.block_node_limit`` if that is less.
        deadline : Deadline

        Raises
        ------
        KernelError
            A defect, or canceled.

        Notes
        -----
        Beside the search O(jobs on shared links) in whole arrays.
        """
        flat, links = self._flat, self._links
        problems, member, bound = flat.problem[added], flat.job[flat.rows(added).at], self._bound[added]
        node_limit = smaller(links.limits.block_node_limit, nodes)

        def search() -> Found:
            found = self._baseline.solve(
                dropped=dropped,
                link=problems,
                member=member,
                upper_bound=bound,
                options=links.options,
                node_limit=node_limit,
                deadline_ns=deadline.remaining_ns(),
                cancel=links.cancel,
            )
            if found is None:
                raise KernelError("solve_beside: canceled")
            moved = (found.shift != self.shift).nonzero()[0]
            return Found(moved, found.shift[moved], found.upper_bound, found.nodes)

        if self._kept is None:
            return search()
        question = self._kept.question(self._base, dropped, member, bound, problems=problems)
        return self._kept.search(question, node_limit, deadline, search)

    def whole(self, found: Found) -> Int64Array:
        """The shifts of all jobs."""
        shift = self.shift.copy()
        shift[found.jobs] = found.shift
        return shift
