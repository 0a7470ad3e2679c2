"""What a user could pick instead, one module each, written from its description.

A peer takes a :class:`bench.link.grid.Grid` and returns rotations. Laying it out and searching it are timed apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from bench.link.grid import Grid

from .answer import PeerAnswer

__all__ = ["PEERS", "Peer", "PeerAnswer", "available"]

Solve = Callable[[Grid, float], PeerAnswer]


@dataclass(frozen=True, slots=True)
class Peer:
    """A way to choose rotations.

    Attributes
    ----------
    name : str
        As it stands in tables.
    module : str
        Below ``bench.link.peers``.
    needs : str or None
        Package that must be installed.
    proves : bool
        Whether it can prove an optimum on its grid.
    """

    name: str
    module: str
    needs: str | None
    proves: bool

    def solve(self) -> Solve:
        """Its ``solve(grid, time_limit_s)``."""
        solve: Solve = import_module(f"bench.link.peers.{self.module}").solve
        return solve


PEERS = (
    Peer("CP-SAT", "cp_sat", "ortools", True),
    Peer("HiGHS", "highs", "highspy", True),
    Peer("NumPy enumeration", "numpy_enumeration", None, True),
    Peer("Numba enumeration", "numba_enumeration", "numba", True),
    Peer("greedy rotation", "greedy_rotation", None, False),
    Peer("100 random delays", "random_delays", None, False),
)


def available() -> list[Peer]:
    """The peers whose packages are installed."""
    return [peer for peer in PEERS if peer.needs is None or find_spec(peer.needs)]
