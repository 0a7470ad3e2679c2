"""What links carry in candidates that differ from the base placement: equal loads get equal numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, Int64Array, Rows, cut, offsets, runs

__all__ = ["ChangedLoads", "Changes", "Loads", "Moves"]


class Loads(NamedTuple):
    """Links with all members that they carry.

    Load ``i`` is that of the link ``link[i]``; its members are ``member[offset[i] : offset[i + 1]]``, ascending.
    """

    link: Int64Array
    offset: Int64Array
    member: Int64Array

    def counts(self) -> Int64Array:
        """How many members each has."""
        return np.diff(self.offset)


class Moves(NamedTuple):
    """Members that leave a link or come to it, one an entry, in the order in which they are read.

    ``candidate`` are numbers from 0 on; ``come`` is false for a member that leaves. A member that leaves a link and
    comes to it again, in the same candidate, has not moved.
    """

    candidate: Int64Array
    link: Int64Array
    member: Int64Array
    come: BoolArray


class Changes(NamedTuple):
    """The links of some candidates that carry something else than in the base placement, by candidate and link.

    ``dropped`` are numbers of loads of the base placement, ``added`` of those instead of them; -1 for none.
    """

    candidate: Int64Array
    dropped: Int64Array
    added: Int64Array


class ChangedLoads:
    """Numbers the loads of candidates, some candidates at a time; those of the base placement come first.

    Parameters
    ----------
    base : Loads
        Of the base placement, ascending by link.
    n_links, n_members : int
    """

    def __init__(self, base: Loads, n_links: int, n_members: int) -> None:
        self._base, self._n_links, self._n_members = base, n_links, n_members
        self._in_base = np.full(n_links, -1, dtype=np.int64)
        self._in_base[base.link] = np.arange(len(base.link))
        self._n_carried = np.zeros(n_links, dtype=np.int64)
        self._n_carried[base.link] = base.counts()
        self._number: dict[bytes, int] = {}  # by what differs from the base placement
        self._found = [base]

    def loads(self) -> Loads:
        """All, by number."""
        counts = np.concatenate([part.counts() for part in self._found])
        link, member = (np.concatenate([part[k] for part in self._found]) for k in (0, 2))
        return Loads(link, offsets(counts), member)

    def read(self, moves: Moves) -> Changes:
        """What candidates change; O(moves log moves) in whole arrays, and a look-up for each changed link."""
        place = moves.candidate * self._n_links + moves.link
        moved = place * self._n_members + moves.member
        order = moved.argsort(kind="stable")
        starts = runs(moved[order])
        alone = np.diff(starts, append=len(order)) == 1  # two are one that leaves and the same that comes
        real = order[starts[alone]]
        changed = runs(place[real])
        at = place[real[changed]]
        link = at % self._n_links
        step = np.where(moves.come[real], 1, -1)
        n_carried = self._n_carried[link] + (np.add.reduceat(step, changed) if len(changed) else 0)
        carries = n_carried > 0

        content = (moves.link[real] * self._n_members + moves.member[real]) * 2 + moves.come[real]
        ends = np.append(changed, len(real))
        keys = cut(content, ends)
        # Numbers ascend in the order in which links are first touched.
        touched = runs(place[order])
        first = np.minimum.reduceat(order, touched) if len(touched) else order
        first = first[np.searchsorted(place[order[touched]], at)]
        turn = first.argsort(kind="stable")
        turn = turn[carries[turn]]
        known, before = self._number, len(self._number)
        numbers = np.array([known.setdefault(keys[k], len(known)) for k in turn.tolist()], dtype=np.int64)
        added = np.full(len(at), -1, dtype=np.int64)
        added[turn] = numbers + len(self._base.link)
        values, where = np.unique(numbers, return_index=True)
        self._add(moves, real, ends, turn[where[values >= before]], link)
        return Changes(at // self._n_links, self._in_base[link], added)

    def _add(self, moves: Moves, real: Int64Array, offset: Int64Array, new: Int64Array, link: Int64Array) -> None:
        """The members of the loads of some changed links, which nobody had before."""
        base, width = self._base, self._n_members
        has = np.flatnonzero(self._in_base[link[new]] >= 0)
        rows = Rows.of(base.offset, self._in_base[link[new[has]]])
        usual = has.repeat(rows.size) * width + base.member[rows.at]
        rows = Rows.of(offset, new)
        entry = real[rows.at]
        own = np.arange(len(new)).repeat(rows.size) * width + moves.member[entry]
        come = moves.come[entry]
        stays = np.ones(len(usual), dtype=np.bool_)
        stays[np.searchsorted(usual, own[~come])] = False
        both = np.sort(np.concatenate((usual[stays], own[come])), kind="stable")
        load, member = np.divmod(both, width)
        self._found.append(Loads(link[new], offsets(np.bincount(load, minlength=len(new))), member))
