"""The dynamic trace of data parallel tasks: DLRM and ResNet50 come to a busy cluster (the paper, section 5.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot

from bench.measuring.plots import saved

from ..cases import Case
from ..comparison import run_cases
from ..drawing import bars_by_model, curves
from ..experiment import Row, Settings
from ..parameters import MARKING, OPTIONS
from ..schemes import choices, gains, marked_by_model, marks, named_cases, overview

TITLE = "Dynamic trace, data parallel: iteration times and ECN marks"

SCHEMES = (
    "Themis",
    "Th+Cassini",
    "Th+Cassini, paper's rule",
    "Th+Cassini, placement alone",
    "Th+Cassini, shifts alone",
    "Random",
    "Ideal",
)
SHOWN = ("Themis", "Th+Cassini", "Pollux", "Po+Cassini")
"""Of marks; also in the plots of other experiments."""


def run(settings: Settings) -> dict[str, Any]:
    """All schemes on the same tasks, of which those that are there at first lie where chance put them."""
    options = {**OPTIONS, "marking": dict(MARKING)}
    base = Case("Themis", "dynamic", {"iterations": 60} if settings.quick else {}, options=options, worn=True)
    return run_cases(named_cases(SCHEMES, base), settings, details=True)


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper's figures 11 and 16."""
    found = gains(data, {"Th+Cassini": ("1.5×", "2.2×")})
    models = sorted({model for one in data.values() for model in one["models"]})
    found += marks(data, "Themis", "Th+Cassini", models, {"DLRM": "27×"})
    return [*found, *overview(data), *choices(data)]


def plot(data: dict[str, Any], path: Path) -> None:
    """Distributions of iteration times, and marks by model."""
    with saved(path, "medians over seeds; marks: means over all iterations of all seeds"):
        _, axes = pyplot.subplots(1, 3, figsize=(15, 4.4))
        curves(axes[0], data, "iteration_ms", "iteration time, ms")
        curves(axes[1], data, "slowdown", "iteration time over that alone")
        axes[1].legend(fontsize=7, loc="lower right")
        marked = {name: marked_by_model(data[name]) for name in SHOWN if name in data}
        bars_by_model(axes[2], marked, "ECN-marked packets per iteration")
        axes[2].legend(fontsize=7)
