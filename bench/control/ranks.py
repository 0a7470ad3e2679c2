"""The ranks of a simulated job: each with its own clock, all doing what rank 0 has decided, by the agent's code."""

from __future__ import annotations

import random

from cassini_agent.control.release import Follower, Release

from .job import JobModel

__all__ = ["Ranks"]

CLOCK_MS, CLOCK_PPM = 50.0, 20.0
"""Clocks of the other ranks' hosts are off by up to this."""

OVERSLEPT_MS = 0.06
"""A sleep ends so much later, on average."""


class Ranks:
    """All ranks of one job.

    Parameters
    ----------
    model : JobModel
    seed : int
        Of their clocks, and of when each comes.
    """

    def __init__(self, model: JobModel, seed: int) -> None:
        self._model = model
        self._rng = random.Random(seed)
        self._iteration = -1
        self._next: Release | None = None
        self._followers = [Follower(decides=rank == 0) for rank in range(model.ranks)]
        self._clocks = [(0.0, 0.0)] + [
            (self._rng.uniform(-CLOCK_MS, CLOCK_MS), self._rng.uniform(-CLOCK_PPM, CLOCK_PPM))
            for _ in range(model.ranks - 1)
        ]

    def publish(self, release: Release | None) -> None:
        """What rank 0 has decided about the next iteration."""
        self._next = release

    def begin(self, reached_ms: float) -> tuple[float, float, float]:
        """Of the next iteration, ms: when rank 0 comes to it and when it starts, and when the last rank does."""
        self._iteration += 1
        came, starts = [], []
        for rank, follower in enumerate(self._followers):
            came.append(reached_ms + self._model.skew(self._rng))
            is_late = rank > 0 and self._rng.random() < self._model.late_share
            wait_ns = follower.wait_ns(self._iteration, None if is_late else self._next, self._host_ns(rank, came[-1]))
            overslept_ms = OVERSLEPT_MS * self._rng.expovariate(1.0) if wait_ns else 0.0
            starts.append(came[-1] + wait_ns * 1e-6 + overslept_ms)
        self._next = None
        return came[0], starts[0], max(starts)

    def _host_ns(self, rank: int, true_ms: float) -> int:
        ahead_ms, ppm = self._clocks[rank]
        return self._model.host_ns(true_ms) + round((ahead_ms + true_ms * ppm * 1e-6) * 1e6)
