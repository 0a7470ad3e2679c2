"""The routes of many candidates, read once, each as its difference from what all have in common.

Candidates of one scheduling round differ in few routes. In their *base placement* every job has its most frequent
route. A *member* is a job with the multiplier that it has on a link; a *load* is a link with all members that it
carries. Links, members and distinct loads are numbered, so that other modules handle whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Int32Array
from ..errors import InputError
from ..model import Candidate

__all__ = ["READ_TOGETHER", "Difference", "Route", "RouteTable"]

Route = tuple[tuple[str, float], ...]
"""Links and multipliers, sorted by link."""

_ABSENT = 0  # the number of "not placed" in every row

MAX_CELLS, CELLS_OF_A_ROUTE = 2**26, 8
"""Most pairs of a candidate and a job that any candidate places; the table takes 4 bytes for each. There may be more
where most candidates place most jobs: so many for each job that a candidate places."""

READ_TOGETHER = 32
"""So many candidates are read before the reader asks whether to go on."""


class Difference(NamedTuple):
    """The loads of the base placement that a candidate does not have, and those that it has instead; numbers."""

    dropped: list[int]
    added: list[int]


class _Numbers:
    """Gives each distinct route the next number, from 1; the order of a route's links plays no part."""

    def __init__(self) -> None:
        self._of: dict[Route, int] = {}

    def of(self, links: Mapping[str, float]) -> int:
        return self._of.setdefault(tuple(sorted(links.items())), len(self._of) + 1)

    def routes(self) -> list[Route]:
        return [(), *self._of]


class _Usual(NamedTuple):
    """The first candidate that names its jobs in this order: most others that do so share most of its routes."""

    columns: npt.NDArray[np.intp]
    placed: tuple[str, ...]
    routes: list[Mapping[str, float]]
    row: Int32Array


