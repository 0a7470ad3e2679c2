"""The typical iteration of a job, in bytes per bin, from iterations that were followed.

An iteration jitters inside, too. So it is cut into pieces, in its pauses, and each piece is laid over those of the
other iterations where it fits best, which keeps short bursts sharp and whole. Then the mean is taken: it keeps the
bytes, which a median of noisy traffic does not. What differs from all others, a slow iteration or others' traffic, is
left out before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import ndimage, signal

from .traffic import Traffic

__all__ = ["Typical", "typical_iteration"]

FloatArray = npt.NDArray[np.float64]

_MOST_BINS = 1024
_QUIET = 0.05
_REACH = 0.1  # of an iteration: how far a piece may be from its usual place
_ROUNDS = 3
_BLURS = 16  # in an iteration: nothing finer counts when bursts are laid over each other
_WORTHWHILE = 0.6  # of the variance between iterations: if more is left, they stay where they are
_OUTLIERS = 5.0  # median absolute deviations
_ALIKE = 0.02  # of an iteration's energy: what differs less than that is no outlier


@dataclass(frozen=True, slots=True)
class Typical:
    """Bytes per bin of the typical iteration.

    Attributes
    ----------
    profile : ndarray of float64, [bins]
    variance : float
        Of the profile's bins where it has traffic, by chance: that between iterations, by their number.
    left : ndarray of float64, [iterations * bins]
        What the typical one leaves of the traffic of all, one iteration after the other.
    energy : float
        Variance of the traffic of all.
    floor : float
        Bytes that flow in a bin at least, whenever it is, but for one in a hundred.
    bin_ms : float
    """

    profile: FloatArray
    variance: float
    left: FloatArray
    energy: float
    floor: float
    bin_ms: float


def typical_iteration(traffic: Traffic, starts_ms: FloatArray, iteration_ms: float) -> Typical:
    """The typical one of iterations that begin at ``starts_ms``, all of them ``iteration_ms`` long.

    Cost: iterations times bins times the tenth of them that a piece may be moved by.
    """
    # Finer than it is refreshed a counter shows its own rhythm, not the job's.
    bins = int(np.clip(round(iteration_ms / traffic.refresh_ms), 8, _MOST_BINS))
    bin_ms = iteration_ms / bins
    turn, pieces = _pieces(traffic.per_bin(starts_ms, bins, bin_ms).mean(axis=0))
    # From the middle of a pause on, so that no burst is cut in two.
    aligned = [_aligned(traffic, starts_ms + turn * bin_ms, begin, end, bins, bin_ms) for begin, end in pieces]
    # Others' traffic may be small beside the iteration and large beside the burst that it falls on.
    usual = [_without_outliers(rows) for rows in aligned]
    profile = np.hstack([rows.mean(axis=0) for rows in usual])
    chance = np.hstack([rows.var(axis=0) / len(rows) for rows in usual])
    variance = float(chance @ profile) / max(float(profile.sum()), 1e-12)
    whole = np.hstack(aligned)
    left = (whole - profile).ravel()
    # A counter that is refreshed seldom hides pauses.
    floor = float(np.quantile(whole, 0.01)) if traffic.refresh_ms < 1.5 * traffic.step_ms else 0.0
    return Typical(np.roll(profile, turn), variance, left, max(float(np.var(whole)), 1e-12), floor, bin_ms)


def _pieces(profile: FloatArray) -> tuple[int, list[tuple[int, int]]]:
    """Where to begin, and from there on the pieces with a burst and half of the pauses around it each, in bins."""
    bins = len(profile)
    around = ndimage.uniform_filter1d(profile, 3, mode="wrap")
    least, most = float(around.min()), float(around.max())
    busy = np.flatnonzero(around > least + _QUIET * (most - least))
    if not len(busy):
        return 0, [(0, bins)]
    pauses = np.diff(np.append(busy, busy[0] + bins))
    cuts = [int(busy[one] + pauses[one] // 2) for one in np.flatnonzero(pauses > 2)]
    if not cuts:
        return 0, [(0, bins)]
    edges = [cut - cuts[0] for cut in cuts] + [bins]
    return cuts[0] % bins, list(pairwise(edges))


def _aligned(traffic: Traffic, starts_ms: FloatArray, begin: int, end: int, bins: int, bin_ms: float) -> FloatArray:
    """The rows of one piece, each moved to where it fits the others best; on average they stay where they are."""
    size = end - begin
    reach = max(1, min(round(_REACH * bins), size // 3))

    blur = max(1, bins // _BLURS)

    def read(moved: FloatArray) -> FloatArray:
        return traffic.per_bin(starts_ms + moved + (begin - reach) * bin_ms, size + 2 * reach, bin_ms)

    def blurred(moved: FloatArray) -> FloatArray:
        # Else the noise would be laid over itself, and look like bursts.
        return np.asarray(ndimage.uniform_filter1d(read(moved), blur, axis=1))

    here = slice(reach, reach + size)
    best = np.zeros(len(starts_ms))
    rows = blurred(best)[:, here]
    mean, least = rows.mean(axis=0), _WORTHWHILE * float(np.var(rows, axis=0).sum())
    # From the mean on if it is noisy; from one that is like it, if the mean is smeared: whichever leaves less.
    likest = rows[np.argmin(((rows - mean) ** 2).sum(axis=1))]
    for template in (mean, likest) if len(starts_ms) > 1 else ():
        moved = np.zeros(len(starts_ms))
        for _ in range(_ROUNDS):
            wide = blurred(moved)
            squares = np.cumsum(np.pad(wide**2, ((0, 0), (1, 0))), axis=1)
            product = signal.fftconvolve(wide, template[None, ::-1], mode="valid", axes=1)
            misfit = squares[:, size:] - squares[:, :-size] - 2 * product
            moved += (np.argmin(misfit, axis=1) - reach) * bin_ms
            moved -= moved.mean()
            rows = blurred(moved)[:, here]
            template = rows.mean(axis=0)
        if np.var(rows, axis=0).sum() < least:
            best, least = moved, float(np.var(rows, axis=0).sum())
    return read(best)[:, here]


def _without_outliers(rows: FloatArray) -> FloatArray:
    middle = np.median(rows, axis=0)
    apart = ((rows - middle) ** 2).sum(axis=1)
    usual = np.median(apart)
    spread = np.median(np.abs(apart - usual))
    limit = usual + max(_OUTLIERS * 1.4826 * spread, _ALIKE * float((middle**2).sum()))
    return np.asarray(rows[apart <= limit])
