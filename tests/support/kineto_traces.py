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
        }
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


def write_trace(path: Path, events: Sequence[dict[str, Any]], **top: Any) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, **top, "traceEvents": list(events)}))
    return path


def _event(category: str, name: str, ts: float, dur: float, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args or {}}
