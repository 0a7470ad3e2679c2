"""``cassini-core profile kineto``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ...errors import InputError
from ...formats import ms_text
from ..console import Waiting
from ..inputs import STREAM
from ..options import PositiveCount, number_from
from .job_output import deliver, made_by, output_job_id

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
    iteration_ms: Annotated[float | None, Parameter(converter=number_from(0, above=True))] = None,
    local_ranks: PositiveCount = None,
    group: Annotated[list[str] | None, Parameter(name="--group", negative=())] = None,
    kernels: str | None = None,
    line_gbps: Annotated[float | None, Parameter(converter=number_from(0, above=True))] = None,
) -> None:
    """Profile a job from PyTorch profiler traces (.json or .json.gz).

    The iteration time is that with which the collectives repeat on the GPU. Three iterations must be recorded. Traffic
    comes from the kernels of NCCL and RCCL, and from others that record a collective's name and sizes.

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
    iteration_ms
        Iteration time, ms, for traces of too few iterations.
    local_ranks
        Ranks per server. Groups of ranks of one server (NVLink) are left out.
    group
        Name of a process group whose traffic counts; may be given again. Default: all.
    kernels
        Regular expression that finds the names of further kernels that communicate (oneCCL, HCCL, DeepEP).
    line_gbps
        Rate of a rank's port, Gbit/s; faster collectives are warned of. Default: 800.
    """
    from ...problem_file import job_to_json
    from ...profiles.kineto import profile_kineto

    traces = (trace, *more_traces)
    if STREAM in traces:
        raise InputError("TRACE: expected a file, got '-'; a trace is not read from standard input")
    job_id = output_job_id(id, output, traces)
    with Waiting("reading traces"):
        profiled = profile_kineto(
            traces,
            job_id=job_id,
            gbps=gbps,
            iteration_ms=iteration_ms,
            local_ranks=local_ranks,
            groups=group or (),
            kernels=kernels,
            line_gbps=line_gbps,
        )
    about = profiled.provenance.to_dict(made_by("kineto"))
    deliver(output, job_to_json(profiled.job, about), _report(profiled), profiled.warnings)


def _report(profiled: KinetoProfile) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..tables import collective_table, group_table, phase_table

    job, spread = profiled.job, profiled.iteration_ms
    yield group_table(profiled)
    yield collective_table(profiled)
    yield phase_table(job)
    volume = sum(phase.duration_ms * phase.gbps for phase in job.phases)
    how = (
        f"{ms_text(spread.least)} to {ms_text(spread.most)} in {spread.count} distances"
        if profiled.provenance.iteration_from == "measured"
        else "given"
    )
    yield Text(
        f"One iteration takes {ms_text(job.iteration_ms)} ms ({how}) and puts {volume / 8:.3f} MB on the wire "
        f"({volume / job.iteration_ms:.3f} Gbit/s on average)."
    )
