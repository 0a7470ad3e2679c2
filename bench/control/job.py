"""A simulated job: it computes, then sends over the shared link; and what its controller waits in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from statistics import fmean
from typing import Protocol

from cassini_agent.control.controller import Decision
from cassini_agent.schedule import Schedule
from cassini_core.simulation.jitter import factors

from .simulated_time import BOOT_NS

__all__ = ["Control", "JobModel", "Trace"]

DRAWN = 20_000
"""Iterations that a mean over ranks is taken from."""


class Control(Protocol):
    """What decides about a job: the agent's controller, a naive rule, or nobody."""

    def set_schedule(self, schedule: Schedule, now_ns: int) -> None: ...

    def step(self, now_ns: int) -> Decision:
        """Rank 0 has come to an iteration: what it waits."""

    def sends(self) -> None:
        """Rank 0 begins to communicate."""

    def has_sent(self) -> None:
        """Communication has ended."""

    def end(self) -> None:
        """The iteration that has ended was the last."""


@dataclass(frozen=True, slots=True)
class JobModel:
    """A job as it would run alone, times in ms.

    Attributes
    ----------
    name : str
    compute_ms, communicate_ms : float
        One iteration: first the one, then the other at line rate.
    jitter, jitter_share : str, float
        Kind, and standard deviation relative to the compute time.
    stalls : tuple of (float, float)
        The iteration under way at ``(at_ms, ...)`` takes ``(..., ms)`` longer before it sends.
    change : tuple of float or None
        From ``(at_ms, ...)`` on computing takes ``(..., factor)`` times as long.
    pattern : tuple of float
        Computing takes so many times as long, in turn, from iteration to iteration: alternating, or every fourth with
        an evaluation.
    ends_ms : float
        When the job ends: it begins no iteration after that.
    clock_ms, clock_ppm : float
        The host's clock against true time: ahead by this at time 0, and faster by this.
    ranks : int
    skew_ms : float
        Of several ranks: by how much each comes later than the collective ends, on average (exponential).
    own_share : float
        Of several ranks: standard deviation of what each computes longer or shorter than the others, relative to the
        compute time.
    first_factor : float
        Rank 0 computes so many times as long as the others.
    start_ms : float
        When the job begins.
    """

    name: str
    compute_ms: float = 110.0
    communicate_ms: float = 87.0
    jitter: str = "normal"
    jitter_share: float = 0.0
    stalls: tuple[tuple[float, float], ...] = ()
    change: tuple[float, float] | None = None
    pattern: tuple[float, ...] = (1.0,)
    ends_ms: float = float("inf")
    clock_ms: float = 0.0
    clock_ppm: float = 0.0
    ranks: int = 1
    skew_ms: float = 0.05
    own_share: float = 0.0
    first_factor: float = 1.0
    start_ms: float = 0.0

    @property
    def solo_ms(self) -> float:
        """Mean iteration time before any change, with what the last rank comes later."""
        return self.compute_ms * fmean(self.pattern) + self.communicate_ms + _last_ms(self)

    def skew(self, rng: random.Random) -> float:
        """By how much one rank comes later than the collective ends, ms."""
        return rng.expovariate(1.0) * self.skew_ms if self.ranks > 1 else 0.0

    def of_rank(self, rank: int, compute_ms: float, rng: random.Random) -> float:
        """How long one rank computes where the job computes so long, ms."""
        factor = self.first_factor if rank == 0 else 1.0
        own = self.own_share * rng.gauss(0.0, 1.0) if self.own_share else 0.0
        return max(0.0, factor * compute_ms + own * self.compute_ms)

    def host_ns(self, true_ms: float) -> int:
        """What the host's monotonic clock shows."""
        return BOOT_NS + round((true_ms * (1 + self.clock_ppm * 1e-6) + self.clock_ms) * 1e6)

    def compute_times(self, seed: int) -> Iterator[float]:
        """Compute times without stalls and changes, ms."""
        drawn = factors(self.jitter, self.jitter_share, seed)
        return (self.compute_ms * of_turn * factor for of_turn, factor in zip(cycle(self.pattern), drawn, strict=False))

    def alone_ms(self, seed: int) -> Iterator[float]:
        """Iteration times of the job alone."""
        rng = random.Random(seed)
        for compute in self.compute_times(seed):
            ranks_ms = (self.skew(rng) + self.of_rank(rank, compute, rng) for rank in range(self.ranks))
            yield max(ranks_ms) + self.communicate_ms


@cache
def _last_ms(model: JobModel) -> float:
    """By how much the last of several ranks is done later than the job computes, on average."""
    if model.ranks == 1:
        return 0.0
    rng, mean_ms = random.Random(0), model.compute_ms * fmean(model.pattern)
    each_ms = (
        max(model.skew(rng) + model.of_rank(rank, mean_ms, rng) for rank in range(model.ranks)) for _ in range(DRAWN)
    )
    return fmean(each_ms) - mean_ms


@dataclass(slots=True)
class Trace:
    """What was measured of a job, one entry per iteration: its start (true time), wait before it, duration, all ms."""

    start_ms: list[float] = field(default_factory=list)
    wait_ms: list[float] = field(default_factory=list)
    natural_ms: list[float] = field(default_factory=list)
    state: list[str] = field(default_factory=list)
    adjusted_ms: list[float] = field(default_factory=list)  # when

    def iteration_ms(self, since_ms: float = 0.0, until_ms: float = float("inf")) -> float:
        """Mean time from start to start."""
        starts = [start for start in self.start_ms if since_ms <= start <= until_ms]
        return (starts[-1] - starts[0]) / (len(starts) - 1)
