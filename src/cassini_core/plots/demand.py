"""What the jobs of one link demand over time against its capacity, without shifts and with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Float64Array
from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS
from ..model import Job
from ..units import KBPS_PER_GBPS, TICKS_PER_MS
from .figures import LIGHT, Look, Theme, figure_title, new_figure, plain_axes
from .job_styles import JobStyle, job_styles
from .link_demand import link_demand, link_head, score_row, shown_window
from .link_legend import draw_legend, excess_style, kept_jobs, score_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["demand_figure", "demand_plot_data"]


def demand_plot_data(
    jobs: Sequence[Job],
    capacity_gbps: float,
    shifts_ms: Mapping[str, float],
    free_jobs: Sequence[str] = (),
    *,
    resolution_ms: float = DEFAULT_RESOLUTION_MS,
) -> dict[str, Any]:
    """The numbers of :func:`demand_figure`, ready for JSON.

    Parameters
    ----------
    jobs : sequence of Job
        At the iteration times at which they run, with the demand that they have on this link; ids unique.
    capacity_gbps : float
    shifts_ms : mapping of str to float
        Job id to its shift, ms; 0 where absent.
    free_jobs : sequence of str
        Jobs whose shift does not matter here.
    resolution_ms : float
        See :func:`cassini_core.score_link`.

    Returns
    -------
    dict
        ``before`` (all shifts 0) and ``after`` have ``time_ms``, edges of steps, one more than there are values in
        each of ``gbps`` (by job id), ``total_gbps`` and ``excess_gbps``; and the ``score`` over the whole perimeter.
        ``is_whole`` is false where the times are only the beginning of the perimeter.

    Raises
    ------
    InputError
        The jobs are no link: none, too many, or two of one id.
    """
    jobs = sorted(jobs, key=lambda job: job.id)
    window = shown_window(jobs, least_turns=2)
    sides = {}
    for side, shifts in (("before", {}), ("after", shifts_ms)):
        demand = link_demand(jobs, capacity_gbps, shifts, window)
        gbps = demand.kbps / KBPS_PER_GBPS
        sides[side] = {
            **score_row(jobs, capacity_gbps, shifts, resolution_ms),
            "time_ms": (demand.edges / TICKS_PER_MS).tolist(),
            "gbps": {job.id: level.tolist() for job, level in zip(jobs, gbps, strict=True)},
            "total_gbps": (demand.kbps.sum(axis=0) / KBPS_PER_GBPS).tolist(),
            "excess_gbps": (demand.excess() / KBPS_PER_GBPS).tolist(),
        }
    return {**link_head(jobs, capacity_gbps, shifts_ms, free_jobs, window), **sides}


def demand_figure(
    data: Mapping[str, Any], *, title: str = "", known_jobs: Sequence[str] = (), theme: Theme = LIGHT
) -> Figure:
    """Draw the numbers of :func:`demand_plot_data`; InputError where matplotlib is missing.

    ``known_jobs`` are all jobs of the answer: a job has one colour in all its pictures.
    """
    styles = job_styles(kept_jobs(data), known_jobs)
    figure = new_figure(9.0, 4.8 + 0.1 * len(styles), theme)
    figure_title(figure, title or "Demand on a link", theme)
    upper, lower = figure.subplots(2, 1, sharex=True, sharey=True)
    peak = max(data["capacity_gbps"], *data["before"]["total_gbps"], *data["after"]["total_gbps"])
    for axes, side, words in ((upper, "before", "Without shifts"), (lower, "after", "With shifts")):
        _draw_side(axes, data, side, styles, theme)
        axes.set_title(f"{words}: score {score_words(data[side])}", loc="left", fontsize=10, color=theme.ink)
        axes.set_ylim(0, 1.06 * peak)
        axes.set_ylabel("demand, Gbit/s")
        plain_axes(axes, theme)
    lower.set_xlim(0, data["window_ms"])
    lower.set_xlabel("time, ms")
    draw_legend(figure, data, styles, theme)
    return figure


def _draw_side(axes: Axes, data: Mapping[str, Any], side: str, styles: Mapping[str, JobStyle], theme: Theme) -> None:
    """Bands on top of each other, the capacity as a line, what is above it hatched."""
    part, capacity = data[side], data["capacity_gbps"]
    edges = np.array(part["time_ms"])
    base = np.zeros(len(edges) - 1)
    for job, style in styles.items():
        top = base + np.array(part["gbps"][job])
        look = {"facecolor": style.colour, "hatch": style.hatch, "edgecolor": theme.ink, "linewidth": 0}
        _fill(axes, edges, base, top, look)
        base = top
    total = np.array(part["total_gbps"])
    if len(styles) < len(data["jobs"]):
        _fill(axes, edges, base, total, {"facecolor": theme.fill, "linewidth": 0})
    _fill(axes, edges, np.full(len(total), capacity), total, excess_style(theme))
    _add_steps(axes, total, edges, fill=False, edgecolor=theme.ink, linewidth=0.7, baseline=None)
    axes.axhline(capacity, color=theme.ink, linewidth=1.4, linestyle=(0, (5, 3)))
    axes.annotate(
        f"capacity\n{capacity:.6g}",
        (1.0, capacity),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        color=theme.ink,
    )


def _fill(axes: Axes, edges: Float64Array, low: Float64Array, high: Float64Array, look: Look) -> None:
    """Areas between two step lines, where the second is above the first."""
    is_there = high > low
    _add_steps(axes, np.where(is_there, high, np.nan), edges, baseline=np.where(is_there, low, np.nan), **look)


def _add_steps(axes: Axes, values: Float64Array, edges: Float64Array, **look: Any) -> None:
    """As ``axes.stairs``, which would take seconds to find limits that are set anyway."""
    from matplotlib.patches import StepPatch

    axes.add_artist(StepPatch(values, edges, **look))
