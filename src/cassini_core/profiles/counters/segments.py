"""From a typical iteration, as bytes per bin, to phases of constant rate.

Pieces are found by least squares, no more than the variance between iterations allows. A bin that an edge falls into
has a level in between; it is shared out between its neighbours so that its bytes stay, which finds the edge to a
fraction of a bin.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import ruptures

from ...model import Phase

__all__ = ["Levels", "phases_of", "segment"]

FloatArray = npt.NDArray[np.float64]

Levels = list[tuple[float, float, float]]
"""Begin and end, in bins, and level of each piece; they touch and cover all bins."""

_NOISE_SHARE = 0.005  # of the peak: steps smaller than a few of these are not looked for even without noise
_ALIKE = 1.5  # neighbouring bins: noise of a real network lasts longer than a sample
_EDGE_BINS = 3
_BACKGROUND = 0.1
_UP = (0.04, 0.01)  # of the peak; the lower one if what lies between carries more than a little
_LITTLE = 0.04


def segment(profile: FloatArray, variance: float = 0.0) -> Levels:
    """Pieces of about constant level of a profile, ``[bins]``.

    Parameters
    ----------
    profile : ndarray of float64, [bins]
    variance : float
        Of the profile's bins by chance: steps that this explains are not looked for.

    Notes
    -----
    Least squares with a penalty for each piece (PELT). Cost: about linear in the bins, some ms for 1000.
    """
    peak = float(np.max(profile, initial=0.0))
    if peak <= 0:
        return [(0.0, float(len(profile)), 0.0)]
    noise = max((_NOISE_SHARE * peak) ** 2, _ALIKE * variance)
    search = ruptures.KernelCPD(kernel="linear", min_size=1).fit(profile)
    edges = [0, *search.predict(pen=6 * noise * math.log(max(len(profile), 3)))]
    return _share_edges([(float(b), float(e), float(profile[b:e].mean())) for b, e in pairwise(edges)])


def _share_edges(pieces: Levels) -> Levels:
    """Short pieces on the way from one level to another become part of both, bytes kept."""
    kept = [pieces[0]]
    number = 1
    while number < len(pieces):
        begin, _, before = kept[-1]
        last = _edge(kept[-1], pieces, number)
        _, end, after = pieces[last]
        edge = kept[-1][1]
        if last > number:
            volume = sum((e - b) * v for b, e, v in pieces[number:last])
            edge += (volume - (pieces[last][0] - edge) * after) / (before - after)
            kept[-1] = (begin, edge, before)
        # The piece behind an edge stays, however short: it is what the edge leads to.
        kept.append((edge, end, after))
        number = last + 1
    return kept


def _edge(before: tuple[float, float, float], pieces: Levels, first: int) -> int:
    """The piece to which those from ``first`` on are only the way from ``before``; ``first`` if there is none."""
    for last in range(len(pieces) - 1, first, -1):
        if pieces[last][0] - pieces[first][0] > _EDGE_BINS:
            continue
        levels = [before[2], *(level for _, _, level in pieces[first : last + 1])]
        steps = [b - a for a, b in pairwise(levels)]
        if all(step > 0 for step in steps) or all(step < 0 for step in steps):
            return last
    return first


def phases_of(pieces: Levels, floor: float, bin_ms: float, gbps_per_unit: float) -> tuple[list[Phase], float]:
    """Phases, and the background in Gbit/s that was taken off them.

    What flows all the time, ``floor`` at most, at less than a tenth of the peak is background.
    Time 0 is where the traffic before the longest pause ends: where an iteration really begins, counters do not show.
    """
    period_ms = pieces[-1][1] * bin_ms
    peak = max(level for _, _, level in pieces)
    # Bursts that come early or late fill the pauses of the mean, but not those of single iterations.
    floor = min(floor, _floor(pieces))
    background = floor if floor <= _BACKGROUND * peak else 0.0
    above = [(begin, end, level - background) for begin, end, level in pieces if level - background > _UP[1] * peak]
    up = [one for one in above if one[2] > _UP[0] * peak]
    if _volume(up) < (1 - _LITTLE) * _volume(above):
        up = above
    if not up:
        return [], background * gbps_per_unit
    origin = _after_traffic(up, pieces[-1][1])
    phases = [
        Phase(((begin - origin) * bin_ms) % period_ms, (end - begin) * bin_ms, level * gbps_per_unit)
        for begin, end, level in up
    ]
    return sorted(phases, key=lambda one: one.start_ms), background * gbps_per_unit


def _volume(pieces: Levels) -> float:
    return math.fsum((end - begin) * level for begin, end, level in pieces)


def _floor(pieces: Levels) -> float:
    """The lowest level that holds for a twentieth of the time."""
    seen = 0.0
    for begin, end, level in sorted(pieces, key=lambda one: one[2]):
        seen += end - begin
        if seen >= 0.05 * pieces[-1][1]:
            return level
    return 0.0


def _after_traffic(up: Levels, bins: float) -> float:
    gaps = [((up[(i + 1) % len(up)][0] - up[i][1]) % bins, -i) for i in range(len(up))]
    return up[-max(gaps)[1]][1]
