"""Every run of the study as a point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes

from bench.measuring.plots import SERIES, saved

from .rows import Row
from .scenarios import ALONE, FIRST_SHIFT, HELD, IN_PHASE, RANDOM

__all__ = ["draw"]

MODES = (ALONE, IN_PHASE, RANDOM, FIRST_SHIFT, HELD)
NEVER_S = 50.0
"""Where a run is drawn whose jobs were not interleaved again."""


def draw(runs: Sequence[Row], file: Path, footnote: str) -> None:
    """Slower than alone by setting and mode; how long until interleaved again, at what cost, by disturbance."""
    steady = [one for one in runs if not one.scenario.disturbance.name]
    disturbed = [one for one in runs if one.scenario.disturbance.name]
    settings = list(dict.fromkeys(one.scenario.setting.name for one in steady))
    names = list(dict.fromkeys(one.scenario.disturbance.name for one in disturbed))
    with saved(file, footnote):
        figure = pyplot.figure(figsize=(12, 3 + 0.6 * len(settings) + 0.3 * len(names)))
        rows = [2 + 1.5 * len(settings), 2 + len(names)] if names else [1]
        grid = figure.add_gridspec(len(rows), 2, height_ratios=rows)
        _modes(figure.add_subplot(grid[0, :]), steady, settings)
        if names:
            _again(figure.add_subplot(grid[1, 0]), disturbed, names)
            _cost(figure.add_subplot(grid[1, 1]), disturbed, names)


def _modes(axes: Axes, runs: Sequence[Row], settings: Sequence[str]) -> None:
    for k, mode in enumerate(MODES):
        some = [one for one in runs if one.scenario.mode == mode]
        at = [settings.index(one.scenario.setting.name) + 0.15 * (k - 2) for one in some]
        slower = [100 * one.worst("slower") for one in some]
        axes.plot(slower, at, "o", markersize=3, alpha=0.6, color=SERIES[k], label=mode)
    axes.axvline(2, color="black", lw=0.6, ls=":")
    axes.set_xlabel("% slower than alone, the slowest job of each run (dotted: 2 %)")
    _rows(axes, settings)
    axes.legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(MODES))


def _again(axes: Axes, runs: Sequence[Row], names: Sequence[str]) -> None:
    for key, colour, off in (("interleaved_s", SERIES[4], -0.12), ("apart_s", SERIES[0], 0.12)):
        some = [one for one in runs if one.found[key] is not None]
        at = [names.index(one.scenario.disturbance.name) + off for one in some]
        seconds = [NEVER_S if math.isinf(one.found[key]) else one.found[key] for one in some]
        said = "interleaved" if key == "interleaved_s" else "apart, however slow"
        axes.plot(seconds, at, "o", markersize=3, alpha=0.6, color=colour, label=said)
    axes.axvline(30, color="black", lw=0.6, ls=":")
    axes.set_xlim(-2, NEVER_S + 2)
    axes.set_xlabel(f"s after the disturbance (dotted: 30 s; at {NEVER_S:g}: never)")
    _rows(axes, names)
    axes.legend(fontsize=7, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)


def _cost(axes: Axes, runs: Sequence[Row], names: Sequence[str]) -> None:
    at = [names.index(one.scenario.disturbance.name) for one in runs]
    cost = [one.worst("slower") if one.found["meanwhile"] is None else one.found["meanwhile"] for one in runs]
    axes.plot([100 * one for one in cost], at, "o", markersize=3, alpha=0.6, color=SERIES[1])
    axes.axvline(5, color="black", lw=0.6, ls=":")
    axes.set_xlabel("% slower meanwhile, the slowest job (dotted: 5 %)")
    _rows(axes, names)


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_ylim(len(names) - 0.4, -0.6)
