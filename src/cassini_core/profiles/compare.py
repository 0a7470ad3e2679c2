"""How near one profile is to another: :func:`compare_jobs`.

A model can be held against a recording of the same job, or two recordings against each other. Demand is compared over
one iteration, as a share of it, so that iteration times that differ a little do not matter twice. Where an iteration
begins differs between sources; so one demand is turned until as much as possible coincides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import InputError, worded
from ..model import Job
from .phases import demand_steps, volume_mbit

__all__ = ["JobComparison", "compare_jobs"]

FloatArray = npt.NDArray[np.float64]

MAX_PAIRS = 1_000_000
_CLOSE, _CLOSE_OVERLAP = 0.05, 0.9
_ROUGH, _ROUGH_OVERLAP = 0.2, 0.7


@dataclass(frozen=True, slots=True)
class JobComparison:
    """The second job by the first one.

    Attributes
    ----------
    iteration_ratio : float
        Iteration time of the second by that of the first.
    bytes_ratio, peak_ratio : float or None
        The same for bytes in an iteration and for the highest demand; None if the first sends nothing.
    rotation_ms : float
        By how much the second has to be delayed for the best overlap, ms of the first's iteration, at most half of it
        either way.
    overlap : float
        Demand that then coincides by demand of either: 0 nothing, 1 equal.
    overlap_unturned : float
        The same with both beginning at their time 0.
    verdict : str
        One sentence.
    """

    iteration_ratio: float
    bytes_ratio: float | None
    peak_ratio: float | None
    rotation_ms: float
    overlap: float
    overlap_unturned: float
    verdict: str


def compare_jobs(first: Job, second: Job) -> JobComparison:
    """Compare two jobs. The best rotation is exact: between two rotations that align edges, the overlap is linear.

    Cost: sorts the pairs of steps; a second for a thousand steps each.

    Raises
    ------
    InputError
        More than a million pairs of steps.
    """
    ours, theirs = _Demand.of(first), _Demand.of(second)
    pairs = len(ours.levels) * len(theirs.levels)
    if pairs > MAX_PAIRS:
        raise InputError(f"phases: expected at most {MAX_PAIRS} pairs of steps of two jobs, got {pairs}")
    total = ours.mean + theirs.mean
    turn = ours.best_rotation(theirs, tolerance=1e-9 * total)
    shared = [ours.shared_with(theirs, one) for one in (turn, 0.0)]
    overlaps = [1.0 if total == 0 else one / (total - one) for one in shared]
    found = JobComparison(
        iteration_ratio=second.iteration_ms / first.iteration_ms,
        bytes_ratio=_ratio(volume_mbit(second.phases), volume_mbit(first.phases)),
        peak_ratio=_ratio(theirs.peak, ours.peak),
        rotation_ms=turn * first.iteration_ms,
        overlap=overlaps[0],
        overlap_unturned=overlaps[1],
        verdict="",
    )
    return replace(found, verdict=_verdict(first, second, found))


@dataclass(frozen=True, slots=True)
class _Demand:
    """Steps on the circle: ``levels[i]`` from ``edges[i]`` to ``edges[i + 1]``, in turns; from 0 to 1."""

    edges: FloatArray
    levels: FloatArray

    @classmethod
    def of(cls, job: Job) -> _Demand:
        edges, levels = demand_steps(job.phases, job.iteration_ms)
        return cls(edges / job.iteration_ms, levels)

    @property
    def mean(self) -> float:
        return float(np.sum(self.levels * np.diff(self.edges)))

    @property
    def peak(self) -> float:
        return float(np.max(self.levels))

    def best_rotation(self, other: _Demand, tolerance: float) -> float:
        """The turn of the other one, from -0.5 to 0.5, at which most is shared; of equally good ones the smallest.

        Two steps share the lower level for as long as they overlap. With the rotation that grows, stays and falls: its
        slope changes where edges meet.
        """
        lower = np.minimum.outer(self.levels, other.levels)
        starts, ends = self.edges[:-1, None], self.edges[1:, None]
        meets = [starts - other.edges[1:], starts - other.edges[:-1], ends - other.edges[1:], ends - other.edges[:-1]]
        turns = np.array(meets).reshape(-1) % 1.0
        changes = np.array([lower, -lower, -lower, lower]).reshape(-1)
        order = np.argsort(turns, kind="stable")
        turns, slopes = turns[order], np.cumsum(changes[order])
        gaps = np.diff(np.append(turns, turns[0] + 1))
        slopes = slopes - np.sum(slopes * gaps)  # what is gained in a whole turn is nothing
        shared = np.concatenate(([0.0], np.cumsum(slopes * gaps)[:-1]))
        best = turns[shared >= np.max(shared) - tolerance]
        best = best - np.round(best)
        return float(best[np.lexsort((best, np.abs(best)))[0]])

    def shared_with(self, other: _Demand, rotation: float) -> float:
        """Mean of the lesser of both demands, the other one delayed by ``rotation`` turns."""
        cuts = np.unique(np.concatenate((self.edges, (other.edges + rotation) % 1.0)))
        middles = (cuts[:-1] + cuts[1:]) / 2
        ours = self.levels[np.searchsorted(self.edges[:-1], middles, side="right") - 1]
        theirs = other.levels[np.searchsorted(other.edges[:-1], (middles - rotation) % 1.0, side="right") - 1]
        return float(np.sum(np.minimum(ours, theirs) * np.diff(cuts)))


def _ratio(value: float, base: float) -> float | None:
    return value / base if base > 0 else None


def _verdict(first: Job, second: Job, found: JobComparison) -> str:
    ratios = [found.iteration_ratio, *([found.bytes_ratio] if found.bytes_ratio is not None else [])]
    off = max(max(ratio, 1 / ratio) - 1 if ratio > 0 else math.inf for ratio in ratios)
    if off <= _CLOSE and found.overlap >= _CLOSE_OVERLAP:
        word = "agrees"
    elif off <= _ROUGH and found.overlap >= _ROUGH_OVERLAP:
        word = "roughly agrees"
    else:
        word = "does not agree"
    return (
        f"{worded(second.id)} {word} with {worded(first.id)}: iteration time {_percent(found.iteration_ratio)}, bytes "
        f"{_percent(found.bytes_ratio)}, peak {_percent(found.peak_ratio)}; {found.overlap:.0%} of demand coincides "
        f"if it is {abs(found.rotation_ms):.3f} ms {'earlier' if found.rotation_ms < 0 else 'later'}"
    )


def _percent(ratio: float | None) -> str:
    return "not comparable" if ratio is None else f"{100 * (ratio - 1):+.1f} %"
