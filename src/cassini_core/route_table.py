"""The routes of many candidates, read once: what they have in common, and what each has of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .model import Candidate

__all__ = ["Route", "RouteTable"]

Route = tuple[tuple[str, float], ...]
"""Links and multipliers, in the order in which the candidate gives them."""

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

    def common(self) -> dict[str, Route]:
        """Each job's most frequent route, by job id; without jobs that most candidates do not place.

        Of equally frequent routes the least: the order of candidates plays no part.
        """
        placed = zip(self._jobs, self._common.tolist(), strict=True)
        return {job: self._routes[number] for job, number in placed if number != _ABSENT}

    def changes(self, place: int) -> Mapping[str, tuple[Route, Route]]:
        """Job id to its common route and its own, for all jobs of candidate ``place`` whose routes differ.

        Not to be placed counts as the empty route here.
        """
        row = self._table[place]
        return {
            self._jobs[k]: (self._routes[self._common[k]], self._routes[row[k]])
            for k in np.flatnonzero(row != self._common).tolist()
        }

    def _most_frequent(self) -> npt.NDArray[np.int32]:
        common = np.full(len(self._jobs), _ABSENT, dtype=np.int32)
        for k in range(len(self._jobs)):
            numbers, counts = np.unique(self._table[:, k], return_counts=True)
            most = numbers[counts == counts.max()].tolist()
            common[k] = min(most, key=lambda number: (number != _ABSENT, self._routes[number]))
        return common
