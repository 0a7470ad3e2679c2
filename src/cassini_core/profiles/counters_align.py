"""Where each iteration begins, to a fraction of a sample, cut in the middle of the longest pause.

Iterations were followed in whole samples. An edge that falls between two samples, at another place in each iteration,
would blur the typical iteration, so each is shifted until it fits best, by least absolute deviation: traffic of others
in one iteration does not move it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .counters_period import Rhythm
from .counters_traffic import Traffic

__all__ = ["align", "bytes_per_bin"]

FloatArray = npt.NDArray[np.float64]

_ROUNDS = 3
_SHIFTS = 17
_MOST_BINS = 1024
_QUIET = 0.1


def align(traffic: Traffic, rhythm: Rhythm) -> FloatArray:
    """Starts of iterations, ms; iterations that stick out of the recording after the cut are left out."""
    step_ms = traffic.step_ms
    starts = rhythm.starts * step_ms
    length_ms = rhythm.steps * step_ms
    bins = min(max(8, round(rhythm.steps)), _MOST_BINS)
    bin_ms = length_ms / bins
    typical = np.median(bytes_per_bin(traffic, starts, bins, bin_ms), axis=0)
    starts = starts + _middle_of_pause(typical) * bin_ms
    starts = starts[(starts >= 0) & (starts <= traffic.times_ms[-1])]
    reach_ms = max(step_ms, bin_ms, traffic.refresh_ms)
    for _ in range(_ROUNDS):
        typical = np.median(bytes_per_bin(traffic, starts, bins, bin_ms), axis=0)
        shifts = np.linspace(-reach_ms, reach_ms, _SHIFTS)
        misfits = [
            np.abs(bytes_per_bin(traffic, starts + shift, bins, bin_ms) - typical).sum(axis=1) for shift in shifts
        ]
        best = shifts[np.argmin(misfits, axis=0)]
        starts = starts + best - np.median(best)
        reach_ms /= 2
    return np.asarray(starts)


def bytes_per_bin(traffic: Traffic, starts: FloatArray, bins: int, bin_ms: float) -> FloatArray:
    """What each iteration carries in each bin, bytes, ``[iterations, bins]``."""
    edges = starts[:, None] + np.arange(bins + 1)[None, :] * bin_ms
    return np.asarray(np.diff(np.interp(edges, traffic.times_ms, traffic.total), axis=1))


def _middle_of_pause(typical: FloatArray) -> int:
    """The bin in the middle of the longest run of little traffic, round the circle."""
    bins = len(typical)
    quiet = np.tile(typical <= _QUIET * np.max(typical), 2)
    if quiet.all() or not quiet.any():
        return 0
    # Length of the run of quiet bins that ends at each bin.
    place = np.arange(2 * bins)
    runs = place - np.maximum.accumulate(np.where(quiet, -1, place))
    end = int(np.argmax(runs))
    return (end - int(runs[end]) // 2) % bins
