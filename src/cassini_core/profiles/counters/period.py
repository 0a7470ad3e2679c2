"""The iteration time of a job from its traffic alone, and when each iteration began.

Candidates are the peaks of the autocorrelation. A job jitters, so a candidate is judged not by a rigid fold but by
following it: the next iteration is looked for near where it is due, by least squares against the typical one. What
share of the traffic's variance the typical iteration then explains is the candidate's *regularity*. The shortest
candidate that is about as good as the best is the iteration: every multiple of it explains the traffic as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

__all__ = ["Rhythm", "find_rhythm"]

FloatArray = npt.NDArray[np.float64]

FEWEST_ITERATIONS = 4
_FEWEST_STEPS = 6
_CANDIDATES = 16
_NEARLY = 0.06
_REACH = 0.08  # of an iteration: how early or late the next one is looked for
_MOST_STEPS = 512  # per iteration while following; finer steps are added up, then the starts refined
_ROUNDS = 3
_UNKNOWN = 0.2
_QUIET = 0.05
_INTERRUPTION = 2.5
_ASTRAY = 0.05
_FOUND = 0.75  # of the template, at least, or an iteration is looked for further on


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
        Share of the variance that a typical iteration explains, at most 1.
    """

    steps: float
    starts: FloatArray
    regularity: float


def find_rhythm(per_step: FloatArray) -> Rhythm | None:
    """The iteration in a series of bytes per step (NaN: unknown); None where nothing repeats.

    Cost: one FFT of the series, and for each of at most 16 candidates some passes over it.
    """
    series = _without_interruptions(_clip(per_step))
    known = np.flatnonzero(np.isfinite(series))
    if not len(known):
        return None
    series = series[known[0] : known[-1] + 1]
    followed = [rhythm for lag in _candidates(series) if (rhythm := _follow(series, lag)) is not None]
    if not followed:
        return None
    best = max(rhythm.regularity for rhythm in followed)
    rhythm = min((one for one in followed if one.regularity >= best - _NEARLY), key=lambda one: one.steps)
    return replace(rhythm, starts=rhythm.starts + known[0])


def _clip(per_step: FloatArray) -> FloatArray:
    """A rare spike must not outweigh all else: nothing is much above the level at which half of the bytes flow."""
    known = np.sort(per_step[np.isfinite(per_step)])
    if not len(known) or known[-1] <= 0:
        return per_step
    level = known[int(np.searchsorted(np.cumsum(known), known.sum() / 2))]
    return np.asarray(np.minimum(per_step, 1.5 * level))


def _without_interruptions(series: FloatArray) -> FloatArray:
    """Unknown where nothing flows for much longer than between any iterations: before the job, after it, a checkpoint.

    At least four iterations leave at least four pauses of about the same length, so what is much longer than the fourth
    longest is none of them.
    """
    level = np.nanmax(series, initial=0.0)
    busy = np.flatnonzero(~(series <= _QUIET * level))  # What is unknown ends a silence, too.
    edges = np.concatenate([[-1], busy, [len(series)]])
    lengths = np.diff(edges) - 1
    usual = np.sort(lengths)[-min(FEWEST_ITERATIONS, len(lengths))]
    kept = series.copy()
    for place in np.flatnonzero(lengths > max(_INTERRUPTION * usual, _FEWEST_STEPS)):
        kept[edges[place] + 1 : edges[place + 1]] = np.nan
    return kept


