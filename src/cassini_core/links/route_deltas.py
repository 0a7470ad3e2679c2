"""The routes of many candidates, read once, each as its difference from what all have in common.

Candidates of one scheduling round differ in few routes. In their *base placement* every job has its most frequent
route. A *member* is a job with the multiplier that it has on a link; a *load* is a link with all members that it
carries. Links, members and distinct loads are numbered, so that other modules handle whole numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Int64Array, Rows, different, int64, offsets
from ..errors import InputError
from ..model import Candidate
from .changed_loads import ChangedLoads, Changes, Loads, Moves
from .route_rows import ABSENT, READ_TOGETHER, Route, RouteRows

__all__ = ["Difference", "RouteTable"]

MAX_CELLS, CELLS_OF_A_ROUTE = 2**26, 8
"""Most pairs of a candidate and a job that any candidate places: what each candidate is aggregated over. There may be
more where most candidates place most jobs: so many for each job that a candidate places."""


class Difference(NamedTuple):
    """The loads of the base placement that a candidate does not have, and those that it has instead.

    Numbers of loads, each ascending by link.
    """

    dropped: Int64Array
    added: Int64Array


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
    loads : Loads
        Every link with everything it carries in the base placement or in some candidate. Loads of the base placement
        come first, by link.
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
        routes = rows.routes()
        distinct = rows.counts()
        go_on()
        common = [_most_frequent(count, routes) for count in distinct]
        go_on()
        crossed = _Crossed(routes, distinct, go_on)
        self.links = crossed.links
        self.members = [(jobs[k], multiplier) for k, multiplier in crossed.members]
        usual = np.array(common, dtype=np.int64)
        base = crossed.loads_of(usual)
        go_on()
        self.n_base = len(base.link)
        changed = ChangedLoads(base, len(self.links), len(self.members))
        self.differences: list[Difference] = []
        self.other_jobs: list[frozenset[str]] = []
        self.n_placed: list[int] = []
        n_placed = sum(number != ABSENT for number in common)
        differences = rows.differences(common)
        while some := list(itertools.islice(differences, READ_TOGETHER)):
            self.differences += _by_candidate(changed.read(crossed.moves(some, usual)), len(some))
            for changes in some:
                gone = [k for k, number in changes.items() if number == ABSENT]
                come = [k for k in changes if common[k] == ABSENT]
                self.other_jobs.append(frozenset([jobs[k] for k in gone + come]))
                self.n_placed.append(n_placed - len(gone) + len(come))
            go_on()
        self.loads = changed.loads()
        go_on()


class _Crossed:
    """The links of routes by number, and the members that jobs with these routes are there.

    ``members`` are pairs of a job's number and a multiplier, ascending.
    """

    def __init__(
        self, routes: Sequence[Route], distinct: Sequence[Mapping[int, int]], go_on: Callable[[], None]
    ) -> None:
        used = {number for count in distinct for number in count}
        own = [route if number in used else () for number, route in enumerate(routes)]
        self.links = sorted({link for route in own for link, _ in route})
        times = sorted({multiplier for route in own for _, multiplier in route})
        go_on()
        link_number = {link: n for n, link in enumerate(self.links)}
        times_number = {multiplier: n for n, multiplier in enumerate(times)}
        self._offset = offsets(len(route) for route in own)
        self._link = int64(link_number[link] for route in own for link, _ in route)
        self._times = int64(times_number[multiplier] for route in own for _, multiplier in route)
        self._n_times = max(1, len(times))
        go_on()
        job = np.arange(len(distinct)).repeat([len(count) for count in distinct])
        keys, _ = self._keys(job, int64(number for count in distinct for number in count))
        self._member_keys = different(keys)
        ordered = zip(*np.divmod(self._member_keys, self._n_times), strict=True)
        self.members = [(int(job), times[k]) for job, k in ordered]
        go_on()

    def loads_of(self, routes: Int64Array) -> Loads:
        """What links carry where each job has one of these routes, by link."""
        keys, rows = self._keys(np.arange(len(routes)), routes)
        link, member = self._link[rows.at], np.searchsorted(self._member_keys, keys)
        order = link.argsort(kind="stable")  # members ascend: jobs do
        links, sizes = np.unique(link, return_counts=True)
        return Loads(links, offsets(sizes), member[order])

    def moves(self, candidates: Sequence[Mapping[int, int]], usual: Int64Array) -> Moves:
        """Which members leave which links and come to which, where jobs have other routes than the usual ones."""
        sizes = [len(changes) for changes in candidates]
        job = int64(k for changes in candidates for k in changes)
        other = int64(number for changes in candidates for number in changes.values())
        both = np.stack((usual[job], other), axis=1).ravel()
        keys, rows = self._keys(job.repeat(2), both)
        candidate = np.arange(len(candidates)).repeat(sizes).repeat(2)
        come = np.arange(len(both)) % 2 == 1
        return Moves(
            candidate.repeat(rows.size),
            self._link[rows.at],
            np.searchsorted(self._member_keys, keys),
            come.repeat(rows.size),
        )

    def _keys(self, job: Int64Array, route: Int64Array) -> tuple[Int64Array, Rows]:
        """A number for the member that a job is on each link of a route, and where those links are."""
        rows = Rows.of(self._offset, route)
        return job.repeat(rows.size) * self._n_times + self._times[rows.at], rows


def _most_frequent(count: Mapping[int, int], routes: Sequence[Route]) -> int:
    # Ties go to the least route, and to any route before none: the order of candidates plays no part.
    return min(count, key=lambda number: (-count[number], number != ABSENT, routes[number]))


def _by_candidate(changes: Changes, n: int) -> list[Difference]:
    found = []
    parts = []
    for loads in (changes.dropped, changes.added):
        is_one = loads >= 0
        ends = np.searchsorted(changes.candidate[is_one], np.arange(n + 1))
        parts.append((loads[is_one], ends.tolist()))
    (dropped, gone), (added, come) = parts
    for (begin, end), (first, last) in zip(itertools.pairwise(gone), itertools.pairwise(come), strict=True):
        found.append(Difference(dropped[begin:end], added[first:last]))
    return found


def _check_cells(candidates: Sequence[Candidate], n_jobs: int) -> None:
    most = max(MAX_CELLS, CELLS_OF_A_ROUTE * sum(len(candidate.routes) for candidate in candidates))
    if len(candidates) * n_jobs > most:
        raise InputError(
            f"candidates: expected at most {most} pairs of a candidate and a job that some candidate places, "
            f"got {len(candidates)} candidates and {n_jobs} jobs"
        )
