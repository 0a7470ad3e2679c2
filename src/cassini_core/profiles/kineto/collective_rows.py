"""The collectives of an iteration as one rank saw them: when, how long, how many bytes, in which groups."""

from __future__ import annotations

import cmath
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import InputError, shown, worded
from ...model import Phase
from ...units import MAX_TICKS, TICKS_PER_MS
from ..collectives import KINDS, collective_kind, dtype_bytes
from ..phases import Spread, align_rows, superpose
from .groups import GroupProfile, Scope, group_name
from .iterations import Column, Iterations
from .match import Cell
from .records import Communication
from .streams import known_wire_bytes
from .trace import RankTrace, Step

__all__ = ["CollectiveProfile", "RankView", "traffic", "turned"]

FloatArray = npt.NDArray[np.float64]

_GBPS_FROM_BYTES_PER_MS = 8e-6
_IN_STEP = 0.95
"""Length of the mean direction of the steps' begins on the circle of an iteration: 1 where all agree."""


@dataclass(frozen=True, slots=True)
class CollectiveProfile:
    """One collective of an iteration, over all iterations measured.

    Attributes
    ----------
    name : str
        Its kind, e.g. ``all_reduce``; from the kernel's name where nothing else was recorded.
    group : str
        Its process group, as recorded; empty where not.
    group_size : int or None
        Ranks that take part, where recorded.
    payload_bytes, wire_bytes : float or None
        Larger of input and output, and what one rank puts on the wire (busier direction), where recorded.
    start_ms : float
        Offset to the start of the iteration, ms, in ``[0, iteration)``.
    duration_ms : Spread
        Transfer time over the iterations, ms.
    gbps : float
        Rate during the transfer, Gbit/s.
    assumed : bool
        The rate is the caller's, not measured.
    """

    name: str
    group: str
    group_size: int | None
    payload_bytes: float | None
    wire_bytes: float | None
    start_ms: float
    duration_ms: Spread
    gbps: float
    assumed: bool


def traffic(table: Iterations) -> float:
    """Bytes recorded per iteration: the busiest rank's view is the job's."""
    return math.fsum(_mean_bytes(column, table.trace)[1] or 0.0 for column in table.columns)


@dataclass(frozen=True, slots=True)
class RankView:
    """The collectives as one rank saw them, with the transfer times all ranks agree on."""

    table: Iterations
    spans: Mapping[Cell, tuple[float, float]]
    scope: Scope
    gbps: float | None

    @property
    def iteration_ms(self) -> float:
        """Begin to begin, rounded to 4 decimals of a ms."""
        typical = self.table.period_ms.typical
        rounded = round(typical, 4)
        if not 0.0 < rounded <= MAX_TICKS / TICKS_PER_MS:
            raise InputError(
                f"{self.table.trace.path}: expected iterations that begin 0.0001 to {MAX_TICKS / TICKS_PER_MS} ms "
                f"after each other, got {typical:.4g} ms"
            )
        return rounded

    def counted(self) -> list[int]:
        """Indices of the columns that count."""
        try:
            return [i for i, column in enumerate(self.table.columns) if self.scope.counts(column.record)]
        except InputError as error:
            raise InputError(f"{self.table.trace.path}: {error}") from None

    def collectives(self, negligible: float) -> tuple[list[CollectiveProfile], FloatArray, list[str]]:
        """Those that count, ``start_ms`` from the iteration's begin on; when iterations begin; and what to warn of."""
        counted = self.counted()
        if not counted:
            raise InputError(f"{self.table.trace.path}: expected a collective of a group that counts, found none")
        begins = self.table.starts_ms
        offsets = [[self.spans[row, column][0] - begins[row] for column in counted] for row in range(len(begins))]
        starts, late = align_rows(np.array(offsets))
        rows = [self._collective(column, float(start)) for column, start in zip(counted, starts, strict=True)]
        timeless = [row for row in rows if row.wire_bytes and not row.duration_ms.typical > 0]
        if not timeless:
            return rows, begins + late, []
        names = Counter(row.name for row in timeless)
        listed = ", ".join(f"{count} {worded(name)}" for name, count in names.most_common(4))
        lost = math.fsum(row.wire_bytes or 0.0 for row in timeless)
        if lost > negligible * math.fsum(row.wire_bytes or 0.0 for row in rows):
            raise InputError(
                f"{self.table.trace.path}: expected kernels that take time, got {len(timeless)} collectives of an "
                f"iteration ({listed}) that take 0 ms with {lost:.4g} bytes recorded"
            )
        return rows, begins + late, [f"collectives that take 0 ms were left out: {listed}, {lost:.4g} bytes"]

    def _collective(self, index: int, offset_ms: float) -> CollectiveProfile:
        column = self.table.columns[index]
        spans = (self.spans[row, index] for row in range(len(self.table.starts_ms)))
        duration = Spread.of(end - start for start, end in spans)
        payload, wire = _mean_bytes(column, self.table.trace)
        if wire is None and self.gbps is None:
            raise InputError(f"{self.table.trace.path}: {_why_unknown(column)}; say the rate with gbps (--gbps)")
        measured = wire * _GBPS_FROM_BYTES_PER_MS / duration.typical if wire and duration.typical > 0 else 0.0
        return CollectiveProfile(
            name=column.kind,
            group="" if column.record is None else group_name(column.record),
            group_size=None if column.record is None else column.record.group_size,
            payload_bytes=payload,
            wire_bytes=wire,
            start_ms=offset_ms,
            duration_ms=duration,
            gbps=measured if wire is not None or self.gbps is None else self.gbps,
            assumed=wire is None,
        )

    def recorded_gbps(self) -> float | None:
        """All bytes recorded in the time of the iterations measured, what does not repeat included."""
        table, rank = self.table, self.table.trace.rank
        total = 0.0
        for index in self.counted():
            column = table.columns[index]
            mean = _mean_bytes(column, table.trace)[1]
            if mean is None:
                return None
            for kernel in column.kernels:
                known = known_wire_bytes(kernel.communication, rank)
                total += mean if known is None else known
        first, last = self._window()
        for kernel in table.outside:
            record = kernel.communication
            if first <= kernel.start_ms < last and (record is None or self.scope.counts(record)):
                total += known_wire_bytes(record, rank) or 0.0
        return total * _GBPS_FROM_BYTES_PER_MS / (len(table.starts_ms) * table.period_ms.typical)

    def groups(self) -> tuple[GroupProfile, ...]:
        """All process groups, the busiest first."""
        table = self.table
        rows, window = len(table.starts_ms), self._window()
        sizes: dict[str, list[float | None]] = defaultdict(list)
        counts: Counter[str] = Counter()
        records: dict[str, Communication] = {}
        for column in table.columns:
            key = "" if column.record is None else column.record.group
            sizes[key].append(_mean_bytes(column, table.trace)[1])
            counts[key] += rows
            if column.record is not None:
                records[key] = column.record
        # Streams of groups that do not count were not looked at for iterations.
        in_columns = set(records)
        for kernel in table.trace.kernels:
            record = kernel.communication
            if record is not None and record.group not in in_columns and window[0] <= kernel.start_ms < window[1]:
                known = known_wire_bytes(record, table.trace.rank)
                sizes[record.group].append(None if known is None else known / rows)
                counts[record.group] += 1
                records[record.group] = record
        found = []
        for key, per_iteration in sizes.items():
            one = records.get(key)
            known_sizes = [size for size in per_iteration if size is not None]
            found.append(
                GroupProfile(
                    name="" if one is None else group_name(one),
                    ranks=() if one is None else one.group_ranks,
                    size=None if one is None else one.group_size,
                    wire_bytes=math.fsum(known_sizes) if len(known_sizes) == len(per_iteration) else None,
                    collectives=counts[key] / rows,
                    counted=self.scope.counts(one),
                )
            )
        return tuple(sorted(found, key=lambda group: (-(group.wire_bytes or 0.0), group.name)))

    def _window(self) -> tuple[float, float]:
        """From the begin of the first iteration measured to the end of the last, ms."""
        starts = self.table.starts_ms
        return float(starts[0]), float(starts[-1]) + self.table.period_ms.typical