def _candidates(series: FloatArray) -> list[int]:
    """Lags, in steps, at which the series resembles itself most; by lag."""
    known = np.isfinite(series)
    steps = len(series)
    if np.count_nonzero(known) < FEWEST_ITERATIONS * _FEWEST_STEPS:
        return []
    centred = np.where(known, series - np.mean(series[known]), 0.0)
    length = 1 << (2 * steps - 1).bit_length()
    overlap = _correlate(known.astype(np.float64), length)[:steps]
    likeness = _correlate(centred, length)[:steps] / np.maximum(overlap, 1.0)
    if likeness[0] <= 0:
        return []
    likeness = likeness[: steps // (FEWEST_ITERATIONS - 1)] / likeness[0]
    # Up to where it first falls below 0 the series only resembles itself because bursts have a length.
    fallen = np.flatnonzero(likeness < 0)
    if not len(fallen):
        return []
    first = max(int(fallen[0]), _FEWEST_STEPS)
    peaks = (
        1
        + first
        + np.flatnonzero(
            (likeness[first + 1 : -1] >= likeness[first:-2]) & (likeness[first + 1 : -1] >= likeness[first + 2 :])
        )
    )
    chosen: list[int] = []
    for lag in peaks[np.argsort(-likeness[peaks])]:
        if likeness[lag] < 0.1 or len(chosen) == _CANDIDATES:
            break
        if all(abs(lag - other) > 0.05 * other for other in chosen):
            chosen.append(int(lag))
    return sorted(chosen)


def _correlate(series: FloatArray, length: int) -> FloatArray:
    transformed = np.fft.rfft(series, length)
    return np.asarray(np.fft.irfft(transformed * transformed.conj(), length), dtype=np.float64)


def _follow(series: FloatArray, lag: int) -> Rhythm | None:
    factor = -(-lag // _MOST_STEPS)
    coarse = series if factor == 1 else _add_up(series, factor)
    length = round(lag / factor)
    if len(coarse) < FEWEST_ITERATIONS * length:
        return None
    template = _first_template(coarse, length)
    starts: FloatArray = np.zeros(0)
    for _ in range(_ROUNDS):
        starts = _walk(coarse, template, float(length) if len(starts) < 2 else float(np.median(np.diff(starts))))
        windows = _windows(coarse, starts, length)
        windows = windows[np.mean(np.isfinite(windows), axis=1) > 1 - _UNKNOWN]
        if len(windows) < FEWEST_ITERATIONS - 1:
            return None
        template = _typical(windows)
    lengths = np.diff(starts)
    if abs(np.median(lengths) - length) > _ASTRAY * length:
        return None  # It has found another rhythm than it was to follow, which is a candidate of its own.
    # Iterations that vary much for their length are likelier to be parts of one that does not.
    wobble = float(np.median(np.abs(lengths - np.median(lengths)))) / length
    regularity = _explained(coarse, starts, template) - wobble
    return Rhythm(float(np.median(lengths)) * factor, starts * factor, regularity)


def _explained(series: FloatArray, starts: FloatArray, template: FloatArray) -> float:
    """Share of the variance that a typical iteration from each start on explains.

    What lies between two iterations is explained by nothing, and counts twice: else whoever takes a part of an
    iteration for the whole would be forgiven for passing over the rest.
    """
    size = len(template)
    deviation = (series - np.nanmean(series)) ** 2
    first, last = max(0, round(starts[0])), min(len(series), round(starts[-1]) + size)
    covered = np.zeros(len(series), dtype=bool)
    for start in np.round(starts).astype(int):
        covered[max(0, start) : start + size] = True
    between = float(np.nansum(np.where(covered, 0.0, deviation)[first:last]))
    whole = float(np.nansum(deviation[first:last]))
    if whole <= 0:
        return 0.0
    windows = _windows(series, starts, size)
    # The template was made of these windows, the fewer the more like each of them: what a further one would miss it by.
    bias = (len(windows) + 1) / max(len(windows) - 1, 1)
    return 1 - (bias * float(np.nansum((windows - template) ** 2)) + 2 * between) / whole


def _add_up(series: FloatArray, factor: int) -> FloatArray:
    steps = len(series) // factor * factor
    return np.asarray(series[:steps].reshape(-1, factor).sum(axis=1))


def _typical(windows: FloatArray) -> FloatArray:
    known = np.isfinite(windows)
    middle = np.zeros(windows.shape[1])
    seen = known.any(axis=0)
    middle[seen] = np.nanmedian(windows[:, seen], axis=0)
    return middle


def _first_template(series: FloatArray, length: int) -> FloatArray:
    """One iteration from the middle of what is known, cut in the middle of where it is quiet longest.

    A job jitters most where it computes. Cut there, an iteration is all there is between two pauses, and its phases
    keep their places in it.
    """
    filled = np.where(np.isfinite(series), series, 0.0)
    blank = np.concatenate([[0], np.cumsum(~np.isfinite(series))])
    whole = 2 * length
    gaps = blank[whole:] - blank[:-whole] if len(blank) > whole else np.zeros(1)
    middle = (len(gaps) - 1) // 2
    best = np.flatnonzero(gaps == gaps.min())
    begin = int(best[np.argmin(np.abs(best - middle))])
    two = filled[begin : begin + whole]
    around = max(1, length // 10)
    bytes_around = np.convolve(two, np.ones(around), mode="valid")[:length]
    least, most = np.min(bytes_around), np.max(bytes_around)
    quiet = bytes_around <= least + _QUIET * (most - least)
    # Length of the run of quiet places that ends at each place.
    place = np.arange(length)
    runs = place - np.maximum.accumulate(np.where(quiet, -1, place))
    end = int(np.argmax(runs))
    cut = end - int(runs[end]) // 2 + around // 2
    return two[cut : cut + length]


def _walk(series: FloatArray, template: FloatArray, length: float) -> FloatArray:
    """Starts of iterations, each near where it is due after the one before."""
    size = len(template)
    reach = max(2, round(_REACH * length))
    unknown = ~np.isfinite(series)
    filled = np.where(unknown, np.mean(template), series)
    squares = np.concatenate([[0.0], np.cumsum(filled**2)])
    missing = np.concatenate([[0], np.cumsum(unknown)])
    power = float(np.sum(template**2))

    def misfit(first: int, last: int) -> FloatArray:
        product = np.correlate(filled[first : last + size], template, mode="valid")
        places = np.arange(first, first + len(product))
        return np.asarray(squares[places + size] - squares[places] - 2 * product)

    def found(first: int, curve: FloatArray) -> float:
        """How much of the template is where it fits best, whatever else is there besides."""
        place = first + int(np.argmin(curve))
        return float(template @ filled[place : place + size]) / power if power > 0 else 1.0

    first = float(_best(misfit(0, min(round(length) + reach, len(series) - size))))
    starts = [first]
    while (due := starts[-1] + length) + size <= len(series):
        low = max(0, round(due) - reach)
        high = min(round(due) + reach, len(series) - size)
        if high <= low:
            break
        if missing[high + size] - missing[low] > _UNKNOWN * size:
            starts.append(due)  # It cannot be seen: taken as being on time.
            continue
        curve = misfit(low, high)
        if found(low, curve) < _FOUND and due + length + size <= len(series):
            # Little of it is there: an iteration was late by more than usual. Where does the next one begin?
            later = misfit(low, min(round(due + length), len(series) - size))
            curve = later if found(low, later) > found(low, curve) + 1 - _FOUND else curve
        starts.append(low + _best(curve))
    return np.array(starts)


def _best(misfit: FloatArray) -> float:
    """Where a curve is least, to a fraction of a step by the parabola through three points."""
    place = int(np.argmin(misfit))
    if 0 < place < len(misfit) - 1:
        before, here, after = misfit[place - 1 : place + 2]
        bend = before - 2 * here + after
        if bend > 0:
            return place + 0.5 * float(before - after) / float(bend)
    return float(place)


def _windows(series: FloatArray, starts: FloatArray, size: int) -> FloatArray:
    """One row per iteration that lies inside the series, from its start on, ``size`` steps; read between steps."""
    inside = starts[(starts >= 0) & (starts + size <= len(series))]
    whole = np.floor(inside).astype(np.int64)
    rest = (inside - whole)[:, None]
    index = whole[:, None] + np.arange(size)[None, :]
    following = np.minimum(index + 1, len(series) - 1)
    later = np.where(rest > 1e-9, series[following], 0.0)
    return np.asarray(series[index] * (1 - rest) + later * rest)
