"""``cassini-core profile fit``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...errors import InputError
from ...formats import ms_text
from ..console import emit_bytes, emit_renderables, one_line
from ..inputs import STREAM, read_input
from ..options import JsonFlag

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...model import Job
    from ...profiles.compare import JobComparison

__all__ = ["fit"]


def fit(job_file: str, other_job_file: str, /, *, json: JsonFlag = False) -> None:
    """Compare two job files, for example a computed job with a recorded one.

    The second one's demand is turned until as much as possible coincides, because where an iteration begins differs
    between sources.

    Parameters
    ----------
    job_file
        What is compared with; - for standard input.
    other_job_file
        What is compared.
    """
    from ...formats import json_line
    from ...problem_file import profile_from_json
    from ...profiles.compare import compare_jobs

    if job_file == other_job_file == STREAM:
        raise InputError("expected one file from standard input, got '-' twice")
    first, second = (profile_from_json(*read_input(file))[0] for file in (job_file, other_job_file))
    comparison = compare_jobs(first, second)
    if json:
        emit_bytes(json_line({"format": "cassini-job-fit/1", "ids": [first.id, second.id], **asdict(comparison)}))
    else:
        emit_renderables(*_report(first, second, comparison))


def _report(first: Job, second: Job, found: JobComparison) -> Iterator[RenderableType]:
    from rich.text import Text

    from ...profiles.phases import demand_steps, volume_mbit
    from ..tables import Listing

    def row(job: Job) -> tuple[str, str, str]:
        peak = demand_steps(job.phases, job.iteration_ms)[1].max()
        return ms_text(job.iteration_ms), f"{volume_mbit(job.phases) / 8:.3f}", f"{peak:.3f}"

    def ratio(value: float | None) -> str:
        return "-" if value is None else f"{value:.4f}"

    table = Listing("Two jobs", ("", "iteration ms", "MB in an iteration", "peak Gbit/s"), "lrrr")
    table.add(first.id, *row(first))
    table.add(second.id, *row(second))
    table.add("ratio", *map(ratio, (found.iteration_ratio, found.bytes_ratio, found.peak_ratio)))
    yield table
    yield Text(
        f"As they stand {found.overlap_unturned:.1%} of the demand coincides; with the second one "
        f"{ms_text(found.rotation_ms)} ms later {found.overlap:.1%}."
    )
    yield Text(f"{one_line(found.verdict)}.")
