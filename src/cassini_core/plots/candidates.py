"""All candidates of a ranking beside each other: what each scores, and what it could at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..formats import counted, ms_text_down, score_text
from ..results import RankedCandidate, Ranking
from .figures import LIGHT, PALETTE, Look, Theme, figure_title, key_below, new_figure, plain_axes, plot_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["candidates_figure", "candidates_plot_data"]

MOST_ROWS = 30
"""Candidates in a picture; the numbers have all."""

COLUMNS = ((14, "score"), (78, "hold, ms"), (142, "worst link"))
"""Distance of a column of text from the axes, points, and its head."""


def candidates_plot_data(ranking: Ranking) -> dict[str, Any]:
    """The numbers of :func:`candidates_figure`, ready for JSON: a row for each candidate, in the order of the ranking.

    ``is_proven`` says that no shifts of the candidate score more. ``score`` is null where it was not solved.
    """
    return {
        "best": None if ranking.best is None else ranking.best.id,
        "best_proven": ranking.best_proven,
        "candidates": [_row(one) for one in ranking.candidates],
    }


def _row(one: RankedCandidate) -> dict[str, Any]:
    scores: dict[str | None, float | None] = {link.id: link.score for link in one.links}
    scores |= {link.id: link.score for link in one.narrow_links}
    return {
        "id": one.id,
        "score": one.score,
        "upper_bound": one.upper_bound,
        "is_proven": one.optimal,
        "jobs_placed": one.jobs_placed,
        "hold_ms": one.hold_ms,
        "worst_link": one.worst_link,
        "worst_link_score": scores.get(one.worst_link),
    }


def candidates_figure(data: Mapping[str, Any], *, title: str = "", theme: Theme = LIGHT) -> Figure:
    """Draw the first 30 rows of :func:`candidates_plot_data`; InputError where matplotlib is missing."""
    rows = data["candidates"][:MOST_ROWS]
    figure = new_figure(9.0, 1.9 + 0.3 * max(1, len(rows)), theme)
    figure_title(figure, title or _title(data), theme)
    axes = figure.subplots()
    for at, row in enumerate(rows):
        _draw_row(axes, at, row, theme)
    axes.set_ylim(max(1, len(rows)) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [_name(row, data) for row in rows])
    low = min((value for row in rows for value in _values(row)), default=0.0)
    axes.set_xlim(low - 0.08 * (1 - low) - 1e-3, 1 + 0.04 * (1 - low) + 1e-3)
    axes.set_xlabel("score (1: demand never exceeds a link)")
    plain_axes(axes, theme, grid="x")
    axes.tick_params(axis="y", length=0, labelcolor=theme.ink)
    for offset, head in COLUMNS:
        _write(axes, -0.75, offset, head, theme.muted)
    n_more = len(data["candidates"]) - len(rows)
    key_below(figure, _key(theme), theme, f"and {counted(n_more, 'more candidate')}" if n_more else "")
    return figure


def _title(data: Mapping[str, Any]) -> str:
    some = counted(len(data["candidates"]), "candidate")
    if data["best"] is None:
        return f"{some}, none solved"
    return f"{some}, best {plot_label(data['best'])} ({'proven' if data['best_proven'] else 'not proven'})"


def _name(row: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The id, and the number of jobs where candidates place different numbers."""
    differ = len({one["jobs_placed"] for one in data["candidates"]}) > 1
    return plot_label(row["id"]) + (f" ({counted(row['jobs_placed'], 'job')})" if differ else "")


def _values(row: Mapping[str, Any]) -> list[float]:
    return [value for value in (row["score"], row["upper_bound"]) if value is not None]


def _draw_row(axes: Axes, at: int, row: Mapping[str, Any], theme: Theme) -> None:
    """A dot for the score, filled if proven, and a line up to the bound."""
    score, bound = row["score"], row["upper_bound"]
    if score is not None and not row["is_proven"]:
        axes.plot([score, bound], [at, at], color=theme.ink, linewidth=1.4)
    if not row["is_proven"]:
        axes.plot([bound], [at], **_BOUND, color=theme.ink)
    if score is not None:
        axes.plot([score], [at], **_dot(row["is_proven"], theme))
    hold = "-" if row["hold_ms"] is None else ms_text_down(row["hold_ms"])
    if row["worst_link"] is None:
        worst = "-" if score is None else "none shared"
    else:
        own = row["worst_link_score"]
        worst = f"{plot_label(row['worst_link'], 20)}{'' if own is None else f' ({score_text(own)})'}"
    words = score_text(score) if score is not None else f"≤ {score_text(bound)}"
    for (offset, _), text in zip(COLUMNS, (words, hold, worst), strict=True):
        _write(axes, at, offset, text, theme.ink)


_BOUND: Look = {"marker": "|", "markersize": 10, "markeredgewidth": 1.6, "linestyle": ""}


def _dot(is_proven: bool, theme: Theme) -> Look:
    face = PALETTE[4] if is_proven else theme.background
    return {"marker": "o", "markersize": 8, "markeredgecolor": theme.ink, "markerfacecolor": face, "linestyle": ""}


def _write(axes: Axes, row: float, offset: float, text: str, colour: str) -> None:
    axes.annotate(
        text,
        (1.0, row),
        xycoords=("axes fraction", "data"),
        xytext=(offset, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        color=colour,
        annotation_clip=False,
    )


def _key(theme: Theme) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], **_dot(True, theme), label="score, proven to be the most"),
        Line2D([], [], **_dot(False, theme), label="score, other shifts might do better"),
        Line2D([], [], **_BOUND, color=theme.ink, label="proven: no shifts score more"),
    ]
