"""What all pictures share: colours, style, and how they are saved. What matplotlib keeps for all stays as it is."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from ..errors import InputError, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "GREY", "PALETTE", "figure_bytes", "new_figure", "plain_axes", "plot_format"]

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Colours that people with any common colour blindness tell apart (Okabe and Ito, "Color Universal Design", 2008)."""

GREY = "#555555"

FORMATS = ("png", "svg", "pdf")


def plot_format(path: str) -> str:
    """The format that a file's name asks for, or an InputError."""
    ending = os.path.splitext(path)[1].removeprefix(".").lower()
    if ending not in FORMATS:
        raise InputError(f"plot: expected a file name ending in .{', .'.join(FORMATS)}, got {shown(path)}")
    return ending


def new_figure(width_inch: float, height_inch: float) -> Figure:
    """An empty figure, or an InputError that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "plot: expected matplotlib to be installed, got none; pip install 'cassini-core[plots]' brings it"
        ) from None
    return Figure(figsize=(width_inch, height_inch), layout="constrained")


def plain_axes(axes: Axes) -> None:
    """Take away what carries no information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=GREY, labelsize=9)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def figure_bytes(figure: Figure, format: str) -> bytes:
    """A picture file, ``png``, ``svg`` or ``pdf``: the same bytes for the same figure."""
    from matplotlib import rc_context

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "cassini", "svg.fonttype": "none"}):
        figure.savefig(stream, format=format, dpi=150, metadata=undated[format])
    return stream.getvalue()