def _mean_bytes(column: Column, trace: RankTrace) -> tuple[float | None, float | None]:
    """Payload and wire bytes of a column: the mean, so that none are lost where sizes change."""
    payloads, wires = [], []
    for record in column.records:
        wire, element = known_wire_bytes(record, trace.rank), dtype_bytes(record.dtype)
        if wire is None:
            return None, None
        wires.append(wire)
        payloads.append(max(record.in_elements, record.out_elements) * (element or 0.0))
    return (statistics.fmean(payloads), statistics.fmean(wires)) if wires else (None, None)


def _why_unknown(column: Column) -> str:
    record = column.record
    if record is None:
        return f"the bytes of {worded(column.kind)} were not recorded (no 'In msg nelems', 'dtype' and 'Group size')"
    if collective_kind(record.collective) is None:
        return f"unknown collective {shown(record.collective)} (known: {', '.join(KINDS)})"
    return f"unknown dtype {shown(record.dtype)} of {worded(column.kind)}"


def turned(
    rows: Sequence[CollectiveProfile], begins_ms: FloatArray, view: RankView
) -> tuple[list[CollectiveProfile], str]:
    """The collectives with time 0 at the annotated step's begin or where a pause begins, and which of the two."""
    period_ms = view.iteration_ms
    zero = _step_begin(view.table.trace.steps, begins_ms, period_ms)
    where = "begin of the annotated step"
    if zero is None:
        zero, where = _longest_pause(rows, period_ms), "begin of the longest pause"
    turned = [replace(row, start_ms=round((row.start_ms - zero) % period_ms, 4) % period_ms) for row in rows]
    return sorted(turned, key=lambda row: (row.start_ms, row.name)), where


def _step_begin(steps: Sequence[Step], begins_ms: FloatArray, period_ms: float) -> float | None:
    """Where annotated steps begin in an iteration, ms from its begin, if all say the same."""
    offsets = []
    for step in steps:
        row = max(0, int(np.searchsorted(begins_ms, step.start_ms, side="right")) - 1)
        offset = step.start_ms - float(begins_ms[row])
        if -period_ms <= offset <= period_ms:
            offsets.append(offset)
    if not offsets:
        return None
    direction = sum(cmath.exp(2j * math.pi * offset / period_ms) for offset in offsets) / len(offsets)
    if abs(direction) < _IN_STEP:
        return None
    middle = cmath.phase(direction) / (2 * math.pi) * period_ms
    half = period_ms / 2
    return middle + statistics.median((offset - middle + half) % period_ms - half for offset in offsets)


def _longest_pause(rows: Sequence[CollectiveProfile], period_ms: float) -> float:
    busy = superpose((Phase(row.start_ms % period_ms, row.duration_ms.typical, 1.0) for row in rows), period_ms)
    if not busy:
        return 0.0
    pauses = [
        (later.start_ms - one.start_ms - one.duration_ms) % period_ms
        for one, later in zip(busy, [*busy[1:], busy[0]], strict=True)
    ]
    last = busy[max(range(len(busy)), key=pauses.__getitem__)]
    return last.start_ms + last.duration_ms
