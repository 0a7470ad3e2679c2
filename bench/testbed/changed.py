"""Tasks whose profiles are changed in one way, to learn which assumption carries a difference."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

from cassini_core import Job
from cassini_core.schedulers.state import Profiles, TrainingTask

__all__ = ["changed_profile", "changed_task"]

_DECIMALS = 6
"""Of times, ms: profiles are whole numbers of nanoseconds."""


def changed_task(task: TrainingTask, *, sending: float | None = None, octave_ms: float = 0.0) -> TrainingTask:
    """A task of another profile: :func:`changed_profile`."""
    profiles = functools.partial(changed_profile, task.profiles, sending, octave_ms)
    return replace(task, profiles=profiles)


@functools.lru_cache(maxsize=4096)
def changed_profile(profiles: Profiles, sending: float | None, octave_ms: float, workers: int) -> Job:
    """A profile with other times.

    Parameters
    ----------
    profiles : callable of int to Job
    sending : float, optional
        For which part of an iteration it sends: all its computing takes longer or shorter. None: as
        it is.
    octave_ms : float
        If not 0, all its times are then made longer or shorter by one factor, at most the root of 2, so that its
        iteration takes ``octave_ms`` times a power of two: all such jobs are commensurate, and send for as large a
        part of their time as before.
    workers : int
    """
    job = profiles(workers)
    busy_ms = sum(phase.duration_ms for phase in job.phases)
    computing_ms = job.iteration_ms - busy_ms
    more = 1.0 if sending is None or not busy_ms else busy_ms * (1.0 / sending - 1.0) / computing_ms
    longer_ms = busy_ms + more * computing_ms
    target_ms = octave_ms * 2.0 ** round(math.log2(longer_ms / octave_ms)) if octave_ms else longer_ms
    factor = target_ms / longer_ms
    phases, sent_ms = [], 0.0
    for phase in job.phases:
        start_ms = (phase.start_ms - sent_ms) * more + sent_ms  # what lies before is computing, and what was sent
        phases.append(
            replace(phase, start_ms=_rounded(start_ms * factor), duration_ms=_rounded(phase.duration_ms * factor))
        )
        sent_ms += phase.duration_ms
    last_ms = max((phase.start_ms + phase.duration_ms for phase in phases), default=0.0)
    return Job(job.id, max(_rounded(target_ms), _rounded(last_ms)), phases)


def _rounded(ms: float) -> float:
    return round(ms, _DECIMALS)
