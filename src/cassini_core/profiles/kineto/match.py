"""Which kernels of several ranks are the same collective, and when it really moved data.

Ranks are matched by process group and by the order of its collectives, which NCCL keeps on every rank. A rank that
arrives early waits inside its kernel, so the ranks of a collective begin apart. But they end together, within some
microseconds: what does not is no collective of theirs. (A broadcast or a reduction to one rank need not.)
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ..phases import Spread
from .iterations import Iterations
from .period import AGREE

__all__ = ["Cell", "couple", "transfer_period"]

FloatArray = npt.NDArray[np.float64]

Cell = tuple[int, int]
"""Row and column of a collective."""

_TOGETHER_MS = 0.1
"""Clocks of ranks are read with some microseconds of error; slow rings end this far apart."""

_TOGETHER_SHARE = 0.01
"""Of a collective's duration: the last pieces of a long ring go round."""

_DRIFT = 1e-3
"""Clocks that are being set right run up to 500 ppm off, each."""

_END_APART = {"broadcast", "reduce", "gather", "scatter"}
_ONE_KIND = {"send": "send_recv", "recv": "send_recv"}
_ONE_SIZE = {"all_reduce", "all_gather", "reduce_scatter"}
"""Have inputs of the same size on all ranks."""

_NOISE_MS = 0.005


def transfer_period(iterations: Iterations, spans: Mapping[Cell, tuple[float, float]]) -> Spread:
    """Begin to begin of the iterations, ms, by when data began to move: free of the waiting of single ranks."""
    period = iterations.period_ms
    rows, columns = len(iterations.starts_ms), len(iterations.columns)
    begins = np.array([[spans[row, column][0] for column in range(columns)] for row in range(rows)])
    each = [statistics.median_low(row) for row in np.diff(begins, axis=0).tolist()]
    # Judged by each other: what one rank shows by itself is off by as much as it waited.
    middle = statistics.median_low(each) if each else 0.0
    even = [one for one in each if abs(one - middle) <= AGREE * middle]
    if period.count == 0 or 2 * len(even) <= max(2, len(each)):
        return period
    return Spread(statistics.median_low(even), min(each), max(each), len(each))


class _Instance(NamedTuple):
    kind: str
    size: int | None
    start_ms: float
    end_ms: float
    step: int | None
    cell: Cell


class _Matched(NamedTuple):
    """Instances of two ranks, pair by pair, and how far the other clock is ahead, ms."""

    pairs: list[tuple[_Instance, _Instance]]
    ahead_ms: float


def couple(reference: Iterations, others: Sequence[Iterations]) -> tuple[dict[Cell, tuple[float, float]], list[str]]:
    """When each collective moved data, ``(start, end)`` in ms on the reference's clock, and what to warn of.

    From the latest start to the median end over ranks. Clocks are aligned by the ends, so neither a common clock nor
    a common host is needed.

    Raises
    ------
    InputError
        A rank shares no collective with the reference, or their collectives do not end together.
    """
    spans: dict[Cell, list[tuple[float, float]]] = {}
    for column, one in enumerate(reference.columns):
        for row, kernel in enumerate(one.kernels):
            spans[row, column] = [(kernel.start_ms, kernel.end_ms)]
    warnings = []
    for other in others:
        pairs = _matched(reference, other)
        clock = _clock(reference, other, pairs)
        for own, theirs in pairs:
            moved = clock.at(own.end_ms)
            spans[own.cell].append((theirs.start_ms - moved, theirs.end_ms - moved))
    coupled = {}
    disjoint = 0
    for cell, instances in spans.items():
        start, end = max(one for one, _ in instances), statistics.median(two for _, two in instances)
        if start >= end:
            disjoint += len(instances) > 1
            start, end = instances[0]
        coupled[cell] = (start, end)
    if disjoint:
        warnings.append(
            f"{disjoint} collectives do not overlap between ranks; the time of {reference.trace.path} was used"
        )
    return coupled, warnings


