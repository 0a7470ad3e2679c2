"""From one rank's kernels to a table: a row per iteration, a column per collective of an iteration.

The kernels of a stream run in the order in which they were launched, so an iteration is found in the order of each
stream alone, whether launches were recorded or not. Streams are then put side by side by their times.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import InputError, worded
from ..collectives import collective_kind, dtype_bytes, kernel_kind, recorded_wire_bytes
from ..phases import Spread
from .groups import Scope
from .period import AGREE, Period, Run, Sequence, lag_at, period_of, repeating_run
from .trace import Communication, Kernel, RankTrace

__all__ = ["Column", "Iterations", "find_iterations", "known_wire_bytes"]

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


@dataclass(frozen=True, slots=True)
class _Beat:
    """How one stream repeats: kernels ``begin`` to ``end`` every ``lag``."""

    kernels: tuple[Kernel, ...]
    starts_ms: FloatArray
    lag: int
    begin: int
    end: int
    period_ms: float
    resized: bool = False
    paused: bool = False

    @property
    def rows(self) -> int:
        """Whole iterations."""
        return (self.end - self.begin) // self.lag

    def distances(self) -> list[float]:
        """Begin to begin of iterations, ms: the median over the kernels of each."""
        run = self.starts_ms[self.begin : self.end]
        steps = run[self.lag :] - run[: -self.lag]
        return [float(np.median(steps[at : at + self.lag])) for at in range(0, len(steps), self.lag)]

    def outside(self) -> tuple[Kernel, ...]:
        return (*self.kernels[: self.begin], *self.kernels[self.end :])


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
    finder = _Finder(trace, given_ms, negligible)
    beats, left_out = finder.beats(_streams(trace, scope))
    lead = beats[0]
    if given_ms is None:
        period = Spread.of(lead.distances())
    else:
        period = Spread(given_ms, given_ms, given_ms, 0)
    starts, columns = _side_by_side(trace, beats, period.typical)
    outside = (*left_out, *(kernel for beat in beats for kernel in beat.outside()))
    return Iterations(trace, starts, period, columns, outside, tuple(_warnings(trace, beats, period, outside)))


def known_wire_bytes(record: Communication | None, rank: int | None) -> float | None:
    """Bytes one rank puts on the wire; None where the collective or the type is not known."""
    if record is None:
        return None
    if record.group_size == 1:
        return 0.0
    kind, element = collective_kind(record.collective), dtype_bytes(record.dtype)
    if kind is None or element is None:
        return None
    own = record.group_ranks.index(rank) if rank in record.group_ranks else None
    return recorded_wire_bytes(
        kind,
        record.in_elements * element,
        record.out_elements * element,
        record.group_size,
        splits=(record.in_splits, record.out_splits),
        own=own,
    )


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


class _Finder:
    """Looks for the iteration of one trace, stream by stream."""

    def __init__(self, trace: RankTrace, given_ms: float | None, negligible: float) -> None:
        self.trace = trace
        self.given_ms = given_ms
        self.negligible = negligible
        self.begins = np.array([step.start_ms for step in trace.steps])
        self.step_ms = _least_step(trace)
        self.all_known = all(known_wire_bytes(k.communication, trace.rank) is not None for k in trace.kernels)

    def beats(self, streams: Listed[tuple[Kernel, ...]]) -> tuple[list[_Beat], list[Kernel]]:
        """How the streams repeat together, the leading one first, and kernels of negligible streams that do not."""
        weights = {index: float(np.sum(self._weights(kernels))) for index, kernels in enumerate(streams)}
        total = sum(weights.values())
        own: dict[int, _Beat] = {}
        small = []
        for index, kernels in enumerate(streams):
            beat = self._own(kernels)
            if beat is not None:
                own[index] = beat
            elif weights[index] <= self.negligible * total and len(streams) > 1:
                small.append(index)
            else:
                raise self._refusal(kernels)
        lead = max(own, key=lambda index: (own[index].period_ms, weights[index]))
        # Of streams with the same period the heaviest has the steadiest view.
        alike = [i for i in own if own[i].period_ms >= (1 - AGREE) * own[lead].period_ms]
        lead = max(alike, key=lambda index: weights[index])
        joined = self._joined(streams, own, lead)
        return joined, [kernel for index in small for kernel in streams[index]]

    def _joined(self, streams: Listed[tuple[Kernel, ...]], own: dict[int, _Beat], lead: int) -> list[_Beat]:
        first = own[lead]
        for multiple in range(1, _MOST_MULTIPLES + 1 if self.given_ms is None else 2):
            run = first.starts_ms[first.begin : first.end]
            lag = multiple * first.lag
            if multiple > 1 and 2 * lag >= len(run):
                break
            period = first.period_ms if multiple == 1 else statistics.median_low((run[lag:] - run[:-lag]).tolist())
            beats = [_Beat(first.kernels, first.starts_ms, lag, first.begin, first.end, period, first.resized)]
            for index in own:
                if index != lead:
                    beat = own[index] if self.given_ms is not None else self._at(streams[index], period)
                    if beat is None:
                        break
                    beats.append(beat)
            else:
                beats[0] = replace(beats[0], paused=first.paused)
                return beats
        names = _names([streams[index] for index in own])
        raise InputError(
            f"{self.trace.path}: expected all streams to repeat together, at least three times; {names} do not"
        )

    def _own(self, kernels: tuple[Kernel, ...]) -> _Beat | None:
        """How one stream repeats by itself."""
        found = []
        for sequence, resized in self._sequences(kernels):
            run = repeating_run(sequence, 1 if self.given_ms is not None else 2)
            if run is None:
                continue
            part = sequence.starts_ms[run.begin : run.end]
            if self.given_ms is not None:
                lag = lag_at(part, run.lag, self.given_ms, given=True)
                period = None if lag is None else Period(lag, self.given_ms, steady=True)
            else:
                period = period_of(part, run.lag, self.step_ms, self._per_step(kernels))
            if period is not None and self._may_lose(kernels, run, period, sequence):
                found.append((run.lost, resized, run, period, sequence))
        if not found:
            return None if self.given_ms is None else self._one_iteration(kernels, self.given_ms)
        _, resized, run, period, sequence = min(found, key=lambda one: one[:2])
        return _Beat(
            kernels, sequence.starts_ms, period.lag, run.begin, run.end, period.typical_ms, resized, not period.steady
        )

    def _at(self, kernels: tuple[Kernel, ...], period_ms: float) -> _Beat | None:
        """How one stream repeats with a period that another one showed."""
        for sequence, resized in self._sequences(kernels):
            run = repeating_run(sequence)
            if run is None:
                continue
            lag = lag_at(sequence.starts_ms[run.begin : run.end], run.lag, period_ms)
            if lag is not None and self._may_lose(kernels, run, Period(lag, period_ms, steady=True), sequence):
                return _Beat(kernels, sequence.starts_ms, lag, run.begin, run.end, period_ms, resized)
        return None

    def _one_iteration(self, kernels: tuple[Kernel, ...], given_ms: float) -> _Beat | None:
        """All of a stream as one iteration, where nothing in it repeats."""
        if max(kernel.end_ms for kernel in kernels) - kernels[0].start_ms > given_ms:
            return None
        starts = np.array([kernel.start_ms for kernel in kernels])
        return _Beat(kernels, starts, len(kernels), 0, len(kernels), given_ms)

    def _may_lose(self, kernels: tuple[Kernel, ...], run: Run, period: Period, sequence: Sequence) -> bool:
        """Whether what does not repeat is negligible, or a first iteration that sends the same in other pieces."""
        if run.end - run.begin == len(kernels):
            return True
        first, unit = kernels[: run.begin], kernels[run.begin : run.begin + period.lag]
        if run.end == len(kernels) and self.all_known and _totals(first) == _totals(unit):
            return True
        # Without annotated steps what is left out may be all that tells one iteration from the next.
        return bool(self.step_ms) and run.lost <= self.negligible * float(np.sum(sequence.weights))

    def _weights(self, kernels: Listed[Kernel]) -> FloatArray:
        if self.all_known:
            rank = self.trace.rank
            return np.array([known_wire_bytes(kernel.communication, rank) or 0.0 for kernel in kernels])
        return np.array([kernel.duration_ms for kernel in kernels])

    def _sequences(self, kernels: tuple[Kernel, ...]) -> list[tuple[Sequence, bool]]:
        """The stream with sizes as part of what a collective is; and where they change, without."""
        starts, weights = np.array([kernel.start_ms for kernel in kernels]), self._weights(kernels)
        launched = next((i for i, k in enumerate(kernels) if k.launch_ms is not None), 0)
        names: dict[object, int] = {}
        kinds = np.array([names.setdefault(kernel_kind(kernel.name), len(names)) for kernel in kernels])
        sized, plain, sizes = [], [], []
        for index, kernel in enumerate(kernels):
            record = kernel.communication
            if record is None:
                # Launched before the recording began, so that nobody noted what it is.
                code = -1 if index < launched and kernel.launch_ms is None else names[kernel_kind(kernel.name)]
                sized.append(code)
                plain.append(code)
                sizes.append(0.0)
            else:
                key = (record.collective, record.group, record.group_size, record.dtype)
                plain.append(names.setdefault(key, len(names)))
                sized.append(names.setdefault((*key, record.in_elements, record.out_elements), len(names)))
                sizes.append(float(np.log2(1.0 + max(record.in_elements, record.out_elements))))
        both = [(Sequence(starts, weights, np.array(sized), kinds), False)]
        if sized != plain:
            both.append((Sequence(starts, weights, np.array(plain), kinds, np.array(sizes)), True))
        return both

    def _per_step(self, kernels: tuple[Kernel, ...]) -> int | None:
        """Kernels of the stream that most whole annotated steps launched, where most agree."""
        if len(self.begins) < 2:
            return None
        known = all(kernel.launch_ms is not None for kernel in kernels)
        times = [kernel.launch_ms if known and kernel.launch_ms is not None else kernel.start_ms for kernel in kernels]
        where = np.searchsorted(self.begins, np.array(times), side="right")
        counts = np.bincount(where, minlength=len(self.begins) + 1)[1:-1]
        count, agreeing = Counter(counts.tolist()).most_common(1)[0]
        return int(count) if 2 * agreeing > len(counts) and count > 0 else None

    def _refusal(self, kernels: tuple[Kernel, ...]) -> InputError:
        """Why one stream shows no iteration time."""
        hint = "record more steps, or say the iteration time with iteration_ms (--iteration-ms)"
        what = _names([kernels])
        if self.given_ms is not None:
            span = max(kernel.end_ms for kernel in kernels) - kernels[0].start_ms
            return InputError(
                f"{self.trace.path}: expected iterations of {self.given_ms:.6g} ms as given, got {len(kernels)} "
                f"kernels ({what}) over {span:.6g} ms of which none begin that far apart"
            )
        sequence = self._sequences(kernels)[0][0]
        run = repeating_run(sequence, 1)
        if run is not None and run.end - run.begin == len(kernels):
            begins = sequence.starts_ms[run.begin : run.end : run.lag]
            shown = ", ".join(f"{distance:.4g}" for distance in np.diff(begins)[:5])
            return InputError(
                f"{self.trace.path}: expected two distances between iterations that agree, got {shown} ms "
                f"({what}); {hint}"
            )
        return InputError(
            f"{self.trace.path}: expected collectives that repeat at least three times in the same order, got "
            f"{len(kernels)} kernels ({what}) that do not; {hint}"
        )


def _least_step(trace: RankTrace) -> float:
    """What an annotated step takes at least, ms; 0 where none were annotated.

    Steps may be missing: then their numbers say how many lie in between. Numbers that are wrong only make less of it.
    """
    if not trace.steps:
        return 0.0
    longest = statistics.median_low(step.duration_ms for step in trace.steps)
    apart = [
        (two.start_ms - one.start_ms) / max(1, two.number - one.number)
        for one, two in zip(trace.steps, trace.steps[1:], strict=False)
    ]
    return max(longest, statistics.median_low(apart) if apart else 0.0)


def _totals(kernels: Listed[Kernel]) -> Counter[tuple[str, str, int]]:
    totals: Counter[tuple[str, str, int]] = Counter()
    for kernel in kernels:
        record = kernel.communication
        if record is not None:
            totals[record.collective, record.group, record.group_size] += record.in_elements + record.out_elements
    return totals


def _names(streams: Listed[tuple[Kernel, ...]]) -> str:
    kinds = Counter(_kind(kernel) for kernels in streams for kernel in kernels)
    return ", ".join(f"{count} {worded(kind)}" for kind, count in kinds.most_common(4))


def _kind(kernel: Kernel) -> str:
    record = kernel.communication
    return kernel_kind(kernel.name) if record is None else collective_kind(record.collective) or record.collective


def _side_by_side(trace: RankTrace, beats: Listed[_Beat], period_ms: float) -> tuple[FloatArray, tuple[Column, ...]]:
    """Rows that are whole in all streams, and the columns of all streams."""
    lead = beats[0]
    lead_starts = lead.starts_ms[lead.begin :: lead.lag][: lead.rows]
    shifts = []
    for beat in beats:
        own = beat.starts_ms[beat.begin :: beat.lag][: beat.rows]
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
            columns.append(Column(_kind(named), kernels, records))
    return lead_starts[first:last], tuple(columns)


def _warnings(trace: RankTrace, beats: Listed[_Beat], period: Spread, outside: Listed[Kernel]) -> list[str]:
    warnings = []
    if any(beat.paused for beat in beats):
        warnings.append(
            f"{trace.path}: iterations begin {period.least:.4g} to {period.most:.4g} ms after each other; pauses that "
            f"do not repeat were left out of the {period.typical:.4g} ms"
        )
    if any(beat.resized for beat in beats):
        warnings.append(f"{trace.path}: sizes of collectives change between iterations; their mean was taken")
    if outside:
        warnings.append(
            f"{trace.path}: {len(outside)} kernels do not repeat and were left out ({_names([tuple(outside)])})"
        )
    return warnings
