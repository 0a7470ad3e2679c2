"""What the daemon needs of the port counters: the newest rates, and when the network was busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

__all__ = ["CounterSource", "NoCounters"]


class CounterSource(Protocol):
    """Samples in a thread of its own; the methods give what is there and never wait.

    Whatever it raises is counted and costs the answer its ``counters``, nothing else.
    """

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> Mapping[str, Any] | None:
        """The newest sample, as it goes into ``JobStatus``; None before the first."""
        ...

    def bursts_ns(self) -> Sequence[tuple[int, int]]:
        """Begin and end of the last busy spells, oldest first, on the host's monotonic clock."""
        ...


class NoCounters:
    """Where the host has none, or nobody asked for them."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> None:
        return None

    def bursts_ns(self) -> Sequence[tuple[int, int]]:
        return ()
