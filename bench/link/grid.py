"""The paper's formulation (its Table 1): demand at discrete points of the unified circle, rotations in whole steps.

What every peer searches. In whole numbers throughout, so that a peer's claim can be checked exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cassini_core import Job
from cassini_core.units import kbps_from_gbps, ms_from_ticks, ticks_from_ms

__all__ = ["MAX_POINTS", "Grid", "GridError", "angle_grid", "tick_grid"]

MAX_POINTS = 1 << 21
"""Most points of the unified circle that are laid out: 16 MiB a job."""

MAX_TURNED = 1 << 26
"""Most numbers in the table of a job's rotations: half a GiB."""


class GridError(ValueError):
    """The jobs cannot be said on this grid, or it has too many points."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A link problem on the points of its unified circle.

    Attributes
    ----------
    job_ids : tuple of str
    period : tuple of int
        Iteration times, ticks.
    perimeter : int
        LCM of the periods, ticks.
    demand : int64 array, shape (n_jobs, points)
        ``bw_circle_j`` at the points, in units of ``unit`` kbit/s.
    rotations : tuple of int
        Rotations of each job, in steps: ``0 .. rotations[j] - 1``.
    capacity : int
        In units of ``unit`` kbit/s.
    unit : int
        kbit/s; the greatest common divisor of all demands and the capacity, so that the numbers are small.
    """

    job_ids: tuple[str, ...]
    period: tuple[int, ...]
    perimeter: int
    demand: npt.NDArray[np.int64]
    rotations: tuple[int, ...]
    capacity: int
    unit: int

    @property
    def points(self) -> int:
        """``|A|``."""
        return int(self.demand.shape[1])

    @property
    def turns_freely(self) -> bool:
        """Whether every iteration is a whole number of steps: then turning all jobs alike changes nothing.

        The first job may then stay at rotation 0.
        """
        return all(
            self.perimeter // period * count == self.points
            for period, count in zip(self.period, self.rotations, strict=True)
        )

    def searched(self) -> tuple[int, ...]:
        """Rotations to try per job: one for the first if the grid turns freely."""
        return (1, *self.rotations[1:]) if self.turns_freely else self.rotations

    def turned(self, job: int) -> npt.NDArray[np.int64]:
        """Demand of a job at all its rotations, shape (rotations, points).

        Raises
        ------
        GridError
            More than ``MAX_TURNED`` numbers.
        """
        if self.rotations[job] * self.points > MAX_TURNED:
            raise GridError(f"{self.rotations[job]:,} rotations of {self.points:,} points are not laid out")
        index = np.arange(self.points) - np.arange(self.rotations[job])[:, np.newaxis]
        found: npt.NDArray[np.int64] = self.demand[job][index % self.points]
        return found

    def excess(self, rotation: Sequence[int]) -> int:
        """Sum over the points of the demand above the capacity, units."""
        total = np.zeros(self.points, dtype=np.int64)
        for demand, steps in zip(self.demand, rotation, strict=True):
            total += np.roll(demand, steps)
        return int(np.maximum(total - self.capacity, 0).sum())

    def score(self, excess: int) -> float:
        """``1 - mean(excess) / C``."""
        return 1.0 - excess / (self.points * self.capacity)

    def shifts_ms(self, rotation: Sequence[int]) -> dict[str, float]:
        """Time-shifts that the rotations stand for, ms, rounded to the tick."""
        return {
            job_id: ms_from_ticks(round(Fraction(steps * self.perimeter, self.points)) % period)
            for job_id, period, steps in zip(self.job_ids, self.period, rotation, strict=True)
        }


def angle_grid(jobs: Sequence[Job], capacity_gbps: float, angles: int = 72) -> Grid:
    """The grid of ``angles`` points; 72 is the paper's 5 degrees."""
    return _grid(jobs, capacity_gbps, math.lcm(*(ticks_from_ms(job.iteration_ms) for job in jobs)), angles)


def tick_grid(jobs: Sequence[Job], capacity_gbps: float, tick_ms: float = 1.0) -> Grid:
    """The grid of one point per ``tick_ms``.

    Raises
    ------
    GridError
        An iteration time is not a multiple of ``tick_ms``, or the unified circle has more than ``MAX_POINTS``.
    """
    tick = ticks_from_ms(tick_ms)
    periods = [ticks_from_ms(job.iteration_ms) for job in jobs]
    if any(period % tick for period in periods):
        raise GridError(f"iteration times are not multiples of {tick_ms:g} ms")
    perimeter = math.lcm(*periods)
    if perimeter // tick > MAX_POINTS:
        raise GridError(f"{perimeter // tick:,} points are not laid out")
    return _grid(jobs, capacity_gbps, perimeter, perimeter // tick)


def _grid(jobs: Sequence[Job], capacity_gbps: float, perimeter: int, points: int) -> Grid:
    periods = [ticks_from_ms(job.iteration_ms) for job in jobs]
    demand = np.stack([_sampled(job, perimeter // period, points) for job, period in zip(jobs, periods, strict=True)])
    capacity = kbps_from_gbps(capacity_gbps)
    unit = math.gcd(capacity, int(np.gcd.reduce(demand, axis=None)))
    return Grid(
        job_ids=tuple(job.id for job in jobs),
        period=tuple(periods),
        perimeter=perimeter,
        demand=demand // unit,
        # ceil(|A| / r_j) without floats.
        rotations=tuple(-(-points // (perimeter // period)) for period in periods),
        capacity=capacity // unit,
        unit=unit,
    )


def _sampled(job: Job, iterations: int, points: int) -> npt.NDArray[np.int64]:
    """Demand at the instants ``k p / |A|``, kbit/s; a phase covers its start and not its end."""
    period = ticks_from_ms(job.iteration_ms)
    # k p / |A| modulo T, as whole ticks: a phase begins and ends on ticks, so rounding down changes nothing.
    turn = np.arange(points, dtype=np.int64) * (iterations % points) % points
    at = turn * period // points
    demand = np.zeros(points, dtype=np.int64)
    for phase in job.phases:
        since_start = (at - ticks_from_ms(phase.start_ms)) % period
        demand[since_start < ticks_from_ms(phase.duration_ms)] += kbps_from_gbps(phase.gbps)
    return demand
