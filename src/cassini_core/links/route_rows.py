"""Which route each job has in each candidate, in whole numbers, told by how candidates differ from one another.

Routes are numbered; equal ones have equal numbers. A candidate is kept as the *row* of another, the numbers of its
routes, and the changes from it: what candidates have in common is read and kept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..model import Candidate
from ..moved_mapping import MovedMapping, NotSeenBefore

__all__ = ["ABSENT", "READ_TOGETHER", "Route", "RouteRows"]

Route = tuple[tuple[str, float], ...]
"""Links and multipliers, sorted by link."""

ABSENT = 0
"""The number of "not placed"."""

READ_TOGETHER = 32
"""So many candidates are read before the reader asks whether to go on."""

_Numbered = dict[int, int]
"""Numbers of routes by the numbers of their jobs."""


class _Numbers:
    """Gives each distinct route the next number, from 1; the order of a route's links plays no part."""

    def __init__(self) -> None:
        self._of: dict[Route, int] = {}

    def of(self, links: Mapping[str, float]) -> int:
        return self._of.setdefault(tuple(sorted(links.items())), len(self._of) + 1)

    def routes(self) -> list[Route]:
        return [(), *self._of]


class _Row(NamedTuple):
    """The routes of the first candidate that names its jobs in this order: most others that do so share most of them.

    ``jobs`` are their numbers, -1 for one that no candidate places.
    """

    jobs: list[int]
    routes: list[Mapping[str, float]]
    numbers: _Numbered


class RouteRows:
    """The routes of candidates.

    Parameters
    ----------
    candidates : sequence of Candidate
    go_on : callable, optional
        Called now and then; reading ends with what it raises.

    Attributes
    ----------
    jobs : list of str
        All that some candidate places, sorted; their positions are their numbers.

    Notes
    -----
    O(changes) for a candidate that shares its routes with others (``Candidate.moved``), else O(jobs that it places).
    """

    def __init__(self, candidates: Sequence[Candidate], go_on: Callable[[], None] = lambda: None) -> None:
        not_seen = NotSeenBefore[Mapping[str, float]]()
        named: set[str] = set()
        for number, candidate in enumerate(candidates):
            if number % READ_TOGETHER == READ_TOGETHER - 1:
                go_on()
            named.update(job for job, _ in not_seen.items(candidate.routes))
        self.jobs = sorted(named)
        self._job = {job: k for k, job in enumerate(self.jobs)}
        self._numbers = _Numbers()
        self._rows: list[_Row] = []
        self._row_of: dict[tuple[str, ...], int] = {}  # by the jobs in the order in which they are named
        self._whole: dict[int, tuple[int, _Numbered]] = {}  # by the id of a mapping that is no difference from another
        self._candidates: list[tuple[int, _Numbered]] = []  # the number of a row, and what differs from it
        for number, candidate in enumerate(candidates):
            if number % READ_TOGETHER == READ_TOGETHER - 1:
                go_on()
            self._candidates.append(self._read(candidate.routes))

    def routes(self) -> list[Route]:
        """By number; some may be those of no candidate."""
        return self._numbers.routes()

    def counts(self) -> list[dict[int, int]]:
        """How many candidates have each route of a job, by the number of the route; for each job."""
        found: list[Counter[int]] = [Counter() for _ in self.jobs]
        for row, count in Counter(row for row, _ in self._candidates).items():
            for job, route in self._rows[row].numbers.items():
                found[job][route] += count
        for row, changes in self._candidates:
            for job, route in changes.items():
                found[job][route] += 1
                before = self._rows[row].numbers.get(job)
                if before is not None:
                    found[job][before] -= 1
        for of_job in found:
            of_job[ABSENT] = len(self._candidates) - sum(count for route, count in of_job.items() if route != ABSENT)
        return [{route: count for route, count in of_job.items() if count} for of_job in found]

    def differences(self, row: Sequence[int]) -> Iterator[dict[int, int]]:
        """How each candidate differs from a row: numbers of its routes by the numbers of their jobs, ascending.

        O(changes) each where most of its routes are those of ``row``.
        """
        placed = [job for job, number in enumerate(row) if number != ABSENT]
        of_rows = []
        for one in self._rows:
            other = {job: number for job, number in one.numbers.items() if number != row[job]}
            of_rows.append(other | {job: ABSENT for job in placed if job not in one.numbers})
        for k, changes in self._candidates:
            kept = {job: number for job, number in of_rows[k].items() if job not in changes}
            own = {job: number for job, number in changes.items() if number != row[job]}
            yield dict(sorted((kept | own).items()))

    def _read(self, routes: Mapping[str, Mapping[str, float]]) -> tuple[int, _Numbered]:
        if not isinstance(routes, MovedMapping):
            return self._read_whole(routes)
        row, changes = self._read_whole(routes.base)
        changes = changes.copy()
        for name, route in routes.changes.items():
            job = self._job.get(name)
            if job is not None:  # else no candidate places it
                changes[job] = ABSENT if route is None else self._numbers.of(route)
        return row, changes

    def _read_whole(self, routes: Mapping[str, Mapping[str, float]]) -> tuple[int, _Numbered]:
        if id(routes) not in self._whole:  # candidates keep it alive
            self._whole[id(routes)] = self._compared(routes)
        return self._whole[id(routes)]

    def _compared(self, routes: Mapping[str, Mapping[str, float]]) -> tuple[int, _Numbered]:
        names = tuple(routes)
        if names not in self._row_of:
            self._row_of[names] = len(self._rows)
            self._rows.append(self._row(routes))
        number = self._row_of[names]
        row = self._rows[number]
        # Looking whether two routes are equal is cheaper than looking one up.
        pairs = zip(row.jobs, routes.values(), row.routes, strict=True)
        own = [(job, route) for job, route, usual in pairs if route is not usual and route != usual and job >= 0]
        return number, {job: self._numbers.of(route) for job, route in own}

    def _row(self, routes: Mapping[str, Mapping[str, float]]) -> _Row:
        jobs = [self._job.get(job, -1) for job in routes]
        pairs = zip(jobs, routes.values(), strict=True)
        return _Row(jobs, list(routes.values()), {job: self._numbers.of(route) for job, route in pairs if job >= 0})
