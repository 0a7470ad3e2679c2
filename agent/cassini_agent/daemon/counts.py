"""What the daemon counts of itself. Plain numbers: the metrics read them, nothing here knows Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

__all__ = ["Counts"]


class Counts:
    """Events by name, refusals by place and reason, errors by place.

    Reasons and places are words of the program, never of a peer, so their number is bounded.
    """

    def __init__(self) -> None:
        self._events: Counter[str] = Counter()
        self._refused: Counter[tuple[str, str]] = Counter()
        self._errors: Counter[str] = Counter()

    def event(self, name: str, many: int = 1) -> None:
        self._events[name] += many

    def refuse(self, where: str, reason: str) -> None:
        self._refused[where, reason] += 1

    def error(self, where: str) -> None:
        self._errors[where] += 1

    @property
    def events(self) -> Mapping[str, int]:
        return self._events

    @property
    def refused(self) -> Mapping[tuple[str, str], int]:
        return self._refused

    @property
    def errors(self) -> Mapping[str, int]:
        return self._errors
