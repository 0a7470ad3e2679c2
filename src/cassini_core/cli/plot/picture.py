"""What all pictures have in common on the command line: where they go, how they look, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ...errors import InputError
from ..console import check_output_path, emit_bytes, emit_renderables, one_line, write_file
from ..inputs import STREAM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...plots.figures import Theme

__all__ = ["CandidateId", "DarkFlag", "LinkId", "NumbersFlag", "PicturePath", "check_picture", "emit_picture"]

PicturePath = Annotated[
    str | None,
    Parameter(name=("--output", "-o"), help="Picture to write; its name ends in .png, .svg or .pdf."),
]
NumbersFlag = Annotated[
    bool, Parameter(negative=(), show_default=False, help="Print the numbers that the picture shows as JSON.")
]
DarkFlag = Annotated[bool, Parameter(negative=(), show_default=False, help="Draw for a dark page.")]
CandidateId = Annotated[str | None, Parameter(help="Which candidate; by default the best.")]
LinkId = Annotated[str | None, Parameter(help="Which link; by default the worst.")]


def check_picture(file: str, output: str | None, json: bool) -> None:
    """Refuse what cannot end in a picture or in numbers, before any time is spent."""
    from ...plots.figures import plot_format

    if output is None and not json:
        raise InputError("plot: expected -o PICTURE (.png, .svg or .pdf) or --json, got neither")
    if output is not None:
        plot_format(output.replace(STREAM, "-"))
        check_output_path(output, () if file == STREAM else (file,))


def emit_picture(
    kind: str,
    data: Mapping[str, Any],
    draw: Callable[[Theme], Figure],
    *,
    output: str | None,
    json: bool,
    dark: bool,
) -> None:
    """Write the picture, print the numbers (one line, ``cassini-plot/1``) or say what was written."""
    from ...formats import json_line
    from ...plots.figures import DARK, LIGHT, figure_bytes, plot_format

    if output is not None:
        write_file(output, figure_bytes(draw(DARK if dark else LIGHT), plot_format(output)))
    if json:
        emit_bytes(json_line({"format": "cassini-plot/1", "kind": kind, **data}))
    else:
        from rich.text import Text

        emit_renderables(Text(f"Wrote {one_line(output or '')}."))
