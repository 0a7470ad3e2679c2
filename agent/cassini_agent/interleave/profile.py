"""A job's profile from what its daemon reports of single iterations, also while jobs hold each other up.

Contention stretches communication and leaves the rest of an iteration as it is. So the two are taken apart: the rest at
its mean, and the communication at a low quantile, which is about what it takes when nobody else sends. Jobs that meet
in *every* iteration never show that. Their profile is too long at first; once they are apart, at the pace they have
anyway, it gets shorter and is planned for again. Of jobs that are apart, whole iterations count as they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from statistics import fmean, median, pstdev
from typing import Any

from ..control.margin import MIN_SAMPLES, measured_jitter

__all__ = ["LEAST", "ONLY", "History", "Profile", "Sample"]

LEAST = MIN_SAMPLES
"""Of fewer iterations no profile is made."""

WINDOWS = (64, 32, LEAST + 4)
"""Iterations that a profile is made of: as many as say the same, of the newest."""

MANY_STALLS = 8
"""One iteration in so many may be a stall; more of them are how the job is now."""

ALIKE = 0.01
"""Share of the iteration time by which two halves of a window may differ, beside what chance makes of them."""

UNHINDERED = 0.4
"""So large a share of the iterations is taken not to be held up by others, or not by much. Rather a pace that is too
long, which is calm and soon made shorter, than one that is too short, with which jobs stray again and again."""

ONLY = "only"
"""How the reason begins that passes by itself."""

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
    """What an iteration is like when nobody is in the way, ns; of at least ``LEAST`` iterations that are no stalls.

    Attributes
    ----------
    iteration_ns, start_ns, duration_ns : float
        Of an iteration, and of its communication.
    times_ns : tuple of float
        Natural iteration times without what contention adds to them: for the margin.
    error_ns : float
        How far the iteration time may be wrong by chance (one standard error).
    """

    iteration_ns: float
    start_ns: float
    duration_ns: float
    times_ns: tuple[float, ...]
    error_ns: float

    def differs_from(self, other: Profile) -> float:
        """The largest difference of iteration, start or duration, as a share of the iteration time."""
        differences = (
            self.iteration_ns - other.iteration_ns,
            self.start_ns - other.start_ns,
            self.duration_ns - other.duration_ns,
        )
        return max(map(abs, differences)) / other.iteration_ns


class History:
    """The last iterations of one job."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=WINDOWS[0])
        self._iterations = 0
        self._unmarked = 0
        self.count = 0
        """Samples that were ever added."""

    def add(self, iterations: int, recent: Mapping[str, Any], usual: tuple[int, int] | None = None) -> bool:
        """Take what is new of a daemon's report; False if the job began again, and what was before is forgotten.

        Parameters
        ----------
        iterations : int
            That the job has reported.
        recent : mapping
            ``recent`` of docs/agent.md's JobStatus.
        usual : tuple of int, optional
            When in an iteration communication usually begins and ends, ns, as counters of the port may show: for
            iterations of which the job says nothing.
        """
        goes_on = iterations >= self._iterations
        if not goes_on:
            self._samples.clear()
            self._iterations = self._unmarked = 0
        keys = ("natural_ns", "communication_start_ns", "communication_end_ns")
        lists = [recent.get(key) for key in keys]
        if not all(isinstance(one, list) for one in lists):
            lists = [[], [], []]
        rows = list(zip(*lists, strict=False))
        new = min(iterations - self._iterations, len(rows))
        self._iterations = iterations
        for natural, *marked in rows[len(rows) - new :]:
            start, end = marked if usual is None or all(type(time) is int for time in marked) else usual
            known = all(type(time) is int for time in (natural, start, end))
            if known and 0 <= start < min(end, natural) and end <= OVERRUN * natural:
                self._samples.append(Sample(natural, start, min(end, natural)))
                self.count += 1
                self._unmarked = 0
            elif type(natural) is int:
                self._unmarked += 1
        return goes_on

    def profile(self, newest: int = WINDOWS[0], *, apart: bool = False) -> Profile | str:
        """What is known of the last ``newest`` iterations at most; a text that says why, where that is not enough.

        ``apart``: the job is where nobody holds it up.
        """
        if self._unmarked >= LEAST:
            return f"none of its last {self._unmarked} iterations says when it communicated"
        samples = list(islice(reversed(self._samples), newest))
        usual: Sequence[Sample] = []
        for window in WINDOWS:
            usual = _usual(samples[:window], apart)
            if len(usual) < LEAST:
                break
            few_stalls = len(usual) * MANY_STALLS >= len(samples[:window]) * (MANY_STALLS - 1)
            if window == WINDOWS[-1] or (few_stalls and _agree(usual)):
                return _profile(usual, apart)
        return f"{ONLY} {len(usual)} usual iterations are known, expected {LEAST} or more"


def _usual(samples: Sequence[Sample], apart: bool) -> Sequence[Sample]:
    """Without stalls: iterations with a checkpoint, an evaluation or a pause in them, which show nothing."""
    while samples:
        jitter = measured_jitter([sample.natural_ns if apart else sample.rest_ns for sample in samples])
        if not jitter.stalls:
            break
        longest = jitter.iteration_ns + max(jitter.deviation_ns)
        samples = [one for one in samples if (one.natural_ns if apart else one.rest_ns) <= longest]
    return samples


def _agree(samples: Sequence[Sample]) -> bool:
    """Whether the newer half and the older one are of the same job, as far as chance lets one see."""
    half = len(samples) // 2
    newer, older = [[sample.rest_ns for sample in part] for part in (samples[:half], samples[half:])]
    chance = 3 * sqrt((pstdev(newer) ** 2 + pstdev(older) ** 2) / half)
    apart = abs(fmean(newer) - fmean(older))
    quick = abs(_unhindered(samples[:half]) - _unhindered(samples[half:]))
    return max(apart - chance, quick) < ALIKE * samples[0].natural_ns


def _profile(samples: Sequence[Sample], apart: bool) -> Profile:
    sending = median(sample.sending_ns for sample in samples) if apart else _unhindered(samples)
    times = [sample.natural_ns if apart else sample.rest_ns + sending for sample in samples]
    return Profile(
        iteration_ns=fmean(times),
        start_ns=median(sample.start_ns for sample in samples),
        duration_ns=sending,
        times_ns=tuple(times),
        error_ns=pstdev(times) / sqrt(len(times)),
    )


def _unhindered(samples: Sequence[Sample]) -> float:
    ordered = sorted(sample.sending_ns for sample in samples)
    return float(ordered[int(len(ordered) * UNHINDERED)])
