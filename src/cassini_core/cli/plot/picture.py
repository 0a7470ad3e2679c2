"""What all pictures have in common on the command line: where they go, how they look, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ...errors import InputError
from ..console import check_output_path, emit_bytes, emit_renderables, one_line, write_file
from ..inputs import STREAM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...plots.figures import Theme

__all__ = ["NOWHERE", "CandidateId", "LinkId", "Target"]

CandidateId = Annotated[str | None, Parameter(help="Which candidate; by default the best.")]
LinkId = Annotated[str | None, Parameter(help="Which link; by default the worst that jobs share.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Target:
    """The options of every picture."""

    output: Annotated[
        str | None,
        Parameter(name=("--output", "-o"), help="Picture to write; its name ends in .png, .svg or .pdf."),
    ] = None
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print the numbers that the picture shows as JSON.")
    ] = False
    dark: Annotated[bool, Parameter(negative=(), show_default=False, help="Draw for a dark page.")] = False

    def check(self, file: str) -> None:
        """Refuse what cannot end in a picture or in numbers, before any time is spent."""
        from ...plots.figures import plot_format

        if self.output is None and not self.json:
            raise InputError("plot: expected -o PICTURE (.png, .svg or .pdf) or --json, got neither")
        if self.output is not None:
            plot_format(self.output.replace(STREAM, "-"))
            check_output_path(self.output, () if file == STREAM else (file,))

    def emit(self, kind: str, data: Mapping[str, Any], draw: Callable[[Theme], Figure]) -> None:
        """Write the picture, and print the numbers (one line, ``cassini-plot/1``) or say what was written."""
        from rich.text import Text

        from ...formats import json_line
        from ...plots.figures import DARK, LIGHT, figure_bytes, plot_format

        if self.output is not None:
            write_file(self.output, figure_bytes(draw(DARK if self.dark else LIGHT), plot_format(self.output)))
        if self.json:
            emit_bytes(json_line({"format": "cassini-plot/1", "kind": kind, **data}))
        else:
            emit_renderables(Text(f"Wrote {one_line(self.output or '')}."))


NOWHERE = Target()
