"""Which nodes hang together."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["parts_of"]


def parts_of(nodes: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each node one node of its part: the same one for all that pairs join. Nearly linear in nodes and pairs.

    Both ends of each pair are among the nodes.
    """
    above = {node: node for node in nodes}

    def top(node: str) -> str:
        while above[node] != node:
            above[node] = node = above[above[node]]
        return node

    for one, two in pairs:
        above[top(one)] = top(two)
    return {node: top(node) for node in above}
