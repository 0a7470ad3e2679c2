"""The ranks of a simulated job: rank 0 waits, each computes by itself, and none communicates before all can."""

from __future__ import annotations

import random

from .job import JobModel

__all__ = ["Ranks"]


class Ranks:
    """All ranks of one job.

    Parameters
    ----------
    model : JobModel
    seed : int
        Of when each comes, and of how long it computes.
    """

    def __init__(self, model: JobModel, seed: int) -> None:
        self._model = model
        self._rng = random.Random(seed)
        self._come_ms: list[float] = []

    def come(self, reached_ms: float) -> float:
        """The collective that ends an iteration has ended: when rank 0 comes to the next one, ms."""
        self._come_ms = [reached_ms + self._model.skew(self._rng) for _ in range(self._model.ranks)]
        return self._come_ms[0]

    def compute(self, start_ms: float, compute_ms: float) -> tuple[float, float]:
        """Of the iteration that rank 0 starts then: when rank 0 has computed, and when all have, ms."""
        starts_ms = [start_ms, *self._come_ms[1:]]
        done_ms = [start + self._model.of_rank(rank, compute_ms, self._rng) for rank, start in enumerate(starts_ms)]
        return done_ms[0], max(done_ms)
