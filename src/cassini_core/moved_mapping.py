"""Mappings that are told by how they differ from another one, and take memory for the difference alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Generic, TypeVar

__all__ = ["MovedMapping", "NotSeenBefore", "changed_keys", "moved", "told_by"]

V = TypeVar("V")

MOST_CHANGED = 1 / 4
"""With a larger share of changed keys a mapping of its own is as good."""


class MovedMapping(Mapping[str, V]):
    """The mapping ``base`` with some keys changed; read-only, if ``base`` is.

    Keys are in the order of ``base``, those that it does not have come last. Looking one up takes O(1).

    Parameters
    ----------
    base : mapping
        Not a MovedMapping itself.
    changes : mapping
        Values in place of those of ``base``, and of other keys; None for a key of ``base`` that is not there.
    """

    __slots__ = ("_n", "base", "changes")

    def __init__(self, base: Mapping[str, V], changes: Mapping[str, V | None]) -> None:
        self.base = base
        self.changes = changes
        absent = sum(value is None for value in changes.values())
        self._n = len(base) - absent + sum(key not in base for key in changes)

    def __getitem__(self, key: str) -> V:
        if key not in self.changes:
            return self.base[key]
        value = self.changes[key]
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        absent = {key for key, value in self.changes.items() if value is None}
        yield from (key for key in self.base if key not in absent) if absent else self.base
        yield from (key for key in self.changes if key not in self.base)

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return repr(dict(self))


def moved(base: Mapping[str, V], changes: Mapping[str, V | None]) -> Mapping[str, V]:
    """``base`` with some keys changed: a MovedMapping, or a dict where most keys are changed.

    Parameters
    ----------
    base : mapping
    changes : mapping
        As in :class:`MovedMapping`: None only for keys of ``base``.

    Notes
    -----
    O(changes) where there are few, also where ``base`` is a MovedMapping.
    """
    if isinstance(base, MovedMapping):
        root = base.base
        together = {**base.changes, **changes}
        changes = {key: value for key, value in together.items() if value is not None or key in root}
        base = root
    if len(changes) > MOST_CHANGED * len(base):
        merged = {**base, **changes}
        return {key: value for key, value in merged.items() if value is not None}
    return MovedMapping(base, changes)


def told_by(mapping: Mapping[str, V]) -> tuple[Mapping[str, V], Mapping[str, V | None]]:
    """The mapping that a mapping is told by, and its changes; a mapping that is no MovedMapping by itself."""
    return (mapping.base, mapping.changes) if isinstance(mapping, MovedMapping) else (mapping, {})


def changed_keys(mapping: Mapping[str, V], other: Mapping[str, V]) -> Set[str]:
    """Keys at which two mappings may differ: few where both have the same ``base`` object, else all of both."""
    (base, changes), (of_other, others) = told_by(mapping), told_by(other)
    return changes.keys() | others.keys() if base is of_other else mapping.keys() | other.keys()


class NotSeenBefore(Generic[V]):
    """Goes through the items of many mappings, through those that they have in common once.

    Mappings with the same ``base`` object have its items in common.
    """

    def __init__(self) -> None:
        # By the id of a mapping, which is kept so that no other gets this id: its keys that were not seen, in order.
        self._left: dict[int, tuple[Mapping[str, V], dict[str, None]]] = {}

    def items(self, mapping: Mapping[str, V]) -> Iterable[tuple[str, V]]:
        """Some of its items, all that were not seen before included. O(changes) where its base was seen."""
        if not isinstance(mapping, MovedMapping):
            self._left[id(mapping)] = mapping, {}
            return mapping.items()
        base, changes = mapping.base, mapping.changes
        if id(base) not in self._left:
            self._left[id(base)] = base, {key: None for key in base if key in changes}
            return mapping.items()
        _, left = self._left[id(base)]
        shown = [key for key in left if key not in changes]
        for key in shown:
            del left[key]
        changed = [(key, value) for key, value in changes.items() if value is not None]
        return [(key, base[key]) for key in shown] + changed
