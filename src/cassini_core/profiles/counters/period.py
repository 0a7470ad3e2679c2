"""The iteration time of a job from its traffic alone, and when each iteration began.

Candidates are lags at which the traffic resembles itself. A job jitters, so a candidate is judged not by a rigid fold
but by following it: the next iteration is looked for near where it is due, by least squares against the typical one.
What counts is how well iterations *foretell others*: the typical iteration is made of every other one and judged on the
rest. In-sample, few long iterations would always fit their own mean better than many short ones.

Two questions are asked of each candidate, with a paired test over stretches of the recording. Do its iterations take
turns, so that the period is several of them (gradient accumulation: some small bursts, then a large one)? And does a
longer candidate foretell significantly better? The shortest for which neither holds is the period.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage, signal, stats

__all__ = ["FEWEST_ITERATIONS", "FEWEST_STEPS", "Rhythm", "choose", "find_rhythms", "prepare", "settle"]

FloatArray = npt.NDArray[np.float64]

FEWEST_ITERATIONS = 3
"""Two distances from start to start that agree."""

FEWEST_STEPS = 8
"""Of an iteration: a shorter one has no shape."""

_CANDIDATES = 6
_TIMING = 5.0  # what an iteration costs that is early or late by a whole one, as a multiple of the variance
_LOST = (1.6, 1.2, 0.9)  # of the variance, by round: what fits no better than that is not an iteration
_UNKNOWN = 0.2
_QUIET = 0.05
_INTERRUPTION = 2.5
_TURNS = 12
_CUTS = 8
_SETTLED = 0.97
_LEAST_GAIN = 0.005  # of the variance: less than that is no matter, however significant; nor is what is
_BLURRED_GAIN = 0.2  # of the share of an iteration that cannot be resolved
_SIGNIFICANT = 1e-3


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A period that was followed through the traffic.

    Attributes
    ----------
    steps : float
        Usual length of an iteration, in steps.
    starts : ndarray of float64
        Where each iteration that could be followed begins, in steps, to a fraction of one.
    regularity : float
        Share of the variance that iterations foretell of others, at most 1; may be negative.
    foretold : ndarray of float64
        The traffic that other iterations foretell, by step; NaN where nothing is.
    errors : ndarray of float64
        What was foretold wrongly, by step, squared, as a multiple of the variance; NaN where the traffic is not known.
    """

    steps: float
    starts: FloatArray
    regularity: float
    foretold: FloatArray
    errors: FloatArray


def prepare(per_step: FloatArray, blur: int) -> FloatArray:
    """The series to look for a rhythm in: no rare spikes, no interruptions, nothing finer than ``blur`` steps.

    Blurred, a burst that begins between two steps looks the same wherever between them it does.
    """
    series = _without_interruptions(_clip(per_step))
    known = np.isfinite(series)
    share, summed = known.astype(np.float64), np.where(known, series, 0.0)
    for _ in range(2):
        share, summed = (ndimage.uniform_filter1d(one, blur, mode="nearest") for one in (share, summed))
    return np.asarray(np.where(share > 0.5, summed / np.maximum(share, 0.5), np.nan))


def find_rhythms(series: FloatArray, blur: int) -> list[Rhythm]:
    """Every period that can be followed through a prepared series (NaN: unknown), shortest first.

    Cost: some FFTs of the series for each of at most 12 candidates.
    """
    followed = [rhythm for lag in _candidates(series) if (rhythm := follow(series, lag, blur)) is not None]
    return sorted(followed, key=lambda one: one.steps)


def choose(rhythms: Sequence[Rhythm], blur: int) -> Rhythm:
    """The shortest than which no longer one foretells significantly better."""
    best = max(rhythms, key=lambda one: one.regularity)
    return next(
        one
        for one in sorted(rhythms, key=lambda one: one.steps)
        if best.regularity - one.regularity < _least_gain(blur, one.steps)
        or not _is_better(one.errors - best.errors, max(one.steps, best.steps))
    )


def _least_gain(blur: int, steps: float) -> float:
    return max(_LEAST_GAIN, _BLURRED_GAIN * blur / steps)


