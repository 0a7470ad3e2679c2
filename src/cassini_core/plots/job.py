"""A job's demand over one iteration, along time and around its circle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..model import Job
from ..profiles.phases import demand_steps
from .figures import LIGHT, PALETTE, Theme, new_figure, plain_axes, plot_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["job_figure", "job_plot_data"]


def job_plot_data(job: Job) -> dict[str, Any]:
    """The numbers of :func:`job_figure`, ready for JSON.

    ``demand`` has the corners of the curve, ``time_ms`` and ``gbps``; ``circle`` its arcs, clockwise from the top in
    degrees, 360 a turn. Where phases overlap their rates are added up.
    """
    edges, levels = (array.tolist() for array in demand_steps(job.phases, job.iteration_ms))
    turn = 360 / job.iteration_ms
    steps = list(zip(edges, edges[1:], levels, strict=False))
    return {
        "iteration_ms": job.iteration_ms,
        "demand": {
            "time_ms": [time for begin, end, _ in steps for time in (begin, end)],
            "gbps": [level for level in levels for _ in range(2)],
        },
        "circle": [
            {"from_degrees": begin * turn, "to_degrees": end * turn, "gbps": level}
            for begin, end, level in steps
            if level > 0
        ],
    }


def job_figure(job: Job, theme: Theme = LIGHT) -> Figure:
    """Draw a job; InputError where matplotlib is missing."""
    data = job_plot_data(job)
    figure = new_figure(9.0, 3.4, theme)
    along = figure.add_subplot(1, 3, (1, 2))
    time_ms, gbps = data["demand"]["time_ms"], data["demand"]["gbps"]
    along.fill_between(time_ms, gbps, color=PALETTE[0], alpha=0.25, linewidth=0)
    along.plot(time_ms, gbps, color=PALETTE[0], linewidth=1.4)
    along.set_xlim(0, job.iteration_ms)
    along.set_ylim(0, 1.08 * max(gbps) or 1.0)
    along.set_xlabel("time in the iteration, ms")
    along.set_ylabel("demand, Gbit/s")
    along.set_title(plot_label(job.id, 60), loc="left", fontsize=12, fontweight="bold", color=theme.ink)
    plain_axes(along, theme)
    _draw_circle(figure, data, max(gbps), theme)
    return figure


def _draw_circle(figure: Figure, data: dict[str, Any], peak: float, theme: Theme) -> None:
    """One turn is one iteration; how far an arc reaches out is its rate."""
    axes: Any = figure.add_subplot(1, 3, 3, projection="polar")
    axes.set_facecolor(theme.background)
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    for arc in data["circle"]:
        begin, width = math.radians(arc["from_degrees"]), math.radians(arc["to_degrees"] - arc["from_degrees"])
        axes.bar(begin, arc["gbps"] / peak, width=width, bottom=1.0, align="edge", color=PALETTE[0], linewidth=0)
    axes.plot([math.radians(at) for at in range(361)], [1.0] * 361, color=theme.muted, linewidth=0.8)
    axes.set_ylim(0, 2.05)
    axes.set_yticks([])
    axes.set_xticks([math.radians(at) for at in (0, 90, 180, 270)])
    axes.set_xticklabels([f"{data['iteration_ms'] * share:.4g}" for share in (0.0, 0.25, 0.5, 0.75)], fontsize=8)
    axes.tick_params(colors=theme.muted)
    axes.grid(False)
    axes.spines["polar"].set_visible(False)
    axes.text(0, 0, f"{data['iteration_ms']:.4g} ms\na turn", ha="center", va="center", fontsize=8, color=theme.muted)
