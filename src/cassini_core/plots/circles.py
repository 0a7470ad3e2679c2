"""One link's unified circle: time rolled on its perimeter, before the jobs are rotated and after."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy.typing as npt

from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS
from ..model import Job
from ..units import KBPS_PER_GBPS, TICKS_PER_MS
from .figures import LIGHT, Look, Theme, figure_title, new_figure
from .job_styles import JobStyle, job_styles
from .link_demand import link_demand, link_head, score_row, shown_window
from .link_legend import draw_legend, excess_style, kept_jobs, score_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["circles_figure", "circles_plot_data"]

OPEN_DEGREES = 330.0
"""What a window of a perimeter covers: a circle that does not close shows a gap."""

Arc: TypeAlias = Mapping[str, float]

NARROW_DEGREES = 1.5
"""Arcs below this are drawn without outline and hatch, which would hide them."""

MOST_BEGINS = 24
"""Of more iterations around a circle only the first is marked."""

INNER, RINGS, OUTER, EDGE = 0.42, 1.0, 1.06, 1.75
"""Radii: where the rings of the jobs begin and end, where their sum begins and its highest value ends."""


def circles_plot_data(
    jobs: Sequence[Job],
    capacity_gbps: float,
    shifts_ms: Mapping[str, float],
    free_jobs: Sequence[str] = (),
    *,
    resolution_ms: float = DEFAULT_RESOLUTION_MS,
) -> dict[str, Any]:
    """The numbers of :func:`circles_figure`, ready for JSON.

    Parameters and errors are those of :func:`~cassini_core.plots.demand.demand_plot_data`.

    Returns
    -------
    dict
        ``before`` (all shifts 0) and ``after`` have arcs, ``from_degrees`` to ``to_degrees`` clockwise from the top,
        and their ``gbps``: ``jobs`` by job id, ``total`` and ``excess``, the demand above the capacity.
        ``degrees_per_ms`` turns shifts into rotations. ``is_whole`` is false where the perimeter is too long to be
        read: the circle then shows the beginning of it and does not close.
    """
    jobs = sorted(jobs, key=lambda job: job.id)
    window = shown_window(jobs)
    per_tick = (360.0 if window.is_whole else OPEN_DEGREES) / window.length
    sides = {}
    for side, shifts in (("before", {}), ("after", shifts_ms)):
        demand = link_demand(jobs, capacity_gbps, shifts, window)
        degrees = demand.edges * per_tick
        sides[side] = {
            **score_row(jobs, capacity_gbps, shifts, resolution_ms),
            "jobs": {job.id: _arcs(degrees, kbps) for job, kbps in zip(jobs, demand.kbps, strict=True)},
            "total": _arcs(degrees, demand.kbps.sum(axis=0)),
            "excess": _arcs(degrees, demand.excess()),
        }
    head = link_head(jobs, capacity_gbps, shifts_ms, free_jobs, window)
    return {**head, "degrees_per_ms": per_tick * TICKS_PER_MS, **sides}


def _arcs(degrees: npt.NDArray[Any], kbps: npt.NDArray[Any]) -> list[dict[str, float]]:
    """Where a demand is above 0; neighbours of one level are one arc."""
    arcs: list[dict[str, float]] = []
    edges, levels = degrees.tolist(), (kbps / KBPS_PER_GBPS).tolist()
    for begin, end, level in zip(edges, edges[1:], levels, strict=False):
        if arcs and arcs[-1]["to_degrees"] == begin and arcs[-1]["gbps"] == level:
            arcs[-1]["to_degrees"] = end
        elif level > 0:
            arcs.append({"from_degrees": begin, "to_degrees": end, "gbps": level})
    return arcs


def circles_figure(
    data: Mapping[str, Any], *, title: str = "", known_jobs: Sequence[str] = (), theme: Theme = LIGHT
) -> Figure:
    """Draw the numbers of :func:`circles_plot_data`; InputError where matplotlib is missing.

    ``known_jobs`` are all jobs of the answer: a job has one colour in all its pictures.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    styles = job_styles(kept_jobs(data), known_jobs)
    figure = new_figure(9.0, 5.3 + 0.1 * len(styles) + 0.2 * (not data["is_whole"]), theme)
    figure_title(figure, title or "Unified circle of a link", theme)
    engine: Any = figure.get_layout_engine()
    engine.set(wspace=0.08)
    for axes, side, words in zip(figure.subplots(1, 2), ("before", "after"), ("Before", "After rotation"), strict=True):
        _draw_circle(axes, data, side, styles, theme)
        axes.set_title(f"{words}: score {score_words(data[side])}", fontsize=10, pad=16, color=theme.ink)
    marks: Look = {"marker": "o", "color": theme.ink, "markersize": 4, "linestyle": ""}
    demand = Patch(facecolor=theme.fill, label="all jobs; dashed: the capacity")
    draw_legend(figure, data, styles, theme, [demand, Line2D([], [], **marks, label="an iteration begins")])
    return figure


def _draw_circle(axes: Axes, data: Mapping[str, Any], side: str, styles: Mapping[str, JobStyle], theme: Theme) -> None:
    """A ring for each job, the first outermost, and around them their sum against the capacity."""
    part = data[side]
    rings: list[tuple[list[Arc], JobStyle, list[float]]] = [
        (part["jobs"][job], style, _begins(data, job, side)) for job, style in styles.items()
    ]
    rest = [arc for job, arcs in part["jobs"].items() if job not in styles for arc in arcs]
    if rest:
        rings.append((rest, JobStyle(theme.fill, ""), []))
    height = (RINGS - INNER) / len(rings)
    peak = max((arc["gbps"] for arcs in part["jobs"].values() for arc in arcs), default=1.0)
    for at, (arcs, style, begins) in enumerate(rings):
        base = RINGS - (at + 1) * height
        _draw_ring(axes, data, base, edgecolor=theme.muted, linewidth=0.5)
        per_gbps = 0.82 * height / peak
        wide, narrow = _by_width(arcs)
        look: Look = {"facecolor": style.colour, "hatch": style.hatch, "linewidth": 0.4}
        _draw_arcs(axes, wide, base, per_gbps, look | {"edgecolor": theme.ink})
        _draw_arcs(axes, narrow, base, per_gbps, look | {"edgecolor": style.colour})
        for degrees in begins:
            axes.plot(*_at(base, degrees), "o", color=theme.ink, markersize=4)
    _draw_sum(axes, data, part, theme)
    _draw_times(axes, data, theme)


