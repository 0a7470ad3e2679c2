"""``cassini-core report``: a ranking as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .answers import chosen_candidate, read_answer
from .console import check_output_path, emit_bytes, emit_renderables, one_line, write_file
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
        Where the page is to lie; - writes it to standard output.
    candidate
        Id of the candidate to explain. Default: the best.
    """
    from rich.text import Text

    from ..report.page import report_page

    if output != STREAM:
        check_output_path(output, () if file == STREAM else (file,))
    problem, ranking = read_answer(file)
    if candidate is not None:
        chosen_candidate(ranking, candidate)
    page = report_page(problem, ranking, candidate)
    if output == STREAM:
        emit_bytes(page)
        return
    write_file(output, page)
    emit_renderables(Text(one_line(f"Wrote {Path(output).resolve()}.")))
