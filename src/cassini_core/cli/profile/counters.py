"""``cassini-core profile counters``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ...errors import InputError
from ...formats import ms_text
from ..console import Waiting, one_line
from ..inputs import STREAM
from .job_output import deliver, made_by, output_job_id

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...profiles.counters import CounterProfile

__all__ = ["counters"]


def counters(
    recording: str,
    /,
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))],
    id: Annotated[str | None, Parameter(name="--id")] = None,
    device: Annotated[list[str] | None, Parameter(name="--device", negative=())] = None,
    direction: Literal["busier", "tx", "rx"] = "busier",
    iteration_ms: Annotated[float | None, Parameter(name="--iteration-ms")] = None,
) -> None:
    """Profile a job from a recording of port counters: the agent's, CSV, Prometheus', or rdma -j statistic's.

    The iteration time is that with which the traffic repeats, at least three times; what does not repeat well enough
    is refused. Counters do not show where an iteration begins: time 0 is where the traffic before the longest pause
    ends. python -m cassini_agent.counters makes recordings.

    Parameters
    ----------
    recording
        Recorded while the job ran, at best alone on the devices.
    output
        Job file to write; an existing one is replaced. - writes to standard output.
    id
        Id of the job. Default: the name of the output file, or of the recording.
    device
        Device or port whose traffic counts, as named in the recording; may be given again. Default: all, added up.
    direction
        Which way: tx, rx, or the busier one.
    iteration_ms
        What an iteration takes, ms, where the recording alone does not show it. Refused if the traffic contradicts it.
    """
    from ...problem_file import job_to_json
    from ...profiles.counters import profile_counters

    if recording == STREAM:
        raise InputError("RECORDING: expected a file, got '-'; a recording is not read from standard input")
    job_id = output_job_id(id, output, (recording,))
    with Waiting("reading counters"):
        profiled = profile_counters(
            recording, job_id=job_id, devices=device or (), direction=direction, iteration_ms=iteration_ms
        )
    data = job_to_json(profiled.job, profiled.provenance.to_dict(made_by("counters")))
    deliver(output, data, _counter_report(profiled), profiled.warnings)


def _counter_report(profiled: CounterProfile) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..tables import phase_table

    job, spread = profiled.job, profiled.iteration_ms
    yield phase_table(job)
    volume = sum(phase.duration_ms * phase.gbps for phase in job.phases)
    yield Text(
        f"One iteration takes {ms_text(job.iteration_ms)} ms ({ms_text(spread.least)} to {ms_text(spread.most)}) and "
        f"puts {volume / 8:.3f} MB on the wire ({volume / job.iteration_ms:.3f} Gbit/s on average); "
        f"{profiled.provenance.iteration_from}, with {spread.count} iterations used and {profiled.iterations_ignored} "
        f"left out, direction {profiled.direction} of {one_line(', '.join(profiled.devices))}."
    )
    yield Text(f"Of the traffic's variation, iterations foretell {profiled.regularity:.0%} of others.")
