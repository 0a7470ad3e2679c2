"""``cassini-core profile``: from measurements of a training job to its iteration time and traffic phases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from ..errors import InputError
from .console import (
    PROGRAM,
    Waiting,
    check_output_path,
    emit_bytes,
    emit_renderables,
    one_line,
    package_version,
    write_file,
)
from .inputs import STREAM
from .options import number_from

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..profiles.counters import CounterProfile
    from ..profiles.kineto import KinetoProfile

__all__ = ["profile"]

profile = App(name="profile", sort_key=3, help="Derive a job file (iteration time, traffic phases) from measurements.")


@profile.command(usage="Usage: cassini-core profile kineto TRACE [MORE-TRACES] -o JOB.json [OPTIONS]")
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
    from ..problem_file import job_to_json
    from ..profiles.kineto import profile_kineto

    traces = (trace, *more_traces)
    if STREAM in traces:
        raise InputError("TRACE: expected a file, got '-'; a trace is not read from standard input")
    job_id = _job_id(id, output, traces)
    with Waiting("reading traces"):
        profiled = profile_kineto(traces, job_id=job_id, gbps=gbps)
    _deliver(output, job_to_json(profiled.job, _about(profiled)), _report(profiled), profiled.warnings)


@profile.command(usage="Usage: cassini-core profile counters RECORDING -o JOB.json [OPTIONS]")
def counters(
    recording: str,
    /,
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))],
    id: Annotated[str | None, Parameter(name="--id")] = None,
    device: Annotated[list[str] | None, Parameter(name="--device", negative=())] = None,
    direction: Literal["busier", "tx", "rx"] = "busier",
) -> None:
    """Profile a job from a recording of port counters (cassini-counters/1).

    The iteration time is that with which the traffic repeats. Counters do not show where an iteration begins: time 0
    is where the traffic before the longest pause ends. python -m cassini_agent.counters makes recordings.

    Parameters
    ----------
    recording
        Recorded while the job ran, at best alone on the devices.
    output
        Job file to write; an existing one is replaced. - writes to standard output.
    id
        Id of the job. Default: the name of the output file, or of the recording.
    device
        Device whose traffic counts, as named in the recording; may be given again. Default: all, added up.
    direction
        Which way: tx, rx, or the busier one.
    """
    from ..problem_file import job_to_json
    from ..profiles.counters import profile_counters

    if recording == STREAM:
        raise InputError("RECORDING: expected a file, got '-'; a recording is not read from standard input")
    job_id = _job_id(id, output, (recording,))
    with Waiting("reading counters"):
        profiled = profile_counters(recording, job_id=job_id, devices=device or (), direction=direction)
    data = job_to_json(profiled.job, _about_counters(profiled, recording))
    _deliver(output, data, _counter_report(profiled), profiled.warnings)


def _job_id(given: str | None, output: str, inputs: tuple[str, ...]) -> str:
    """The id of the job; refuses an output that cannot be written, before any time is spent."""
    if output != STREAM:
        check_output_path(output, inputs)
    return given if given is not None else _stem(inputs[0] if output == STREAM else output)


def _deliver(output: str, data: bytes, report: Iterator[RenderableType], warnings: Sequence[str]) -> None:
    """Writes the job file; to standard output nothing but that, else a report for people too."""
    if output == STREAM:
        emit_bytes(data)
        return
    from rich.text import Text

    write_file(output, data)
    lines = [*(f"Warning: {one_line(warning)}" for warning in warnings), f"Wrote {one_line(output)}."]
    emit_renderables(*report, *map(Text, lines))


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


def _about_counters(profiled: CounterProfile, recording: str) -> dict[str, Any]:
    return {
        "measured_by": f"{PROGRAM} {package_version()} profile counters",
        "recording": os.path.basename(recording),
        "devices": list(profiled.devices),
        "direction": profiled.direction,
        "iteration_ms": {"least": profiled.iteration_ms.least, "most": profiled.iteration_ms.most},
        "iterations_used": profiled.iteration_ms.count,
        "iterations_ignored": profiled.iterations_ignored,
        "regularity": round(profiled.regularity, 4),
        "background_gbps": round(profiled.background_gbps, 6),
        "resolution_ms": round(profiled.resolution_ms, 4),
        "warnings": list(profiled.warnings),
    }


def _counter_report(profiled: CounterProfile) -> Iterator[RenderableType]:
    from rich.text import Text

    from .tables import ms_text, phase_table

    job, spread = profiled.job, profiled.iteration_ms
    yield phase_table(job)
    volume = sum(phase.duration_ms * phase.gbps for phase in job.phases)
    yield Text(
        f"One iteration takes {ms_text(job.iteration_ms)} ms ({ms_text(spread.least)} to {ms_text(spread.most)}) and "
        f"puts {volume / 8:.3f} MB on the wire ({volume / job.iteration_ms:.3f} Gbit/s on average); measured in "
        f"{spread.count} iterations, {profiled.iterations_ignored} left out, direction {profiled.direction} of "
        f"{one_line(', '.join(profiled.devices))}."
    )
    yield Text(f"The typical iteration explains {profiled.regularity:.0%} of the traffic.")


def _report(profiled: KinetoProfile) -> Iterator[RenderableType]:
    from rich.text import Text

    from .tables import collective_table, ms_text, phase_table

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


def _stem(path: str) -> str:
    """The file name without folders and endings: ``traces/rank3.json.gz`` is ``rank3``."""
    name = os.path.basename(path)
    for ending in (".gz", ".json"):
        name = name.removesuffix(ending)
    return name or "job"
