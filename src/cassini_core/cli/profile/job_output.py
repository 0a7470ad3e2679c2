"""Where the job of a profile goes: its id, its file, and the report for people."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..console import PROGRAM, check_output_path, emit_bytes, emit_renderables, one_line, package_version, write_file
from ..inputs import STREAM

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["deliver", "made_by", "output_job_id", "warning_lines"]


def output_job_id(given: str | None, output: str, inputs: tuple[str, ...]) -> str:
    """The id of the job; refuses an output that cannot be written, before any time is spent."""
    if output != STREAM:
        check_output_path(output, inputs)
    return given if given is not None else _stem(inputs[0] if output == STREAM and inputs else output)


def deliver(output: str, data: bytes, report: Iterator[RenderableType], warnings: Sequence[str]) -> None:
    """Writes the job file; to standard output nothing but that, else a report for people too, warnings first."""
    if output == STREAM:
        emit_bytes(data)
        return
    from rich.text import Text

    write_file(output, data)
    emit_renderables(*warning_lines(warnings), *report, Text(f"Wrote {one_line(output)}."))


def warning_lines(warnings: Iterable[str]) -> Iterator[Text]:
    """A line for each warning."""
    from rich.text import Text

    for warning in warnings:
        yield Text(f"Warning: {one_line(warning)}", style="yellow")


def made_by(command: str) -> str:
    """What made a job file: program, version and command."""
    return f"{PROGRAM} {package_version()} profile {command}"


def _stem(path: str) -> str:
    """The file name without folders and endings: ``traces/rank3.json.gz`` is ``rank3``."""
    name = os.path.basename(path).replace(STREAM, "")
    for ending in (".gz", ".json", ".txt"):
        name = name.removesuffix(ending)
    return name or "job"
