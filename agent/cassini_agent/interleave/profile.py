"""A job's profile from what its daemon reports of single iterations, also while jobs hold each other up.

Contention stretches communication and leaves the rest of an iteration as it is. How much it stretches cannot be told
from jobs that meet all the time. So there are two profiles. One is for *parting*: it keeps jobs apart, with
communication as short as it was ever seen, at a pace with room for that. Once they are apart, whole iterations count as
they are, and give the other profile and a shorter pace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import sqrt
from operator import sub
from statistics import NormalDist, fmean, median, pstdev

from ..control.headroom import MIN_SAMPLES, measured_jitter

__all__ = ["LEAST", "LEAST_APART", "ONLY", "History", "Profile", "Sample"]

LEAST = 8
"""Iterations that parting needs, as a rough profile does for it."""

LEAST_APART = MIN_SAMPLES
"""Iterations that a profile of jobs that are apart needs."""

WINDOWS = (64, 32, LEAST_APART + 4)
"""Iterations that a profile is made of: as many as say the same, of the newest."""

MANY_STALLS = 8
"""One iteration in so many may be a stall; more of them are how the job is now."""

ALIKE = 0.01
"""Share by which two halves of a window may differ, beside what chance makes of them."""

SHORTEST, USUAL = 0.05, 0.4
"""Quantiles: of communication, what it takes when nobody else sends, or not much more; of whole iterations, what a job
takes that is held up in some of them."""

INDEPENDENT = 0.5
"""How far ranks vary independently is not known: this lies halfway."""

TURNS = (1, 2, 3, 4)
"""What differs in turn, in so many iterations, differs alike in all ranks."""

ONLY = "only"
"""How the reason begins that passes by itself."""

Row = tuple[int | None, int | None, int | None]

OVERRUN = 1.02
"""Communication may seem to end so much later than its iteration, as the marks are made one after the other."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One iteration, ns: how long it took without waiting, and when in it communication began and ended."""

    natural_ns: int
    start_ns: int
    end_ns: int

    @property
    def sending_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def rest_ns(self) -> int:
        """What contention does not stretch."""
        return self.natural_ns - self.sending_ns


@dataclass(frozen=True, slots=True)
class Profile:
    """What an iteration is like when nobody is in the way, ns.

    Attributes
    ----------
    rest_ns, start_ns, duration_ns : float
        What contention does not stretch; when communication begins, and how long it takes.
    error_ns : float
        How far ``rest_ns`` may be wrong by chance (one standard error); of jobs that are apart, all of an iteration.
    usual_ns : float
        What iterations really take, if some of them are held up.
    takes_ns : float or None
        For parting: what an iteration takes while others are in the way. None: nobody is.
    times_ns : tuple of float
        Uncontrolled iteration times of a job that is apart from others.
    """

    rest_ns: float
    start_ns: float
    duration_ns: float
    error_ns: float
    usual_ns: float
    takes_ns: float | None
    times_ns: tuple[float, ...] = ()

    @property
    def iteration_ns(self) -> float:
        return self.rest_ns + self.duration_ns

    @property
    def is_for_parting(self) -> bool:
        return self.takes_ns is not None

    def of_several_ranks(self, pace_ns: float) -> Profile:
        """What all ranks of a job take that is held at this pace, of what rank 0 saw.

        Where another rank is later than rank 0, a wait of rank 0 hides that, up to its length. Of two ranks that vary
        independently by ``s`` the difference varies by ``s sqrt(2)``.
        """
        varies_ns = min(pstdev(map(sub, self.times_ns[turn:], self.times_ns)) for turn in TURNS)
        hidden_ns = INDEPENDENT * _mean_up_to(max(0.0, pace_ns - self.iteration_ns), varies_ns)
        times_ns = tuple(time + hidden_ns for time in self.times_ns)
        return replace(self, rest_ns=self.rest_ns + hidden_ns, usual_ns=self.usual_ns + hidden_ns, times_ns=times_ns)

    def differs_from(self, other: Profile) -> float:
        """The largest difference of iteration, start or duration, as a share of the iteration time."""
        differences = (
            self.iteration_ns - other.iteration_ns,
            self.start_ns - other.start_ns,
            self.duration_ns - other.duration_ns,
        )
        return max(map(abs, differences)) / other.iteration_ns


def _mean_up_to(most: float, deviation: float) -> float:
    """Mean of a normal variable of mean 0 where what is below 0 counts as 0 and what is above ``most`` as that."""
    if deviation == 0:
        return 0.0
    normal, z = NormalDist(), most / deviation
    return deviation * (z * (1 - normal.cdf(z)) + normal.pdf(0) - normal.pdf(z))


