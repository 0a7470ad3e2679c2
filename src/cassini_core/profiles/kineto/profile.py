"""A job's iteration time and communication phases from PyTorch profiler (Kineto) traces.

How a figure comes about:

* *Iteration time*: the lower median over the ``ProfilerStep#N`` annotations of the distance from start to start.
* *Collectives*: NCCL kernels, each given to the step whose CPU window launched it and matched over steps by kind,
  group and order. Steps with other collectives than most, or an untypical time, are left out and listed.
* *Start*: median over steps of the offset to the step's start, after whole steps that run early or late were
  shifted (median polish). *Duration* and *bytes*: lower medians. One slow step or collective changes nothing.
* *Rate*: bytes on the wire by the ring formula (:mod:`.collectives`), divided by the duration. It is what one rank
  sends or receives, whichever is more.
* *Several ranks*: data move from the arrival of the last rank to the end, so waiting for a straggler does not count.
  With one rank's trace it cannot be told from transfer; the profile then says so.
* *Phases*: overlapping collectives add up (their durations already show that they shared the NIC), neighbours closer
  than ``merge_gap_ms`` are joined with their bytes kept, and what carries a negligible share is left out.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import InputError, shown, worded
from ...model import Job, Phase
from ...units import MAX_TICKS, TICKS_PER_MS
from ..collectives import KINDS, collective_kind, dtype_bytes, wire_bytes
from ..phases import Spread, align_rows, round_phases, simplify, superpose
from .match import Key, RankTable, choose_steps, couple, tabulate
from .trace import Communication, RankTrace, read_trace

__all__ = ["CollectiveProfile", "KinetoProfile", "profile_kineto"]

DEFAULT_MERGE_GAP_MS = 0.1
DEFAULT_NEGLIGIBLE = 0.005
DEFAULT_MAX_PHASES = 16
_DISAGREEMENT = 0.02
_GBPS_FROM_BYTES_PER_MS = 8e-6


@dataclass(frozen=True, slots=True)
class CollectiveProfile:
    """One collective of an iteration, over all steps used.

    Attributes
    ----------
    name : str
        Its kind, e.g. ``all_reduce``; from the kernel's name where nothing else was recorded.
    group_size : int or None
        Ranks that take part, where recorded.
    payload_bytes, wire_bytes : float or None
        Larger of input and output, and what one rank puts on the wire (busier direction), where recorded.
    start_ms : float
        Offset to the start of the step, ms, in ``[0, iteration)``.
    duration_ms : Spread
        Transfer time over the steps, ms.
    gbps : float
        Rate during the transfer, Gbit/s.
    assumed : bool
        The rate is the caller's, not measured.
    """

    name: str
    group_size: int | None
    payload_bytes: float | None
    wire_bytes: float | None
    start_ms: float
    duration_ms: Spread
    gbps: float
    assumed: bool


@dataclass(frozen=True, slots=True)
class KinetoProfile:
    """A job and how it was measured.

    Attributes
    ----------
    job : Job
        Times rounded to 4 decimals of a ms, rates to 4 figures.
    iteration_ms : Spread
        Over all steps of all ranks, ms.
    steps_used : tuple of int
        Numbers of the steps the collectives were measured in.
    steps_ignored : mapping of int to str
        Number of each other step, and why.
    collectives : tuple of CollectiveProfile
        By start.
    ranks : tuple of str
        Paths of the traces, the one whose view was taken first.
    merge_gap_ms : float
        Neighbours closer than this were joined; more than asked for where there were too many phases.
    warnings : tuple of str
        What a user should know before trusting the figures.
    """

    job: Job
    iteration_ms: Spread
    steps_used: tuple[int, ...]
    steps_ignored: Mapping[int, str] = field(hash=False)
    collectives: tuple[CollectiveProfile, ...]
    ranks: tuple[str, ...]
    merge_gap_ms: float
    warnings: tuple[str, ...]


def profile_kineto(
    paths: str | Path | Iterable[str | Path],
    *,
    job_id: str,
    gbps: float | None = None,
    merge_gap_ms: float = DEFAULT_MERGE_GAP_MS,
    negligible: float = DEFAULT_NEGLIGIBLE,
    max_phases: int = DEFAULT_MAX_PHASES,
) -> KinetoProfile:
    """Profile one job from the traces of one or several of its ranks.

    Parameters
    ----------
    paths : path or iterable of paths
        Kineto traces (``.json`` or ``.json.gz``), one per rank.
    job_id : str
        Id of the job made.
    gbps : float, optional
        Rate during communication, Gbit/s, for collectives whose bytes were not recorded. Where such collectives
        overlap it holds once, not once for each.
    merge_gap_ms : float
        Phases closer than this become one, ms.
    negligible : float
        Share of the bytes, in ``[0, 1)``, that the smallest phases left out may carry together.
    max_phases : int
        If more are left, wider gaps are joined until it holds.

    Raises
    ------
    InputError
        A trace cannot be read, has no steps or no collectives inside them, bytes are missing or of unknown meaning
        while ``gbps`` is not given, traces contradict each other, or an option is out of range.
    """
    _check_options(gbps, merge_gap_ms, negligible, max_phases)
    tables = [tabulate(trace) for trace in _read_all(paths)]
    tables.sort(key=_traffic, reverse=True)
    used, ignored = choose_steps(tables[0])
    if not used:
        raise InputError(
            f"{tables[0].trace.path}: found {len(tables[0].trace.kernels)} NCCL kernels and {len(tables[0].steps)} "
            "steps, but no kernel was launched inside a step"
        )
    spans, warnings = couple(tables[0], tables[1:])
    iteration = _iteration(tables)
    iteration_ms = round(iteration.typical, 4)
    if not 0.0 < iteration_ms <= MAX_TICKS / TICKS_PER_MS:
        raise InputError(
            f"{tables[0].trace.path}: expected steps that start 0.0001 to {MAX_TICKS / TICKS_PER_MS} ms after each "
            f"other, got {iteration.typical:.4g} ms"
        )
    view = _View(tables[0], tuple(used), spans, iteration_ms)
    rows = sorted(view.collectives(gbps), key=lambda row: (row.start_ms, row.name))
    phases, gap_ms = _phases(rows, iteration_ms, merge_gap_ms, negligible, max_phases)
    if gap_ms > merge_gap_ms:
        warnings.append(f"phases up to {gap_ms:.3g} ms apart were joined to have at most {max_phases}")
    return KinetoProfile(
        job=Job(job_id, iteration_ms, tuple(phases)),
        iteration_ms=iteration,
        steps_used=view.used,
        steps_ignored=ignored,
        collectives=tuple(rows),
        ranks=tuple(table.trace.path for table in tables),
        merge_gap_ms=gap_ms,
        warnings=(*warnings, *_trace_warnings(tables), *_step_warnings(view, ignored), *_rate_warnings(rows, gbps)),
    )


def _check_options(gbps: float | None, merge_gap_ms: float, negligible: float, max_phases: int) -> None:
    if gbps is not None and not 0 < gbps < float("inf"):
        raise InputError(f"gbps: expected a finite number above 0, got {gbps!r}")
    if not 0 <= merge_gap_ms < float("inf"):
        raise InputError(f"merge_gap_ms: expected a finite number of at least 0, got {merge_gap_ms!r}")
    if not 0 <= negligible < 1:
        raise InputError(f"negligible: expected a share from 0 to below 1, got {negligible!r}")
    if max_phases < 1:
        raise InputError(f"max_phases: expected at least 1, got {max_phases!r}")


def _read_all(paths: str | Path | Iterable[str | Path]) -> list[RankTrace]:
    files = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not files:
        raise InputError("traces: expected at least one file, got none")
    traces = [read_trace(path) for path in files]
    by_rank: dict[int, str] = {}
    for trace in traces:
        if trace.world_size != traces[0].world_size:
            raise InputError(
                f"{trace.path}: expected a trace of the same job as {traces[0].path} (world size "
                f"{traces[0].world_size}), got world size {trace.world_size}"
            )
        if trace.rank is not None and by_rank.setdefault(trace.rank, trace.path) != trace.path:
            raise InputError(
                f"{trace.path}: expected one trace per rank, rank {trace.rank} is also {by_rank[trace.rank]}"
            )
    if len({Path(trace.path).resolve() for trace in traces}) < len(traces):
        raise InputError("traces: expected different files, got one of them twice")
    return traces


def _traffic(table: RankTable) -> float:
    """Bytes recorded per typical step: the busiest rank's view is the job's."""
    totals = [
        sum(_bytes(kernel.communication)[1] or 0.0 for kernel in cells.values() if kernel.communication is not None)
        for cells in table.cells.values()
    ]
    return statistics.median_low([total for total in totals if total] or [0.0])


def _iteration(tables: Sequence[RankTable]) -> Spread:
    """Ranks of a job are in step with each other, so they are pooled by step first."""
    numbers = sorted({number for table in tables for number in table.periods})
    return Spread.of(
        statistics.median(table.periods[number] for table in tables if number in table.periods) for number in numbers
    )


@dataclass(frozen=True, slots=True)
class _View:
    """The collectives as one rank saw them, with the transfer times all ranks agree on."""

    table: RankTable
    used: tuple[int, ...]
    spans: Mapping[tuple[int, Key], tuple[float, float]]
    iteration_ms: float

    def collectives(self, gbps: float | None) -> list[CollectiveProfile]:
        keys = list(self.table.cells[self.used[0]])
        offsets = [
            [self.spans[number, key][0] - self.table.steps[number].start_ms for key in keys] for number in self.used
        ]
        columns, _ = align_rows(np.array(offsets))
        return [self._collective(key, float(start), gbps) for key, start in zip(keys, columns, strict=True)]

    def _collective(self, key: Key, offset_ms: float, gbps: float | None) -> CollectiveProfile:
        duration = Spread.of(self.spans[number, key][1] - self.spans[number, key][0] for number in self.used)
        cells = (self.table.cells[number][key] for number in self.used)
        records = [kernel.communication for kernel in cells if kernel.communication is not None]
        payload, wire = _typical_bytes(records)
        if wire is None and gbps is None:
            raise InputError(f"{self.table.trace.path}: {_why_unknown(key, records)}; say the rate with gbps (--gbps)")
        measured = wire * _GBPS_FROM_BYTES_PER_MS / duration.typical if wire and duration.typical > 0 else 0.0
        return CollectiveProfile(
            name=key.kind,
            group_size=key.group_size or None,
            payload_bytes=payload,
            wire_bytes=wire,
            start_ms=round(offset_ms % self.iteration_ms, 4) % self.iteration_ms,
            duration_ms=duration,
            gbps=measured if wire is not None or gbps is None else gbps,
            assumed=wire is None,
        )

    def pace_ms(self) -> float | None:
        """Usual time between the same collective in two steps that follow each other, ms."""
        used = set(self.used)
        pace = [
            self.spans[number + 1, key][0] - self.spans[number, key][0]
            for number in self.used
            if number + 1 in used
            for key in self.table.cells[number]
        ]
        return statistics.median(pace) if pace else None


def _typical_bytes(records: Sequence[Communication]) -> tuple[float | None, float | None]:
    known = [(payload, wire) for payload, wire in map(_bytes, records) if payload is not None and wire is not None]
    if not known:
        return None, None
    return statistics.median_low(payload for payload, _ in known), statistics.median_low(wire for _, wire in known)


def _bytes(record: Communication) -> tuple[float | None, float | None]:
    """Payload and wire bytes of one rank; None where the collective or the type is not known."""
    if record.group_size == 1:
        return 0.0, 0.0
    kind, element = collective_kind(record.collective), dtype_bytes(record.dtype)
    if kind is None or element is None:
        return None, None
    inside, outside = record.in_elements * element, record.out_elements * element
    return max(inside, outside), wire_bytes(kind, inside, outside, record.group_size)


def _why_unknown(key: Key, records: Sequence[Communication]) -> str:
    if not records:
        return f"the bytes of {worded(key.kind)} were not recorded (no 'In msg nelems', 'dtype' and 'Group size')"
    record = records[0]
    if collective_kind(record.collective) is None:
        return f"unknown collective {shown(record.collective)} (known: {', '.join(KINDS)})"
    return f"unknown dtype {shown(record.dtype)} of {worded(key.kind)}"


def _phases(
    rows: Sequence[CollectiveProfile], iteration_ms: float, gap_ms: float, negligible: float, max_phases: int
) -> tuple[list[Phase], float]:
    intervals = {
        assumed: [Phase(row.start_ms, row.duration_ms.typical, row.gbps) for row in rows if row.assumed is assumed]
        for assumed in (False, True)
    }
    together = [*intervals[False], *superpose(intervals[True], iteration_ms, combine="max")]
    phases, gap_ms = simplify(together, iteration_ms, gap_ms=gap_ms, negligible=negligible, max_phases=max_phases)
    return round_phases(phases, iteration_ms), gap_ms


def _trace_warnings(tables: Sequence[RankTable]) -> list[str]:
    warnings = []
    if len(tables) == 1:
        warnings.append("one rank only: durations include waiting for the other ranks; give several ranks' traces")
    for table in tables:
        if table.trace.unreadable:
            warnings.append(f"{table.trace.path}: {table.trace.unreadable} events could not be read and were left out")
        if table.outside:
            warnings.append(f"{table.trace.path}: {table.outside} NCCL kernels belong to no step and were left out")
    return warnings


def _step_warnings(view: _View, ignored: Mapping[int, str]) -> list[str]:
    warnings = []
    if len(ignored) > len(view.used):
        count = len(ignored) + len(view.used)
        warnings.append(f"{len(ignored)} of {count} steps were left out; does one iteration span several steps?")
    pace = view.pace_ms()
    typical = Spread.of(view.table.periods[number] for number in view.used).typical
    if pace is not None and abs(pace - typical) > _DISAGREEMENT * typical:
        warnings.append(
            f"collectives repeat every {pace:.4g} ms, steps every {typical:.4g} ms; does the CPU run ahead of the GPU?"
        )
    return warnings


def _rate_warnings(rows: Sequence[CollectiveProfile], gbps: float | None) -> list[str]:
    warnings = []
    if gbps is not None and not any(row.assumed for row in rows):
        warnings.append("gbps was not needed: the bytes of all collectives were recorded")
    if not any(row.gbps > 0 for row in rows):
        warnings.append("no collective puts bytes on the wire: the job has no phases")
    return warnings
