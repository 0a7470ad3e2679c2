"""What the daemon needs of the port counters: the newest figures, and what they say about its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..counters.starts import Heard, Witness

__all__ = ["CounterSource", "NoCounters", "open_counters"]


class CounterSource(Protocol):
    """Samples in a thread of its own; the methods give what is there, from any thread, and never wait.

    Whatever it raises is counted and costs an answer what comes of counters, nothing else.
    """

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> Mapping[str, Any] | None:
        """The newest figures, as they go into ``JobStatus``; None if there are none."""
        ...

    def witness(self, jobs: Mapping[str, Heard]) -> Mapping[str, Witness]:
        """What they say about each job, given what all the jobs that are connected told (monotonic clock)."""
        ...


class NoCounters:
    """Where the host has none, or nobody asked for them."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> None:
        return None

    def witness(self, jobs: Mapping[str, Heard]) -> dict[str, Witness]:
        return {}


def open_counters(rdma_ports: Sequence[str] = (), net_devices: Sequence[str] = ()) -> CounterSource:
    """The counters of this host; without names, those of its active RDMA ports, or else of its default routes.

    Raises
    ------
    OSError, ValueError
        No such port or device.
    """
    from ..counters.watch import CounterWatch, open_sources

    return CounterWatch(*open_sources(rdma_ports or None, net_devices or None))
