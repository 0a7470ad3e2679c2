"""All rotations in compiled loops: what a capable user writes in an hour.

Partial sums are kept per job, and a partial placement that already has the best excess is left at once.
"""

from __future__ import annotations

import time

import numba
import numpy as np
import numpy.typing as npt

from bench.link.grid import Grid

from .answer import PeerAnswer

_POINTS_BETWEEN_LOOKS = 50_000_000
"""Points added up between two looks at the clock: some ten milliseconds."""


@numba.njit(cache=True)
def _advance(
    doubled: npt.NDArray[np.int64],  # (n_jobs, 2 * points): twice round, so that a rotation is an offset
    searched: npt.NDArray[np.int64],
    capacity: int,
    rotation: npt.NDArray[np.int64],  # where the search stands; -1 at the depths not entered
    partial: npt.NDArray[np.int64],  # (n_jobs + 1, points)
    best_rotation: npt.NDArray[np.int64],
    best: int,
    depth: int,
    budget: int,
) -> tuple[int, int]:
    """Search on until done (depth -1) or ``budget`` points were added up; returns the best excess and the depth."""
    n_jobs, points = partial.shape[0] - 1, partial.shape[1]
    while depth >= 0 and budget > 0:
        rotation[depth] += 1
        if rotation[depth] == searched[depth]:
            rotation[depth] = -1
            depth -= 1
            continue
        offset = points - rotation[depth]
        row, before, after = doubled[depth], partial[depth], partial[depth + 1]
        excess = 0
        for k in range(points):
            demand = before[k] + row[offset + k]
            after[k] = demand
            excess += max(demand - capacity, 0)
        budget -= points
        if excess >= best:
            continue
        if depth + 1 < n_jobs:
            depth += 1
            continue
        best = excess
        best_rotation[:] = rotation
        if best == 0:
            depth = -1
    return best, depth


def solve(grid: Grid, time_limit_s: float) -> PeerAnswer:
    """The best of all rotations; the best so far, without proof, when the time is up."""
    deadline = time.perf_counter() + time_limit_s
    doubled = np.concatenate([grid.demand, grid.demand], axis=1)
    searched = np.array(grid.searched(), dtype=np.int64)
    rotation = np.full(len(searched), -1, dtype=np.int64)
    best_rotation = np.full(len(searched), -1, dtype=np.int64)
    partial = np.zeros((len(searched) + 1, grid.points), dtype=np.int64)
    best, depth = int(np.iinfo(np.int64).max), 0
    while depth >= 0 and time.perf_counter() < deadline:
        best, depth = _advance(
            doubled, searched, grid.capacity, rotation, partial, best_rotation, best, depth, _POINTS_BETWEEN_LOOKS
        )
    if best_rotation[0] < 0:
        return PeerAnswer.nothing()
    return PeerAnswer.of(grid, best_rotation.tolist(), best, proved_optimal=depth < 0)
