"""The report of all experiments as Markdown, and how figures are written in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bench.measuring import reports
from bench.measuring.tables import table

from .comparison import Estimate
from .experiment import Experiment
from .parameters import parameters

__all__ = ["PREFIX", "markdown", "number", "times"]

PREFIX = "paper"
"""Of the files that are written."""


def markdown(
    shown: Mapping[str, tuple[Experiment, dict[str, Any], int]],
    about: Mapping[str, str],
    quick: bool,
) -> str:
    """The whole report: a table of the paper against ours and a plot per experiment."""
    parts = reports.heading("The paper's evaluation, regenerated", about, quick)
    parts.append(
        "Written by `make paper` (`python -m bench.testbed`). Nothing is tuned to the paper's figures; what is "
        "assumed, and from where, is at the end. Figures are medians over seeds, in "
        "brackets an interval that holds the median of all seeds with a confidence of 95 % or more (of order "
        "statistics; nothing is assumed of how they are distributed). A seed has its own tasks, arrivals, jitter and "
        "phases, the same for all schemes; ratios are by seed. What is not held starts at a random phase.\n"
    )
    for name, (one, data, seeds) in shown.items():
        parts.append(f"## {one.TITLE}\n")
        parts.append(f"`python -m bench.testbed --only {name} --seeds {seeds}`\n")
        rows = [[row.what, row.paper or "–", row.ours, row.note] for row in one.rows(data)]
        parts.append(table(("", "paper", "ours", ""), rows))
        parts.append(f"![{one.TITLE}]({PREFIX}-{name}.png)\n")
    parts += ["## Parameters and their sources\n", table(("", "value", "source"), parameters())]
    return "\n".join(parts)


def times(found: Estimate, digits: int = 2) -> str:
    """A ratio with its interval: ``1.32× (1.21 to 1.40)``."""
    return _written(found, digits, "×")


def number(found: Estimate, digits: int = 2, unit: str = "") -> str:
    """A figure with its interval."""
    return _written(found, digits, f" {unit}" if unit else "")


def _written(found: Estimate, digits: int, unit: str) -> str:
    middle, low, high = found
    if math.isnan(middle):
        return "–"
    return f"{middle:,.{digits}f}{unit} ({low:,.{digits}f} to {high:,.{digits}f})"
