"""Does the gain grow with the cluster? More of the testbed's racks, and as many more tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..cases import Case
from ..comparison import median_of
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..report import number
from ..sweeps import gain_rows, plot_gains, sweep

TITLE = "Cluster size (tasks packed by topology)"


def _size(leaves: int) -> Mapping[str, Any]:
    gpus = 4 * leaves
    return {
        "size": {"leaves": leaves, "hosts": 4, "spines": 2},
        "tasks": {"load": 0.9, "gpus": gpus, "count": round(gpus * 1.25), "iterations": [200, 400]},
    }


SIZES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {f"{4 * leaves} GPUs": _size(leaves) for leaves in (6, 24, 96, 256, 1024)}
)
"""Racks of four servers with two uplinks, as in the testbed, under two switches."""


def run(settings: Settings) -> dict[str, Any]:
    """Each size with and without Cassini."""
    base = Case("Packed", network="leaves and spines", options=OPTIONS)
    return sweep(base, "Packed", dict(list(SIZES.items())[: 1 if settings.quick else len(SIZES)]), settings)


def rows(data: dict[str, Any]) -> list[Row]:
    """Gains, and what a simulation takes."""
    found = gain_rows(data)
    for name, of in data.items():
        took = median_of(of["with"]["counts"]["took_s"])
        rounds = median_of(of["with"]["counts"]["rounds"])
        note = f"{rounds[0]:.0f} rounds, ranking included"
        found.append(Row(f"{name}: a simulation takes", "", number(took, 1, "s"), note))
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """Slowdowns and gains by size."""
    plot_gains(data, path, "Packed by topology")