class History:
    """The last iterations of one job."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=WINDOWS[0])
        self._iterations = 0
        self._unmarked = 0
        self.count = 0
        """Samples that were ever added."""

    def add(self, iterations: int, recent: Sequence[Row], usual: tuple[int, int] | None = None) -> bool:
        """Take what is new of a daemon's report; False if the job began again, and what was before is forgotten.

        Parameters
        ----------
        iterations : int
            That the job has reported.
        recent : sequence of (int or None, int or None, int or None)
            ``recent.rows`` of ``coordinator.status.JobStatus``.
        usual : tuple of int, optional
            When in an iteration communication usually begins and ends, ns: for iterations of which the job says
            nothing.
        """
        goes_on = iterations >= self._iterations
        if not goes_on:
            self._samples.clear()
            self._iterations = self._unmarked = 0
        new = min(iterations - self._iterations, len(recent))
        self._iterations = iterations
        for natural, *marked in recent[len(recent) - new :]:
            start, end = marked if usual is None or None not in marked else usual
            if natural is None:
                continue
            if start is not None and end is not None and 0 <= start < min(end, natural) and end <= OVERRUN * natural:
                self._samples.append(Sample(natural, start, min(end, natural)))
                self.count += 1
                self._unmarked = 0
            else:
                self._unmarked += 1
        return goes_on

    def parting(self, newest: int = WINDOWS[0], shortest_ns: float | None = None) -> Profile | str:
        """For jobs that may hold each other up; a text that says why, where too little is known.

        Parameters
        ----------
        newest : int
            So many iterations at most count.
        shortest_ns : float, optional
            What communication takes, if that was seen before.
        """
        found = self._usual(newest, LEAST, lambda sample: sample.rest_ns)
        if isinstance(found, str):
            return found
        sending = sorted(sample.sending_ns for sample in found)
        shortest = sending[int(len(sending) * SHORTEST)]
        natural = sorted(sample.natural_ns for sample in found)
        rest = [sample.rest_ns for sample in found]
        duration = shortest if shortest_ns is None else min(shortest, shortest_ns)
        return Profile(
            rest_ns=fmean(rest),
            start_ns=median(sample.start_ns for sample in found),
            duration_ns=duration,
            error_ns=pstdev(rest) / sqrt(len(rest)),
            usual_ns=natural[int(len(natural) * USUAL)],
            takes_ns=max(fmean(natural), fmean(rest) + duration),
        )

    def apart(self, newest: int = WINDOWS[0]) -> Profile | str:
        """For jobs whose last ``newest`` iterations nobody held up; a text that says why, where too little is known."""
        found = self._usual(newest, LEAST_APART, lambda sample: sample.natural_ns)
        if isinstance(found, str):
            return found
        times = tuple(float(sample.natural_ns) for sample in found)
        sending = median(sample.sending_ns for sample in found)
        return Profile(
            rest_ns=fmean(times) - sending,
            start_ns=median(sample.start_ns for sample in found),
            duration_ns=sending,
            error_ns=pstdev(times) / sqrt(len(times)),
            usual_ns=sorted(times)[int(len(times) * USUAL)],
            takes_ns=None,
            times_ns=times,
        )

    def _usual(self, newest: int, least: int, time_ns: Callable[[Sample], int]) -> Sequence[Sample] | str:
        """As many of the newest iterations as are of one job, without stalls."""
        if self._unmarked >= LEAST:
            return f"none of its last {self._unmarked} iterations says when it communicated"
        samples = list(islice(reversed(self._samples), newest))
        usual: Sequence[Sample] = []
        for window in WINDOWS:
            usual = _without_stalls(samples[:window], time_ns)
            if len(usual) < least:
                break
            few_stalls = len(usual) * MANY_STALLS >= len(samples[:window]) * (MANY_STALLS - 1)
            if window == WINDOWS[-1] or (few_stalls and _agree([sample.rest_ns for sample in usual])):
                return usual
        return f"{ONLY} {len(usual)} usual iterations are known, expected {least} or more"


def _without_stalls(samples: Sequence[Sample], time_ns: Callable[[Sample], int]) -> Sequence[Sample]:
    """Without iterations with a checkpoint, an evaluation or a pause in them, which show nothing."""
    while samples:
        jitter = measured_jitter([time_ns(sample) for sample in samples])
        if not jitter.stalls:
            break
        longest = jitter.iteration_ns + max(jitter.deviation_ns)
        samples = [sample for sample in samples if time_ns(sample) <= longest]
    return samples


def _agree(times: Sequence[int]) -> bool:
    """Whether the newer half and the older one are of the same job, as far as chance lets one see."""
    half = len(times) // 2
    newer, older = times[:half], times[half:]
    chance = 3 * sqrt((pstdev(newer) ** 2 + pstdev(older) ** 2) / half)
    return abs(fmean(newer) - fmean(older)) - chance < ALIKE * fmean(times)
