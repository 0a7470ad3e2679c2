"""Search nodes that many searches share, counted as they are spent.

What a search may take is a limit; what it takes is known afterwards, and mostly it is far less. So a limit for all of
them together need not cut any of them short as long as most stay below theirs: it cuts those that come after too many
that did not. All is counted, nothing is timed: the same input gives the same answer.
"""

from __future__ import annotations

__all__ = ["Allowance"]

AHEAD = 4
"""A search may take so many times its even share of what is left: most take less."""


class Allowance:
    """Nodes for some parts, which are begun one after the other or in groups.

    Parameters
    ----------
    nodes : int or None
        Of all parts together; None for as many as they like. The parts of one group can exceed what is left by what
        they were allowed, so that the answer does not depend on which of them ends first.
    parts : int
        How many there are.
    """

    def __init__(self, nodes: int | None, parts: int) -> None:
        self._left = nodes
        self._parts = parts
        self.nodes = 0
        """Taken until now."""

    def limit(self, most: int | None) -> int | None:
        """What each of the next parts may take, at least 1 and at most ``most``."""
        if self._left is None:
            return most
        share = max(1, AHEAD * self._left // max(1, self._parts))
        return share if most is None else min(most, share)

    def spend(self, nodes: int, parts: int = 1) -> None:
        """Count what some parts took."""
        self.nodes += nodes
        self._parts -= parts
        if self._left is not None:
            self._left = max(0, self._left - nodes)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._left == 0
