"""A leaf-spine network: racks, their uplinks and downlinks, and the links a ring of racks crosses under ECMP."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from cassini_core import Link


@dataclass(frozen=True, slots=True)
class Fabric:
    """Racks under as many spine switches as a rack has uplinks: one uplink and one downlink per rack and spine.

    Attributes
    ----------
    racks, gpus_per_rack, uplinks : int
        At least 2, 1 and 1.
    gbps : float
        Capacity of every link, Gbit/s.
    """

    racks: int
    gpus_per_rack: int
    uplinks: int
    gbps: float

    def __post_init__(self) -> None:
        for name, least in (("racks", 2), ("gpus_per_rack", 1), ("uplinks", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: expected at least {least}, got {getattr(self, name)}")

    def links(self) -> list[Link]:
        """All uplinks and downlinks, rack by rack."""
        return [
            Link(_link_id(rack, direction, spine), self.gbps)
            for rack in range(self.racks)
            for direction in ("up", "down")
            for spine in range(self.uplinks)
        ]

    def ring_route(self, flow: str, racks: Sequence[int]) -> list[str]:
        """Links crossed by a ring through these racks, each once.

        Every rack sends to the next and the last to the first; a ring inside one rack crosses no link.

        Parameters
        ----------
        flow : str
            What ECMP hashes besides source and destination: the same flow always takes the same path.
        racks : sequence of int
            All different.
        """
        if len(racks) < 2:
            return []
        route = []
        for source, destination in zip(racks, [*racks[1:], racks[0]], strict=True):
            spine = self._spine(flow, source, destination)
            # One path from leaf to leaf for each spine: it fixes the uplink and the downlink.
            route += [_link_id(source, "up", spine), _link_id(destination, "down", spine)]
        return route

    def _spine(self, flow: str, source: int, destination: int) -> int:
        # Python's own hash of a string differs from run to run.
        digest = hashlib.blake2b(f"{flow} {source} {destination}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.uplinks


def _link_id(rack: int, direction: str, spine: int) -> str:
    return f"rack{rack:03d}-{direction}{spine}"
