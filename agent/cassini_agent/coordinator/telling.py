"""Events reach the scheduler, whose faults cost nobody anything; faults of ours are events."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from .events import Failed

__all__ = ["Telling"]

log = logging.getLogger("cassini_agent")


class Telling:
    """Tells a scheduler.

    Parameters
    ----------
    tell : callable
        Called with each event. What it raises is logged.

    Attributes
    ----------
    failures : Counter
        How often what failed.
    """

    def __init__(self, tell: Callable[[Any], None]) -> None:
        self._tell = tell
        self.failures: Counter[str] = Counter()

    def __call__(self, event: object) -> None:
        try:
            self._tell(event)
        except Exception:
            log.exception("the scheduler failed on %r", event)

    def failed(self, what: str, error: Exception) -> None:
        """Something failed through a fault of ours; one that stays is told of, but not for ever."""
        self.failures[what] += 1
        count = self.failures[what]
        if count & (count - 1) == 0:
            log.exception("%s failed (%d times)", what, count, exc_info=error)
            self(Failed(what, f"{type(error).__name__}: {error}", count))
