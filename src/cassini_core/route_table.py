"""The routes of many candidates, read once: what they have in common, and what each has of its own.

Candidates of one scheduling round differ in few routes. Each is read as its difference from their common placement, in
which every job has its most frequent route. What a link carries is a *load*; distinct loads are numbered, so that all
else handles numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .model import Candidate

__all__ = ["Difference", "Load", "Members", "Route", "RouteTable"]

Route = tuple[tuple[str, float], ...]
"""Links and multipliers, in the order in which the candidate gives them."""

Members = tuple[tuple[str, float], ...]
"""What a link carries: job ids and multipliers, sorted by id."""

_ABSENT, _NO_LINKS = 0, 1  # numbers of "not placed" and of a route without links, in every row


class Load(NamedTuple):
    """A link and what it carries: at least one job."""

    link: str
    members: Members


class Difference(NamedTuple):
    """Numbers of the loads of the common placement that a candidate does not have, and of those it has instead."""

    dropped: tuple[int, ...]
    added: tuple[int, ...]


class _Numbers(dict[tuple[str | float, ...], int]):
    """Numbers routes with links as they come. A key is a route's links, then its multipliers: cheaper than pairs."""

    def __missing__(self, route: tuple[str | float, ...]) -> int:
        self[route] = number = len(self) + 2
        return number

    def routes(self) -> list[Route]:
        halves = ((key[: len(key) // 2], key[len(key) // 2 :]) for key in self)
        each = [tuple(zip(map(str, links), map(float, multipliers), strict=True)) for links, multipliers in halves]
        return [(), (), *each]


class RouteTable:
    """Routes and loads as numbers: equal ones have equal numbers.

    Parameters
    ----------
    candidates : sequence of Candidate

    Attributes
    ----------
    loads : list of Load
        Every link with everything it carries in the common placement or in some candidate. Those of the common
        placement come first, by link id.
    n_common : int
        How many of them the common placement has.
    differences : list of Difference
        Of each candidate.
    placed : list of tuple of str
        The jobs of each candidate, sorted; equal ones are one object.

    Notes
    -----
    O(placed jobs) dictionary look-ups per candidate; a table of 4 bytes per candidate and job.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._jobs = sorted({job for candidate in candidates for job in candidate.routes})
        column = {job: k for k, job in enumerate(self._jobs)}
        columns: dict[tuple[str, ...], tuple[npt.NDArray[np.intp], tuple[str, ...]]] = {}  # most name the same jobs
        number = _Numbers()
        self._table: npt.NDArray[np.int32] = np.full((len(candidates), len(self._jobs)), _ABSENT, dtype=np.int32)
        self.placed: list[tuple[str, ...]] = []
        for row, candidate in enumerate(candidates):
            jobs = tuple(candidate.routes)
            if jobs not in columns:
                columns[jobs] = (np.array([column[job] for job in jobs], dtype=np.intp), tuple(sorted(jobs)))
            where, placed = columns[jobs]
            routes = candidate.routes.values()
            has_links = np.fromiter(map(len, routes), np.intp, len(jobs)) > 0
            self._table[row, where] = _NO_LINKS
            self._table[row, where[has_links]] = [number[(*links, *links.values())] for links in filter(None, routes)]
            self.placed.append(placed)
        self._routes = number.routes()
        self._common = self._most_frequent()
        common = self._loads_of_common()
        self._number: dict[Load, int] = {load: k for k, load in enumerate(common.values())}
        self.n_common = len(common)
        self.differences = [self._difference(row, common) for row in self._table]
        self.loads: list[Load] = list(self._number)

    def loads_of(self, place: int) -> list[Load]:
        """What every link carries in candidate ``place``, by link id."""
        dropped, added = self.differences[place]
        numbers = [*set(range(self.n_common)).difference(dropped), *added]
        return sorted(self.loads[number] for number in numbers)

    def _difference(self, row: npt.NDArray[np.int32], common: dict[str, Load]) -> Difference:
        touched: dict[str, dict[str, float]] = {}

        def carried(link: str) -> dict[str, float]:
            members = touched.get(link)
            if members is None:
                load = common.get(link)
                members = touched[link] = {} if load is None else dict(load.members)
            return members

        for k in np.flatnonzero(row != self._common).tolist():
            for link, _ in self._routes[self._common[k]]:
                del carried(link)[self._jobs[k]]
            for link, multiplier in self._routes[row[k]]:
                carried(link)[self._jobs[k]] = multiplier
        dropped, added = [], []
        for link, members in touched.items():
            before, after = common.get(link), Load(link, tuple(sorted(members.items())))
            if before == after:
                continue
            if before is not None:
                dropped.append(self._number[before])
            if members:
                added.append(self._number.setdefault(after, len(self._number)))
        return Difference(tuple(dropped), tuple(added))

    def _loads_of_common(self) -> dict[str, Load]:
        carried: dict[str, dict[str, float]] = {}
        for job, number in zip(self._jobs, self._common.tolist(), strict=True):
            for link, multiplier in self._routes[number]:
                carried.setdefault(link, {})[job] = multiplier
        return {link: Load(link, tuple(sorted(members.items()))) for link, members in sorted(carried.items())}

    def _most_frequent(self) -> npt.NDArray[np.int32]:
        # Of equally frequent routes the least, and rather one than none: the order of candidates plays no part.
        common = np.full(len(self._jobs), _ABSENT, dtype=np.int32)
        if not len(self._table):
            return common
        alike = (self._table == self._table[0]).all(axis=0)
        common[alike] = self._table[0, alike]
        for k in np.flatnonzero(~alike).tolist():
            numbers, counts = np.unique(self._table[:, k], return_counts=True)
            most = numbers[counts == counts.max()].tolist()
            common[k] = min(most, key=lambda number: (number != _ABSENT, self._routes[number]))
        return common
