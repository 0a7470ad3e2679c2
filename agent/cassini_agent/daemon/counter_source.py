"""What the daemon needs of the port counters: the newest figures, and what they say against a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

__all__ = ["CounterSource", "NoCounters", "open_counters"]


class CounterSource(Protocol):
    """Samples in a thread of its own; the methods give what is there and never wait.

    Whatever it raises is counted and costs an answer its ``counters``, nothing else.
    """

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> Mapping[str, Any] | None:
        """The newest figures, as they go into ``JobStatus``; None if there are none."""
        ...

    def disagreement(self, starts_ns: Sequence[int]) -> str | None:
        """What they say against the starts of communication a job told of (monotonic clock, oldest first).

        None: nothing. Text that begins with ``no counters``: why that cannot be said.
        """
        ...


class NoCounters:
    """Where the host has none, or nobody asked for them."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> None:
        return None

    def disagreement(self, starts_ns: Sequence[int]) -> None:
        return None


def open_counters(rdma_ports: Sequence[str] = (), net_devices: Sequence[str] = ()) -> CounterSource:
    """The counters of this host; without names, those of its active RDMA ports, or else of its default routes.

    Raises
    ------
    OSError, ValueError
        No such port or device.
    """
    from ..counters.watch import CounterWatch, open_sources

    return CounterWatch(*open_sources(rdma_ports or None, net_devices or None))
