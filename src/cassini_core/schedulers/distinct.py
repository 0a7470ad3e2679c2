"""Of allocations that are drawn, those that differ."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from .state import Allocation

__all__ = ["distinct"]

_FRUITLESS = 20
"""Draws in a row that came before, until no more are made."""


def distinct(drawn: Iterator[Allocation], most: int) -> list[Allocation]:
    """The first ``most`` allocations that differ; fewer if 20 in a row came before or no more are drawn."""
    found: dict[Hashable, Allocation] = {}
    fruitless = 0
    for allocation in drawn:
        key = tuple(sorted((task, tuple(sorted(hosts.items()))) for task, hosts in allocation.items()))
        fruitless = fruitless + 1 if key in found else 0
        found.setdefault(key, allocation)
        if len(found) == most or fruitless == _FRUITLESS:
            break
    return list(found.values())
