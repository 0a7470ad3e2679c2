"""What candidates of a ranking say of single jobs and links, told by what most of them say alike.

A mapping is told by the keys at which it differs from that of a base, with None for a key that it does not have. A list
is told by pieces, in order: ``[begin, end]`` stands for these entries of the list of the base, which come later than
those of the pieces before, and all else for itself. All is told, whatever the base, and shortly where little differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from typing import Any, TypeVar

__all__ = ["LISTS", "MAPPINGS", "Base", "Told", "whole_list", "whole_mapping"]

MAPPINGS = "shifts_ms", "slack_ms"
"""Fields of a candidate that are mappings by job."""

LISTS = "free_jobs", "links", "narrow_links", "warnings"
"""Fields of a candidate that are lists of jobs, links or lines."""

SAMPLE = 15
"""Candidates, evenly spread, of which a base has what most of them say."""

TOGETHER = 16
"""Entries that are compared at once."""

Entry = TypeVar("Entry", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Told:
    """The fields of a candidate by their difference from a base, and how many values that takes.

    Entries of lists come with their place in the whole list.
    """

    mappings: Mapping[str, Mapping[str, float | None]]
    lists: Mapping[str, Sequence[list[int] | tuple[int, Any]]]

    @property
    def size(self) -> int:
        """Values and pieces."""
        return sum(map(len, self.mappings.values())) + sum(map(len, self.lists.values()))


class Base:
    """What some candidates are told by: nothing, unless it is said what.

    Parameters
    ----------
    mappings, lists : mapping
        By the name of the field.
    """

    def __init__(
        self,
        mappings: Mapping[str, Mapping[str, float]] | None = None,
        lists: Mapping[str, tuple[Any, ...]] | None = None,
    ) -> None:
        self.mappings = {name: {} for name in MAPPINGS} if mappings is None else mappings
        self.lists = dict.fromkeys(LISTS, ()) if lists is None else lists
        self._place = {name: {entry: at for at, entry in enumerate(entries)} for name, entries in self.lists.items()}

    @classmethod
    def of(cls, candidates: Sequence[Mapping[str, Any]]) -> Base:
        """What most of some candidates say; O(all that they say)."""
        return cls(
            {name: dict(sorted(_most([one[name].items() for one in candidates]))) for name in MAPPINGS},
            {name: tuple(_in_order([one[name] for one in candidates])) for name in LISTS},
        )

    def told(self, fields: Mapping[str, Any]) -> Told:
        """A candidate; O(all that it says)."""
        return Told(
            {name: _changes(fields[name], self.mappings[name]) for name in MAPPINGS},
            {name: _pieces(fields[name], self.lists[name], self._place[name]) for name in LISTS},
        )


def whole_mapping(base: Mapping[str, float], changes: Mapping[str, float | None]) -> dict[str, float]:
    """What was told, keys sorted."""
    merged = {**base, **changes}
    return {key: value for key in sorted(merged) if (value := merged[key]) is not None}


def whole_list(base: Sequence[Entry], pieces: Iterable[list[int] | Entry]) -> tuple[Entry, ...]:
    """What was told."""
    return tuple(chain.from_iterable(base[one[0] : one[1]] if isinstance(one, list) else (one,) for one in pieces))


def _changes(values: Mapping[str, float], base: Mapping[str, float]) -> dict[str, float | None]:
    changes: dict[str, float | None] = {key: value for key, value in values.items() if base.get(key) != value}
    return changes | {key: None for key in base if key not in values}


def _pieces(
    entries: tuple[Entry, ...], base: tuple[Entry, ...], place: Mapping[Entry, int]
) -> list[list[int] | tuple[int, Entry]]:
    pieces: list[list[int] | tuple[int, Entry]] = []
    at, last = 0, 0
    while at < len(entries):
        begin = end = place.get(entries[at], -1)
        if begin < last:
            pieces.append((at, entries[at]))
            at += 1
            continue
        while entries[at : at + TOGETHER] == base[end : end + TOGETHER] != ():
            at, end = min(at + TOGETHER, len(entries)), min(end + TOGETHER, len(base))
        while at < len(entries) and end < len(base) and (entries[at] is base[end] or entries[at] == base[end]):
            at, end = at + 1, end + 1
        pieces.append([begin, end])
        last = end
    return pieces


def _most(some: Sequence[Collection[Entry]]) -> list[Entry]:
    """Entries that more than half of some lists have."""
    count = Counter(chain.from_iterable(map(dict.fromkeys, some)))
    return [entry for entry, lists in count.items() if 2 * lists > len(some)]


def _in_order(some: Sequence[Collection[Entry]]) -> list[Entry]:
    """The same in an order that is that of each list, where there is one: of two such entries some list has both."""
    entries = _most(some)
    sorter: TopologicalSorter[Entry] = TopologicalSorter({entry: [] for entry in entries})
    known = frozenset(entries)
    for one in some:
        for before, entry in pairwise(entry for entry in one if entry in known):
            sorter.add(entry, before)
    try:
        return list(sorter.static_order())
    except CycleError:
        return entries
