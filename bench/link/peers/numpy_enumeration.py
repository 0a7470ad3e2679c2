"""All rotations, one by one in Python but for the last job, whose rotations NumPy tries at once."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.link.grid import Grid

from .answer import PeerAnswer


def solve(grid: Grid, time_limit_s: float) -> PeerAnswer:
    """The best of all rotations; the best so far, without proof, when the time is up."""
    deadline = time.perf_counter() + time_limit_s
    searched = grid.searched()
    # 32-bit numbers where the sums fit are fastest; 16-bit ones and floats were tried.
    fits = grid.points * int(grid.demand.max(axis=1).sum()) < 2**31
    kind: type[np.int32] | type[np.int64] = np.int32 if fits else np.int64
    turned: list[npt.NDArray[Any]] = [grid.turned(j)[:count].astype(kind) for j, count in enumerate(searched)]
    *before, last = turned
    # Excess is max(demand, C) - C: the subtraction is left to the end.
    best, best_rotation, complete = None, (0,) * len(searched), True
    capacity = kind(grid.capacity)
    for rotation in itertools.product(*(range(count) for count in searched[:-1])):
        partial: npt.NDArray[Any] = np.zeros(grid.points, dtype=kind)
        for rows, steps in zip(before, rotation, strict=True):
            partial += rows[steps]
        above = np.maximum(last + partial, capacity).sum(axis=1, dtype=kind)
        at = int(above.argmin())
        if best is None or above[at] < best:
            best, best_rotation = int(above[at]), (*rotation, at)
        if time.perf_counter() > deadline:
            complete = False
            break
    if best is None:
        return PeerAnswer.nothing()
    return PeerAnswer.of(grid, best_rotation, best - grid.points * grid.capacity, proved_optimal=complete)
