"""Which kernels of several ranks are the same collective, and when it really moved data.

Ranks are matched by process group and by the order of its collectives, which NCCL keeps on every rank. A rank that
arrives early waits inside its kernel, so the ranks of a collective begin apart. But they end together, within some
microseconds: what does not is no collective of theirs. (A broadcast or a reduction to one rank need not.)
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
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
_NOISE_MS = 0.005


def transfer_period(iterations: Iterations, spans: Mapping[Cell, tuple[float, float]]) -> Spread:
    """Begin to begin of the iterations, ms, by when data began to move: free of the waiting of single ranks."""
    period = iterations.period_ms
    rows, columns = len(iterations.starts_ms), len(iterations.columns)
    begins = np.array([[spans[row, column][0] for column in range(columns)] for row in range(rows)])
    each = [statistics.median_low(row) for row in np.diff(begins, axis=0).tolist()]
    even = [one for one in each if abs(one - period.typical) <= AGREE * period.typical]
    if period.count == 0 or 2 * len(even) <= max(2, len(each)):
        return period
    return Spread(statistics.median_low(even), min(each), max(each), len(each))


class _Instance(NamedTuple):
    kind: str
    start_ms: float
    end_ms: float
    step: int | None
    cell: Cell


class _Matched(NamedTuple):
    """Instances of two ranks, pair by pair, and how well their ends agree, ms."""

    pairs: list[tuple[_Instance, _Instance]]
    ahead_ms: float
    residual_ms: float


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
        shift = _clock(reference, other, pairs)
        for own, theirs in pairs:
            moved = shift(own.end_ms)
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
        found = _aligned(ours[group], theirs[group], ahead)
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
            groups[group].append(_Instance(kind, kernel.start_ms, kernel.end_ms, step, (row, column)))
    return {group: sorted(found, key=lambda one: one.start_ms) for group, found in groups.items()}


def _aligned(ours: list[_Instance], theirs: list[_Instance], ahead_ms: float | None) -> _Matched | None:
    """The order of one group on two ranks, laid side by side so that most ends agree.

    Recordings may begin in different iterations. What fits equally well is decided by the steps' numbers.
    """
    rows = 1 + max(one.cell[0] for one in ours)
    reach = 2 * -(-len(ours) // rows)
    found: list[tuple[int, int, _Matched]] = []
    for offset in range(-reach, reach + 1):
        first = ours[max(0, -offset) :]
        second = theirs[max(0, offset) :]
        pairs = list(zip(first, second, strict=False))
        if 2 * len(pairs) < min(len(ours), len(theirs)) or any(a.kind != b.kind for a, b in pairs):
            continue
        apart = [b.end_ms - a.end_ms for a, b in pairs if a.kind not in _END_APART]
        apart = apart or [b.end_ms - a.end_ms for a, b in pairs]
        middle = statistics.median(apart)
        residual = statistics.median(abs(one - middle) for one in apart)
        if ahead_ms is not None:
            residual += abs(middle - ahead_ms)
        same = sum(a.step == b.step for a, b in pairs)
        found.append((-same, abs(offset), _Matched(pairs, middle, residual)))
    if not found:
        return None
    least = min(matched.residual_ms for _, _, matched in found)
    return min((one for one in found if one[2].residual_ms <= least + _NOISE_MS), key=lambda one: one[:2])[2]


class _Clock:
    """How far another rank's clock is ahead, ms, at a time of the reference's."""

    def __init__(self, ahead_ms: float, drift: float, middle_ms: float) -> None:
        self.ahead_ms, self.drift, self.middle_ms = ahead_ms, drift, middle_ms

    def __call__(self, when_ms: float) -> float:
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
    times = np.array([own.end_ms for own, _ in checked])
    apart = np.array([theirs.end_ms - own.end_ms for own, theirs in checked])
    half = len(times) // 2
    # The median slope between instances half a recording apart: a few that are far off change nothing.
    reach = times[half:] - times[: len(times) - half] if half else np.zeros(1)
    drift = float(np.median((apart[half:] - apart[: len(times) - half]) / reach)) if np.all(reach > 0) else 0.0
    if abs(drift) * float(times[-1] - times[0]) <= _TOGETHER_MS:
        drift = 0.0
    clock = _Clock(float(np.median(apart - drift * (times - times[half]))), drift, float(times[half]))
    shorter = np.array([min(a.end_ms - a.start_ms, b.end_ms - b.start_ms) for a, b in checked])
    off = np.abs(apart - clock.ahead_ms - drift * (times - clock.middle_ms))
    wrong = np.count_nonzero(off > np.maximum(_TOGETHER_MS, _TOGETHER_SHARE * shorter))
    expected = f"{other.trace.path}: expected a rank of the same job as {reference.trace.path}, got collectives that"
    if abs(drift) > _DRIFT:
        raise InputError(f"{expected} do not end together: they move apart by {abs(drift) * 1e3:.4g} ms a second")
    if 4 * wrong > len(checked):
        apart_ms = float(np.max(off))
        raise InputError(f"{expected} do not end together: {wrong} of {len(checked)} end up to {apart_ms:.4g} ms apart")
    return clock