class RouteTable:
    """Routes and loads as numbers: equal ones have equal numbers.

    Parameters
    ----------
    candidates : sequence of Candidate
    go_on : callable, optional
        Called now and then; reading ends with what it raises.

    Attributes
    ----------
    links : list of str
        Ids of all links that carry something, sorted; their positions are their numbers.
    members : list of (str, float)
        All members: job ids with a multiplier that they have somewhere, sorted; their positions are their numbers.
    loads : list of tuple of int
        Every link with everything it carries in the base placement or in some candidate: the number of the link,
        then those of its members, ascending. Loads of the base placement come first, by link.
    n_base : int
        How many of them the base placement has.
    differences : list of Difference
        Of each candidate.
    candidate_ids : list of str
    placed : list of tuple of str
        The jobs of each candidate, sorted; equal ones are one object.

    Raises
    ------
    InputError
        Too many pairs of a candidate and a job (``MAX_CELLS``).

    Notes
    -----
    O(placed jobs) dictionary look-ups per candidate; a table of 4 bytes per candidate and job.
    """

    def __init__(self, candidates: Sequence[Candidate], go_on: Callable[[], None] = lambda: None) -> None:
        self._jobs = sorted({job for candidate in candidates for job in candidate.routes})
        _check_cells(candidates, len(self._jobs))
        self.candidate_ids = [candidate.id for candidate in candidates]
        self.placed: list[tuple[str, ...]] = []
        self._table, self._routes = self._read(candidates, go_on)
        distinct = []
        for k in range(len(self._jobs)):
            if k % READ_TOGETHER == READ_TOGETHER - 1 and len(candidates) > READ_TOGETHER:
                go_on()
            distinct.append(self._distinct(k))
        common = [self._most_frequent(count) for count in distinct]
        self.links = sorted({link for route in self._routes for link, _ in route})
        pairs = {
            (k, times) for k, count in enumerate(distinct) for number in count for _, times in self._routes[number]
        }
        ordered = sorted(pairs)
        self.members = [(self._jobs[k], multiplier) for k, multiplier in ordered]
        self._link_number = {link: n for n, link in enumerate(self.links)}
        self._member_number = {pair: n for n, pair in enumerate(ordered)}
        carried: dict[int, list[int]] = {}
        for k, number in enumerate(common):
            for link, multiplier in self._routes[number]:  # ascending: jobs are
                carried.setdefault(self._link_number[link], []).append(self._member_number[k, multiplier])
        loads = [(link, *members) for link, members in sorted(carried.items())]
        self.n_base = len(loads)
        self._number = {load: n for n, load in enumerate(loads)}
        self._common_load = {load[0]: n for n, load in enumerate(loads)}
        self._common_members = carried
        usual = np.array(common, dtype=np.int32)
        self.differences: list[Difference] = []
        for number, row in enumerate(self._table):
            if number % READ_TOGETHER == READ_TOGETHER - 1:
                go_on()
            self.differences.append(self._difference(row, usual))
        self.loads: list[tuple[int, ...]] = list(self._number)

    def _read(self, candidates: Sequence[Candidate], go_on: Callable[[], None]) -> tuple[Int32Array, list[Route]]:
        """Numbers of routes, a row per candidate and a column per job, and the routes by number."""
        column = {job: k for k, job in enumerate(self._jobs)}
        by_jobs: dict[tuple[str, ...], _Usual] = {}
        numbers = _Numbers()
        table = np.full((len(candidates), len(self._jobs)), _ABSENT, dtype=np.int32)
        for number, candidate in enumerate(candidates):
            if number % READ_TOGETHER == READ_TOGETHER - 1:
                go_on()
            jobs = tuple(candidate.routes)
            usual = by_jobs.get(jobs)
            if usual is None:
                columns = np.array([column[job] for job in jobs], dtype=np.intp)
                row = np.array([numbers.of(route) for route in candidate.routes.values()], dtype=np.int32)
                usual = _Usual(columns, tuple(sorted(jobs)), list(candidate.routes.values()), row)
                by_jobs[jobs] = usual
            # Looking whether two routes are equal is cheaper than looking one up.
            pairs = enumerate(zip(candidate.routes.values(), usual.routes, strict=True))
            own = [(k, route) for k, (route, other) in pairs if route is not other and route != other]
            row = usual.row.copy()
            for k, route in own:
                row[k] = numbers.of(route)
            table[number, usual.columns] = row
            self.placed.append(usual.placed)
        return table, numbers.routes()

    def _distinct(self, k: int) -> dict[int, int]:
        """How often job ``k`` has each of its routes, by the number of the route."""
        column = self._table[:, k]
        if (column == column[0]).all():
            return {int(column[0]): len(column)}
        numbers, counts = np.unique(column, return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))

    def _most_frequent(self, count: Mapping[int, int]) -> int:
        # Ties go to the least route, and to any route before none: the order of candidates plays no part.
        return min(count, key=lambda number: (-count[number], number != _ABSENT, self._routes[number]))

    def _difference(self, row: Int32Array, usual: Int32Array) -> Difference:
        link_number, member_number = self._link_number, self._member_number
        touched: dict[int, list[int]] = {}
        for k in np.flatnonzero(row != usual).tolist():
            for name, multiplier in self._routes[usual[k]]:
                link = link_number[name]
                if link not in touched:
                    touched[link] = self._common_members[link].copy()
                touched[link].remove(member_number[k, multiplier])
            for name, multiplier in self._routes[row[k]]:
                link = link_number[name]
                if link not in touched:
                    touched[link] = self._common_members.get(link, []).copy()
                touched[link].append(member_number[k, multiplier])
        dropped, added = [], []
        for link, members in touched.items():
            before = self._common_load.get(link)
            members.sort()
            after = self._number.setdefault((link, *members), len(self._number)) if members else None
            if before == after:
                continue
            if before is not None:
                dropped.append(before)
            if after is not None:
                added.append(after)
        return Difference(dropped, added)


def _check_cells(candidates: Sequence[Candidate], n_jobs: int) -> None:
    most = max(MAX_CELLS, CELLS_OF_A_ROUTE * sum(len(candidate.routes) for candidate in candidates))
    if len(candidates) * n_jobs > most:
        raise InputError(
            f"candidates: expected at most {most} pairs of a candidate and a job that some candidate places, "
            f"got {len(candidates)} candidates and {n_jobs} jobs"
        )
