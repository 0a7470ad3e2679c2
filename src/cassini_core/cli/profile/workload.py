"""``cassini-core profile workload``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ...errors import InputError
from ..console import Waiting
from ..inputs import STREAM
from ..options import PositiveCount, number_from, whole_number_from
from .computed_output import deliver_computed
from .job_output import output_job_id

__all__ = ["workload"]


def workload(
    file: str,
    /,
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))],
    gbps: Annotated[float, Parameter(converter=number_from(0, above=True))],
    id: Annotated[str | None, Parameter(name="--id")] = None,
    workers: PositiveCount = None,
    local_ranks: Annotated[int, Parameter(converter=whole_number_from(1))] = 1,
    local_gbps: Annotated[float | None, Parameter(converter=number_from(0, above=True))] = None,
) -> None:
    """Compute a job from a workload file of a training simulator: the text format of ASTRA-sim 1.0 and of AICB.

    The traffic is that of one rank. A pipeline is refused, because such a file does not say in which order it runs.

    Parameters
    ----------
    file
        Workload file.
    output
        Job file to write; an existing one is replaced. - writes to standard output.
    gbps
        Rate at which one rank sends when the job is alone, Gbit/s; ranks that share a NIC have an equal part each.
    id
        Id of the job. Default: the name of the output file, or of the workload file.
    workers
        Ranks of the job, where the file does not say.
    local_ranks
        Ranks of the job in one server. Groups that stay inside use no network.
    local_gbps
        Rate of a rank inside its server, Gbit/s. Default: what stays inside takes no time.
    """
    from ...profiles.model import profile_workload

    if file == STREAM:
        raise InputError("FILE: expected a file, got '-'; a workload is not read from standard input")
    job_id = output_job_id(id, output, (file,))
    with Waiting("playing an iteration"):
        profiled = profile_workload(
            file, job_id=job_id, gbps=gbps, workers=workers, local_ranks=local_ranks, local_gbps=local_gbps
        )
    deliver_computed(output, profiled, "workload")
