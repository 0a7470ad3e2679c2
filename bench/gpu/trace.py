"""What a profiler's trace shows of the training loop: whether its host waited for the GPU."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

__all__ = ["host_waits"]

WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")


def host_waits(path: Path) -> dict[str, Any]:
    """Calls of the CUDA runtime inside the annotation ``training loop``.

    Returns
    -------
    dict
        ``waits``, calls that wait for the GPU, by name; ``event_records`` and ``event_queries``, which do not.
    """
    events = json.loads(path.read_text())["traceEvents"]
    (loop,) = [one for one in events if one.get("name") == "training loop" and one.get("cat") == "user_annotation"]
    begin, end = loop["ts"], loop["ts"] + loop["dur"]
    calls = Counter(one["name"] for one in events if one.get("cat") == "cuda_runtime" and begin <= one["ts"] <= end)
    return {
        "waits": {name: calls[name] for name in WAITS if calls[name]},
        "event_records": calls["cudaEventRecord"] + calls["cudaEventRecordWithFlags"],
        "event_queries": calls["cudaEventQuery"],
    }
