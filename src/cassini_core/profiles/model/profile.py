"""A job from what is known of it before it runs: :func:`profile_model`."""

from __future__ import annotations

from dataclasses import asdict

from .computed import ComputedProfile, computed_profile
from .schedule import play
from .training_job import TrainingJob

__all__ = ["TrainingJob", "profile_model"]


def profile_model(job: TrainingJob, *, job_id: str) -> ComputedProfile:
    """Iteration time and traffic of a job that was described, not recorded.

    The rank shown is of the pipeline stage that sends most. Left out: latency, congestion control, the optimizer's
    time, and tokens that leave experts' buffers empty.

    Parameters
    ----------
    job : TrainingJob
        What is known.
    job_id : str
        Id of the job made.

    Returns
    -------
    ComputedProfile
        Bytes are those of the formulas in :mod:`.schedule` and :mod:`.groups`; joining phases keeps them.

    Raises
    ------
    InputError
        More messages than are played, or an iteration beyond 18 minutes.

    Examples
    --------
    Four servers of one GPU, 138 million parameters in half precision, gradients sent after the backward pass:

    >>> from cassini_core.profiles.model import TrainingJob, profile_model
    >>> vgg = TrainingJob(workers=4, compute_ms=141, gbps=50, parameters=138e6, overlap=False)
    >>> profile_model(vgg, job_id="vgg16").job
    Job(id='vgg16', iteration_ms=207.24, phases=(Phase(start_ms=141.0, duration_ms=66.24, gbps=50.0),))
    """
    timelines = play(job)
    loads = [sum(one.message.network_bytes for one in timeline.transfers) for timeline in timelines]
    stage = loads.index(max(loads))
    groups = [one for one in job.groups.values() if one.size > 1 and (job.expert > 1 or one.name != "expert data")]
    details = {
        "model": {name: value for name, value in asdict(job).items() if value is not None},
        "groups": [{"name": g.name, "ranks": g.size, "in_one_server": g.local} for g in groups],
        "stage": stage,
    }
    warnings = [
        f"{group.name} parallel groups of {group.size} ranks span servers ({group.local} in each)"
        for group in groups
        if group.name == "tensor" and group.crosses
    ]
    return computed_profile(
        job_id,
        timelines[stage],
        max(timeline.end_ms for timeline in timelines),
        method="model",
        warnings=warnings,
        details=details,
    )
