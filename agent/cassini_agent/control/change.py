"""Notices that a job's natural iteration time is another one: a new batch size, more workers, a slower node.

Three states. *Profiling*: the first iterations say what is natural and how much it jitters. *Watching*: two cumulative
sums (Page's test) collect what iterations take more, or less, than that. *Re-profiling*: a sum has passed its limit,
and the next iterations decide whether there is a change and how large it is. Only then is it reported.

Contention lengthens iterations too, and it comes and goes. So the new time is judged by the lower quartiles before and
after, which iterations that were held up do not move, and by the lowest tenths while the job is out of its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import pstdev, quantiles

from .margin import STALL_SPREADS, measured_jitter

__all__ = ["Change", "ChangeDetector"]

PROFILE, CONFIRMING = 48, 32
"""Iterations of the first profile, and of one that confirms a change."""

MIN_CHANGE = 0.015
"""Smallest relative change that is reported."""

HALF_CHANGE = 0.01
"""The sums allow for so much deviation per iteration: half of a change of 2 %, which is then found the fastest."""

LOG_RUN_LENGTH = math.log(1e5)
"""A sum passes its limit without a change once in some 100,000 iterations; few of these are confirmed."""

STEPS_TO_LIMIT = 4.0
"""At least so many iterations of the smallest change, however little jitter there is."""

QUARTILE_ERROR = 1.36
"""Standard error of the lower quartile of n normal values, in sigma / sqrt(n)."""

DECILE_ERROR = 1.71
"""The same of the lowest tenth."""

CONFIRMED_ERRORS = 3.5


@dataclass(frozen=True, slots=True)
class Change:
    """Another natural iteration time."""

    iteration_ns: int
    was_ns: int


class ChangeDetector:
    """Takes one natural iteration time after the other.

    Parameters
    ----------
    iteration_ns : int
        What is believed to be natural, from the schedule; what the first profile differs from it is a change too.

    Attributes
    ----------
    state : str
        ``"profiling"``, ``"watching"`` or ``"re-profiling"``.
    iteration_ns : int
        What is natural, as far as is known.
    """

    def __init__(self, iteration_ns: int) -> None:
        self.iteration_ns = iteration_ns
        self.state = "profiling"
        self._samples: list[int] = []
        self._hindered = False
        self._profile: list[int] = []
        self._mean = self._allowed = self._limit = 0.0
        self._longer = self._shorter = 0.0
        self._stall_ns = math.inf

    def add(self, natural_ns: int, *, hindered: bool = False) -> Change | None:
        """Take an iteration. Returns a change when it is confirmed. O(1), and O(profile) at the end of a profile.

        ``hindered`` says that the job is out of its place, so that other jobs may hold it up.
        """
        if self.state == "watching":
            self._watch(natural_ns)
            return None
        if self.state == "profiling" and hindered:
            return None
        self._samples.append(natural_ns)
        self._hindered = self._hindered or hindered
        wanted = PROFILE if self.state == "profiling" or self._hindered else CONFIRMING
        if len(self._samples) < wanted:
            return None
        samples, self._samples = self._samples, []
        return self._first(samples) if self.state == "profiling" else self._again(samples)

    def _first(self, samples: list[int]) -> Change | None:
        believed = self.iteration_ns
        self._learn(samples)
        error = QUARTILE_ERROR * self._spread() / math.sqrt(PROFILE)
        if abs(self.iteration_ns - believed) < max(MIN_CHANGE * believed, CONFIRMED_ERRORS * error):
            return None
        return Change(self.iteration_ns, believed)

    def _again(self, samples: list[int]) -> Change | None:
        hindered, self._hindered = self._hindered, False
        self.state, self._longer, self._shorter = "watching", 0.0, 0.0
        # Of a job that slides past another at least a tenth of the iterations are free of it.
        tenths, factor = (1, DECILE_ERROR) if hindered else (2.5, QUARTILE_ERROR)
        moved = _quantile(samples, tenths) - _quantile(self._profile, tenths)
        error = factor * self._spread() * math.sqrt(1 / PROFILE + 1 / len(samples))
        if abs(moved) < max(MIN_CHANGE * self.iteration_ns, CONFIRMED_ERRORS * error):
            return None
        was = self.iteration_ns
        self.iteration_ns = max(1, was + round(moved))
        if hindered:  # a profile of contention would hide the next change
            self.state = "profiling"
        else:
            self._learn(samples)
        return Change(self.iteration_ns, was)

    def _learn(self, samples: list[int]) -> None:
        jitter = measured_jitter(samples)
        self._profile, self._mean = samples, jitter.iteration_ns
        self.iteration_ns = round(jitter.iteration_ns)
        spread = self._spread()
        self._allowed = HALF_CHANGE * self._mean
        # Lundberg: a sum of steps of mean -allowed passes its limit with probability exp(-2 allowed limit / variance).
        self._limit = max(LOG_RUN_LENGTH * spread**2 / (2 * self._allowed), STEPS_TO_LIMIT * self._allowed)
        self._stall_ns = self._mean + max(STALL_SPREADS * spread, self._mean / 4)
        self.state, self._longer, self._shorter = "watching", 0.0, 0.0

    def _watch(self, natural_ns: int) -> None:
        if natural_ns > self._stall_ns + self._mean / 2:
            return  # a stall or a checkpoint says nothing of the next iteration
        step = self._limit / 3 + self._allowed  # no single iteration may raise the alarm
        off = min(max(natural_ns - self._mean, -step), step)
        self._longer = max(0.0, self._longer + off - self._allowed)
        self._shorter = max(0.0, self._shorter - off - self._allowed)
        if max(self._longer, self._shorter) > self._limit:
            self.state = "re-profiling"

    def _spread(self) -> float:
        return pstdev(measured_jitter(self._profile).deviation_ns)


def _quantile(samples: Sequence[int], tenths: float) -> float:
    return quantiles(samples, n=20)[round(2 * tenths) - 1]
