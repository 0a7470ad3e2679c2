"""What the daemon is told: iterations in batches, five times a second or every 32, and what matters at once."""

from __future__ import annotations

from typing import Any

from ..local_link import LocalLink
from .records import Iteration

__all__ = ["Reporter"]

BATCH = 32
"""Iterations of one message: some 6 KiB."""

EVERY_NS = 200_000_000
"""Where another job strays, the coordinator needs to know where this one is now. A message takes some 20 us."""


class Reporter:
    """Collects iterations and sends them; what cannot be sent at once is lost and counted, never kept."""

    def __init__(self, link: LocalLink) -> None:
        self._link = link
        self._batch: list[tuple[Iteration, int | None]] = []
        self._sent_ns = 0
        self._said: tuple[str, int] = ("waiting", 0)

    def add(self, iteration: Iteration, error_ns: int | None) -> None:
        """An iteration has ended; its phase error, if it has a schedule."""
        self._batch.append((iteration, error_ns))

    def flush(self, now_ns: int, totals: dict[str, Any], at_once: bool = False) -> None:
        """Send if it is time: ``totals`` goes along. At once where the job is out of its place, or in another state."""
        due = len(self._batch) >= BATCH or now_ns - self._sent_ns >= EVERY_NS
        said = totals["state"], totals["version"]
        news = said != self._said or totals["state"] == "adjusting"
        if not self._batch or not (due or news or at_once):
            return
        self._sent_ns, self._said = now_ns, said
        iterations = [iteration for iteration, _ in self._batch]
        message = {
            "type": "iterations",
            "first": iterations[0].number,
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

    def changed(self, iteration_ns: int, was_ns: int) -> None:
        """The natural iteration time is another one."""
        self._link.send({"type": "changed", "iteration_ns": iteration_ns, "was_ns": was_ns})
