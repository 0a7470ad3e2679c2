"""A job's iteration time and traffic phases from port counters sampled at about 1 kHz.

How a figure comes about:

* *Traffic*: bytes of all chosen devices in the busier direction, per sample (:mod:`.traffic`).
* *Iterations*: the period that foretells the traffic best is followed through the recording (:mod:`.period`), if it
  stands up to what speaks against it (:mod:`.evidence`). Iterations whose length is untypical or whose traffic is not
  known are left out and counted; the iteration time is the mean length of the others.
* *Phases*: the mean over iterations, each burst laid over itself (:mod:`.typical`); then pieces of constant rate, no
  more than the variance between iterations allows (:mod:`.segments`).
* *Rate*: bytes by time. What flows all the time at less than a tenth of the peak is taken off as background.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...model import Job, Phase
from ..phases import Spread, round_phases, simplify, volume_mbit
from ..provenance import Measured, Provenance
from .recording import Recording
from .traffic import Traffic, read_traffic

if TYPE_CHECKING:
    from .evidence import Iterations

__all__ = ["CounterProfile", "profile_counters"]

DEFAULT_NEGLIGIBLE = 0.005
DEFAULT_MAX_PHASES = 16
DIRECTIONS = ("busier", "tx", "rx")
_DOUBTFUL = 0.7
_FAINT = 0.1  # of the highest rate
_BLURRED = 0.5  # of the time that bursts take: edges that are less certain than that are none
_LINE = 1.05
_GBPS_FROM_BYTES_PER_MS = 8e-6


@dataclass(frozen=True, slots=True)
class CounterProfile(Measured):
    """A job and how it was measured.

    Attributes
    ----------
    job : Job
        Times rounded to 4 decimals of a ms, rates to 4 figures. Time 0 is where the traffic before the longest pause
        ends; counters do not show where the job's own iteration begins.
    provenance : Provenance
        Where the figures come from. ``iteration_ms`` is over the iterations used, ``typical`` their mean;
        ``recorded_gbps`` all bytes from the first iteration to the last.
    iterations_ignored : int
        Iterations left out: of untypical length, or with traffic that is not known.
    regularity : float
        Share of the traffic's variance that iterations foretell of others, 1 = all.
    background_gbps : float
        What flows all the time, taken off the phases, Gbit/s.
    resolution_ms : float
        Time between samples, or between refreshes of the counter: edges are no finer.
    direction : str
        ``tx`` or ``rx``.
    devices : tuple of str
    """

    iterations_ignored: int
    regularity: float
    background_gbps: float
    resolution_ms: float
    direction: str
    devices: tuple[str, ...]


def profile_counters(
    source: str | Path | Recording,
    *,
    job_id: str,
    devices: Sequence[str] = (),
    direction: str = "busier",
    iteration_ms: float | None = None,
    negligible: float = DEFAULT_NEGLIGIBLE,
    max_phases: int = DEFAULT_MAX_PHASES,
) -> CounterProfile:
    """Profile one job from a recording of counters, in any format that :mod:`.recording` knows.

    Parameters
    ----------
    source : path or Recording
        The recording. The job should run all the time, if possible alone on the devices.
    job_id : str
        Id of the job made.
    devices : sequence of str
        Devices whose traffic is added up; empty: all of the recording.
    direction : str
        ``tx``, ``rx`` or ``busier``.
    iteration_ms : float, optional
        What an iteration takes, ms, where the recording is too short or too noisy to show it. Refused where the traffic
        contradicts it.
    negligible : float
        Share of the bytes, in ``[0, 1)``, that the smallest phases left out may carry together.
    max_phases : int
        If more are left, wider gaps are joined until it holds.

    Raises
    ------
    InputError
        The file is no recording, holds no traffic, or does not show iterations that can be relied on; or SciPy or
        ruptures are not installed (``cassini-core[profiles]``).
    """
    try:
        # Loading them takes longer than all else that a package needs that never profiles.
        from .evidence import CERTAIN, find_iterations
        from .segments import phases_of, segment
        from .typical import typical_iteration
    except ModuleNotFoundError as error:
        raise InputError(
            f"profile counters: expected {error.name} to be installed, got none; "
            "pip install 'cassini-core[profiles]' brings it"
        ) from None
    if direction not in DIRECTIONS:
        raise InputError(f"direction: expected one of {', '.join(DIRECTIONS)}, got {direction!r}")
    if not 0 <= negligible < 1:
        raise InputError(f"negligible: expected a share from 0 to below 1, got {negligible!r}")
    if max_phases < 1:
        raise InputError(f"max_phases: expected at least 1, got {max_phases!r}")
    if iteration_ms is not None and not 0 < iteration_ms < math.inf:
        raise InputError(f"iteration_ms: expected a time above 0, got {iteration_ms!r}")
    name = source.path if isinstance(source, Recording) else str(source)
    traffic = read_traffic(source, devices=devices, direction=direction)
    iterations = find_iterations(name, traffic, iteration_ms)
    lengths = iterations.lengths_ms
    spread = Spread.of(lengths.tolist())
    typical_ms = round(float(np.mean(lengths)) if iteration_ms is None else iteration_ms, 4)
    spread = replace(spread, typical=typical_ms)
    typical = typical_iteration(traffic, iterations.starts_ms[:-1][iterations.usual], typical_ms)
    found, background = phases_of(
        segment(typical.profile, typical.variance),
        typical.floor,
        typical.bin_ms,
        _GBPS_FROM_BYTES_PER_MS / typical.bin_ms,
    )
    _check_resolution(name, traffic, found)
    phases, gap_ms = simplify(
        found, typical_ms, gap_ms=traffic.refresh_ms, negligible=negligible, max_phases=max_phases
    )
    job = Job(job_id, typical_ms, tuple(round_phases(phases, typical_ms)))
    provenance = Provenance(
        method="counters",
        inputs=(Path(name).name,),
        iteration_ms=spread,
        iteration_from=iterations.found_by,
        rate_from="measured",
        recorded_gbps=_recorded_gbps(traffic, iterations),
        kept_gbps=volume_mbit(job.phases) / typical_ms,
        details={
            "devices": list(traffic.devices),
            "direction": traffic.direction,
            "iterations_ignored": int(np.count_nonzero(~iterations.usual)),
            "regularity": round(iterations.regularity, 4),
            "background_gbps": round(background, 6),
            "resolution_ms": round(traffic.refresh_ms, 4),
        },
    )
    lost = provenance.conservation_warning()
    if lost and iterations.regularity < CERTAIN and iterations.found_by == "measured":
        raise InputError(f"{name}: iterations of about {typical_ms:.4g} ms differ too much from each other: {lost}")
    warnings = filter(
        None,
        [
            lost,
            *iterations.warnings,
            *traffic.warnings,
            *_warnings(traffic, iterations, job, background, gap_ms),
        ],
    )
    return CounterProfile(
        job=job,
        provenance=replace(provenance, warnings=tuple(warnings)),
        iterations_ignored=int(np.count_nonzero(~iterations.usual)),
        regularity=iterations.regularity,
        background_gbps=background,
        resolution_ms=traffic.refresh_ms,
        direction=traffic.direction,
        devices=traffic.devices,
    )


def _check_resolution(name: str, traffic: Traffic, phases: Sequence[Phase]) -> None:
    """Refuse bursts that a counter is refreshed too rarely for."""
    if traffic.refresh_ms < 1.5 * traffic.step_ms:
        return
    # Faint phases are what edges are blurred over.
    loudest = max((phase.gbps for phase in phases), default=0.0)
    up_ms = math.fsum(phase.duration_ms for phase in phases if phase.gbps >= _FAINT * loudest)
    if len(phases) * traffic.refresh_ms > _BLURRED * up_ms:
        raise InputError(
            f"{name}: the counter is refreshed only every {traffic.refresh_ms:.3g} ms, too rarely for {len(phases)} "
            f"phases of {up_ms:.4g} ms together in an iteration"
        )


def _recorded_gbps(traffic: Traffic, iterations: Iterations) -> float:
    """All that was recorded from the first iteration to the last, by the time in which it is known."""
    first, last = iterations.starts_ms[[0, -1]]
    inside = traffic.known & (traffic.times_ms[:-1] >= first) & (traffic.times_ms[1:] <= last)
    carried = float(np.diff(traffic.total)[inside].sum())
    return carried * _GBPS_FROM_BYTES_PER_MS / max(float(np.count_nonzero(inside)) * traffic.step_ms, traffic.step_ms)


def _warnings(traffic: Traffic, iterations: Iterations, job: Job, background: float, gap_ms: float) -> list[str]:
    warnings = []
    peak = max((phase.gbps for phase in job.phases), default=0.0)
    if traffic.line_gbps is not None and peak > _LINE * traffic.line_gbps:
        warnings.append(f"{peak:.4g} Gbit/s are more than the {traffic.line_gbps:.4g} that the link carries")
    if iterations.regularity < _DOUBTFUL:
        warnings.append(
            f"iterations differ much: {iterations.regularity:.0%} of the traffic's variation is foretold from others"
        )
    if traffic.refresh_ms > 1.5 * traffic.step_ms:
        warnings.append(
            f"the counter is refreshed only every {traffic.refresh_ms:.3g} ms (samples: {traffic.step_ms:g} ms); edges "
            "are no finer"
        )
    if background > 0.005 * peak:
        warnings.append(f"{background:.4g} Gbit/s that flow all the time were taken off as background")
    if gap_ms > traffic.refresh_ms:
        warnings.append(f"phases up to {gap_ms:.3g} ms apart were joined")
    return warnings