def _matched(reference: Iterations, other: Iterations) -> list[tuple[_Instance, _Instance]]:
    """Pairs of the same collective on two ranks, over all groups that both have."""
    ours, theirs = _by_group(reference), _by_group(other)
    shared = sorted(ours.keys() & theirs.keys(), key=lambda group: (-len(ours[group]), group))
    if not shared:
        raise InputError(
            f"{other.trace.path}: expected a rank of the same job as {reference.trace.path}, got one without a "
            "process group in common"
        )
    ahead = None
    pairs = []
    for group in shared:
        found = _aligned(other.trace.path, ours[group], theirs[group], ahead)
        if found is not None:
            ahead = found.ahead_ms if ahead is None else ahead
            pairs += found.pairs
    if not pairs:
        raise InputError(
            f"{other.trace.path}: expected a rank of the same job as {reference.trace.path}, got other collectives "
            "in the process groups that they share"
        )
    return pairs


def _by_group(iterations: Iterations) -> Mapping[str, list[_Instance]]:
    steps = iterations.trace.steps
    begins = [step.start_ms for step in steps]
    groups: dict[str, list[_Instance]] = defaultdict(list)
    for column, one in enumerate(iterations.columns):
        group = "" if one.record is None else one.record.group
        for row, kernel in enumerate(one.kernels):
            at = bisect_right(begins, kernel.start_ms if kernel.launch_ms is None else kernel.launch_ms) - 1
            step = steps[at].number if at >= 0 else None
            kind = _ONE_KIND.get(one.kind, one.kind)
            record = (kernel.communication or one.record) if kind in _ONE_SIZE else None
            size = None if record is None else record.in_elements
            groups[group].append(_Instance(kind, size, kernel.start_ms, kernel.end_ms, step, (row, column)))
    return {group: sorted(found, key=lambda one: one.start_ms) for group, found in groups.items()}


