"""What cannot wait for the next look of the coordinator: a count that grows with each such change."""

from __future__ import annotations

import asyncio
import random

__all__ = ["Changes"]


class Changes:
    """Counts changes, and lets readers wait for the next one. For one event loop.

    Attributes
    ----------
    count : int
        Counted from a random number on: after a restart it is another one than a reader knows, which is a change too.
    """

    def __init__(self) -> None:
        self.count = random.getrandbits(48)
        self._next = asyncio.Event()

    def note(self) -> None:
        """Something changed: who waits is woken."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, known: int, timeout_s: float) -> None:
        """Return as soon as the count is not ``known``, or after ``timeout_s``."""
        if self.count != known:
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._next.wait()
        except TimeoutError:
            pass
