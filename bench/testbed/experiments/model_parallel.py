"""The dynamic trace of model parallel tasks: GPT and DLRM come to a cluster of such (the paper, section 5.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..cases import Case
from ..comparison import run_cases
from ..experiment import Row, Settings
from ..parameters import MARKING, OPTIONS
from ..schemes import choices, gains, marks, named_cases, overview
from .dynamic import plot as _plot

TITLE = "Dynamic trace, model parallel: iteration times and ECN marks"

SCHEMES = (
    "Themis",
    "Th+Cassini",
    "Th+Cassini, paper's rule",
    "Th+Cassini, placement alone",
    "Th+Cassini, shifts alone",
    "Random",
    "Ideal",
)


def run(settings: Settings) -> dict[str, Any]:
    """All schemes on the same tasks, of which those that are there at first lie where chance put them."""
    options = {**OPTIONS, "marking": dict(MARKING)}
    base = Case("Themis", "model_parallel", {"iterations": 60} if settings.quick else {}, options=options, worn=True)
    return run_cases(named_cases(SCHEMES, base), settings, details=True)


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper's figure 13. Which model has 29 times as many marks it does not say in words."""
    found = gains(data, {"Th+Cassini": ("1.2×", "1.6×")})
    models = sorted({model for one in data.values() for model in one["models"]})
    found += marks(data, "Themis", "Th+Cassini", models, dict.fromkeys(models, "29× for one of them"))
    return [*found, *overview(data), *choices(data)]


def plot(data: dict[str, Any], path: Path) -> None:
    """As for data parallel tasks."""
    _plot(data, path)
