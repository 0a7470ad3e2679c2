"""``cassini-core profile kineto``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ...errors import InputError
from ..console import PROGRAM, Waiting, one_line, package_version
from ..inputs import STREAM
from ..options import number_from
from .job_output import deliver, output_job_id

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...profiles.kineto import KinetoProfile

__all__ = ["kineto"]


def kineto(
    trace: str,
    /,
    *more_traces: str,
    output: Annotated[str, Parameter(name=("--output", "-o"))],
    id: Annotated[str | None, Parameter(name="--id")] = None,
    gbps: Annotated[float | None, Parameter(converter=number_from(0, above=True))] = None,
) -> None:
    """Profile a job from PyTorch profiler traces (.json or .json.gz).

    Iterations come from the profiler's step annotations, traffic from the NCCL kernels.

    Parameters
    ----------
    trace
        Trace file of one rank.
    more_traces
        Traces of further ranks of the same job.
    output
        Job file to write; an existing one is replaced. - writes to standard output.
    id
        Id of the job. Default: the name of the output file, or of the first trace.
    gbps
        Rate while communicating, Gbit/s, for traces that do not record message sizes.
    """
    from ...problem_file import job_to_json
    from ...profiles.kineto import profile_kineto

    traces = (trace, *more_traces)
    if STREAM in traces:
        raise InputError("TRACE: expected a file, got '-'; a trace is not read from standard input")
    job_id = output_job_id(id, output, traces)
    with Waiting("reading traces"):
        profiled = profile_kineto(traces, job_id=job_id, gbps=gbps)
    deliver(output, job_to_json(profiled.job, _about(profiled)), _report(profiled), profiled.warnings)


def _about(profiled: KinetoProfile) -> dict[str, Any]:
    """How the job was measured, for whoever finds the file later; traces by name, since folders differ."""
    return {
        "measured_by": f"{PROGRAM} {package_version()} profile kineto",
        "traces": [os.path.basename(path) for path in profiled.ranks],
        "iteration_ms": {"least": profiled.iteration_ms.least, "most": profiled.iteration_ms.most},
        "steps_used": list(profiled.steps_used),
        "steps_ignored": {str(number): why for number, why in profiled.steps_ignored.items()},
        "rate_given": any(one.assumed for one in profiled.collectives),
        "warnings": list(profiled.warnings),
    }


def _report(profiled: KinetoProfile) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..tables import collective_table, ms_text, phase_table

    job = profiled.job
    yield collective_table(profiled)
    yield phase_table(job)
    volume = sum(phase.duration_ms * phase.gbps for phase in job.phases)
    yield Text(
        f"One iteration takes {ms_text(job.iteration_ms)} ms and puts {volume / 8:.3f} MB on the wire "
        f"({volume / job.iteration_ms:.3f} Gbit/s on average); measured in {len(profiled.steps_used)} steps."
    )
    for number, why in profiled.steps_ignored.items():
        yield Text(f"Step {number} left out: {one_line(why)}")
