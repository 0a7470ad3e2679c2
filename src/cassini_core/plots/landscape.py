"""The score of a link over the shift of one job against another, the others held, with its plateau."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Float64Array, Int64Array
from ..errors import InputError, shown
from ..formats import listed, ms_text_down, score_text, short
from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS, DEFAULT_SLACK_TOLERANCE, PreparedLink
from ..model import Job
from ..units import TICKS_PER_MS, ms_from_ticks, ticks_from_ms
from .figures import LIGHT, PALETTE, Look, Theme, figure_title, key_below, new_figure, plain_axes, plot_label
from .shift_corners import shift_corners

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["landscape_figure", "landscape_plot_data"]


def landscape_plot_data(
    jobs: Sequence[Job],
    capacity_gbps: float,
    shifts_ms: Mapping[str, float],
    moved: tuple[str, str] | None = None,
    *,
    resolution_ms: float = DEFAULT_RESOLUTION_MS,
    slack_tolerance: float = DEFAULT_SLACK_TOLERANCE,
) -> dict[str, Any]:
    """The numbers of :func:`landscape_figure`, ready for JSON.

    Parameters
    ----------
    jobs : sequence of Job
        At least two, at the iteration times at which they run, with the demand that they have on this link.
    capacity_gbps : float
    shifts_ms : mapping of str to float
        Job id to its shift, ms; 0 where absent.
    moved : pair of str, optional
        The job that is held and the one that moves; by default the first two by id.
    resolution_ms : float
        See :func:`cassini_core.solve_link`: a job that is free moves without any effect.
    slack_tolerance : float
        How far below the score at the chosen shift a plateau may lie.

    Returns
    -------
    dict
        ``shift_ms`` (ascending from 0 to ``repeats_ms``) and ``score``, the corners of the landscape: by how much
        ``moved`` starts later than ``held``. ``chosen_ms`` and ``chosen_score`` are those of ``shifts_ms``.
        ``plateau_ms`` is the stretch around it with scores of at least ``chosen_score - slack_tolerance``; it may begin
        below 0 or end above ``repeats_ms``. ``is_exact`` is false where there are too many corners, or where a score is
        a lower bound only.

    Raises
    ------
    InputError
        The jobs are no link, or ``moved`` does not name two of them.

    Notes
    -----
    As :func:`~cassini_core.plots.shift_corners.shift_corners`.
    """
    jobs = sorted(jobs, key=lambda job: job.id)
    held, turned = _checked_pair(jobs, moved)
    link = PreparedLink.from_jobs(jobs, capacity_gbps)
    shifts = np.array([ticks_from_ms(shifts_ms.get(job.id, 0.0)) for job in jobs], dtype=np.int64) % link.period
    found = shift_corners(link, shifts, held, turned, resolution_ms)
    repeats, chosen = int(found.shift[-1]), int(found.shift[found.chosen])
    chosen_score = float(found.score[found.chosen])
    early, late = _plateau(found.shift, found.score, found.chosen, chosen_score - slack_tolerance)
    return {
        "capacity_gbps": float(capacity_gbps),
        "held": jobs[held].id,
        "moved": jobs[turned].id,
        "n_others": len(jobs) - 2,
        "moved_is_free": found.is_free,
        "repeats_ms": ms_from_ticks(repeats),
        "chosen_ms": ms_from_ticks(chosen),
        "chosen_score": chosen_score,
        "slack_tolerance": slack_tolerance,
        "plateau_ms": [early / TICKS_PER_MS, late / TICKS_PER_MS],
        "is_exact": found.is_exact,
        "shift_ms": (found.shift / TICKS_PER_MS).tolist(),
        "score": found.score.tolist(),
    }


def _checked_pair(jobs: Sequence[Job], moved: tuple[str, str] | None) -> tuple[int, int]:
    ids = [job.id for job in jobs]
    if len(ids) < 2:
        raise InputError(f"landscape: expected a link of at least two jobs, got {len(ids)}")
    if moved is None:
        return 0, 1
    for one in moved:
        if one not in ids:
            raise InputError(f"jobs: expected two jobs of the link ({listed(ids)}), got {shown(one)}")
    if moved[0] == moved[1]:
        raise InputError(f"jobs: expected two different jobs, got {shown(moved[0])} twice")
    return ids.index(moved[0]), ids.index(moved[1])


def _plateau(corners: Int64Array, score: Float64Array, chosen: int, least: float) -> tuple[float, float]:
    """How far the score stays at ``least`` around corner ``chosen``, at most one turn in all, ticks."""
    repeats = float(corners[-1])
    late = _reach(corners.astype(np.float64), score, chosen, least)
    mirrored = _reach(repeats - corners[::-1].astype(np.float64), score[::-1], len(corners) - 1 - chosen, least)
    if late >= repeats:
        return 0.0, repeats
    return float(corners[chosen]) - mirrored, float(corners[chosen]) + late


def _reach(corners: Float64Array, score: Float64Array, begin: int, least: float) -> float:
    """How far one can go forward, round the turn, before the line falls below ``least``."""
    turn = corners[-1]
    places = np.concatenate([corners[begin:], corners[1 : begin + 1] + turn]) - corners[begin]
    values = np.concatenate([score[begin:], score[1 : begin + 1]])
    below = np.flatnonzero(values < least)
    if not len(below):
        return float(turn)
    after = int(below[0])
    high, low = float(values[after - 1]), float(values[after])
    return float(places[after - 1] + (places[after] - places[after - 1]) * (high - least) / (high - low))


def landscape_figure(data: Mapping[str, Any], *, title: str = "", theme: Theme = LIGHT) -> Figure:
    """Draw the numbers of :func:`landscape_plot_data`; InputError where matplotlib is missing."""
    figure = new_figure(9.0, 4.2, theme)
    figure_title(figure, title or "Score of a link over the shift of a job", theme)
    axes = figure.subplots()
    repeats, (early, late) = data["repeats_ms"], data["plateau_ms"]
    for turn in (-repeats, 0, repeats):  # a plateau may go round the turn
        begin, end = max(0, early + turn), min(repeats, late + turn)
        if begin < end:
            axes.axvspan(begin, end, facecolor=PALETTE[2], alpha=0.3, linewidth=0)
            axes.vlines([begin, end], 0, 1, transform=axes.get_xaxis_transform(), color=PALETTE[2], linewidth=1.2)
    (line,) = axes.plot(data["shift_ms"], data["score"], color=theme.ink, linewidth=1.6)
    axes.plot([data["chosen_ms"]], [data["chosen_score"]], clip_on=False, zorder=5, **_mark(theme))
    low, high = min(data["score"]), max(data["score"])
    room = max(high - low, 0.01)
    axes.set_ylim(low - 0.08 * room, high + 0.08 * room)
    axes.set_xlim(0, repeats)
    moved, held = plot_label(data["moved"]), plot_label(data["held"])
    others = f", {data['n_others']} more held" if data["n_others"] else ""
    axes.set_xlabel(f"{moved} starts later than {held} by, ms (repeats after {short(repeats)} ms{others})")
    axes.set_ylabel("score of the link")
    plain_axes(axes, theme)
    line.set_label("score" if data["is_exact"] else "score, approximately")
    _draw_key(figure, data, line, theme)
    return figure


def _draw_key(figure: Figure, data: Mapping[str, Any], line: Any, theme: Theme) -> None:
    """Below the picture: the chosen shift, and how wide its plateau is."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    (early, late), chosen = data["plateau_ms"], data["chosen_ms"]
    loss = f"loses at most {short(data['slack_tolerance'])}"
    if data["moved_is_free"]:
        reach = f"{plot_label(data['moved'])} is free: no shift of it can be held here, it is scored at a random one"
    elif late - early >= data["repeats_ms"]:
        reach = f"plateau: any shift {loss}"
    else:
        reach = f"plateau: {ms_text_down(chosen - early)} ms earlier to {ms_text_down(late - chosen)} ms later {loss}"
    words = f"chosen: {short(chosen)} ms, score {score_text(data['chosen_score'])}"
    handles = [Line2D([], [], label=words, **_mark(theme)), Patch(facecolor=PALETTE[2], alpha=0.5, label=reach), line]
    key_below(figure, handles, theme)


def _mark(theme: Theme) -> Look:
    return {"marker": "D", "linestyle": "", "color": PALETTE[5], "markeredgecolor": theme.ink, "markersize": 8}
