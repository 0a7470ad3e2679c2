"""``cassini-core profile model``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ...profiles.model.training_job import TrainingJob
from ..console import Waiting
from .computed_output import deliver_computed
from .job_output import output_job_id

__all__ = ["model"]


def model(
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))],
    job: Annotated[TrainingJob, Parameter(name="*")],
    id: Annotated[str | None, Parameter(name="--id")] = None,
) -> None:
    """Compute a job from its parameters, workers and parallelism, before it ever ran.

    The traffic is that of one rank. docs/profiles.md lists the formulas and their sources.

    Parameters
    ----------
    output
        Job file to write; an existing one is replaced. - writes to standard output.
    id
        Id of the job. Default: the name of the output file.
    """
    from ...profiles.model import profile_model

    job_id = output_job_id(id, output, ())
    with Waiting("playing an iteration"):
        profiled = profile_model(job, job_id=job_id)
    deliver_computed(output, profiled, "model")
