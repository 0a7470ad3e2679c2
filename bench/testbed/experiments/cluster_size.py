"""Does the gain grow with the cluster? More of the testbed's racks, filled with as many more tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..cases import Case
from ..comparison import median_of
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..report import number
from ..sweeps import gain_rows, plot_gains, sweep

TITLE = "Cluster size"

LEAVES = {"Themis": (6, 24, 96, 256), "Random": (6, 24, 96)}
"""Racks of four servers with two uplinks, as in the testbed, under two switches."""

MANY = {"Themis": (1024,)}
"""With few seeds."""

MANY_SEEDS = 3

UNTIL_S = 90.0
"""Of the dynamic trace, whose tasks fill the cluster and of which DLRM and ResNet50 come after 60 s."""


def run(settings: Settings) -> dict[str, Any]:
    """Each size with and without Cassini."""
    few = replace(settings, seeds=min(MANY_SEEDS, settings.seeds))
    base = Case("Themis", "dynamic", network="leaves and spines", options={**OPTIONS, "until_s": UNTIL_S})
    found: dict[str, Any] = {}
    for sizes, how in ((LEAVES, settings), (MANY, few)):
        for scheme, leaves in sizes.items():
            cut = leaves[:1] if settings.quick else leaves
            if not settings.quick or sizes is LEAVES:
                found |= sweep(base, scheme, {f"{scheme}, {4 * one:,} GPUs": _size(one) for one in cut}, how)
    return found


def _size(leaves: int) -> dict[str, Any]:
    return {"size": {"leaves": leaves, "hosts": 4, "spines": 2}, "tasks": {"gpus": 4 * leaves}}


def rows(data: dict[str, Any]) -> list[Row]:
    """Gains, and what a simulation takes."""
    found = gain_rows(data)
    for name, of in data.items():
        took, rounds = (median_of(of["with"]["counts"][key]) for key in ("took_s", "rounds"))
        note = f"{rounds[0]:.0f} rounds, rankings included; {len(of['with']['n'])} seeds"
        found.append(Row(f"{name}: 90 s simulated take", "", number(took, 1, "s"), note))
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """Slowdowns and gains by size."""
    plot_gains(data, path, "Dynamic trace, 90 s")
