"""What is read off the starts and the communication of jobs. Times are monotonic, ns."""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from bench.measuring.timing import percentile

__all__ = ["durations_ms", "overlap", "spread"]

Interval = Sequence[int]


def durations_ms(starts_ns: Sequence[int], low_ns: float, high_ns: float) -> list[float]:
    """Of the iterations that lie within a span of time, ms."""
    return [(b - a) / 1e6 for a, b in pairwise(starts_ns) if low_ns <= a and b <= high_ns]


def overlap(own: Sequence[Interval], other: Sequence[Interval], low_ns: float, high_ns: float) -> float:
    """Share of a job's communication, of that which begins within a span, during which the other communicates too.

    Both are intervals in order that do not meet; nan without any communication.
    """
    counted = [one for one in own if low_ns <= one[0] <= high_ns]
    total = sum(end - begin for begin, end in counted)
    begins, ends = [one[0] for one in other], [one[1] for one in other]
    shared = 0
    for begin, end in counted:
        for k in range(bisect_right(ends, begin), bisect_left(begins, end)):
            shared += min(end, ends[k]) - max(begin, begins[k])
    return shared / total if total else float("nan")


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Count, mean, and percentiles."""
    if not values:
        return {"n": 0}
    return {
        "n": len(values),
        "mean": statistics.fmean(values),
        "p50": percentile(values, 50),
        "p90": percentile(values, 90),
        "p99": percentile(values, 99),
    }