def _is_better(gains: FloatArray, steps: float) -> bool:
    """Whether gains by step are above 0 by more than chance, judged by their means over whole iterations."""
    size = math.ceil(steps)
    whole = gains[: len(gains) // size * size].reshape(-1, size)
    whole = whole[np.isfinite(whole).mean(axis=1) > 0.5]
    return _is_positive(_mean(whole.T))


def _is_positive(values: FloatArray) -> bool:
    if len(values) < 2:
        return False
    spread = max(float(np.std(values, ddof=1)), 1e-12)
    return bool(stats.t.sf(np.mean(values) / spread * math.sqrt(len(values)), len(values) - 1) < _SIGNIFICANT)


def _clip(per_step: FloatArray) -> FloatArray:
    """A rare spike must not outweigh all else: nothing is much above the level at which half of the bytes flow."""
    known = np.sort(per_step[np.isfinite(per_step)])
    if not len(known) or known[-1] <= 0:
        return per_step
    level = known[int(np.searchsorted(np.cumsum(known), known.sum() / 2))]
    return np.asarray(np.minimum(per_step, 1.5 * level))


def _without_interruptions(series: FloatArray) -> FloatArray:
    """Unknown where nothing flows for much longer than between any iterations: before the job, after it, a checkpoint.

    A pause inside three iterations comes three times, so what is much longer than the third longest is none.
    """
    level = np.nanmax(series, initial=0.0)
    busy = np.flatnonzero(~(series <= _QUIET * level))  # What is unknown ends a silence, too.
    edges = np.concatenate([[-1], busy, [len(series)]])
    lengths = np.diff(edges) - 1
    usual = np.sort(lengths)[-min(FEWEST_ITERATIONS, len(lengths))]
    kept = series.copy()
    for place in np.flatnonzero(lengths > max(_INTERRUPTION * usual, FEWEST_STEPS)):
        kept[edges[place] + 1 : edges[place + 1]] = np.nan
    return kept


def _candidates(series: FloatArray) -> list[int]:
    """Lags, in steps, at which the series resembles itself: those where most, and the shortest ones."""
    known = np.isfinite(series)
    if np.count_nonzero(known) < FEWEST_ITERATIONS * FEWEST_STEPS:
        return []
    centred = np.where(known, series - np.mean(series[known]), 0.0)
    lags = len(series) // (FEWEST_ITERATIONS - 1)
    overlap = _autocorrelation(known.astype(np.float64), lags)
    likeness = _autocorrelation(centred, lags) / np.maximum(overlap, 1.0)
    if likeness[0] <= 0:
        return []
    likeness /= likeness[0]
    peaks, _ = signal.find_peaks(likeness, height=0.03, prominence=0.03)
    peaks = peaks[peaks >= FEWEST_STEPS]
    heights = likeness[peaks]
    by_height = peaks[np.argsort(-heights, kind="stable")]
    tall = peaks[heights > 0.5 * np.max(heights, initial=0.0)]
    chosen: list[int] = []
    for order in (by_height, tall):
        fresh = 0
        for lag in order:
            if fresh < _CANDIDATES and all(abs(lag - other) > 0.03 * other for other in chosen):
                chosen.append(int(lag))
                fresh += 1
    return sorted(chosen)


def _autocorrelation(series: FloatArray, lags: int) -> FloatArray:
    return np.asarray(signal.correlate(series, series, method="fft")[len(series) - 1 :][:lags])


def follow(series: FloatArray, lag: int, blur: int, template: FloatArray | None = None) -> Rhythm | None:
    """Follow iterations of about ``lag`` steps; None if there are too few, or others are found than looked for."""
    if np.count_nonzero(np.isfinite(series)) < FEWEST_ITERATIONS * lag:
        return None
    template, steps = _first_template(series, lag) if template is None else template, float(lag)
    for lost in _LOST:
        starts = _walk(series, template, steps, lost)
        lengths = _lengths(starts, steps)
        if len(lengths) < FEWEST_ITERATIONS - 1:
            return None
        steps = float(np.median(lengths))
        if abs(steps - lag) > 0.1 * lag:
            return None  # It has found another rhythm, which is a candidate of its own.
        windows = _windows(series, starts, lag)
        template = np.nan_to_num(_mean(windows))
    return _judge(series, starts, windows, steps, blur)


def settle(series: FloatArray, rhythm: Rhythm, blur: int) -> Rhythm:
    """The same rhythm with iterations cut in the pause that varies most, so that all they hold keeps its place."""
    if rhythm.regularity > _SETTLED:
        return rhythm
    typical = np.nan_to_num(_mean(_windows(series, rhythm.starts, round(rhythm.steps))))
    cuts = _pauses(typical)[:_CUTS]
    others = (follow(series, len(typical), blur, np.roll(typical, -cut)) for cut in cuts)
    return max([rhythm, *filter(None, others)], key=lambda one: one.regularity)


def _lengths(starts: FloatArray, steps: float) -> FloatArray:
    """Distances of starts that follow on each other, none left out in between."""
    lengths = np.diff(starts)
    return lengths[lengths < 1.5 * steps]


def _judge(series: FloatArray, starts: FloatArray, windows: FloatArray, steps: float, blur: int) -> Rhythm | None:
    """How well iterations foretell others; where they take turns, those whose turn it is."""
    variance = float(np.nanvar(series))
    numbers = np.concatenate([[0], np.cumsum(np.round(np.diff(starts) / steps))]).astype(np.int64)
    turns, plain = 1, _errors(windows, starts, numbers, 1, variance)
    most = plain
    for number in range(2, _TURNS + 1):
        if numbers[-1] + 1 < FEWEST_ITERATIONS * number:
            break
        errors = _errors(windows, starts, numbers, number, variance)
        # Of the gain over what was best, whatever a multiple of it gains is only chance.
        gains = most - errors
        rounds = np.array([float(_mean(gains[numbers // number == one])) for one in np.unique(numbers // number)])
        if float(_mean(gains)) > _least_gain(blur, steps) and _is_positive(rounds[np.isfinite(rounds)]):
            turns, most = number, errors
    return _rhythm(series, starts, windows, numbers, turns, steps, variance)


def _errors(
    windows: FloatArray, starts: FloatArray, numbers: npt.NDArray[np.int64], turns: int, variance: float
) -> FloatArray:
    """By iteration: what others foretell wrongly of its traffic and its length, as a multiple of the variance."""
    wrong = _mean((windows - _foretold(windows, numbers, turns)).T ** 2) / variance
    return np.asarray(wrong + _mistimed(starts, windows.shape[1], numbers, turns))


def _mistimed(starts: FloatArray, size: int, numbers: npt.NDArray[np.int64], turns: int) -> FloatArray:
    lengths = np.append(np.where(np.diff(numbers) == 1, np.diff(starts), np.nan), np.nan)[:, None]
    return np.asarray(_TIMING * np.nan_to_num((lengths - _foretold(lengths, numbers, turns))[:, 0] / size) ** 2)


def _foretold(rows: FloatArray, numbers: npt.NDArray[np.int64], turns: int) -> FloatArray:
    """For each row the mean of those of every other round that have the same turn."""
    key = numbers % turns * 2 + numbers // turns % 2
    means = np.full((2 * turns, rows.shape[1]), np.nan)
    for one in np.unique(key):
        means[one] = _mean(rows[key == one])
    return np.asarray(means[key ^ 1])


def _rhythm(
    series: FloatArray,
    starts: FloatArray,
    windows: FloatArray,
    numbers: npt.NDArray[np.int64],
    turns: int,
    steps: float,
    variance: float,
) -> Rhythm | None:
    table, size = _foretold(windows, numbers, turns), windows.shape[1]
    at = np.arange(len(series))
    row = np.searchsorted(starts, at, side="right") - 1
    phase = np.where(row >= 0, at - starts[row], np.inf)
    left = np.minimum(phase, size - 1).astype(np.int64)
    rest = np.minimum(phase, size - 1) - left
    foretold = table[row, left] * (1 - rest) + table[row, np.minimum(left + 1, size - 1)] * rest
    foretold[phase >= 1.5 * steps] = np.nan
    deviation = (series - np.nanmean(series)) ** 2 / variance
    errors = (series - foretold) ** 2 / variance + _mistimed(starts, size, numbers, turns)[row]
    # What is passed over counts twice: else whoever takes a part of an iteration for the whole would be forgiven.
    inside = (at >= starts[0]) & (at < starts[-1] + size)
    errors = np.where(inside & np.isfinite(foretold), errors, np.where(inside, 2 * deviation, np.nan))
    regularity = 1 - float(np.nanmean(errors) / max(np.nanmean(deviation[inside]), 1e-12))
    firsts = starts[numbers % turns == 0]
    lengths = _lengths(firsts, steps * turns)
    return Rhythm(float(np.median(lengths)), firsts, regularity, foretold, errors) if len(lengths) else None


def _mean(rows: FloatArray) -> FloatArray:
    """Over the first axis, of what is known; NaN where nothing is."""
    known = np.isfinite(rows)
    counts = known.sum(axis=0)
    return np.asarray(np.where(counts > 0, np.where(known, rows, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan))


def _first_template(series: FloatArray, length: int) -> FloatArray:
    """One iteration from the middle of what is known, cut in its longest pause, where a job jitters most."""
    filled = np.where(np.isfinite(series), series, 0.0)
    blank = np.concatenate([[0], np.cumsum(~np.isfinite(series))])
    gaps = blank[length:] - blank[:-length]
    best = np.flatnonzero(gaps == gaps.min())
    begin = int(best[np.argmin(np.abs(best - len(gaps) // 2))])
    one = filled[begin : begin + length]
    return np.roll(one, -_pauses(one)[0])


def _pauses(iteration: FloatArray) -> list[int]:
    """Where an iteration is quiet: the middles of its pauses, round the circle, longest first; at least one place."""
    size = len(iteration)
    around = ndimage.uniform_filter1d(iteration, max(1, size // 20), mode="wrap")
    least, most = float(np.min(around)), float(np.max(around))
    busy = np.flatnonzero(around > least + _QUIET * (most - least))
    if not len(busy):
        return [0]
    gaps = np.diff(np.append(busy, busy[0] + size))
    order = np.argsort(-gaps, kind="stable")
    return [int(busy[one] + gaps[one] // 2) % size for one in order if gaps[one] > 1]


def _walk(series: FloatArray, template: FloatArray, steps: float, lost: float) -> FloatArray:
    """Starts of iterations, each near where it is due after the one before; those that cannot be seen are left out."""
    misfit, spread = _misfit(series, template)
    usual = max(float(np.sum((template - np.mean(template)) ** 2)), 1e-12)
    reach = math.ceil(0.5 * steps)
    lateness = _TIMING * (np.arange(-reach, reach + 1) / steps) ** 2
    starts: list[float] = []
    at = reach - steps
    while (due := round(at + steps)) < len(misfit):
        low = max(0, due - reach)
        window = misfit[low : due + reach + 1] / usual
        place = low + int(np.argmin(window + lateness[low - due + reach :][: len(window)] * bool(starts)))
        if misfit[place] < lost * spread[place]:
            at = _refined(misfit, place)
            starts.append(at)
        else:
            at = at + steps
    return np.array(starts)


def _misfit(series: FloatArray, template: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At each place: the squared difference of what is known from the template, and from its own mean.

    The former is infinite where too much is unknown.
    """
    size, known = len(template), np.isfinite(series)
    filled = np.where(known, series, 0.0)

    def over_window(values: FloatArray) -> FloatArray:
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(sums[size:] - sums[:-size])

    count, total, squares = (over_window(values) for values in (known.astype(np.float64), filled, filled**2))
    product = signal.correlate(filled, template, mode="valid", method="fft")
    whole = bool(known.all())
    power = np.sum(template**2) if whole else signal.correlate(known * 1.0, template**2, mode="valid", method="fft")
    misfit = np.maximum(squares - 2 * product + power, 0.0)
    misfit[count < (1 - _UNKNOWN) * size] = np.inf
    return misfit, np.asarray(squares - total**2 / np.maximum(count, 1.0))


def _refined(misfit: FloatArray, place: int) -> float:
    """Where a curve is least, to a fraction of a step by the parabola through three points."""
    if 0 < place < len(misfit) - 1:
        before, here, after = misfit[place - 1 : place + 2]
        bend = before - 2 * here + after
        if 0 < bend < np.inf:
            return place + float(np.clip(0.5 * (before - after) / bend, -0.5, 0.5))
    return float(place)


def _windows(series: FloatArray, starts: FloatArray, size: int) -> FloatArray:
    """One row per iteration, from its start on, ``size`` steps; read between steps."""
    at = starts[:, None] + np.arange(size)[None, :]
    left = np.clip(np.floor(at).astype(np.int64), 0, len(series) - 1)
    rest = at - np.floor(at)
    right = np.where(rest > 1e-9, np.minimum(left + 1, len(series) - 1), left)
    return np.asarray(series[left] * (1 - rest) + series[right] * rest)
