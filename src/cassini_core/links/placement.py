"""A candidate seen from its links, told by how it differs from the base placement of its round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Int64Array, objects
from ..results import NarrowLink
from .incidence import NO_NARROW, Narrow

__all__ = ["BaseLinks", "Placement", "SharedLink"]


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A physical link that several jobs with demand there cross.

    ``problem`` is the number of its link problem, ``jobs[i]`` the ``i``-th job there; ``index`` is its own number in
    :attr:`LinkCatalog.shared`.
    """

    id: str
    capacity_gbps: float
    jobs: tuple[str, ...]
    problem: int
    index: int


class BaseLinks:
    """The shared links of the base placement, and what else all placements of a round have in common.

    Parameters
    ----------
    links : int64 array
        Indices of the shared links of the base placement, in the order of the ids of the links.
    order : int64 array, shape (shared links,)
        Ascending as the ids of the links are.
    n_jobs : int64 array, shape (shared links,)
        How many jobs each carries.
    shared : list of SharedLink
        By index.
    """

    def __init__(self, links: Int64Array, order: Int64Array, n_jobs: Int64Array, shared: list[SharedLink]) -> None:
        self.links = links
        self.order = order
        self.n_jobs = n_jobs
        self.shared: npt.NDArray[np.object_] = objects(shared)
        self.n_crossings = int(n_jobs[links].sum())
        self._own_order = order[links]
        self._all = np.ones(len(links), dtype=np.bool_)

    def changed(self, dropped: Int64Array, added: Int64Array) -> Int64Array:
        """``links`` without those at the positions ``dropped``, and with the links ``added``, which are by id.

        O(links), in few steps: ``numpy.delete`` and ``numpy.insert`` hold the interpreter's lock three times as long.
        """
        stays = self._all.copy()
        stays[dropped] = False
        both = np.concatenate((self.links[stays], added))
        order = np.concatenate((self._own_order[stays], self.order[added]))
        return both[order.argsort(kind="stable")]  # two ascending runs: O(links)


@dataclass(frozen=True, slots=True)
class Placement:
    """A candidate seen from its links.

    Attributes
    ----------
    id : str
    n_placed : int
        How many jobs it places, those without a shared link included.
    base : BaseLinks
    dropped : int64 array
        Positions in ``base.links`` of those that it does not have, ascending.
    added : int64 array
        Indices of the shared links that it has instead, by id.
    warnings : tuple of str
        A line for each narrow link.
    narrow_links : tuple of NarrowLink
    narrow : Narrow
        Their scores.
    """

    id: str
    n_placed: int
    base: BaseLinks
    dropped: Int64Array
    added: Int64Array
    warnings: tuple[str, ...] = ()
    narrow_links: tuple[NarrowLink, ...] = ()
    narrow: Narrow = NO_NARROW

    @property
    def links(self) -> Int64Array:
        """Indices of its shared links, by id; O(links), made anew each time: many placements of many links are kept."""
        base, added = self.base, self.added
        if not len(self.dropped) and not len(added):
            return base.links
        return base.changed(self.dropped, added)

    @property
    def shared(self) -> tuple[SharedLink, ...]:
        """Its shared links, by id; O(links), made anew each time."""
        return tuple(self.base.shared[self.links].tolist())

    @property
    def n_links(self) -> int:
        """How many shared links it has; O(1)."""
        return len(self.base.links) - len(self.dropped) + len(self.added)

    @property
    def n_crossings(self) -> int:
        """How many jobs its shared links carry together; O(changes)."""
        base = self.base
        gone, come = base.n_jobs[base.links[self.dropped]], base.n_jobs[self.added]
        return base.n_crossings - int(gone.sum()) + int(come.sum())
