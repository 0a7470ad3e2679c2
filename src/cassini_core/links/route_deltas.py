"""The routes of many candidates, read once, each as its difference from what all have in common.

Candidates of one scheduling round differ in few routes. In their *base placement* every job has its most frequent
route. A *member* is a job with the multiplier that it has on a link; a *load* is a link with all members that it
carries. Links, members and distinct loads are numbered, so that other modules handle whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..errors import InputError
from ..model import Candidate
from .route_rows import ABSENT, READ_TOGETHER, RouteRows

__all__ = ["Difference", "RouteTable"]

MAX_CELLS, CELLS_OF_A_ROUTE = 2**26, 8
"""Most pairs of a candidate and a job that any candidate places: what each candidate is aggregated over. There may be
more where most candidates place most jobs: so many for each job that a candidate places."""


class Difference(NamedTuple):
    """The loads of the base placement that a candidate does not have, and those that it has instead; numbers."""

    dropped: list[int]
    added: list[int]


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
    n_placed : list of int
        How many jobs each candidate places.
    other_jobs : list of frozenset of str
        Of each candidate, the jobs that it places and the base placement does not, or the other way round.

    Raises
    ------
    InputError
        Too many pairs of a candidate and a job (``MAX_CELLS``).

    Notes
    -----
    As :class:`RouteRows`, and O(links of routes that differ from those of the base placement) per candidate.
    """

    def __init__(self, candidates: Sequence[Candidate], go_on: Callable[[], None] = lambda: None) -> None:
        if len(candidates) <= READ_TOGETHER:
            go_on = lambda: None  # noqa: E731 - few are always read
        rows = RouteRows(candidates, go_on)
        go_on()
        jobs = rows.jobs
        _check_cells(candidates, len(jobs))
        self.candidate_ids = [candidate.id for candidate in candidates]
        self._routes = rows.routes()
        distinct = rows.counts()
        go_on()
        common = [self._most_frequent(count) for count in distinct]
        go_on()
        used = {number for count in distinct for number in count}
        self.links = sorted({link for number in used for link, _ in self._routes[number]})
        go_on()
        pairs = {
            (k, times) for k, count in enumerate(distinct) for number in count for _, times in self._routes[number]
        }
        ordered = sorted(pairs)
        go_on()
        self.members = [(jobs[k], multiplier) for k, multiplier in ordered]
        self._link_number = {link: n for n, link in enumerate(self.links)}
        self._member_number = {pair: n for n, pair in enumerate(ordered)}
        go_on()
        carried: dict[int, list[int]] = {}
        for k, number in enumerate(common):
            for link, multiplier in self._routes[number]:  # ascending: jobs are
                carried.setdefault(self._link_number[link], []).append(self._member_number[k, multiplier])
        loads = [(link, *members) for link, members in sorted(carried.items())]
        go_on()
        self.n_base = len(loads)
        self._number = {load: n for n, load in enumerate(loads)}
        self._common_load = {load[0]: n for n, load in enumerate(loads)}
        self._common_members = carried
        self.differences: list[Difference] = []
        self.other_jobs: list[frozenset[str]] = []
        self.n_placed: list[int] = []
        n_placed = sum(number != ABSENT for number in common)
        for number, changes in enumerate(rows.differences(common)):
            if number % READ_TOGETHER == READ_TOGETHER - 1:
                go_on()
            self.differences.append(self._difference(changes, common))
            gone = [k for k, number in changes.items() if number == ABSENT]
            come = [k for k in changes if common[k] == ABSENT]
            self.other_jobs.append(frozenset([jobs[k] for k in gone + come]))
            self.n_placed.append(n_placed - len(gone) + len(come))
        self.loads: list[tuple[int, ...]] = list(self._number)
        go_on()

    def _most_frequent(self, count: Mapping[int, int]) -> int:
        # Ties go to the least route, and to any route before none: the order of candidates plays no part.
        return min(count, key=lambda number: (-count[number], number != ABSENT, self._routes[number]))

    def _difference(self, changes: Mapping[int, int], usual: Sequence[int]) -> Difference:
        link_number, member_number = self._link_number, self._member_number
        touched: dict[int, list[int]] = {}
        for k, number in changes.items():
            for name, multiplier in self._routes[usual[k]]:
                link = link_number[name]
                if link not in touched:
                    touched[link] = self._common_members[link].copy()
                touched[link].remove(member_number[k, multiplier])
            for name, multiplier in self._routes[number]:
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
