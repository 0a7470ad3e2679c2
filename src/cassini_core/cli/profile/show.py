"""``cassini-core profile show``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..console import check_output_path, emit_bytes, emit_renderables, one_line, write_file
from ..inputs import STREAM, read_input
from ..options import JsonFlag
from .job_output import warning_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...model import Job

__all__ = ["show"]


def show(
    job_file: str,
    /,
    *,
    plot: Annotated[str | None, Parameter(name=("--plot", "-p"))] = None,
    json: JsonFlag = False,
) -> None:
    """Show a job file: its phases, where its figures come from, and what to beware of.

    Parameters
    ----------
    job_file
        As cassini-core profile writes it; - for standard input.
    plot
        Picture to write: the demand over one iteration and around the job's circle. Its name ends in .png, .svg or
        .pdf. With --json the numbers that it shows are printed.
    """
    from ...formats import json_line
    from ...plots.figures import figure_bytes, plot_format
    from ...plots.job import job_figure, job_plot_data
    from ...problem_file import profile_from_json

    if plot is not None:
        picture = plot_format(plot)
        check_output_path(plot, () if job_file == STREAM else (job_file,), option="--plot")
    job, about = profile_from_json(*read_input(job_file))
    if plot is not None:
        write_file(plot, figure_bytes(job_figure(job), picture))
    if json:
        emit_bytes(json_line({"format": "cassini-job-plot/1", "id": job.id, **job_plot_data(job), "about": about}))
    else:
        emit_renderables(*_report(job, about, plot))


def _report(job: Job, about: Mapping[str, Any], plot: str | None) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..tables import phase_table, volume_sentence

    warnings = about.get("warnings")
    yield from warning_lines(map(str, warnings if isinstance(warnings, list) else []))
    yield phase_table(job)
    yield Text(volume_sentence(job))
    for line in _origin(about) or ["The file does not say where its figures come from."]:
        yield Text(one_line(line))
    if plot is not None:
        yield Text(f"Wrote {one_line(plot)}.")


def _origin(about: Mapping[str, Any]) -> list[str]:
    """Where the figures come from and how sure they are, as far as the file says; its content may be anything."""
    lines = []
    if "made_by" in about:
        inputs = about.get("inputs")
        read = f" from {', '.join(map(str, inputs))}" if isinstance(inputs, list) and inputs else ""
        lines.append(f"Made by {about['made_by']}{read}.")
    spread = about.get("iteration_ms")
    if isinstance(spread, dict) and _numbers(spread, "least", "most"):
        count = f", {spread['count']} of them" if spread.get("count") else ""
        measured = f"; between {spread['least']:.3f} and {spread['most']:.3f} ms{count}"
    else:
        measured = ""
    if "iteration_from" in about:
        lines.append(
            f"Iteration time: {about['iteration_from']}{measured if about['iteration_from'] == 'measured' else ''}."
        )
    elif measured:
        lines.append(f"Iteration time: measured{measured}.")
    if "rate_from" in about:
        kept = ""
        if _numbers(about, "recorded_gbps", "kept_gbps") and about["recorded_gbps"] > 0:
            kept = f"; the phases carry {about['kept_gbps'] / about['recorded_gbps']:.1%} of the bytes known"
        lines.append(f"Bytes: {about['rate_from']}{kept}.")
    return lines


def _numbers(values: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(values.get(key), int | float) and not isinstance(values[key], bool) for key in keys)
