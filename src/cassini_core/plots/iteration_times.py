"""How long the iterations of a simulation take, under each scheduler: how many take longer than what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..formats import counted
from ..simulation.comparison import Comparison
from ..simulation.run_figures import SHARES
from .figures import LIGHT, PALETTE, Look, Theme, figure_title, key_below, new_figure, plain_axes, plot_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["iteration_times_figure", "iteration_times_plot_data"]

LEAST_SHARE = 0.1
"""Percent of the iterations: the rest of the tail is not drawn."""


def iteration_times_plot_data(comparison: Comparison) -> dict[str, Any]:
    """The numbers of :func:`iteration_times_figure`, ready for JSON.

    ``longer_percent`` and ``time_ms`` of a curve: so many of the iterations take longer than that; the median over the
    seeds. ``mean_ms`` is null where there are no iterations.
    """
    curves = []
    for one in comparison.compared:
        mean = one.estimate("mean_ms")
        points = [(100 - share, ms) for share, ms in zip(SHARES, one.percentiles_ms(), strict=False) if share < 100]
        curves.append(
            {
                "scheduler": one.scheduler,
                "cassini": one.cassini,
                "mean_ms": None if mean is None else mean.median,
                "longer_percent": [share for share, _ in points],
                "time_ms": [ms for _, ms in points],
            }
        )
    return {"tasks": comparison.tasks, "seeds": len(comparison.seeds), "curves": curves}


def iteration_times_figure(data: Mapping[str, Any], *, title: str = "", theme: Theme = LIGHT) -> Figure:
    """Draw :func:`iteration_times_plot_data`; InputError where matplotlib is missing.

    A curve per scheduler, solid with Cassini and dashed without, on a logarithmic scale, so that the slowest one in a
    hundred can be read.
    """
    figure = new_figure(8.0, 4.8, theme)
    some = f"{counted(data['tasks'], 'task')}, {counted(data['seeds'], 'seed')}"
    figure_title(figure, title or f"Iteration times: {some}", theme)
    axes = figure.subplots()
    names = list(dict.fromkeys(curve["scheduler"] for curve in data["curves"]))
    handles = []
    for curve in data["curves"]:
        look = _look(names.index(curve["scheduler"]), curve["cassini"], curve["scheduler"] == "ideal", theme)
        name = plot_label(curve["scheduler"]) + (" + Cassini" if curve["cassini"] else "")
        mean = "none" if curve["mean_ms"] is None else f"{curve['mean_ms']:.1f} ms"
        handles += axes.plot(curve["time_ms"], curve["longer_percent"], **look, label=f"{name}: {mean}")
    axes.set_yscale("log")
    axes.set_ylim(LEAST_SHARE, 110)
    axes.set_yticks([100, 10, 1, 0.1], ["100 %", "10 %", "1 %", "0.1 %"])
    axes.minorticks_off()
    axes.set_xlabel("iteration time, ms")
    axes.set_ylabel("iterations that take longer")
    plain_axes(axes, theme)
    key_below(figure, handles, theme, "means of all iterations:")
    return figure


def _look(number: int, cassini: bool, is_ideal: bool, theme: Theme) -> Look:
    if is_ideal:
        return {"color": theme.ink, "linestyle": ":", "linewidth": 1.6}
    colours = PALETTE[number % len(PALETTE)]
    return {"color": colours, "linestyle": "-" if cassini else "--", "linewidth": 2.0}
