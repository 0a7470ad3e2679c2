"""``cassini-core report``: a ranking as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .answers import read_answer
from .console import check_output_path, emit_renderables, one_line, write_file
from .inputs import STREAM

__all__ = ["report"]


def report(
    file: str,
    /,
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))] = "report.html",
    candidate: str | None = None,
) -> None:
    """Write an HTML page that explains a ranking: shifts, scores, and demand over time with a slider per job.

    The page is one file that needs no network; any browser shows it.

    Parameters
    ----------
    file
        Problem file, or what rank --with-problem printed; - for standard input.
    output
        Where the page is to lie.
    candidate
        Id of the candidate to explain. Default: the best.
    """
    from rich.text import Text

    from ..report.page import report_page

    check_output_path(output, () if file == STREAM else (file,))
    write_file(output, report_page(*read_answer(file), candidate))
    emit_renderables(Text(one_line(f"Wrote {Path(output).resolve()}.")))
