"""What the profiler's trace shows of the agent: whether the training loop was made to wait for the GPU."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

__all__ = ["synchronisations"]

WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")


def synchronisations(path: Path) -> dict[str, Any]:
    """Calls per kind of CUDA runtime call in a trace of four iterations.

    The training loop of ``worker`` synchronises once an iteration itself; the agent must add none.
    """
    events = json.loads(path.read_text())["traceEvents"]
    calls = Counter(one["name"] for one in events if one.get("cat") == "cuda_runtime")
    return {
        "waits": {name: calls[name] for name in WAITS if calls[name]},
        "event_records": calls["cudaEventRecord"] + calls["cudaEventRecordWithFlags"],
        "event_queries": calls["cudaEventQuery"],
    }
