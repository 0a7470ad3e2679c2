"""From a typical iteration, as bytes per bin, to phases of constant rate.

Neighbouring bins are joined, the most alike first, until joining would cost more than the noise explains (bottom-up
segmentation by least squares). A bin that an edge falls into has a level in between; it is shared out between its
neighbours so that its bytes stay, which finds the edge to a fraction of a bin.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..model import Phase

__all__ = ["Levels", "phases_of", "segment"]

FloatArray = npt.NDArray[np.float64]

Levels = list[tuple[float, float, float]]
"""Begin and end, in bins, and level of each piece; they touch and cover all bins."""

_NOISE_SHARE = 0.005  # of the peak: steps smaller than a few of these are not looked for even without noise
_EDGE_BINS = 2
_BACKGROUND = 0.1
_UP = 0.04


def segment(profile: FloatArray) -> Levels:
    """Pieces of about constant level of a profile, ``[bins]``. Cost: bins squared, some 10 ms for 1000 bins."""
    bins = len(profile)
    peak = float(np.max(profile, initial=0.0))
    if peak <= 0:
        return [(0.0, float(bins), 0.0)]
    noise = max(1.4826 / math.sqrt(2) * float(np.median(np.abs(np.diff(profile)))), _NOISE_SHARE * peak)
    limit = 6 * noise**2 * math.log(max(bins, 3))
    sizes, sums = np.ones(bins), profile.astype(np.float64).copy()
    while len(sizes) > 1:
        means = sums / sizes
        costs = sizes[:-1] * sizes[1:] / (sizes[:-1] + sizes[1:]) * np.diff(means) ** 2
        place = int(np.argmin(costs))
        if costs[place] > limit:
            break
        sizes[place] += sizes[place + 1]
        sums[place] += sums[place + 1]
        sizes, sums = np.delete(sizes, place + 1), np.delete(sums, place + 1)
    ends = np.cumsum(sizes)
    pieces = [(float(e - s), float(e), float(t / s)) for s, e, t in zip(sizes, ends, sums, strict=True)]
    return _share_edges(pieces)


def _share_edges(pieces: Levels) -> Levels:
    """Short pieces with a level between their neighbours' become part of both, bytes kept."""
    kept: Levels = []
    for number, (begin, end, level) in enumerate(pieces):
        before = kept[-1] if kept else None
        after = pieces[number + 1] if number + 1 < len(pieces) else None
        between = before and after and min(before[2], after[2]) <= level <= max(before[2], after[2])
        if not (before and after and between) or end - begin > _EDGE_BINS or before[2] == after[2]:
            kept.append((before[1] if before else begin, end, level))
            continue
        share = (level - after[2]) / (before[2] - after[2])
        kept[-1] = (before[0], begin + share * (end - begin), before[2])
    return kept


def phases_of(pieces: Levels, bin_ms: float, gbps_per_unit: float) -> tuple[list[Phase], float]:
    """Phases, and the background in Gbit/s that was taken off them.

    What flows all the time at less than a tenth of the peak is background.
    Time 0 is where the traffic before the longest pause ends: where an iteration really begins, counters do not show.
    """
    period_ms = pieces[-1][1] * bin_ms
    peak = max(level for _, _, level in pieces)
    floor = _floor(pieces)
    background = floor if floor <= _BACKGROUND * peak else 0.0
    up = [one for one in pieces if one[2] - background > _UP * peak]
    if not up:
        return [], background * gbps_per_unit
    origin = _after_traffic(up, pieces[-1][1])
    phases = [
        Phase(((begin - origin) * bin_ms) % period_ms, (end - begin) * bin_ms, (level - background) * gbps_per_unit)
        for begin, end, level in up
    ]
    return sorted(phases, key=lambda one: one.start_ms), background * gbps_per_unit


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
