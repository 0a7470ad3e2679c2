"""A job's iteration time and traffic phases from port counters sampled at about 1 kHz.

How a figure comes about:

* *Traffic*: bytes of all chosen devices in the busier direction, per sample (:mod:`.traffic`).
* *Iteration time*: lower median of the distance from start to start, of iterations followed through the recording
  (:mod:`.period`); those whose length is untypical or whose traffic is not known are left out and counted. The
  mean where the counter is refreshed too rarely for a single length to mean anything.
* *Phases*: median over iterations, bin by bin, each read from its own start, so that neither one slow iteration nor
  traffic of others changes anything; then pieces of constant rate (:mod:`.segments`).
* *Rate*: bytes by time. What flows all the time at less than a tenth of the peak is taken off as background.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...model import Job
from ..phases import Spread, round_phases, simplify, volume_mbit
from .recording import Recording
from .evidence import Iterations as Rhythm, find_iterations
from .segments import phases_of, segment
from .traffic import Traffic, read_traffic

__all__ = ["CounterProfile", "profile_counters"]

FloatArray = npt.NDArray[np.float64]

DEFAULT_NEGLIGIBLE = 0.005
DEFAULT_MAX_PHASES = 16
DIRECTIONS = ("busier", "tx", "rx")
_LEAST_REGULARITY = 0.3
_DOUBTFUL = 0.7
_MOST_BINS = 2048
_OUTLIERS = 5.0  # median absolute deviations
_GBPS_FROM_BYTES_PER_MS = 8e-6


@dataclass(frozen=True, slots=True)
class CounterProfile:
    """A job and how it was measured.

    Attributes
    ----------
    job : Job
        Times rounded to 4 decimals of a ms, rates to 4 figures. Time 0 is where the traffic before the longest pause
        ends; counters do not show where the job's own iteration begins.
    iteration_ms : Spread
        Over the iterations used, ms.
    iterations_ignored : int
        Iterations left out: of untypical length, or with traffic that is not known.
    regularity : float
        Share of the traffic's variance that the typical iteration explains, 1 = all.
    background_gbps : float
        What flows all the time, taken off the phases, Gbit/s.
    resolution_ms : float
        Time between samples, or between refreshes of the counter: edges are no finer.
    direction : str
        ``tx`` or ``rx``.
    devices : tuple of str
    warnings : tuple of str
        What a user should know before trusting the figures.
    """

    job: Job
    iteration_ms: Spread
    iterations_ignored: int
    regularity: float
    background_gbps: float
    resolution_ms: float
    direction: str
    devices: tuple[str, ...]
    warnings: tuple[str, ...]


def profile_counters(
    path: str | Path | Recording,
    *,
    job_id: str,
    devices: Sequence[str] = (),
    direction: str = "busier",
    negligible: float = DEFAULT_NEGLIGIBLE,
    max_phases: int = DEFAULT_MAX_PHASES,
) -> CounterProfile:
    """Profile one job from a recording of counters (``cassini-counters/1``).

    Parameters
    ----------
    path : path
        The recording. The job should run all the time, if possible alone on the devices.
    job_id : str
        Id of the job made.
    devices : sequence of str
        Devices whose traffic is added up; empty: all of the recording.
    direction : str
        ``tx``, ``rx`` or ``busier``.
    negligible : float
        Share of the bytes, in ``[0, 1)``, that the smallest phases left out may carry together.
    max_phases : int
        If more are left, wider gaps are joined until it holds.

    Raises
    ------
    InputError
        The file is no recording, holds no traffic, or nothing in it repeats often enough.
    """
    if direction not in DIRECTIONS:
        raise InputError(f"direction: expected one of {', '.join(DIRECTIONS)}, got {direction!r}")
    if not 0 <= negligible < 1:
        raise InputError(f"negligible: expected a share from 0 to below 1, got {negligible!r}")
    if max_phases < 1:
        raise InputError(f"max_phases: expected at least 1, got {max_phases!r}")
    traffic = read_traffic(path, devices=devices, direction=direction)
    if traffic.total[-1] <= 0:
        raise InputError(f"{path}: no traffic on {', '.join(traffic.devices)} in direction {traffic.direction}")
    rhythm = find_iterations("x", traffic)
    starts = rhythm.starts_ms
    whole = rhythm.usual
    iteration = replace(Spread.of(rhythm.lengths_ms.tolist()), typical=float(np.mean(rhythm.lengths_ms)))
    iteration_ms = round(iteration.typical, 4)
    # Rows are as long as the typical iteration, whatever their own length: what is cut or added is pause.
    bins = int(np.clip(round(iteration_ms / traffic.step_ms), 8, _MOST_BINS))
    bin_ms = iteration_ms / bins
    profile = np.median(traffic.per_bin(starts[:-1][whole], bins, bin_ms), axis=0)
    found, background = phases_of(segment(profile), bin_ms, _GBPS_FROM_BYTES_PER_MS / bin_ms)
    phases, gap_ms = simplify(
        found, iteration_ms, gap_ms=traffic.refresh_ms, negligible=negligible, max_phases=max_phases
    )
    job = Job(job_id, iteration_ms, tuple(round_phases(phases, iteration_ms)))
    return CounterProfile(
        job=job,
        iteration_ms=iteration,
        iterations_ignored=int(np.count_nonzero(~whole)),
        regularity=rhythm.regularity,
        background_gbps=background,
        resolution_ms=traffic.refresh_ms,
        direction=traffic.direction,
        devices=traffic.devices,
        warnings=(*traffic.warnings, *_warnings(traffic, rhythm, job, profile, background, gap_ms)),
    )


def _warnings(
    traffic: Traffic, rhythm: Rhythm, job: Job, profile: FloatArray, background: float, gap_ms: float
) -> list[str]:
    warnings = []
    if rhythm.regularity < _DOUBTFUL:
        warnings.append(f"iterations differ much: the typical one explains {rhythm.regularity:.0%} of the traffic")
    if traffic.refresh_ms > 1.5 * traffic.step_ms:
        warnings.append(
            f"the counter is refreshed only every {traffic.refresh_ms:.3g} ms (samples: {traffic.step_ms:g} ms)"
        )
    if background > 0.005 * max((phase.gbps for phase in job.phases), default=0.0):
        warnings.append(f"{background:.4g} Gbit/s that flow all the time were taken off as background")
    if gap_ms > traffic.refresh_ms:
        warnings.append(f"phases up to {gap_ms:.3g} ms apart were joined")
    seen = float(profile.sum()) * 8e-6
    kept = volume_mbit(job.phases) + background * job.iteration_ms
    if abs(kept - seen) > 0.05 * seen:
        warnings.append(f"the phases carry {volume_mbit(job.phases) / 8:.4g} MB of {seen / 8:.4g} MB in an iteration")
    return warnings
