"""Where Cassini helps, and where not: load, oversubscription, jitter, paths, models, on the Poisson trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..cases import Case
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..sweeps import gain_rows, plot_gains, sweep

TITLE = "Conditions: load, oversubscription, jitter, paths, models (tasks packed by topology)"

_COUNT = 40


def _network(spines: int) -> Mapping[str, Any]:
    return {"network": "leaves and spines", "size": {"leaves": 6, "hosts": 4, "spines": spines}}


def _tasks(**changed: Any) -> Mapping[str, Any]:
    return {"tasks": {"load": 0.9, "count": _COUNT, **changed}}


CHANGES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "the testbed, load 0.9": {},
        "load 0.5": _tasks(load=0.5),
        "load 0.8": _tasks(load=0.8),
        "load 1.0": _tasks(load=1.0),
        "leaves and spines, 1:1": _network(4),
        "leaves and spines, 2:1": _network(2),
        "leaves and spines, 4:1": _network(1),
        "no jitter": {"options": {**OPTIONS, "jitter_share": 0.0}},
        "jitter of 5 %": {"options": {**OPTIONS, "jitter_share": 0.05}},
        "traffic spread over all paths": {"paths": "spread"},
        "usual batch sizes": _tasks(batches="usual"),
        "VGG16 alone, usual batch size": _tasks(names=["VGG16"], batches="usual"),
        "CamemBERT alone, usual batch size": _tasks(names=["CamemBERT"], batches="usual"),
        "iteration times commensurate": {"changes": {"octave_ms": 200.0}},
        "commensurate, sending 30 %": {"changes": {"octave_ms": 200.0, "sending": 0.3}},
        "held by the simple rule": {"options": {**OPTIONS, "holding": "grid"}},
        "arrivals and sizes of Pollux' trace": {"trace": "published", "tasks": {"trace": "pollux-1", "count": _COUNT}},
        "arrivals and sizes of Muri's trace": {"trace": "published", "tasks": {"trace": "muri", "count": _COUNT}},
    }
)
"""What is changed of the first, one at a time."""


def run(settings: Settings) -> dict[str, Any]:
    """Tasks that are packed by topology, with and without Cassini."""
    base = Case("Packed", "poisson", {"load": 0.9, "count": 6 if settings.quick else _COUNT}, options=OPTIONS)
    changes = dict(list(CHANGES.items())[:1]) if settings.quick else CHANGES
    return sweep(base, "Packed", changes, settings)


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper has nothing of this."""
    return gain_rows(data)


def plot(data: dict[str, Any], path: Path) -> None:
    """Slowdowns and gains by condition."""
    plot_gains(data, path, "Packed by topology")
