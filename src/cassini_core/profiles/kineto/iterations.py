"""From one rank's kernels to a table: a row per iteration, a column per collective of an iteration.

Each stream repeats by itself (:mod:`.streams`). An iteration is what all of them repeat together; they are put side by
side by their times.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ..phases import Spread
from .groups import Scope
from .period import AGREE
from .records import Communication
from .streams import Beat, StreamFinder, kind_of, kinds_of
from .trace import Kernel, RankTrace

__all__ = ["Column", "Iterations", "find_iterations"]

FloatArray = npt.NDArray[np.float64]

_MOST_MULTIPLES = 8
"""How many iterations of one stream may make one of all streams."""


@dataclass(frozen=True, slots=True)
class Column:
    """One collective of an iteration: its kernel in each row, and what was recorded about them."""

    kind: str
    kernels: tuple[Kernel, ...]
    records: tuple[Communication, ...]

    @property
    def record(self) -> Communication | None:
        """What was recorded about one of them."""
        return self.records[0] if self.records else None


@dataclass(frozen=True, slots=True)
class Iterations:
    """One rank's kernels by iteration.

    Attributes
    ----------
    starts_ms : float64, shape (rows,)
        When the first kernel of each whole iteration began, on the rank's own clock.
    period_ms : Spread
        Begin to begin of iterations, ms; ``count`` is how many such distances were observed.
    columns : tuple of Column
        Collectives of an iteration, each with a kernel in every row.
    outside : tuple of Kernel
        Kernels that do not repeat.
    warnings : tuple of str
    """

    trace: RankTrace
    starts_ms: FloatArray
    period_ms: Spread
    columns: tuple[Column, ...]
    outside: tuple[Kernel, ...]
    warnings: tuple[str, ...]


def find_iterations(trace: RankTrace, scope: Scope, given_ms: float | None, negligible: float) -> Iterations:
    """The iterations of a rank.

    Parameters
    ----------
    given_ms : float or None
        The iteration time, where the caller says it.
    negligible : float
        Share of the bytes (of the time, where bytes are not known) that need not repeat.

    Raises
    ------
    InputError
        No iteration time can be told.
    """
    finder = StreamFinder(trace, given_ms, negligible)
    beats, left_out = _together(finder, _streams(trace, scope), given_ms, negligible)
    given = None if given_ms is None else Spread(given_ms, given_ms, given_ms, 0)
    period = given or beats[0].spread_ms()
    starts, columns = _side_by_side(trace, beats, period.typical)
    outside = (*left_out, *(kernel for beat in beats for kernel in beat.outside()))
    return Iterations(trace, starts, period, columns, outside, tuple(_warnings(trace, beats, period, outside)))


def _together(
    finder: StreamFinder, streams: Listed[tuple[Kernel, ...]], given_ms: float | None, negligible: float
) -> tuple[list[Beat], list[Kernel]]:
    """How the streams repeat together, the leading one first, and kernels of negligible streams that do not."""
    weights = {index: float(np.sum(finder.weights(kernels))) for index, kernels in enumerate(streams)}
    own: dict[int, Beat] = {}
    small = []
    for index, kernels in enumerate(streams):
        beat = finder.own(kernels)
        if beat is not None:
            own[index] = beat
        elif weights[index] <= negligible * sum(weights.values()) and len(streams) > 1:
            small.append(index)
        else:
            raise finder.refusal(kernels)
    if not own:
        raise finder.refusal(streams[0])
    longest = max(beat.period_ms for beat in own.values())
    # Of streams with the same period the heaviest has the steadiest view.
    lead = max((i for i in own if own[i].period_ms >= (1 - AGREE) * longest), key=lambda i: weights[i])
    if given_ms is not None:
        beats: list[Beat] | None = [own[lead], *(own[index] for index in own if index != lead)]
    else:
        beats = _joined(finder, own[lead], [streams[index] for index in own if index != lead])
    if beats is None:
        kinds = kinds_of(kernel for index in own for kernel in streams[index])
        raise InputError(
            f"{finder.trace.path}: expected all streams to repeat together, at least three times, got {kinds} that do "
            "not; record more steps, or say the iteration time with iteration_ms (--iteration-ms)"
        )
    return beats, [kernel for index in small for kernel in streams[index]]


def _joined(finder: StreamFinder, first: Beat, others: Listed[tuple[Kernel, ...]]) -> list[Beat] | None:
    """The streams with the shortest period of the first one that is a period of all."""
    run = first.times_ms
    for multiple in range(1, _MOST_MULTIPLES + 1):
        lag = multiple * first.lag
        if 2 * lag >= len(run):
            return None
        period_ms = statistics.median_low((run[lag:] - run[:-lag]).tolist())
        beats = [finder.at(kernels, period_ms) for kernels in others]
        fitting = [beat for beat in beats if beat is not None]
        if len(fitting) == len(beats):
            return [replace(first, lag=lag, period_ms=period_ms), *fitting]
    return None


def _streams(trace: RankTrace, scope: Scope) -> list[tuple[Kernel, ...]]:
    """The kernels by stream, without the streams whose collectives are all left out."""
    streams: dict[tuple[str, str], list[Kernel]] = defaultdict(list)
    for kernel in trace.kernels:
        streams[kernel.stream].append(kernel)
    counted = []
    for kernels in streams.values():
        records = [kernel.communication for kernel in kernels if kernel.communication is not None]
        if not records or any(scope.counts(record) for record in records):
            counted.append(tuple(kernels))
    if not counted:
        raise InputError(f"{trace.path}: expected a collective of a group that counts, found none")
    return counted


def _side_by_side(trace: RankTrace, beats: Listed[Beat], period_ms: float) -> tuple[FloatArray, tuple[Column, ...]]:
    """Rows that are whole in all streams, and the columns of all streams."""
    lead = beats[0]
    lead_starts = lead.starts_ms()
    shifts = []
    for beat in beats:
        own = beat.starts_ms()
        both = min(len(own), len(lead_starts))
        shifts.append(round(float(np.median(own[:both] - lead_starts[:both])) / period_ms))
    first = max(shifts)
    last = min(beat.rows + shift for beat, shift in zip(beats, shifts, strict=True))
    if first >= last:
        raise InputError(f"{trace.path}: expected an iteration that is whole on all streams, got none")
    columns = []
    for beat, shift in zip(beats, shifts, strict=True):
        for offset in range(beat.lag):
            kernels = tuple(beat.kernels[beat.begin + (row - shift) * beat.lag + offset] for row in range(first, last))
            records = tuple(kernel.communication for kernel in kernels if kernel.communication is not None)
            named = next((kernel for kernel in kernels if kernel.communication is not None), kernels[0])
            columns.append(Column(kind_of(named), kernels, records))
    return lead_starts[first:last], tuple(columns)


def _warnings(trace: RankTrace, beats: Listed[Beat], period: Spread, outside: Listed[Kernel]) -> list[str]:
    warnings = []
    if any(beat.paused for beat in beats):
        warnings.append(
            f"{trace.path}: iterations begin {period.least:.4g} to {period.most:.4g} ms after each other; pauses that "
            f"do not repeat were left out of the {period.typical:.4g} ms"
        )
    if any(beat.resized for beat in beats):
        warnings.append(f"{trace.path}: sizes of collectives change between iterations; their mean was taken")
    if outside:
        warnings.append(f"{trace.path}: {len(outside)} kernels do not repeat and were left out ({kinds_of(outside)})")
    return warnings
