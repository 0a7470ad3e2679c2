"""Racks and spines: which servers are free, where a job is put, and the links that its flows take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .jobs import NIC_GBPS
from .trace import Arrival

__all__ = ["RACKS", "SERVERS", "SPINES", "Running", "best_fit", "capacities_gbps", "route"]

RACKS, SERVERS, SPINES = 16, 8, 16
"""Racks; servers of a rack; spines, to each of which a rack has one link up and one down."""

Flow = tuple[int, int]
"""From a rack to another one."""


@dataclass(frozen=True, slots=True)
class Running:
    """A job that runs, and its flows between racks: all that it has on links that others use."""

    job: Arrival
    racks: tuple[int, ...]  # of its servers
    flows: tuple[Flow, ...]

    @classmethod
    def of(cls, job: Arrival, racks: Sequence[int]) -> Running:
        """A job whose servers are in these racks."""
        return cls(job, tuple(racks), tuple(job.kind.flows(racks)))


def capacities_gbps() -> dict[str, float]:
    """Of all links between racks and spines."""
    return {link: NIC_GBPS for rack in range(RACKS) for spine in range(SPINES) for link in links((rack, rack), spine)}


def links(flow: Flow, spine: int) -> tuple[str, str]:
    """Up and down."""
    return f"up {flow[0]} {spine}", f"down {spine} {flow[1]}"


def route(flows: Iterable[Flow], spines: Iterable[int]) -> Mapping[str, float]:
    """The links of a job whose flows go over these spines: how many of its flows each carries."""
    return Counter(link for flow, spine in zip(flows, spines, strict=True) for link in links(flow, spine))


def best_fit(free: Sequence[int], servers: int) -> list[int]:
    """Where MonkeyTree's scheduler, and that of all it is compared with, puts a job; there is room for it.

    The fullest rack that has room for all of it; if there is none, all that is free in the emptiest, and so on.

    Parameters
    ----------
    free : sequence of int, length RACKS
        Servers.
    servers : int

    Returns
    -------
    list of int
        The rack of each server.
    """
    fitting = [rack for rack in range(len(free)) if free[rack] >= servers]
    if fitting:
        return [min(fitting, key=lambda rack: free[rack])] * servers
    found: list[int] = []
    for rack in sorted(range(len(free)), key=lambda rack: -free[rack]):
        found += [rack] * min(free[rack], servers - len(found))
    return found
