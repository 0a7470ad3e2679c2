"""Where to put the epoch of a component whose jobs have strayed, so that together they wait least.

Only the relative phase of the jobs matters. If one job of two is late by 20 ms, its own grid can be reached by waiting
almost a whole pace; or the epoch moves by 20 ms, and the other job waits 20 ms. The least total wait is found exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .phase import turns, wrap

__all__ = ["MAX_CANDIDATES", "Rephase", "Strayed", "rephase", "wait_after"]

MAX_CANDIDATES = 20_000
"""Shifts of the epoch that are tried; each costs O(jobs). More only with paces of odd ratios: then the nearest ones."""


@dataclass(frozen=True, slots=True)
class Strayed:
    """One job of the component.

    Attributes
    ----------
    error_ns : int
        How late its starts are on its present grid (negative: early); modulo ``pace_ns``.
    pace_ns : int
        The paces of a component have one exact ratio.
    band_ns : int
        Lateness up to this makes the job wait nothing: its pace brings it back.
    weight : float
        What a nanosecond of its waiting costs, for example GPUs; greater than 0.
    """

    error_ns: int
    pace_ns: int
    band_ns: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Rephase:
    """What to do.

    Attributes
    ----------
    epoch_shift_ns : int
        By how much the epoch of all jobs moves.
    shift_change_ns : tuple of int
        Per job: by how much its own shift changes besides; a multiple of its turn, which changes nothing between jobs.
    wait_ns : tuple of int
        Per job: the one wait it then has.
    late_ns : tuple of int
        Per job: lateness that is left to its pace, at most its band.
    cost : float
        Weighted total of the waits.
    """

    epoch_shift_ns: int
    shift_change_ns: tuple[int, ...]
    wait_ns: tuple[int, ...]
    late_ns: tuple[int, ...]
    cost: float


def wait_after(lateness_ns: int, turn_ns: int, band_ns: int) -> int:
    """What a job waits that is late by this much, modulo the turn: nothing within the band, else to the next point."""
    late = lateness_ns % turn_ns
    return 0 if late <= band_ns else turn_ns - late


def rephase(jobs: Sequence[Strayed]) -> Rephase:
    """The shift of the epoch with the least weighted total wait; among equals the least lateness, then the least shift.

    Parameters
    ----------
    jobs : sequence of Strayed
        All jobs of the component.

    Raises
    ------
    ValueError
        No jobs, a pace below 1, a negative band, or a weight that is not greater than 0.

    Notes
    -----
    As the epoch moves later, a job's wait grows as fast and drops to nothing where its lateness comes down to its band.
    So the total is least at one of these drops: per job ``error - band``, once for each of its turns that fit into the
    least common multiple of all turns. The points ``error`` are tried too: they cost no more than their drop when all
    waits are zero, and leave no lateness. O(candidates * jobs).
    """
    _check(jobs)
    periods = turns([job.pace_ns for job in jobs])
    candidates = _candidates(jobs, periods)
    weighted = [(e.error_ns, turn, e.band_ns, e.weight) for e, turn in zip(jobs, periods, strict=True)]

    def price(shift: int) -> tuple[float, float, int, int]:
        cost = late = 0.0
        for error, turn, band, weight in weighted:
            lag = (error - shift) % turn
            if lag > band:
                cost += weight * (turn - lag)
            else:
                late += weight * lag
        return cost, late, abs(shift), shift

    best = min(candidates, key=price)
    waits, lates, changes = [], [], []
    for job, turn in zip(jobs, periods, strict=True):
        wait = wait_after(job.error_ns - best, turn, job.band_ns)
        waits.append(wait)
        lates.append(0 if wait else (job.error_ns - best) % turn)
        # Where the job will be, late or just in time, is a point of its own new grid.
        changes.append(job.error_ns - best + wait - lates[-1])
    return Rephase(best, tuple(changes), tuple(waits), tuple(lates), price(best)[0])


def _candidates(jobs: Sequence[Strayed], periods: Sequence[int]) -> list[int]:
    whole = math.lcm(*periods)
    found = {0}
    share = MAX_CANDIDATES // (2 * len(jobs))
    for job, turn in zip(jobs, periods, strict=True):
        count = min(whole // turn, max(share, 1))
        for point in (job.error_ns - job.band_ns, job.error_ns):
            first = wrap(point, turn)
            found.update(wrap(first + turn * (k - count // 2), whole) for k in range(count))
    return sorted(found)


def _check(jobs: Sequence[Strayed]) -> None:
    if not jobs:
        raise ValueError("rephase: expected jobs, got none")
    for index, job in enumerate(jobs):
        if job.pace_ns < 1 or job.band_ns < 0 or not job.weight > 0:
            where = f"rephase jobs[{index}]"
            raise ValueError(f"{where}: expected a pace and weight above 0 and no negative band, got {job}")
