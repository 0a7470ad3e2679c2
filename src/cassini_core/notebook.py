"""How jobs and answers show themselves in a notebook: tables and small pictures, in the colours of its theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from .errors import worded
from .formats import counted, short
from .iteration_steps import iteration_steps

__all__ = ["Markup", "html_table", "job_html", "score_bar"]

BLUE = "#0072B2"

WIDTH, HEIGHT = 480, 80
"""Of the picture of a job, pixels."""


class Markup(str):
    """HTML that stands in a cell as it is."""

    __slots__ = ()


def html_table(caption: str, header: Sequence[str], alignment: str, rows: Iterable[Iterable[object]]) -> str:
    """A table; no text can break out of its cell or its line. ``alignment`` has ``l`` or ``r`` for each column."""
    styles = ["text-align:left" if how == "l" else "text-align:right" for how in alignment]

    def row(tag: str, cells: Iterable[object]) -> str:
        styled = zip(cells, styles, strict=True)
        return "<tr>" + "".join(f'<{tag} style="{style}">{_cell(cell)}</{tag}>' for cell, style in styled) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return (
        f'<table><caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>'
        f"<thead>{row('th', header)}</thead><tbody>{body}</tbody></table>"
    )


def _cell(cell: object) -> str:
    return cell if isinstance(cell, Markup) else escape(worded(str(cell)))


def score_bar(score: float | None) -> Markup:
    """A score as a bar, full at 1 and empty at 0 or less."""
    share = 0.0 if score is None else min(1.0, max(0.0, score))
    return Markup(
        '<svg width="80" height="10" aria-hidden="true">'
        '<rect width="80" height="10" fill="currentColor" fill-opacity="0.15"/>'
        f'<rect width="{80 * share:.2f}" height="10" fill="{BLUE}"/></svg>'
    )


def job_html(name: str, iteration_ms: float, phases: Sequence[tuple[float, float, float]]) -> str:
    """A job's demand over one iteration, above a line of numbers. Phases are start, duration, both ms, and Gbit/s.

    O(phases log phases); the picture has at most one step a pixel.
    """
    volume = sum(duration * gbps for _, duration, gbps in phases)
    steps = list(iteration_steps(iteration_ms, phases))
    peak = max(level for _, _, level in steps)
    numbers = (
        f"{short(iteration_ms)} ms, {counted(len(phases), 'phase')}, {short(volume / 8)} MB an iteration, "
        f"{short(volume / iteration_ms)} Gbit/s on average, {short(peak)} at most"
    )
    return f"<div><strong>{escape(worded(name))}</strong>: {numbers}</div>{_picture(iteration_ms, steps, peak)}"


def _picture(iteration_ms: float, steps: Sequence[tuple[float, float, float]], peak: float) -> str:
    columns = [0.0] * WIDTH
    for begin, end, level in steps:
        for column in range(int(begin / iteration_ms * WIDTH), min(WIDTH, math.ceil(end / iteration_ms * WIDTH))):
            columns[column] = max(columns[column], level)
    path = [f"M0,{HEIGHT}"]
    for column, level in enumerate(columns):
        if column == 0 or level != columns[column - 1]:
            path.append(f"H{column}V{HEIGHT * (1 - level / peak if peak else 1):.1f}")
    path.append(f"H{WIDTH}V{HEIGHT}Z")
    label = 'fill="currentColor" font-size="11" font-family="sans-serif"'
    shown = 'style="display:block" role="img" aria-label="demand over one iteration"'
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT + 18}" {shown}>'
        f'<path d="{"".join(path)}" fill="{BLUE}"/>'
        f'<path d="M0,{HEIGHT}.5H{WIDTH}" stroke="currentColor"/>'
        f'<text x="0" y="{HEIGHT + 14}" {label}>0 ms</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end" {label}>{short(iteration_ms)} ms</text></svg>'
    )
