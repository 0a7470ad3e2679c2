"""Pieces of HTML in which no text can become anything else than text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..formats import printable

__all__ = ["bar", "figures", "mark", "name", "table", "text"]

LONGEST_UNBROKEN = 24
"""Characters of a name that stay together."""


def text(content: str) -> str:
    """Text of an element or an attribute, on one line, whatever characters it holds."""
    return escape(printable(content))


def name(identifier: str) -> str:
    """An id; its direction of writing is its own. Only a long one is broken into lines."""
    short = ' class="short"' if len(identifier) <= LONGEST_UNBROKEN else ""
    return f"<bdi{short}>{text(identifier)}</bdi>"


def mark(word: str) -> str:
    """A short remark beside a name."""
    return f' <span class="mark">{text(word)}</span>'


def bar(share: float) -> str:
    """A bar as long as a score, for the eye; the number stands beside it."""
    width = 100 * min(1.0, max(0.0, share))
    return (
        '<svg aria-hidden="true"><rect class="track" width="100%" height="100%" rx="3"/>'
        f'<rect class="filled" width="{width:.2f}%" height="100%" rx="3"/></svg>'
    )


def figures(pairs: Iterable[tuple[str, str, str]]) -> str:
    """Key figures: what, the figure and a remark, as HTML."""
    parts = [
        f"<div><dt>{what}</dt><dd>{value}{f'<small>{remark}</small>' if remark else ''}</dd></div>"
        for what, value, remark in pairs
    ]
    return f'<dl class="figures">{"".join(parts)}</dl>'


def table(
    caption: str,
    headers: Sequence[str],
    classes: Sequence[str],
    rows: Iterable[Sequence[str]],
    chosen: int | None = None,
) -> str:
    """A table of HTML cells that scrolls by itself where the screen is narrow.

    ``classes`` are one per column; the first cell of a row is its heading. ``chosen`` is the row that is marked.
    """
    head = "".join(f'<th scope="col"{_class(one)}>{header}</th>' for header, one in zip(headers, classes, strict=True))
    body = []
    for number, (first, *rest) in enumerate(rows):
        cells = "".join(f"<td{_class(one)}>{cell}</td>" for cell, one in zip(rest, classes[1:], strict=True))
        body.append(f'<tr{_class("chosen" * (number == chosen))}><th scope="row">{first}</th>{cells}</tr>')
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _class(word: str) -> str:
    return f' class="{word}"' if word else ""
