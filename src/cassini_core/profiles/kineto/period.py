"""What repeats in a sequence of kernels: after how many of them it begins again, and at which distance in time.

Pure arithmetic on arrays. The *lag* is a number of kernels: kernel ``i`` and kernel ``i + lag`` are the same collective
of two successive iterations. A lag needs two distances that do not overlap and that agree; a sequence seen only twice
shows one distance, which may as well hold a pause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["AGREE", "Period", "Run", "Sequence", "lag_at", "period_of", "repeating_run"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

AGREE = 0.1
"""Distances that differ by less than this share agree. Real iterations differ by some percent."""

_STEP_SHARE = 0.75
"""An iteration that takes less than this share of an annotated step is a part of one: markers jitter, too."""

_DOUBLE = 1.0
"""Logarithm to base 2: sizes further apart are not the same collective with another size."""

_LONGEST_LAG = 20_000
_PROBES = 64


@dataclass(frozen=True, slots=True)
class Sequence:
    """The kernels of one stream in order.

    Attributes
    ----------
    starts_ms : float64, shape (n,)
        When each kernel began.
    weights : float64, shape (n,)
        Bytes where known of all, else ms: how much is lost if a kernel is left out.
    codes : int64, shape (n,)
        Which collective it is; -1 where nobody knows. Equal codes, same collective.
    kinds : int64, shape (n,)
        What its name says; compared where a code is -1.
    sizes : float64, shape (n,) or None
        Logarithms to base 2 of the sizes, where ``codes`` do not hold them.
    """

    starts_ms: FloatArray
    weights: FloatArray
    codes: IntArray
    kinds: IntArray
    sizes: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.starts_ms)

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


def period_of(starts_ms: FloatArray, unit: int, step_ms: float, per_step: int | None) -> Period | None:
    """How many kernels make an iteration of a sequence that repeats every ``unit`` of them, or None.

    An iteration can hold the same collectives several times over. Then the pauses between them repeat only with the
    whole iteration, or the annotated steps tell how many there are.

    Parameters
    ----------
    starts_ms : float64, shape (n,)
        Begins of a run, ms.
    step_ms : float
        What an annotated step takes at least, ms; 0 where no steps were annotated.
    per_step : int or None
        Kernels that most annotated steps launched, where they agree.
    """
    first = _typical(starts_ms[unit:] - starts_ms[:-unit])
    if first <= 0:
        return None
    whole_step = first >= _STEP_SHARE * step_ms
    if _all_within(starts_ms, unit, AGREE * first):
        if whole_step:
            return Period(unit, first, steady=True)
    else:
        # Kept to a tenth of the shortest distance, or jitter that averages out over many would pass as a pattern.
        for lag in range(2 * unit, (len(starts_ms) - 1) // 2 + 1, unit):
            if _all_within(starts_ms, lag, AGREE * first):
                typical = _typical(starts_ms[lag:] - starts_ms[:-lag])
                if typical >= _STEP_SHARE * step_ms:
                    return Period(lag, typical, steady=True)
    # Pauses that do not repeat: only annotated steps tell them from pauses of a longer iteration.
    if not step_ms:
        return None
    lag = unit if whole_step else per_step or 0
    if not lag or lag % unit or 2 * lag >= len(starts_ms):
        return None
    distances = starts_ms[lag:] - starts_ms[:-lag]
    typical = _typical(distances)
    good = np.flatnonzero(np.abs(distances - typical) <= AGREE * typical)
    if typical < _STEP_SHARE * step_ms or 2 * len(good) <= len(distances) or good[-1] - good[0] < lag:
        return None
    return Period(lag, typical, steady=len(good) == len(distances))


def lag_at(starts_ms: FloatArray, unit: int, period_ms: float, *, given: bool = False) -> int | None:
    """The multiple of ``unit`` whose distances are ``period_ms``: most of them, or where that is ``given``, one."""
    best, share = None, 0.0
    for lag in range(unit, len(starts_ms), unit):
        distances = starts_ms[lag:] - starts_ms[:-lag]
        if np.min(distances) > (1 + AGREE) * period_ms:
            break
        good = np.flatnonzero(np.abs(distances - period_ms) <= AGREE * period_ms)
        enough = len(good) > 0 if given else 2 * len(good) > len(distances) and good[-1] - good[0] >= lag
        if enough and len(good) / len(distances) > share:
            best, share = lag, len(good) / len(distances)
    return best


def _all_within(starts_ms: FloatArray, lag: int, tolerance_ms: float) -> bool:
    """Whether all distances agree, of which there must be two that do not overlap."""
    if 2 * lag >= len(starts_ms):
        return False
    # Two looks, before all are looked at.
    if abs(starts_ms[2 * lag] - 2 * starts_ms[lag] + starts_ms[0]) > 2 * tolerance_ms:
        return False
    distances = starts_ms[lag:] - starts_ms[:-lag]
    return bool(np.all(np.abs(distances - _typical(distances)) <= tolerance_ms))


def _typical(values: FloatArray) -> float:
    """The lower median: what disturbs a time only ever adds to it."""
    return float(np.sort(values)[(len(values) - 1) // 2])
