"""Random-delay search: 100 random delays for the jobs of the link, the best is kept."""

from __future__ import annotations

import numpy as np

from bench.link.grid import Grid

from .answer import PeerAnswer

TRIES = 100


def solve(grid: Grid, time_limit_s: float, seed: int = 0) -> PeerAnswer:
    """Draw every job's rotation uniformly, ``TRIES`` times. Never runs into a time limit; proves nothing."""
    del time_limit_s
    rng = np.random.default_rng(seed)
    tries = [[int(rng.integers(count)) for count in grid.rotations] for _ in range(TRIES)]
    excess = [grid.excess(rotation) for rotation in tries]
    best = int(np.argmin(excess))
    return PeerAnswer.of(grid, tries[best], excess[best], proved_optimal=False)
