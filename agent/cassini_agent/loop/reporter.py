"""What the daemon is told: iterations in batches, five times a second or every 32, and what matters at once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..control.change import Change
from ..local_link import LocalLink
from .records import Iteration

__all__ = ["Reporter"]

BATCH = 32
"""Iterations of one message: some 6 KiB."""

EVERY_NS = 200_000_000
"""Where another job strays, the coordinator needs to know where this one is now. A message takes some 20 us."""

NEWS_NS = 50_000_000
"""Between two messages, however much there is to tell: a daemon takes some 64 a second of a job."""


class Reporter:
    """Collects iterations and sends them; what cannot be sent at once is lost and counted, never kept.

    Attributes
    ----------
    following : int
        Number of the iteration after the last that was added.
    """

    def __init__(self, link: LocalLink) -> None:
        self._link = link
        self._batch: list[tuple[Iteration, int | None]] = []
        self.following = 0
        self._sent_ns = -EVERY_NS
        self._has_news = False

    def add(self, iteration: Iteration, error_ns: int | None) -> None:
        """An iteration has ended; its phase error, if it has a schedule."""
        self._batch.append((iteration, error_ns))
        self.following = iteration.number + 1

    def news(self) -> None:
        """Something is to be told soon, whether or not an iteration has ended since the last message."""
        self._has_news = True

    def flush(self, now_ns: int, totals: dict[str, Any], at_once: bool = False) -> None:
        """Send if it is time: ``totals`` goes along."""
        since_ns = now_ns - self._sent_ns
        due = len(self._batch) >= BATCH or since_ns >= EVERY_NS
        if not ((self._batch and (due or at_once)) or (self._has_news and since_ns >= NEWS_NS)):
            return
        self._sent_ns, self._has_news = now_ns, False
        iterations = [iteration for iteration, _ in self._batch]
        message = {
            "type": "iterations",
            "first": iterations[0].number if iterations else self.following,
            "start_ns": [one.start_ns for one in iterations],
            "natural_ns": [one.natural_ns for one in iterations],
            "delay_ns": [one.delay_ns for one in iterations],
            "error_ns": [error_ns for _, error_ns in self._batch],
            "communication_start_ns": [one.communication_start_ns for one in iterations],
            "communication_end_ns": [one.communication_end_ns for one in iterations],
            **totals,
        }
        self._batch.clear()
        self._link.send(message)

    def changed(self, change: Change) -> None:
        """The uncontrolled iteration time is another one."""
        self._link.send({"type": "changed", **asdict(change)})
