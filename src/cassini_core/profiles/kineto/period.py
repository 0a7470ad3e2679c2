"""What repeats in a sequence of kernels: after how many of them it begins again, and at which distance in time.

Pure arithmetic on arrays. The *lag* is a number of kernels: kernel ``i`` and kernel ``i + lag`` are the same collective
of two successive iterations. A lag needs two distances that do not overlap and that agree; a sequence seen only twice
shows one distance, which may as well hold a pause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["AGREE", "Period", "Run", "Sequence", "Steps", "lag_at", "period_of", "repeating_run", "spread_ms"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

AGREE = 0.1
"""Distances that differ by less than this share agree. Real iterations differ by some percent."""

_STEP_SHARE = 0.75
"""An iteration that takes less than this share of an annotated step is a part of one: markers jitter, too."""

_SAME = 0.01
"""Distances that differ by less than this share make no difference."""

_DOUBLE = 1.0
"""Logarithm to base 2: sizes further apart are not the same collective with another size."""

_LONGEST_LAG = 20_000
_PROBES = 64


@dataclass(frozen=True, slots=True)
class Sequence:
    """The kernels of one stream in order.

    Attributes
    ----------
    weights : float64, shape (n,)
        Bytes where known of all, else ms: how much is lost if a kernel is left out.
    codes : int64, shape (n,)
        Which collective it is; -1 where nobody knows. Equal codes, same collective.
    kinds : int64, shape (n,)
        What its name says; compared where a code is -1.
    sizes : float64, shape (n,) or None
        Logarithms to base 2 of the sizes, where ``codes`` do not hold them.
    """

    weights: FloatArray
    codes: IntArray
    kinds: IntArray
    sizes: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def differs(self, first: IntArray, second: IntArray) -> npt.NDArray[np.bool_]:
        """Where kernels ``first[i]`` and ``second[i]`` cannot be the same collective."""
        one, two = self.codes[first], self.codes[second]
        unknown = (one < 0) | (two < 0)
        unlike: npt.NDArray[np.bool_] = np.where(unknown, self.kinds[first] != self.kinds[second], one != two)
        if self.sizes is not None:
            unlike |= ~unknown & (np.abs(self.sizes[first] - self.sizes[second]) > _DOUBLE)
        return unlike


@dataclass(frozen=True, slots=True)
class Run:
    """Kernels ``begin`` to ``end`` (excluded) repeat every ``lag``; ``lost`` is the weight of the others."""

    lag: int
    begin: int
    end: int
    lost: float


@dataclass(frozen=True, slots=True)
class Period:
    """A lag whose distances agree: all of them (``steady``), or most, around ``typical_ms``."""

    lag: int
    typical_ms: float
    steady: bool


def repeating_run(sequence: Sequence, repeats: int = 2) -> Run | None:
    """The shortest lag that explains most of a sequence, at least ``repeats`` distances long, or None.

    Cost: a few comparisons for each lag that is none, a pass for each that may be one.
    """
    count = len(sequence)
    total = np.concatenate(([0.0], np.cumsum(sequence.weights)))
    indices = np.arange(count)
    best: Run | None = None
    for lag in range(1, min((count - 1) // repeats, _LONGEST_LAG) + 1):
        last = count - lag
        if last > 4 * _PROBES:
            probes = np.linspace(0, last - 1, _PROBES).astype(np.int64)
            if np.count_nonzero(sequence.differs(probes, probes + lag)) > _PROBES // 2:
                continue
        if lag > 8 * _PROBES and repeats > 1 and not _may_repeat(sequence, lag):
            continue
        breaks = np.flatnonzero(sequence.differs(indices[:last], indices[lag:]))
        begins = np.concatenate(([0], breaks + 1))
        ends = np.concatenate((breaks, [last])) + lag
        long = ends - begins > repeats * lag
        if not np.any(long):
            continue
        begins, ends = begins[long], ends[long]
        covered = total[ends] - total[begins]
        at = int(np.argmax(covered))
        run = Run(lag, int(begins[at]), int(ends[at]), float(total[-1] - covered[at]))
        if best is None or run.lost < best.lost * (1 - 1e-9):
            best = run
        if run.end - run.begin == count:
            return run
    return best


def _may_repeat(sequence: Sequence, lag: int) -> bool:
    """Whether more than ``lag`` kernels in a row may repeat: the first of each half of that many are alike then."""
    some = np.arange(0, len(sequence) - lag - 4 * _PROBES, lag // 2)[:, None] + np.arange(4 * _PROBES)
    alike = ~sequence.differs(some.ravel(), some.ravel() + lag)
    return bool(np.any(np.all(alike.reshape(some.shape), axis=1)))


@dataclass(frozen=True, slots=True)
class Steps:
    """What annotated steps say.

    Attributes
    ----------
    count : int
        How many there are.
    least_ms : float
        What one takes at least, ms.
    kernels : int or None
        How many kernels of the stream most of them launched, where they agree.
    """

    count: int
    least_ms: float
    kernels: int | None

    def mark(self, lag: int, typical_ms: float, kernels: int) -> bool:
        """Whether each of the iterations that ``kernels`` make with this lag can have an annotated step of its own."""
        return 0 < self.least_ms * _STEP_SHARE <= typical_ms and kernels // lag <= self.count + 1


def period_of(times_ms: FloatArray, unit: int, steps: Steps) -> Period | None:
    """How many kernels make an iteration of a sequence that repeats every ``unit`` of them, or None.

    An iteration can hold the same collectives several times over. Then the distances between them are unlike, and
    alike only over a whole iteration: jitter is as large over many distances as over one, but a pattern vanishes. Or
    the annotated steps tell how many there are.

    Parameters
    ----------
    times_ms : float64, shape (n,)
        Begins (or ends) of a run, ms.
    """
    count = len(times_ms)
    first = _typical(times_ms[unit:] - times_ms[:-unit])
    if first <= 0:
        return None
    spread = spread_ms(times_ms, unit)
    marked = steps.mark(unit, first, count)
    if spread <= AGREE * first and (marked or spread <= _SAME * first):
        if marked or first >= _STEP_SHARE * steps.least_ms or _crosses(times_ms, spread, first, steps):
            return Period(unit, first, steady=True)
    else:
        for lag in _lags(times_ms, unit, spread / 2):
            typical, rest = _typical(times_ms[lag:] - times_ms[:-lag]), spread_ms(times_ms, lag)
            if rest <= min(spread / 10, AGREE * typical):
                whole = typical >= _STEP_SHARE * steps.least_ms or _crosses(times_ms, rest, first, steps)
                return Period(lag, typical, steady=True) if whole else None
            if not marked:
                break
        else:
            if spread <= AGREE * first and first >= _STEP_SHARE * steps.least_ms:
                return Period(unit, first, steady=True)
    # Pauses that do not repeat: only annotated steps tell them from pauses of a longer iteration.
    lag = unit if marked else steps.kernels or 0
    if not lag or lag % unit or 2 * lag >= count:
        return None
    distances = times_ms[lag:] - times_ms[:-lag]
    typical = _typical(distances)
    good = np.flatnonzero(np.abs(distances - typical) <= AGREE * typical)
    if (
        not steps.mark(lag, typical, count)
        or count // lag > steps.count
        or 2 * len(good) <= len(distances)
        or good[-1] - good[0] < lag
    ):
        return None
    if np.min(distances) < typical / 2:
        return None  # A pause makes a distance longer; this is a collective that is too many.
    if 2 * typical * (count / lag) < times_ms[-1] - times_ms[0]:
        return None  # Pauses that last longer than all iterations may be what a longer iteration computes.
    return Period(lag, typical, steady=len(good) == len(distances))


def _crosses(times_ms: FloatArray, spread: float, first_ms: float, steps: Steps) -> bool:
    """Whether even from one annotated step to the next all is alike: then a step holds several iterations."""
    return spread <= _SAME * first_ms and float(times_ms[-1] - times_ms[0]) > 1.5 * steps.least_ms


def _lags(times_ms: FloatArray, unit: int, tolerance_ms: float) -> Iterator[int]:
    """Multiples of ``unit`` from two on whose distances, at least two that do not overlap, agree."""
    for lag in range(2 * unit, (len(times_ms) - 1) // 2 + 1, unit):
        # A few looks, before all are looked at.
        probes = np.linspace(0, len(times_ms) - lag - 1, _PROBES).astype(np.int64)
        if np.ptp(times_ms[probes + lag] - times_ms[probes]) > 2 * tolerance_ms:
            continue
        if spread_ms(times_ms, lag) <= tolerance_ms:
            yield lag


def spread_ms(times_ms: FloatArray, lag: int) -> float:
    """How far a distance is from the typical one at most, ms."""
    distances = times_ms[lag:] - times_ms[:-lag]
    return float(np.max(np.abs(distances - _typical(distances))))


def lag_at(times_ms: FloatArray, unit: int, period_ms: float, *, given: bool = False) -> int | None:
    """The multiple of ``unit`` whose distances are nearest to ``period_ms``, on average.

    Most of them must agree with it, or where it is ``given``, one. One that does not counts as off by what may be.
    """
    allowed = AGREE * period_ms
    # With fewer kernels between, none is far enough from any. The latest so far, as ends may be out of order.
    far = np.searchsorted(np.maximum.accumulate(times_ms), times_ms + (period_ms - allowed))
    first = int(np.min(far - np.arange(len(far)), where=far < len(far), initial=len(far)))
    best, least = None, math.inf
    for lag in range(max(1, first // unit) * unit, len(times_ms), unit):
        distances = times_ms[lag:] - times_ms[:-lag]
        if np.min(distances) > period_ms + min(allowed, least):
            break
        off = np.abs(distances - period_ms)
        good = np.flatnonzero(off <= allowed)
        enough = len(good) > 0 if given else 2 * len(good) > len(distances) and good[-1] - good[0] >= lag
        if enough and (mean := float(np.mean(np.minimum(off, allowed)))) < least:
            best, least = lag, mean
    return best


def _typical(values: FloatArray) -> float:
    """The lower median: what disturbs a time only ever adds to it."""
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])
