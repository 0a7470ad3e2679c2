"""Synthetic profiler traces of a job whose iteration time and collectives are known.

Events look as Kineto writes them: step annotations on the CPU, ``record_param_comms``, launches that carry the
correlation, and NCCL kernels on the GPU some time later. Times are µs, as in the format.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Transfer:
    """One collective of an iteration: float32 all-reduce of ``elements`` unless said otherwise."""

    start_ms: float
    duration_ms: float
    elements: int
    collective: str = "allreduce"
    kernel: str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    dtype: str = "Float"
    group_size: int = 2
    group: str = ""

    @property
    def wire_bytes(self) -> float:
        """Of an all-reduce of float32, by the ring formula, or of a broadcast."""
        return (
            self.elements * 4 * (2 * (self.group_size - 1) / self.group_size if self.collective == "allreduce" else 1)
        )

    @property
    def gbps(self) -> float:
        """The rate of an all-reduce of float32 by the ring formula, written out once more."""
        wire = 2 * (self.group_size - 1) / self.group_size * self.elements * 4
        return wire * 8 / 1e9 / (self.duration_ms / 1e3)


@dataclass(frozen=True)
class Recording:
    """How a job was recorded, and what went wrong meanwhile.

    ``lag_ms`` is how far the GPU runs behind the CPU. ``waits_ms[step][k]`` is how long this rank sat in collective
    ``k`` before the last rank came. ``stretch[step, k]`` multiplies the duration of one collective.
    """

    iteration_ms: float
    transfers: tuple[Transfer, ...]
    steps: int = 5
    first_step: int = 10
    origin_us: float = 1.7e12
    lag_ms: float = 0.3
    first_factor: float = 1.0
    jitter_ms: float = 0.0
    stretch: tuple[tuple[int, int, float], ...] = ()
    waits_ms: tuple[tuple[float, ...], ...] = ()
    bytes_in: str = "kernel"  # or "record", or "nowhere"
    launches: bool = True
    step_category: str = "user_annotation"
    seed: int = 0

    def but(self, **changes: Any) -> Recording:
        return replace(self, **changes)

    def events(self) -> list[dict[str, Any]]:
        chance = random.Random(self.seed)
        events: list[dict[str, Any]] = []
        begin = self.origin_us
        for step in range(self.steps):
            length = self.iteration_ms * 1e3 * (self.first_factor if step == 0 else 1.0)
            events.append(_event(self.step_category, f"ProfilerStep#{self.first_step + step}", begin, length - 20.0))
            for index, transfer in enumerate(self.transfers):
                late = chance.uniform(-self.jitter_ms, self.jitter_ms) * 1e3
                events += self._collective(step, index, transfer, begin + transfer.start_ms * 1e3 + late)
            begin += length
        return events

    def _collective(self, step: int, index: int, transfer: Transfer, launch: float) -> list[dict[str, Any]]:
        number = 1 + step * len(self.transfers) + index
        factor = next((f for s, k, f in self.stretch if (s, k) == (step, index)), 1.0)
        wait = self.waits_ms[step][index] if self.waits_ms else 0.0
        start = launch + (self.lag_ms - wait) * 1e3
        size = {
            "Collective name": transfer.collective,
            "In msg nelems": transfer.elements,
            "Out msg nelems": transfer.elements,
            "Group size": transfer.group_size,
            "dtype": transfer.dtype,
        } | ({"Process Group Ranks": transfer.group} if transfer.group else {})
        ids = {"External id": number, "correlation": 5000 + number}
        record = {"External id": number} | (size if self.bytes_in == "record" else {})
        kernel = ids | (size if self.bytes_in == "kernel" else {})
        duration = (transfer.duration_ms * factor + wait) * 1e3
        events = [
            _event("cpu_op", "record_param_comms", launch - 15.0, 30.0, record),
            _event("kernel", transfer.kernel, start, duration, kernel),
        ]
        if self.launches:
            events.append(_event("cuda_runtime", "cudaLaunchKernelExC", launch - 5.0, 8.0, ids))
        return events

    def write(self, path: Path, **top: Any) -> Path:
        return write_trace(path, self.events(), **top)


@dataclass(frozen=True)
class Training:
    """A training job whose CPU and GPU run apart, and whose recording has gaps.

    An iteration is ``micro_steps`` annotated steps of ``step_ms`` on the GPU. All of them run ``each``, the last one
    also ``last``. The CPU begins a step every ``cpu_ms`` and launches its kernels at once. ``pauses_ms`` are before
    steps, by their index, on both. ``numbers`` are the steps' numbers as recorded, None for a missing annotation.
    ``launches`` says which kernels' launches were recorded, by index. With ``head`` and ``tail`` so many kernels at the
    ends are missing. ``streams`` gives each group its own. ``late_ms[kernel]`` is how late this rank came.
    """

    step_ms: float
    each: tuple[Transfer, ...]
    last: tuple[Transfer, ...] = ()
    micro_steps: int = 1
    steps: int = 6
    cpu_ms: float = 0.0
    pauses_ms: tuple[tuple[int, float], ...] = ()
    numbers: tuple[int | None, ...] | None = None
    annotated_share: float = 0.9
    launches: tuple[bool, ...] = (True,)
    head: int = 0
    tail: int = 0
    jitter_ms: float = 0.0
    late_ms: tuple[float, ...] = (0.0,)
    clock_us: float = 1.7e12
    clock_drift: float = 0.0
    group: str = "[0, 1]"
    streams: bool = False
    seed: int = 0

    @property
    def iteration_ms(self) -> float:
        return self.step_ms * self.micro_steps

    @property
    def transfers(self) -> list[Transfer]:
        """Of an iteration, by start."""
        moved = [
            replace(one, start_ms=one.start_ms + step * self.step_ms)
            for step in range(self.micro_steps)
            for one in self._of(step)
        ]
        return sorted(moved, key=lambda one: one.start_ms)

    def _of(self, step: int) -> tuple[Transfer, ...]:
        return (*self.each, *self.last) if step % self.micro_steps == self.micro_steps - 1 else self.each

    def but(self, **changes: Any) -> Training:
        return replace(self, **changes)

    def events(self) -> list[dict[str, Any]]:
        chance = random.Random(self.seed)
        pauses = dict(self.pauses_ms)
        annotations: list[dict[str, Any]] = []
        kernels: list[list[dict[str, Any]]] = []
        gpu = cpu = 0.0
        for step in range(self.steps):
            gpu += pauses.get(step, 0.0) + chance.uniform(-self.jitter_ms, self.jitter_ms)
            cpu = min(gpu, cpu + pauses.get(step, 0.0))
            number = step if self.numbers is None else self.numbers[step % len(self.numbers)]
            pace = self.cpu_ms or self.step_ms
            if number is not None:
                annotations.append(
                    _event("user_annotation", f"ProfilerStep#{number}", cpu * 1e3, pace * self.annotated_share * 1e3)
                )
            for transfer in sorted(self._of(step), key=lambda one: one.start_ms):
                kernels.append(self._kernel(len(kernels), transfer, cpu + transfer.start_ms / 100, gpu))
            gpu, cpu = gpu + self.step_ms, cpu + pace
        recorded = kernels[self.head : len(kernels) - self.tail]
        found = [*annotations, *(event for events in recorded for event in events)]
        return [e | {"ts": self.clock_us + e["ts"] * (1 + self.clock_drift)} for e in found]

    def _kernel(self, index: int, transfer: Transfer, launch_ms: float, step_ms: float) -> list[dict[str, Any]]:
        late = min(self.late_ms[index % len(self.late_ms)], 0.9 * transfer.duration_ms)
        ids = {"External id": 10**6 + index, "correlation": index, "stream": 7}
        if self.streams:
            ids["stream"] = sum(map(ord, transfer.group))
        args = ids | {
            "Collective name": transfer.collective,
            "In msg nelems": transfer.elements,
            "Out msg nelems": transfer.elements,
            "Group size": transfer.group_size,
            "dtype": transfer.dtype,
            "Process Group Ranks": transfer.group or self.group,
        }
        start = step_ms + transfer.start_ms + late
        kernel = _event("kernel", transfer.kernel, start * 1e3, (transfer.duration_ms - late) * 1e3, args)
        if not self.launches[index % len(self.launches)]:
            return [kernel]
        return [kernel, _event("cuda_runtime", "cudaLaunchKernelExC", launch_ms * 1e3, 5.0, ids)]

    def write(self, path: Path, **top: Any) -> Path:
        return write_trace(path, self.events(), **top)


def write_trace(path: Path, events: Sequence[dict[str, Any]], **top: Any) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, **top, "traceEvents": list(events)}))
    return path


def _event(category: str, name: str, ts: float, dur: float, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args or {}}
