"""What happens when in a simulation; times are milliseconds of true time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

__all__ = ["Events"]


class Events:
    """Things to be done, in order of their times; in order of calls where times are equal."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, when_ms: float, what: Callable[[], None]) -> None:
        """Have something done at a time."""
        heapq.heappush(self._waiting, (when_ms, self._count, what))
        self._count += 1

    def step(self, until_ms: float) -> bool:
        """Do the next thing; False if nothing is to be done until then, which is the time now."""
        if not self._waiting or self._waiting[0][0] > until_ms:
            self.now_ms = max(self.now_ms, until_ms)
            return False
        when_ms, _, what = heapq.heappop(self._waiting)
        self.now_ms = max(self.now_ms, when_ms)
        what()
        return True

    def run(self, until_ms: float) -> None:
        """Do all that is to be done until then."""
        while self.step(until_ms):
            pass
