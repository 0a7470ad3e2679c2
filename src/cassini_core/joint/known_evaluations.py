"""What links score at relative shifts, each evaluated once, whichever placement asks.

Candidates of one round differ in few links, so most links are asked for at shifts at which they were evaluated before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, Float64Array, Int64Array, Rows, cut, offsets
from .placement_loops import UNKNOWN
from .scoring import Table

__all__ = ["Compute", "Evaluations", "KnownEvaluations"]

Compute: TypeAlias = Callable[[Int64Array, Int64Array], tuple[Float64Array, Float64Array, Int64Array, Int64Array]]
"""``compute(problem, relative)``: lower and upper bound of the score and hold of each, and slack of each job."""

_FIRST_ROOM = 64

Number = TypeVar("Number", np.int64, np.float64)


class Evaluations(NamedTuple):
    """Evaluations, one after the other: see the attributes of :class:`KnownEvaluations`; ``first[0]`` is 0."""

    problem: Int64Array
    first: Int64Array
    relative: Int64Array
    lower: Float64Array
    upper: Float64Array
    hold: Int64Array
    slack: Int64Array


class KnownEvaluations:
    """Evaluations by number, as arrays; may be used from several threads.

    An array that is full is replaced by a longer one, and no entry changes: who got a number finds it in the arrays of
    that time and of any later.

    Parameters
    ----------
    table : Table or None
        Compiled loops over a hash table; None: a dictionary is asked.

    Attributes
    ----------
    count : int
        How many are known.
    problem, hold : int64 array
        By number; entries from ``count`` on mean nothing. ``hold`` in ticks.
    lower, upper : float64 array
        Certified bounds on the score.
    first : int64 array
        The first entry of each number in ``relative`` and ``slack``.
    relative, slack : int64 array
        One entry per job, ticks.
    """

    def __init__(self, table: Table | None) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._number: dict[tuple[int, bytes], int] = {}
        self._slot = np.full(2 * _FIRST_ROOM, UNKNOWN)
        self._hash = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self.count = 0
        self.problem, self.hold = np.zeros((2, _FIRST_ROOM), dtype=np.int64)
        self.lower, self.upper = np.zeros((2, _FIRST_ROOM))
        self.first = np.zeros(_FIRST_ROOM + 1, dtype=np.int64)
        self.relative, self.slack = np.zeros((2, _FIRST_ROOM), dtype=np.int64)

    def numbers(self, problem: Int64Array, first: Int64Array, relative: Int64Array, compute: Compute) -> Int64Array:
        """The numbers of some evaluations; what is not known is computed.

        Parameters
        ----------
        problem : int64 array, shape (questions,)
        first : int64 array, shape (questions + 1,)
            Where the jobs of each question begin in ``relative``; 0 first.
        relative : int64 array, shape (jobs of all questions,)
            Shifts against the first job of the link, ticks in ``[0, period)``.
        compute : callable
            Called without a lock; two threads may ask the same at a time.
        """
        hashes, number = np.empty((2, len(problem)), dtype=np.int64)
        keys = [] if self._table else list(zip(problem.tolist(), cut(relative, first), strict=True))
        with self._lock:
            some, asked = self._find(keys, problem, first, relative, hashes, number)
        if not len(some):
            return number
        lower, upper, hold, slack = compute(problem[some], asked)
        with self._lock:
            self._make_room(len(some), len(slack))
            if self._table is None:
                self._add(keys, some, first, relative, lower, upper, hold, slack, number)
            else:
                self.count = self._table.add(
                    some,
                    problem,
                    first,
                    relative,
                    hashes,
                    lower,
                    upper,
                    hold,
                    slack,
                    self.count,
                    self._slot,
                    self.problem,
                    self.first,
                    self.relative,
                    self._hash,
                    self.lower,
                    self.upper,
                    self.hold,
                    self.slack,
                    number,
                )
        return number

    def look(
        self,
        problem: Int64Array,
        first: Int64Array,
        relative: Int64Array,
        to_lower: Float64Array,
        to_upper: Float64Array,
        to_hold: Int64Array,
        to_slack: Int64Array,
        to_is_known: BoolArray,
    ) -> None:
        """Copies what is known of some evaluations; arguments as :meth:`numbers`.

        Questions that are known already, and those whose problem is ``UNKNOWN``, are left out. Changes nothing here, so
        that it takes no lock; nobody may add anything any more.
        """
        if self._table is not None:
            known = self.problem, self.first, self.relative, self.lower, self.upper, self.hold, self.slack
            to = to_lower, to_upper, to_hold, to_slack, to_is_known
            self._table.look(problem, first, relative, *known, self._slot, *to)
            return
        get = self._number.get
        number = np.array([get(key, UNKNOWN) for key in zip(problem.tolist(), cut(relative, first), strict=True)])
        found = np.flatnonzero((number != UNKNOWN) & ~to_is_known)
        there = number[found]
        to_lower[found], to_upper[found], to_hold[found] = self.lower[there], self.upper[there], self.hold[there]
        to_slack[Rows.of(first, found).at] = self.slack[Rows.of(self.first, there).at]
        to_is_known[found] = True

    def since(self, number: int) -> Evaluations:
        """All that have this number or a higher one."""
        with self._lock:
            numbers = slice(number, self.count)
            first = self.first[number : self.count + 1].copy()
            entries = slice(int(first[0]), int(first[-1]))
            of_each = self.lower[numbers].copy(), self.upper[numbers].copy(), self.hold[numbers].copy()
            relative, slack = self.relative[entries].copy(), self.slack[entries].copy()
            return Evaluations(self.problem[numbers].copy(), first - first[0], relative, *of_each, slack)

    def _find(
        self,
        keys: list[tuple[int, bytes]],
        problem: Int64Array,
        first: Int64Array,
        relative: Int64Array,
        to_hash: Int64Array,
        to_number: Int64Array,
    ) -> tuple[Int64Array, Int64Array]:
        """What the table's ``find`` does: the places of what is new, and the shifts of its jobs."""
        if self._table is not None:
            self._make_room(len(problem), len(relative))
            place, new = np.empty((2, len(problem)), dtype=np.int64)
            asked_now = np.empty(len(relative), dtype=np.int64)
            known = self.problem, self.first, self.relative, self._slot
            to = place, to_hash, to_number, new, asked_now
            count, size = self._table.find(problem, first, relative, *known, *to)
            return new[:count], asked_now[:size]
        known_number, asked = self._number, dict[tuple[int, bytes], int]()
        for k, key in enumerate(keys):
            number = known_number.get(key)
            if number is None:
                number = UNKNOWN - 1 - asked[key] if key in asked else UNKNOWN
                asked.setdefault(key, k)
            to_number[k] = number
        some = np.flatnonzero(to_number == UNKNOWN)
        return some, relative[Rows.of(first, some).at]

    def _add(
        self,
        keys: list[tuple[int, bytes]],
        some: Int64Array,
        first: Int64Array,
        relative: Int64Array,
        lower: Float64Array,
        upper: Float64Array,
        hold: Int64Array,
        slack: Int64Array,
        to_number: Int64Array,
    ) -> None:
        """What the table's ``add`` does, with the dictionary."""
        begin = self.count
        own = []  # places in some that nobody added meanwhile
        for i, k in enumerate(some.tolist()):
            number = self._number.setdefault(keys[k], self.count)
            to_number[k] = number
            if number == self.count:
                self.count += 1
                own.append(i)
        size = first[some + 1] - first[some]
        mine = np.array(own, dtype=np.int64)
        numbers = slice(begin, self.count)
        self.lower[numbers], self.upper[numbers], self.hold[numbers] = lower[mine], upper[mine], hold[mine]
        self.problem[numbers] = [keys[k][0] for k in some[mine].tolist()]
        self.first[begin + 1 : self.count + 1] = self.first[begin] + np.cumsum(size[mine])
        entries = slice(int(self.first[begin]), int(self.first[self.count]))
        self.relative[entries] = relative[Rows.of(first, some[mine]).at]
        self.slack[entries] = slack[Rows.of(offsets(size), mine).at]
        equal = np.flatnonzero(to_number < UNKNOWN)
        to_number[equal] = to_number[UNKNOWN - 1 - to_number[equal]]

    def _make_room(self, n_more: int, n_more_entries: int) -> None:
        need = self.count + n_more
        if need > len(self.problem):
            room = 2 * need
            self.problem, self.hold = _longer(self.problem, room), _longer(self.hold, room)
            self._hash = _longer(self._hash, room)
            self.lower, self.upper = _longer(self.lower, room), _longer(self.upper, room)
            self.first = _longer(self.first, room + 1)
        need_entries = int(self.first[self.count]) + n_more_entries
        if need_entries > len(self.relative):
            self.relative = _longer(self.relative, 2 * need_entries)
            self.slack = _longer(self.slack, 2 * need_entries)
        if self._table is not None and 2 * need > len(self._slot):
            self._slot = np.full(4 << (2 * need).bit_length(), UNKNOWN)
            self._table.hash_again(self._hash, self.count, self._slot)


def _longer(array: npt.NDArray[Number], room: int) -> npt.NDArray[Number]:
    longer = np.zeros(room, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
