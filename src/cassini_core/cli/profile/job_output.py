"""Where the job of a profile goes: its id, its file, and the report for people."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..console import check_output_path, emit_bytes, emit_renderables, one_line, write_file
from ..inputs import STREAM

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["deliver", "output_job_id"]


def output_job_id(given: str | None, output: str, inputs: tuple[str, ...]) -> str:
    """The id of the job; refuses an output that cannot be written, before any time is spent."""
    if output != STREAM:
        check_output_path(output, inputs)
    return given if given is not None else _stem(inputs[0] if output == STREAM else output)


def deliver(output: str, data: bytes, report: Iterator[RenderableType], warnings: Sequence[str]) -> None:
    """Writes the job file; to standard output nothing but that, else a report for people too, warnings first."""
    if output == STREAM:
        emit_bytes(data)
        return
    from rich.text import Text

    write_file(output, data)
    doubts = [Text(f"Warning: {one_line(warning)}") for warning in warnings]
    emit_renderables(*doubts, *report, Text(f"Wrote {one_line(output)}."))


def _stem(path: str) -> str:
    """The file name without folders and endings: ``traces/rank3.json.gz`` is ``rank3``."""
    name = os.path.basename(path)
    for ending in (".gz", ".json"):
        name = name.removesuffix(ending)
    return name or "job"
