"""Mean iteration times of the jobs of one placement, side by side for a while."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Float64Array, Int64Array
from . import event_loop
from .event_loop import ANY, ARRIVED, JOB
from .network_arrays import NetworkArrays
from .traffic import Traffic

__all__ = ["Measured", "simulate"]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was measured of each job.

    Attributes
    ----------
    iteration_ms : float64 array
        Mean iteration time after warm-up.
    slowdown : float64 array
        That over the iteration time of the job alone.
    iterations : int64 array
        So many the mean is over.
    sent_gbit, completed : float64 array, int64 array
        Volume sent up to the end of the job's last whole iteration, and how many that were from the start.
    """

    iteration_ms: Float64Array
    slowdown: Float64Array
    iterations: Int64Array
    sent_gbit: Float64Array
    completed: Int64Array


def simulate(
    traffic: Traffic,
    start_ms: Float64Array,
    *,
    pace_ms: Float64Array | None = None,
    warm_up: int = 10,
    iterations: int = 30,
) -> Measured:
    """Run all jobs side by side and measure their iteration times.

    Parameters
    ----------
    traffic : Traffic
    start_ms : float64 array
        When each job begins its first iteration: its time-shift, or a random start.
    pace_ms : float64 array, optional
        A paced job begins iteration ``k`` no earlier than ``start_ms + k * pace_ms``; NaN for a job without pace. None
        for no pacing: an iteration follows the one before at once.
    warm_up : int
        Measuring begins when every job has done so many iterations, at least 1,
    iterations : int
        and ends when every job has done so many more; a short iteration is measured more often than a long one.

    Notes
    -----
    O(segments run * (jobs + the crossings of the jobs whose rates may change)).
    """
    if warm_up < 1 or iterations < 1:
        raise ValueError(f"warm_up and iterations: expected at least 1, got {warm_up} and {iterations}")
    n_jobs = len(traffic.job_ids)
    records = np.zeros(n_jobs, dtype=JOB)
    records["segment"], records["slot"], records["goal"], records["factor_at"] = ARRIVED, ANY, -1, -1
    records["next_event"] = records["came"] = records["anchor"] = start_ms
    records["late"] = np.inf
    records["pace"] = np.nan if pace_ms is None else pace_ms
    arrays = NetworkArrays(traffic, records, np.ones((n_jobs, 1)), None, (), np.zeros(0))
    arrays.await_iterations(np.full(n_jobs, warm_up))
    _, last = _run(arrays)
    # Each job is measured from its next end of an iteration on, the one that got warm last from the one just now.
    warm = arrays.jobs["completed"] + (np.arange(n_jobs) != last)
    warm_end = np.where(warm == arrays.jobs["completed"], arrays.jobs["ended"], np.nan)
    arrays.await_iterations(warm + iterations)
    ends, _ = _run(arrays)
    for job in np.flatnonzero(np.isnan(warm_end)):
        warm_end[job] = ends[job][0]
    measured = arrays.jobs["completed"] - warm
    mean = (arrays.jobs["ended"] - warm_end) / measured
    sent, completed = arrays.jobs["sent_by_end"] * 1e-3, arrays.jobs["completed"].copy()
    return Measured(mean, mean / traffic.solo_ms(), measured, sent, completed)


def _run(arrays: NetworkArrays) -> tuple[list[list[float]], int]:
    """Go on until all jobs have done what is awaited: the ends of iterations until then by job, and who was last."""
    ends: list[list[float]] = [[] for _ in arrays.ids]
    why = event_loop.FULL
    while why == event_loop.FULL:
        why, number = arrays.run(math.inf)
        log, _ = arrays.drain()
        for job, end in zip(log["job"].tolist(), log["end_ms"].tolist(), strict=True):
            ends[job].append(end)
    return ends, number
