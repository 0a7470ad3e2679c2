"""Which kernel belongs to which step, and which kernels of several steps and ranks are the same collective.

A collective is known by its kind, its group and its number among those in the step: NCCL runs the collectives
of one communicator in the same order on every rank and in every step.
"""

from __future__ import annotations

import bisect
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..collectives import collective_kind, kernel_kind
from ..phases import Spread
from .trace import Kernel, RankTrace, Step

__all__ = ["Key", "RankTable", "choose_steps", "couple", "step_periods", "tabulate"]

_TYPICAL = 0.25
"""A step whose time is further than this share from the typical one says nothing about the others."""


class Key(NamedTuple):
    """One collective of a step: the ``occurrence``-th of its kind in its group."""

    kind: str
    group: str
    group_size: int
    occurrence: int


@dataclass(frozen=True, slots=True)
class RankTable:
    """One rank's collectives by step number and key; ms on the rank's own clock."""

    trace: RankTrace
    steps: Mapping[int, Step]
    periods: Mapping[int, float]
    cells: Mapping[int, Mapping[Key, Kernel]]
    outside: int


def step_periods(steps: Sequence[Step]) -> dict[int, float]:
    """Iteration time by step number, ms.

    From start to start where the next step was recorded. For the last one its own duration and the usual gap to the
    next: with three steps recorded, a third value is worth more than the little it may be off.
    """
    following = {step.number: step for step in steps}
    distance = {
        step.number: following[step.number + 1].start_ms - step.start_ms
        for step in steps
        if step.number + 1 in following
    }
    gaps = [distance[step.number] - step.duration_ms for step in steps if step.number in distance]
    gap = statistics.median(gaps) if gaps else 0.0
    return {step.number: distance.get(step.number, step.duration_ms + gap) for step in steps}


def tabulate(trace: RankTrace) -> RankTable:
    """Give each kernel of a rank to a step: the one whose CPU window launched it, else the one it started in."""
    periods = step_periods(trace.steps)
    cells: dict[int, dict[Key, Kernel]] = {step.number: {} for step in trace.steps}
    seen: Counter[tuple[int, str, str, int]] = Counter()
    by_start = sorted(trace.steps, key=lambda step: step.start_ms)
    starts = [step.start_ms for step in by_start]
    outside = 0
    for kernel in trace.kernels:
        when = kernel.start_ms if kernel.launch_ms is None else kernel.launch_ms
        index = bisect.bisect_right(starts, when) - 1
        if index < 0 or when > starts[index] + max(by_start[index].duration_ms, periods[by_start[index].number]):
            outside += 1
            continue
        number = by_start[index].number
        kind, group, size = _identity(kernel)
        cells[number][Key(kind, group, size, seen[number, kind, group, size])] = kernel
        seen[number, kind, group, size] += 1
    return RankTable(trace, {step.number: step for step in trace.steps}, periods, cells, outside)


def _identity(kernel: Kernel) -> tuple[str, str, int]:
    record = kernel.communication
    if record is None:
        return kernel_kind(kernel.name), "", 0
    return collective_kind(record.collective) or record.collective, record.group, record.group_size


def choose_steps(table: RankTable) -> tuple[list[int], dict[int, str]]:
    """The steps to measure, and why each other one is left out.

    Wanted are steps with the collectives most steps have, of the same sizes if at least half of the steps agree on
    them (the first step of a job may use other buckets; sizes that change all the time are no reason), that took a
    typical time.
    """
    ignored = {number: "no collectives" for number, cells in table.cells.items() if not cells}
    full = [number for number in table.cells if number not in ignored]
    if not full:
        return [], ignored
    shapes = {number: _shape(table.cells[number], sizes=True) for number in full}
    if max(Counter(shapes.values()).values()) * 2 < len(full):
        shapes = {number: _shape(table.cells[number], sizes=False) for number in full}
    counts = Counter(shapes.values())
    # Ties: the step with more collectives is the complete one; then the later one, past any warm-up.
    usual = max(full, key=lambda number: (counts[shapes[number]], len(shapes[number]), number))
    for number in full:
        if shapes[number] != shapes[usual]:
            ignored[number] = f"its {len(shapes[number])} collectives are not the usual {len(shapes[usual])}"
    used = [number for number in full if number not in ignored]
    typical = Spread.of(table.periods.values()).typical
    slow = [number for number in used if abs(table.periods[number] - typical) > _TYPICAL * typical]
    if len(slow) < len(used):
        for number in slow:
            ignored[number] = f"it took {table.periods[number]:.4g} ms, typical is {typical:.4g} ms"
        used = [number for number in used if number not in ignored]
    return used, dict(sorted(ignored.items()))


def _shape(cells: Mapping[Key, Kernel], *, sizes: bool) -> tuple[tuple[Key, tuple[int, int, str]], ...]:
    shape = []
    for key, kernel in cells.items():
        record = kernel.communication if sizes else None
        shape.append((key, (record.in_elements, record.out_elements, record.dtype) if record else (0, 0, "")))
    return tuple(sorted(shape))


def couple(
    reference: RankTable, others: Sequence[RankTable]
) -> tuple[dict[tuple[int, Key], tuple[float, float]], list[str]]:
    """When each collective really moved data, ``(start, end)`` in ms on the reference's clock, and what to warn of.

    A rank that arrives early waits inside its kernel; data move once the last rank has come. So the interval is from
    the latest start to the median end over ranks. Clocks are aligned first by the ends, which all ranks of a
    collective see within microseconds of each other: per rank by the median difference of ends over all
    collectives it shares with the reference, so that neither a common clock nor a common host is needed.
    """
    spans: dict[tuple[int, Key], list[tuple[float, float]]] = defaultdict(list)
    for number, cells in reference.cells.items():
        for key, kernel in cells.items():
            spans[number, key].append((kernel.start_ms, kernel.start_ms + kernel.duration_ms))
    warnings = []
    for other in others:
        shared = [(number, key) for number, cells in other.cells.items() for key in cells if (number, key) in spans]
        if not shared:
            warnings.append(f"{other.trace.path}: no collective in common with {reference.trace.path}; not used")
            continue
        ends = {cell: _end(other.cells[cell[0]][cell[1]]) for cell in shared}
        ahead = statistics.median(ends[cell] - spans[cell][0][1] for cell in shared)
        for number, key in shared:
            spans[number, key].append((other.cells[number][key].start_ms - ahead, ends[number, key] - ahead))
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


def _end(kernel: Kernel) -> float:
    return kernel.start_ms + kernel.duration_ms
