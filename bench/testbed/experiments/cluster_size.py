"""Does the gain grow with the cluster? More of the testbed's racks, filled with as many more tasks."""

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
    return {"size": {"leaves": leaves, "hosts": 4, "spines": 2}, "tasks": {"gpus": 4 * leaves}}


SIZES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {f"{4 * leaves} GPUs": _size(leaves) for leaves in (6, 24, 96, 256, 1024)}
)
"""Racks of four servers with two uplinks, as in the testbed, under two switches."""

UNTIL_S = 90.0
"""Of the dynamic trace, whose tasks fill the cluster and of which DLRM and ResNet50 come after 60 s."""


def run(settings: Settings) -> dict[str, Any]:
    """Each size with and without Cassini."""
    base = Case("Packed", "dynamic", network="leaves and spines", options={**OPTIONS, "until_s": UNTIL_S})
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
