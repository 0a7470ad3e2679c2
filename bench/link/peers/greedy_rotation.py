"""Greedy rotation: the jobs one after the other, each turned to where it adds least excess to those placed."""

from __future__ import annotations

import numpy as np

from bench.link.grid import Grid

from .answer import PeerAnswer


def solve(grid: Grid, time_limit_s: float) -> PeerAnswer:
    """Place the job of the largest mean demand first. Never runs into a time limit; proves nothing."""
    del time_limit_s
    order = np.argsort(-grid.demand.sum(axis=1), kind="stable").tolist()
    total = np.zeros(grid.points, dtype=np.int64)
    rotation = [0] * len(order)
    for place, job in enumerate(order):
        if place > 0:
            rotation[job] = _best_rotation(grid, job, total)
        total += np.roll(grid.demand[job], rotation[job])
    excess = int(np.maximum(total - grid.capacity, 0).sum())
    return PeerAnswer.of(grid, rotation, excess, proved_optimal=False)


def _best_rotation(grid: Grid, job: int, total: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    room = total - grid.capacity
    excess = [int(np.maximum(room + np.roll(grid.demand[job], steps), 0).sum()) for steps in range(grid.rotations[job])]
    return int(np.argmin(excess))
