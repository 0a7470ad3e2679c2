"""What the daemon counts of itself. Plain numbers: the metrics read them, nothing here knows Prometheus."""

from __future__ import annotations

from collections import Counter

__all__ = ["Counts"]


class Counts:
    """Events by name, refusals by place and reason, errors by place.

    Reasons and places are words of the program, never of a peer, so their number is bounded.
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.errors: Counter[str] = Counter()

    def event(self, name: str, many: int = 1) -> None:
        self.events[name] += many

    def refuse(self, where: str, reason: str) -> None:
        self.refused[where, reason] += 1

    def error(self, where: str) -> None:
        self.errors[where] += 1