def _draw_sum(axes: Axes, data: Mapping[str, Any], part: Mapping[str, Any], theme: Theme) -> None:
    capacity = data["capacity_gbps"]
    highest = max([capacity, *(arc["gbps"] for side in ("before", "after") for arc in data[side]["total"])])
    per_gbps = (EDGE - OUTER) / highest
    fill: Look = {"facecolor": theme.fill, "edgecolor": theme.fill, "linewidth": 0.3}
    _draw_arcs(axes, part["total"], OUTER, per_gbps, fill)
    limit = OUTER + per_gbps * capacity
    wide, narrow = _by_width(part["excess"])
    _draw_arcs(axes, wide, limit, per_gbps, excess_style(theme))
    # No hatch can be seen on a narrow arc.
    _draw_arcs(axes, narrow, limit, per_gbps, {"facecolor": theme.ink, "linewidth": 0})
    _draw_ring(axes, data, OUTER, edgecolor=theme.muted, linewidth=0.8)
    _draw_ring(axes, data, limit, edgecolor=theme.ink, linewidth=1.3, linestyle=(0, (5, 3)))


def _draw_ring(axes: Axes, data: Mapping[str, Any], radius: float, **style: Any) -> None:
    """A circle, or the part of it that a window covers."""
    from matplotlib.patches import Arc

    begin = 90.0 if data["is_whole"] else 90.0 - OPEN_DEGREES
    axes.add_artist(
        Arc((0, 0), 2 * radius, 2 * radius, theta1=begin, theta2=450.0 if data["is_whole"] else 90.0, **style)
    )


def _draw_times(axes: Axes, data: Mapping[str, Any], theme: Theme) -> None:
    """How long a turn is, and the times at its quarters."""
    words = f"{data['window_ms']:.4g} ms\n{'a turn' if data['is_whole'] else 'shown'}"
    axes.text(0, 0, words, ha="center", va="center", fontsize=8, color=theme.muted)
    for degrees in range(0, 360, 90):
        x, y = _at(EDGE + 0.06, degrees)
        ha, va = (("center", "bottom"), ("left", "center"), ("center", "top"), ("right", "center"))[degrees // 90]
        axes.text(x, y, f"{degrees / data['degrees_per_ms']:.4g}", ha=ha, va=va, fontsize=8, color=theme.muted)
    axes.set_aspect("equal")
    axes.set_xlim(-EDGE - 0.1, EDGE + 0.1)
    axes.set_ylim(-EDGE - 0.1, EDGE + 0.1)
    axes.set_axis_off()


def _begins(data: Mapping[str, Any], job: str, side: str) -> list[float]:
    """Where iterations of a job begin; of very many the first: at the top, or as far on as the job is rotated."""
    row = next(row for row in data["jobs"] if row["id"] == job)
    first = 0.0 if side == "before" else row["shift_ms"] % row["iteration_ms"]
    n_turns = math.ceil((data["window_ms"] - first) / row["iteration_ms"] - 1e-9)
    times = [first + turn * row["iteration_ms"] for turn in range(n_turns if n_turns <= MOST_BEGINS else 1)]
    return [time * data["degrees_per_ms"] for time in times]


def _at(radius: float, degrees: float) -> tuple[float, float]:
    """A point, clockwise from the top."""
    return radius * math.sin(math.radians(degrees)), radius * math.cos(math.radians(degrees))


def _by_width(arcs: Sequence[Arc]) -> tuple[list[Arc], list[Arc]]:
    """Wide ones, and those so narrow that an outline or a hatch would hide them."""
    is_wide = [arc["to_degrees"] - arc["from_degrees"] >= NARROW_DEGREES for arc in arcs]
    return list(itertools.compress(arcs, is_wide)), [arc for arc, wide in zip(arcs, is_wide, strict=True) if not wide]


def _closed(arcs: Sequence[Arc]) -> Sequence[Arc]:
    """The same arcs, but one that goes on beyond the top is one: no edge is drawn where time 0 is."""
    if len(arcs) > 1:
        first, last = arcs[0], arcs[-1]
        if first["from_degrees"] == 0 and last["to_degrees"] > 360 - 1e-9 and first["gbps"] == last["gbps"]:
            return [*arcs[1:-1], {**first, "from_degrees": last["from_degrees"] - 360}]
    return arcs


def _draw_arcs(axes: Axes, arcs: Sequence[Arc], base: float, per_gbps: float, look: Look) -> None:
    """Arcs that stand on a circle, as one path: thousands of patches would take seconds."""
    from matplotlib.patches import PathPatch, Wedge
    from matplotlib.path import Path

    wedges = []
    for arc in _closed(arcs):
        begin, end, height = 90 - arc["to_degrees"], 90 - arc["from_degrees"], per_gbps * arc["gbps"]
        if end - begin >= 360:
            begin, end = 0.0, 360.0
        wedges.append(Wedge((0, 0), base + height, begin, end, width=height).get_path())
    if wedges:
        axes.add_artist(PathPatch(Path.make_compound_path(*wedges), **look))
