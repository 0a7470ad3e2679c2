"""Racks and spines: which servers are free, where a job is put, and the links that its flows take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .jobs import NIC_GBPS
from .trace import Arrival

__all__ = ["RACKS", "SERVERS", "SPINES", "Flow", "Running", "capacities_gbps", "links", "route"]

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


def route(flows: Iterable[Flow], spines: Iterable[Sequence[int]]) -> Mapping[str, float]:
    """The links of a job whose flows go over these spines, each split evenly: how many flows' worth each carries."""
    found: dict[str, float] = defaultdict(float)
    for flow, over in zip(flows, spines, strict=True):
        for spine in over:
            for link in links(flow, spine):
                found[link] += 1 / len(over)
    return found