def _aligned(path: str, ours: list[_Instance], theirs: list[_Instance], ahead_ms: float | None) -> _Matched | None:
    """The order of one group on two ranks, laid side by side so that most ends agree.

    Recordings may begin in different iterations. What fits equally well is decided by the steps' numbers.
    """
    rows = 1 + max(one.cell[0] for one in ours)
    reach = 2 * -(-len(ours) // rows)
    first, second = _Columns.of(ours), _Columns.of(theirs)
    found: list[tuple[float, float, int, float]] = []
    for offset in range(-reach, reach + 1):
        count = min(len(ours) - max(0, -offset), len(theirs) - max(0, offset))
        if count < 1 or 2 * count < min(len(ours), len(theirs)):
            continue
        one, two = first.part(max(0, -offset), count), second.part(max(0, offset), count)
        if np.any(one.kinds != two.kinds):
            continue
        checked = one.together if np.any(one.together) else np.ones(count, bool)
        clock = _Clock.between(one.ends_ms[checked], two.ends_ms[checked])
        residual = math.inf if clock.is_wrong() else float(np.median(clock.off_ms))
        if ahead_ms is not None:
            residual += abs(clock.ahead_ms - ahead_ms)
        found.append((residual, float(np.mean(one.steps == two.steps)), offset, clock.ahead_ms))
    if not found:
        return None
    least = min(found)[0]
    close = [one for one in found if one[0] <= least + _NOISE_MS]
    # Numbers can be wrong, so that a few that are equal say nothing.
    best = [one for one in close if one[1] > 0.5 or len(close) == 1]
    if len(best) != 1:
        raise InputError(
            f"{path}: expected steps of the same numbers as in the other rank's trace, or iterations that differ, to "
            f"tell which iterations belong together, got {len(close)} ways that fit equally well"
        )
    _, _, offset, ahead = best[0]
    return _Matched(list(zip(ours[max(0, -offset) :], theirs[max(0, offset) :], strict=False)), ahead)


class _Columns(NamedTuple):
    """Instances as arrays: hashes of what they are, which end on all ranks at once, their steps and ends."""

    kinds: npt.NDArray[np.int64]
    together: npt.NDArray[np.bool_]
    steps: npt.NDArray[np.int64]
    ends_ms: FloatArray

    @classmethod
    def of(cls, instances: Sequence[_Instance]) -> _Columns:
        return cls(
            np.array([hash((one.kind, one.size)) for one in instances]),
            np.array([one.kind not in _END_APART for one in instances]),
            np.array([-1 if one.step is None else one.step for one in instances]),
            np.array([one.end_ms for one in instances]),
        )

    def part(self, begin: int, count: int) -> _Columns:
        within = slice(begin, begin + count)
        return _Columns(self.kinds[within], self.together[within], self.steps[within], self.ends_ms[within])


@dataclass(frozen=True, slots=True)
class _Clock:
    """Another rank's clock against the reference's.

    Attributes
    ----------
    ahead_ms, drift, middle_ms : float
        How far it is ahead, ms, at the time ``middle_ms`` of the reference, and by how much more each ms later.
    span_ms : float
        How long it was watched, ms.
    off_ms : float64, shape (n,)
        How far the ends of each pair are apart if so, ms.
    """

    ahead_ms: float
    drift: float
    middle_ms: float
    span_ms: float
    off_ms: FloatArray

    @classmethod
    def between(cls, ours_ms: FloatArray, theirs_ms: FloatArray) -> _Clock:
        """The clock by which most ends, in order, agree; medians, so that a few that are far off change nothing."""
        apart = theirs_ms - ours_ms
        half = len(apart) // 2
        drift = 0.0
        reach = ours_ms[half:] - ours_ms[: len(apart) - half]
        if half and np.all(reach > 0):
            drift = float(np.median((apart[half:] - apart[: len(apart) - half]) / reach))
        span = float(ours_ms[-1] - ours_ms[0])
        if abs(drift) * span <= _NOISE_MS:
            drift = 0.0
        middle = float(ours_ms[half])
        ahead = float(np.median(apart - drift * (ours_ms - middle)))
        return cls(ahead, drift, middle, span, np.abs(apart - drift * (ours_ms - middle) - ahead))

    def is_wrong(self) -> bool:
        """Whether it drifts more than clocks do."""
        return abs(self.drift) > _DRIFT and abs(self.drift) * self.span_ms > _TOGETHER_MS

    def at(self, when_ms: float) -> float:
        """How far ahead it is at a time of the reference, ms."""
        return self.ahead_ms + self.drift * (when_ms - self.middle_ms)


def _clock(reference: Iterations, other: Iterations, pairs: list[tuple[_Instance, _Instance]]) -> _Clock:
    """The other rank's clock against the reference's, from collectives that end together.

    Raises
    ------
    InputError
        They do not.
    """
    checked = [pair for pair in pairs if pair[0].kind not in _END_APART]
    if not checked:
        raise InputError(
            f"{other.trace.path}: expected a collective in common with {reference.trace.path} that ends on all ranks "
            "at once, got only broadcasts, reductions, gathers and scatters; profile the ranks one by one"
        )
    checked.sort(key=lambda pair: pair[0].end_ms)
    clock = _Clock.between(
        np.array([own.end_ms for own, _ in checked]), np.array([theirs.end_ms for _, theirs in checked])
    )
    shorter = np.array([min(a.end_ms - a.start_ms, b.end_ms - b.start_ms) for a, b in checked])
    wrong = int(np.count_nonzero(clock.off_ms > np.maximum(_TOGETHER_MS, _TOGETHER_SHARE * shorter)))
    expected = f"{other.trace.path}: expected a rank of the same job as {reference.trace.path}, got collectives that"
    if clock.is_wrong():
        raise InputError(f"{expected} do not end together: they move apart by {abs(clock.drift) * 1e3:.4g} ms a second")
    if 4 * wrong > len(checked):
        apart_ms = float(np.max(clock.off_ms))
        raise InputError(f"{expected} do not end together: {wrong} of {len(checked)} end up to {apart_ms:.4g} ms apart")
    return clock
