"""Events reach the scheduler, whose faults cost nobody anything; faults of ours are events."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from .events import Event, Failed

__all__ = ["Telling"]

log = logging.getLogger("cassini_agent")


class Telling:
    """Tells a scheduler.

    Parameters
    ----------
    tell : callable
        Called with each event. What it raises is logged.
    """

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._failures: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        try:
            self._tell(event)
        except Exception:
            log.exception("the scheduler failed on %r", event)

    def failed(self, what: str, error: Exception) -> None:
        """Something failed through a fault of ours; one that stays is told of, but not for ever."""
        self._failures[what] += 1
        count = self._failures[what]
        if count & (count - 1) == 0:
            log.exception("%s failed (%d times)", what, count, exc_info=error)
            self(Failed(what, f"{type(error).__name__}: {error}", count))
