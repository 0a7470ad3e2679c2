"""For how long something has been as it is."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Lasting"]

T = TypeVar("T")


class Lasting(Generic[T]):
    """A value that is looked at now and then.

    Parameters
    ----------
    value : any
        What it is until it is first looked at.
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self._since_ns = 0

    def look(self, value: T, now_ns: int) -> int:
        """What it is now; for how long it has been that, ns. 0 where it is something else than at the last look."""
        if value != self.value:
            self.value, self._since_ns = value, now_ns
        return now_ns - self._since_ns
