"""Notices that a job's uncontrolled iteration time is another one: a new batch size, more workers, a slower node.

Three states. *Profiling*: the first iterations say what is natural and how much it jitters. *Watching*: two cumulative
sums (Page's test) collect what iterations take more, or less, than that. *Re-profiling*: a sum has passed its limit,
and the next iterations decide whether there is a change and how large it is. Only then is it reported.

Contention lengthens iterations too, and it comes and goes. So the new time is judged by the lower quartiles before and
after, which iterations that were held up do not move, and by the lowest twentieths while the job is out of its place.
How long a job computes before it communicates is not lengthened by contention: where that is known, it tells sooner,
and also of a job that others hold up.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median_low, pstdev, quantiles

from .headroom import STALL_SPREADS, measured_jitter

__all__ = ["MIN_CHANGE", "Change", "ChangeDetector", "ComputeWatch"]

PROFILE, CONFIRMING = 96, 48
"""Iterations of the first profile, and of one that confirms a change."""

COMPUTE_BASE, COMPUTE_PROFILE, COMPUTE_LOOKS = 16, 48, (12, 24, 48)
"""Compute times that show what the rest of an iteration takes, those of a first profile, and those after which it is
asked whether they confirm a change."""

COMPUTE_STALL = 1.5
"""So many times the usual is no change but a stall."""

STALLED_SHARE, STALLS_WINDOW = 0.5, 32
"""A compute phase that is longer by this part of an iteration stalls the job, and iterations over which that is
counted. Of a job that others hold up its iteration times do not show it: all are long."""

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

LOWEST_ERROR = 2.11
"""The same of the lowest twentieth."""

CONFIRMED_ERRORS = 3.5

MOST_SHARED = 0.8
"""Correlation of neighbours that is allowed for; of more, 96 iterations say little."""


@dataclass(frozen=True, slots=True)
class Change:
    """Another uncontrolled iteration time; ``certain`` if contention cannot be what made it so."""

    iteration_ns: int
    was_ns: int
    certain: bool = False


class ChangeDetector:
    """Takes one uncontrolled iteration time after the other.

    Parameters
    ----------
    iteration_ns : int
        What is believed to be natural, from the schedule; what the first profile differs from it is a change too.
    pace_ns : int, optional
        What is longer than believed by half of what the pace has to spare is one as well, however small: such a job is
        never held for long.
    profile : int
        Iterations of a first profile.
    looks : sequence of int
        Iterations after which it is asked whether they confirm a change, ascending: none is reported that the last do
        not confirm.

    Attributes
    ----------
    state : str
        ``"profiling"``, ``"watching"`` or ``"re-profiling"``.
    iteration_ns : int
        What is natural, as far as is known.
    """

    def __init__(
        self,
        iteration_ns: int,
        pace_ns: int | None = None,
        *,
        profile: int = PROFILE,
        looks: Sequence[int] = (CONFIRMING,),
    ) -> None:
        self.iteration_ns = iteration_ns
        self._length, self._looks = profile, looks
        self._spare_ns = math.inf if pace_ns is None else (pace_ns - iteration_ns) / 2
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
        if self.state == "profiling":
            return self._first() if len(self._samples) == self._length else None
        return self._again() if len(self._samples) in self._looks else None

    def _first(self) -> Change | None:
        believed = self.iteration_ns
        self._learn(self._samples)
        error = QUARTILE_ERROR * self._spread() * math.sqrt(self._clustering() / self._length)
        longer, certain = self.iteration_ns - believed, CONFIRMED_ERRORS * error
        if abs(longer) < max(MIN_CHANGE * believed, certain) and longer < max(self._spare_ns, certain, 1):
            return None
        return Change(self.iteration_ns, believed)

    def _again(self) -> Change | None:
        samples, hindered = self._samples, self._hindered
        now, before = quantiles(samples, n=20), quantiles(self._profile, n=20)
        # Of a job that slides past another an eighth of the iterations are free of it: of these, the twentieth of all
        # is two fifths. Between the two nothing can be said.
        slid = max(0.0, now[0] - before[7]) + min(0.0, now[0] - before[0])
        moved = slid if hindered else now[4] - before[4]
        factor = LOWEST_ERROR if hindered else QUARTILE_ERROR
        error = factor * self._spread() * math.sqrt(self._clustering() * (1 / len(self._profile) + 1 / len(samples)))
        if abs(moved) < max(MIN_CHANGE * self.iteration_ns, CONFIRMED_ERRORS * error):
            if len(samples) == self._looks[-1]:
                self._go_on()
            return None
        was = self.iteration_ns
        self.iteration_ns = max(1, was + round(moved))
        if hindered or len(samples) < self._looks[-1]:
            # A profile of contention would hide the next change, one of too few iterations be too uncertain.
            self._go_on("profiling")
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
        self._go_on()

    def _go_on(self, state: str = "watching") -> None:
        self.state, self._samples, self._hindered = state, [], False
        self._longer = self._shorter = 0.0

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

    def _clustering(self) -> float:
        """By what correlation of neighbouring iterations multiplies the variance of a mean, at least 1."""
        deviation = measured_jitter(self._profile).deviation_ns
        whole = fmean(d * d for d in deviation)
        if whole == 0:
            return 1.0
        shared = min(max(fmean(a * b for a, b in pairwise(deviation)) / whole, 0.0), MOST_SHARED)
        return (1 + shared) / (1 - shared)


class ComputeWatch:
    """The same by how long a job computes before it communicates.

    Parameters
    ----------
    iteration_ns : int
        About what an iteration takes: how large a change is, is judged by that.
    """

    def __init__(self, iteration_ns: int) -> None:
        self._base: list[int] = []
        self._latest: deque[int] = deque(maxlen=STALLS_WINDOW)
        self._rest_ns = 0
        self._detector = ChangeDetector(iteration_ns, profile=COMPUTE_PROFILE, looks=COMPUTE_LOOKS)

    @property
    def is_known(self) -> bool:
        """Whether the loop tells how long it computes."""
        return len(self._base) == COMPUTE_BASE

    @property
    def stalls(self) -> int:
        """How many of the last ``STALLS_WINDOW`` iterations computed for so long that the job lost its place."""
        limit_ns = self._limit_ns()
        return sum(compute_ns > limit_ns for compute_ns in self._latest)

    @property
    def usual_ns(self) -> int:
        """How long the job computes, as a rule; it must be known."""
        return median_low(self._latest)

    def is_stall(self, compute_ns: int) -> bool:
        """Whether an iteration that computed for so long lost its place; not where it is not known what is usual."""
        return compute_ns > self._limit_ns()

    def _limit_ns(self) -> float:
        if not self._latest:
            return math.inf
        return median_low(self._latest) + STALLED_SHARE * self._detector.iteration_ns

    def add(self, compute_ns: int) -> int:
        """Take what an iteration computed. Returns by how much more it does so from now on, ns; 0 if nothing is new."""
        self._latest.append(compute_ns)
        usual_ns = self._detector.iteration_ns
        if len(self._base) < COMPUTE_BASE:
            self._base.append(compute_ns)
            if len(self._base) == COMPUTE_BASE:
                self._rest_ns = usual_ns - round(measured_jitter(self._base).iteration_ns)
            return 0
        if compute_ns > COMPUTE_STALL * (usual_ns - self._rest_ns):
            return 0  # a checkpoint, an evaluation; uncontrolled times show what has changed so much
        change = self._detector.add(max(1, compute_ns + self._rest_ns))
        return 0 if change is None else change.iteration_ns - change.was_ns
