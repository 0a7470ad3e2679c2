"""A job's iteration time and communication phases from PyTorch profiler (Kineto) traces.

How a figure comes about:

* *Iteration time*: begin to begin of what repeats on the GPU, the sequence of collectives on the streams
  (:mod:`.iterations`), or end to end where begins are unsteady because kernels wait; the lower median. Annotated steps
  only help to tell what an iteration is. It is refused where two such distances do not agree, or taken from the caller.
* *Collectives*: communication kernels by their place in the iteration.
* *Start*: median over iterations of the offset to the iteration's first kernel, after whole iterations that run early
  or late were shifted (median polish). *Duration*: lower median. *Bytes*: mean, so that all are kept.
* *Time 0*: where annotated steps begin, if they keep pace with the GPU; else where the longest pause begins.
* *Rate*: bytes on the wire by the ring formula (:mod:`..collectives`), divided by the duration. It is what one rank
  sends or receives, whichever is more.
* *Several ranks*: data move from the arrival of the last rank to the end, so waiting for a straggler does not count.
  With one rank's trace it cannot be told from transfer; the profile then says so.
* *Phases*: overlapping collectives add up (their durations already show that they shared the NIC), neighbours closer
  than ``merge_gap_ms`` are joined with their bytes kept, and what carries a negligible share is left out.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import InputError, shown, worded
from ...model import Job, Phase
from ..phases import round_phases, simplify, superpose, volume_mbit
from ..provenance import Measured, Provenance
from .collective_rows import CollectiveProfile, RankView, traffic, turned
from .groups import GroupProfile, Scope, group_name
from .iterations import Iterations, find_iterations
from .match import couple, transfer_period
from .trace import RankTrace, read_trace

__all__ = ["KinetoProfile", "profile_kineto"]

DEFAULT_MERGE_GAP_MS = 0.1
DEFAULT_NEGLIGIBLE = 0.005
DEFAULT_MAX_PHASES = 16
DEFAULT_LINE_GBPS = 800.0
"""The fastest network port a server has today; what is faster stays inside a server."""


@dataclass(frozen=True, slots=True)
class KinetoProfile(Measured):
    """A job and how it was measured.

    Attributes
    ----------
    job : Job
        Times rounded to 4 decimals of a ms, rates to 4 figures.
    provenance : Provenance
        Where the figures come from, how the iteration time varied, and what to know before trusting them.
    collectives : tuple of CollectiveProfile
        Those that count, by start.
    groups : tuple of GroupProfile
        All process groups, those that do not count included.
    ranks : tuple of str
        Paths of the traces, the one whose view was taken first.
    """

    collectives: tuple[CollectiveProfile, ...]
    groups: tuple[GroupProfile, ...]
    ranks: tuple[str, ...]


def profile_kineto(
    paths: str | Path | Iterable[str | Path],
    *,
    job_id: str,
    gbps: float | None = None,
    iteration_ms: float | None = None,
    local_ranks: int | None = None,
    groups: Iterable[str] = (),
    kernels: str | None = None,
    line_gbps: float | None = None,
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
    iteration_ms : float, optional
        The iteration time, ms, where the traces hold too few iterations to show it.
    local_ranks : int, optional
        Ranks per server: groups of ranks of one server load no link and are left out.
    groups : iterable of str, optional
        Names (or numbers, descriptions, ranks) of the process groups that count; default: all.
    kernels : str, optional
        Regular expression that finds in its name a kernel of another library that communicates.
    line_gbps : float, optional
        Rate of a rank's port, Gbit/s; collectives beyond are warned of. Default: 800, the fastest there is.
    merge_gap_ms : float
        Phases closer than this become one, ms.
    negligible : float
        Share of the bytes, in ``[0, 1)``, that the smallest phases left out may carry together.
    max_phases : int
        If more are left, wider gaps are joined until it holds.

    Raises
    ------
    InputError
        A trace cannot be read or shows no iteration time, bytes are missing or of unknown meaning while ``gbps`` is
        not given, traces contradict each other or themselves, or an option is out of range.
    """
    _check_options(gbps, iteration_ms, line_gbps, merge_gap_ms, negligible, max_phases)
    names = (groups,) if isinstance(groups, str) else tuple(groups)
    scope = Scope(local_ranks, names)
    traces = _read_all(paths, _pattern(kernels))
    scope.check_names(k.communication for trace in traces for k in trace.kernels if k.communication is not None)
    tables = [find_iterations(trace, scope, iteration_ms, negligible) for trace in traces]
    tables.sort(key=traffic, reverse=True)
    spans, warnings = couple(tables[0], tables[1:])
    if len(tables) > 1:
        tables[0] = replace(tables[0], period_ms=transfer_period(tables[0], spans))
    view = RankView(tables[0], spans, scope, gbps)
    rows, begins_ms, left_out = view.collectives(negligible)
    rows, time_zero = turned(rows, begins_ms, view)
    phases, gap_ms = _phases(rows, view.iteration_ms, merge_gap_ms, negligible, max_phases)
    if gap_ms > merge_gap_ms:
        warnings.append(f"phases up to {gap_ms:.3g} ms apart were joined to have at most {max_phases}")
    job = Job(job_id, view.iteration_ms, tuple(phases))
    found = view.groups()
    provenance = Provenance(
        method="kineto",
        inputs=tuple(os.path.basename(table.trace.path) for table in tables),
        iteration_ms=tables[0].period_ms,
        iteration_from="measured" if iteration_ms is None else "given",
        rate_from="given" if any(row.assumed for row in rows) else "measured",
        recorded_gbps=view.recorded_gbps(),
        kept_gbps=volume_mbit(job.phases) / job.iteration_ms,
        details=_details(view, found, time_zero, gap_ms),
    )
    grave = [
        line
        for line in (provenance.conservation_warning(), *_rate_warnings(rows, gbps, line_gbps or DEFAULT_LINE_GBPS))
        if line
    ]
    warnings = [*grave, *left_out, *(w for table in tables for w in table.warnings), *warnings]
    return KinetoProfile(
        job=job,
        provenance=replace(provenance, warnings=(*warnings, *_trace_warnings(tables))),
        collectives=tuple(rows),
        groups=found,
        ranks=tuple(table.trace.path for table in tables),
    )


