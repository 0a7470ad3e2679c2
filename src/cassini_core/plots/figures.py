"""What all pictures share: themes, texts, and how they are saved. What matplotlib keeps for all stays as it is."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import InputError, shown
from ..formats import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "DARK",
    "FORMATS",
    "GREY",
    "LIGHT",
    "PALETTE",
    "Look",
    "Theme",
    "figure_bytes",
    "figure_title",
    "key_below",
    "new_figure",
    "plain_axes",
    "plot_format",
    "plot_label",
]

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Colours that people with any common colour blindness tell apart (Okabe and Ito, "Color Universal Design", 2008)."""

GREY = "#555555"

Look: TypeAlias = dict[str, Any]
"""Keyword arguments of matplotlib that say how something looks."""

FORMATS = ("png", "svg", "pdf")

LABEL_LENGTH = 28
"""Characters of an id in a picture; of a longer one both ends are kept, since ids often begin alike."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of all that is no job. Texts have a contrast of at least 7 to 1 with the background, lines of 3 to 1."""

    background: str
    ink: str
    muted: str
    grid: str
    fill: str
    """Areas that belong to no job."""


LIGHT = Theme(background="#FFFFFF", ink="#1A1A1A", muted=GREY, grid="#DDDDDD", fill="#BBBBBB")
DARK = Theme(background="#0D1117", ink="#E6EDF3", muted="#A9B4C0", grid="#30363D", fill="#59636E")


def plot_format(path: str) -> str:
    """The format that a file's name asks for, or an InputError."""
    ending = os.path.splitext(path)[1].removeprefix(".").lower()
    if ending not in FORMATS:
        raise InputError(f"plot: expected a file name ending in .{', .'.join(FORMATS)}, got {shown(path)}")
    return ending


def plot_label(text: str, most: int = LABEL_LENGTH) -> str:
    """An id as a text of a picture: on one line, short, and no formula whatever stands in it."""
    plain = printable(text)
    if len(plain) > most:
        plain = f"{plain[: most // 2]}…{plain[len(plain) - (most - 1) // 2 :]}"
    return plain.replace("$", r"\$")


def new_figure(width_inch: float, height_inch: float, theme: Theme = LIGHT) -> Figure:
    """An empty figure, or an InputError that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "plot: expected matplotlib to be installed, got none; pip install 'cassini-core[plots]' brings it"
        ) from None
    return Figure(figsize=(width_inch, height_inch), layout="constrained", facecolor=theme.background)


def figure_title(figure: Figure, text: str, theme: Theme) -> None:
    """What the whole picture shows, at its top left."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=12, fontweight="bold", color=theme.ink)


def key_below(figure: Figure, handles: Sequence[Any], theme: Theme, note: str = "") -> None:
    """Below the picture: what its marks mean, and above that a note."""
    legend = figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=min(3, len(handles)),
        fontsize=9,
        frameon=False,
        labelcolor=theme.ink,
        handlelength=1.8,
        handleheight=1.2,
        borderaxespad=0.2,
        columnspacing=1.6,
        title=note or None,
        title_fontsize=9,
        alignment="left",
    )
    legend.get_title().set_color(theme.muted)


def plain_axes(axes: Axes, theme: Theme = LIGHT, grid: Literal["x", "y"] = "y") -> None:
    """Take away what carries no information; ``grid`` says across which axis lines are drawn."""
    axes.set_facecolor(theme.background)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(theme.muted)
    axes.tick_params(colors=theme.muted, labelsize=9)
    axes.xaxis.label.set_color(theme.ink)
    axes.yaxis.label.set_color(theme.ink)
    axes.grid(axis=grid, color=theme.grid, linewidth=0.6)
    axes.set_axisbelow(True)


def figure_bytes(figure: Figure, format: str) -> bytes:
    """A picture file, ``png``, ``svg`` or ``pdf``: the same bytes for the same figure."""
    from matplotlib import rc_context

    undated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "cassini", "svg.fonttype": "none"}), warnings.catch_warnings():
        # An id may be written in a script that the font lacks; an SVG file shows it all the same.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(stream, format=format, dpi=150, metadata=undated[format])
    return stream.getvalue()
