"""The Poisson trace: tasks come at random, 80 to 100 % of the GPUs are wanted (the paper, section 5.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.axes import Axes

from bench.measuring.plots import SERIES, saved

from ..cases import Case
from ..comparison import ratio_of, run_cases
from ..drawing import curves
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..report import times
from ..schemes import choices, gains, named_cases, overview

TITLE = "Poisson trace: iteration times over time, and their distribution"

SCHEMES = (
    "Themis",
    "Th+Cassini",
    "Th+Cassini, paper's rule",
    "Th+Cassini, placement alone",
    "Th+Cassini, shifts alone",
    "Random",
    "Ideal",
)
LOAD = 0.9
"""The paper varies it from 0.8 to 1.0; the other ends are in the experiment of conditions."""


def run(settings: Settings) -> dict[str, Any]:
    """All schemes on the same tasks."""
    tasks = {"load": LOAD, **({"count": 6} if settings.quick else {})}
    base = Case("Themis", "poisson", tasks, options=OPTIONS, series=0)
    return run_cases(named_cases(SCHEMES, base), settings, details=True)


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper's 1.4 and 1.5 times, and "like Ideal"."""
    found = gains(data, {"Th+Cassini": ("1.4×", "1.5×")})
    for name in ("Themis", "Th+Cassini", "Random"):
        of = ratio_of(data[name]["slowdown"]["mean"], data["Ideal"]["slowdown"]["mean"])
        paper = "like Ideal" if name == "Th+Cassini" else ""
        found.append(Row(f"{name}: mean slowdown over Ideal's", paper, times(of, 3)))
    return [*found, *overview(data), *choices(data)]


def plot(data: dict[str, Any], path: Path) -> None:
    """Time series of one seed for Themis and Th+Cassini, and the distributions of all."""
    with saved(path, "time series: seed 0, means of 20 s; distributions: medians over seeds"):
        figure = pyplot.figure(figsize=(13, 6.4))
        grid = figure.add_gridspec(2, 3)
        tops = [figure.add_subplot(grid[row, 0:2]) for row in (0, 1)]
        for axes, name in zip(tops, ("Themis", "Th+Cassini"), strict=True):
            _series(axes, data[name].get("series", []), name)
        tops[0].sharey(tops[1])
        curves(figure.add_subplot(grid[0, 2]), data, "iteration_ms", "iteration time, ms")
        below = figure.add_subplot(grid[1, 2])
        curves(below, data, "slowdown", "iteration time over that alone")
        below.set_ylim(0.5, 1.005)
        below.legend(fontsize=7, loc="lower right")


def _series(axes: Axes, series: list[dict[str, Any]], name: str) -> None:
    """Each task a colour: mean iteration time over that alone, by time."""
    for number, one in enumerate(series):
        color = SERIES[number % len(SERIES)]
        at = [each[0] / 60 for each in one["bins"]]
        axes.plot(at, [each[2] for each in one["bins"]], ".-", color=color, markersize=3, linewidth=0.7)
    axes.set(title=f"{name}: {len(series)} tasks, one colour each", xlabel="time, min", ylabel="slowdown")
    axes.grid(color="#dddddd", linewidth=0.6)
