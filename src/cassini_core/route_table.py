"""The routes of many candidates, read once: what they have in common, and what each has of its own.

Candidates of one scheduling round differ in few routes. Each is read as its difference from their common placement, in
which every job has its most frequent route.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .model import Candidate

__all__ = ["Members", "Route", "RouteTable"]

Route = tuple[tuple[str, float], ...]
"""Links and multipliers, in the order in which the candidate gives them."""

Members = tuple[tuple[str, float], ...]
"""What a link carries: job ids and multipliers, sorted by id."""

_ABSENT = 0  # the number of "not placed" in every row


class _Numbers(dict[Route, int]):
    """Numbers routes as they come, from 1."""

    def __missing__(self, route: Route) -> int:
        self[route] = number = len(self) + 1
        return number


class RouteTable:
    """Routes as numbers: equal routes have equal numbers.

    Parameters
    ----------
    candidates : sequence of Candidate

    Notes
    -----
    O(placed jobs) dictionary look-ups per candidate; a table of 4 bytes per candidate and job.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._jobs = sorted({job for candidate in candidates for job in candidate.routes})
        column = {job: k for k, job in enumerate(self._jobs)}
        columns: dict[tuple[str, ...], list[int]] = {}  # most candidates name the same jobs in the same order
        number = _Numbers()
        self._table: npt.NDArray[np.int32] = np.full((len(candidates), len(self._jobs)), _ABSENT, dtype=np.int32)
        for row, candidate in enumerate(candidates):
            jobs = tuple(candidate.routes)
            if jobs not in columns:
                columns[jobs] = [column[job] for job in jobs]
            routes = [tuple(links.items()) if links else () for links in candidate.routes.values()]
            self._table[row, columns[jobs]] = [number[route] for route in routes]
        self._routes: list[Route] = [(), *number]
        self._common = self._most_frequent()
        self._common_loads = self._loads_of_common()

    def common_loads(self) -> Mapping[str, Members]:
        """What each link carries in the common placement, by link id, sorted; links that carry nothing are left out."""
        return self._common_loads

    def own_loads(self, place: int) -> dict[str, Members]:
        """What links carry in candidate ``place``, where that differs from :meth:`common_loads`: perhaps nothing."""
        touched: dict[str, dict[str, float]] = {}

        def carried(link: str) -> dict[str, float]:
            return touched.setdefault(link, dict(self._common_loads.get(link, ())))

        row = self._table[place]
        for k in np.flatnonzero(row != self._common).tolist():
            for link, _ in self._routes[self._common[k]]:
                del carried(link)[self._jobs[k]]
            for link, multiplier in self._routes[row[k]]:
                carried(link)[self._jobs[k]] = multiplier
        loads = {link: tuple(sorted(members.items())) for link, members in touched.items()}
        return {link: members for link, members in loads.items() if members != self._common_loads.get(link, ())}

    def distinct_loads(self) -> set[tuple[str, Members]]:
        """Every link with everything it carries in some candidate."""
        loads = set(self._common_loads.items())
        for place in range(len(self._table)):
            loads.update(self.own_loads(place).items())
        return {(link, members) for link, members in loads if members}

    def _loads_of_common(self) -> dict[str, Members]:
        carried: dict[str, dict[str, float]] = {}
        for job, number in zip(self._jobs, self._common.tolist(), strict=True):
            for link, multiplier in self._routes[number]:
                carried.setdefault(link, {})[job] = multiplier
        return {link: tuple(sorted(members.items())) for link, members in sorted(carried.items())}

    def _most_frequent(self) -> npt.NDArray[np.int32]:
        # Of equally frequent routes the least, and rather one than none: the order of candidates plays no part.
        common = np.full(len(self._jobs), _ABSENT, dtype=np.int32)
        for k in range(len(self._jobs)):
            numbers, counts = np.unique(self._table[:, k], return_counts=True)
            most = numbers[counts == counts.max()].tolist()
            common[k] = min(most, key=lambda number: (number != _ABSENT, self._routes[number]))
        return common