def _check_options(
    gbps: float | None,
    iteration_ms: float | None,
    line_gbps: float | None,
    merge_gap_ms: float,
    negligible: float,
    max_phases: int,
) -> None:
    for name, value in (("gbps", gbps), ("iteration_ms", iteration_ms), ("line_gbps", line_gbps)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{name}: expected a finite number above 0, got {value!r}")
    if not 0 <= merge_gap_ms < math.inf:
        raise InputError(f"merge_gap_ms: expected a finite number of at least 0, got {merge_gap_ms!r}")
    if not 0 <= negligible < 1:
        raise InputError(f"negligible: expected a share from 0 to below 1, got {negligible!r}")
    if max_phases < 1:
        raise InputError(f"max_phases: expected at least 1, got {max_phases!r}")


def _pattern(kernels: str | None) -> re.Pattern[str] | None:
    if kernels is None:
        return None
    try:
        return re.compile(kernels)
    except re.error as error:
        raise InputError(f"kernels: expected a regular expression, got {shown(kernels)}: {error}") from None


def _read_all(paths: str | Path | Iterable[str | Path], pattern: re.Pattern[str] | None) -> list[RankTrace]:
    files = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not files:
        raise InputError("traces: expected at least one file, got none")
    traces = [read_trace(path, pattern) for path in files]
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
        _check_groups(trace)
    if len({Path(trace.path).resolve() for trace in traces}) < len(traces):
        raise InputError("traces: expected different files, got one of them twice")
    return traces


def _check_groups(trace: RankTrace) -> None:
    if trace.world_size is None or trace.world_size < 1:
        return
    for kernel in trace.kernels:
        record = kernel.communication
        if record is not None and record.group_size > trace.world_size:
            raise InputError(
                f"{trace.path}: expected process groups of at most {trace.world_size} ranks, the size of the world, "
                f"got {record.group_size} ranks in group {worded(group_name(record))}"
            )


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


def _details(view: RankView, groups: Sequence[GroupProfile], time_zero: str, gap_ms: float) -> dict[str, Any]:
    table = view.table
    return {
        "iterations": len(table.starts_ms),
        "steps": [step.number for step in table.trace.steps],
        "time_zero": time_zero,
        "merge_gap_ms": gap_ms,
        "groups": [
            {
                "name": group.name,
                "ranks": list(group.ranks),
                "size": group.size,
                "wire_bytes": group.wire_bytes,
                "counted": group.counted,
            }
            for group in groups
        ],
    }


def _rate_warnings(rows: Sequence[CollectiveProfile], gbps: float | None, line_gbps: float) -> list[str]:
    warnings = []
    fast = [row for row in rows if row.gbps > line_gbps]
    if fast:
        groups = sorted({worded(row.group) for row in fast if row.group})
        where = f" (group {', '.join(groups[:4])})" if groups else ""
        warnings.append(
            f"{len(fast)} collectives are faster than a port of {line_gbps:g} Gbit/s{where}, up to "
            f"{max(row.gbps for row in fast):.4g}; if they stay inside a server, leave them out (local_ranks, "
            "--local-ranks, or groups, --group)"
        )
    if gbps is not None and not any(row.assumed for row in rows):
        warnings.append("gbps was not needed: the bytes of all collectives were recorded")
    if not any(row.gbps > 0 for row in rows):
        warnings.append("no collective puts bytes on the wire: the job has no phases")
    return warnings


def _trace_warnings(tables: Sequence[Iterations]) -> list[str]:
    warnings = []
    if len(tables) == 1:
        warnings.append("one rank only: durations include waiting for the other ranks; give several ranks' traces")
    for table in tables:
        if table.trace.unreadable:
            warnings.append(f"{table.trace.path}: {table.trace.unreadable} events could not be read and were left out")
    return warnings
