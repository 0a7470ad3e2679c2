"""When things happen in the training loop, on the host's monotonic clock.

A timeline takes marks and gives their times once they are known. On the host a mark's time is known at once; on a GPU
(:mod:`cuda_timeline`) only when the stream has come to it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

__all__ = ["HostTimeline", "Name", "Timeline"]

Name = tuple[str, int]
"""Of a mark: what happened, and in which iteration."""


class Timeline(Protocol):
    """Marks and their times. No call waits for anything."""

    def is_capturing(self) -> bool:
        """Whether what the loop launches is only recorded for later: nothing may be marked or asked for meanwhile."""

    def mark(self, name: Name) -> None:
        """Remember this moment."""

    def known(self) -> list[tuple[Name, int]]:
        """Marks whose times became known since the last call, in the order they were made, with monotonic ns."""


class HostTimeline:
    """Marks on the host's clock: a mark's time is that of its call."""

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._now_ns = now_ns
        self._marks: deque[tuple[Name, int]] = deque(maxlen=1024)

    def is_capturing(self) -> bool:
        """Never."""
        return False

    def mark(self, name: Name) -> None:
        """Remember this moment."""
        self._marks.append((name, self._now_ns()))

    def known(self) -> list[tuple[Name, int]]:
        """All marks since the last call."""
        marks = list(self._marks)
        self._marks.clear()
        return marks
