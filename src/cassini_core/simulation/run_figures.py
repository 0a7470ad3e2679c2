"""What one run of a cluster comes to, in a few figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .cluster import ClusterResult
from .records import joined

__all__ = ["FIGURES", "SHARES", "figures_of", "percentiles_ms"]

FIGURES = {
    "tasks_done": "tasks that ended",
    "iterations": "whole iterations of all tasks",
    "mean_ms": "mean time of all iterations of all tasks",
    "p99_ms": "99th percentile of them",
    "waited_s": "from a task's arrival to its first start, mean of the tasks that started",
    "completion_s": "from a task's arrival to its end, mean of the tasks that ended",
    "ended_s": "when the simulation ended",
    "restarts": "how often tasks went on elsewhere or with other workers, all tasks together",
    "adjustments_per_min": "how often a task corrected a deviation from its shift, per minute of training",
    "discarded_rounds": "rounds in which the ranking discarded all candidates, so that the scheduler went on without "
    "shifts; null without Cassini",
    "marked": "ECN-marked packets per iteration; null without marking",
}
"""Of a run, and what they are; null where there is nothing to take a mean of."""

SHARES = (*range(100), 99.5, 99.9, 100)
"""Percent, of the percentiles that are kept."""


def figures_of(result: ClusterResult, *, marking: bool, discarded_rounds: int | None) -> dict[str, float | None]:
    """The figures of a run, by the names of :data:`FIGURES`. O(iterations)."""
    every = joined([one.iterations for one in result.tasks])
    lengths = every.length_ms
    minutes = float(lengths.sum()) / 60_000.0
    started = [one.first_start_s - one.arrival_s for one in result.tasks if math.isfinite(one.first_start_s)]
    ended = [one.completion_s for one in result.tasks if math.isfinite(one.end_s)]
    return {
        "tasks_done": len(ended),
        "iterations": len(lengths),
        "mean_ms": _mean(lengths),
        "p99_ms": float(np.percentile(lengths, 99)) if len(lengths) else None,
        "waited_s": _mean(started),
        "completion_s": _mean(ended),
        "ended_s": result.now_s,
        "restarts": sum(one.restarts for one in result.tasks),
        "adjustments_per_min": sum(one.adjusted for one in result.tasks) / minutes if minutes else None,
        "discarded_rounds": discarded_rounds,
        "marked": _mean(every.marked) if marking else None,
    }


def percentiles_ms(result: ClusterResult) -> list[float]:
    """Of the times of all iterations, at :data:`SHARES`; none without iterations."""
    lengths = joined([one.iterations for one in result.tasks]).length_ms
    found: list[float] = np.percentile(lengths, SHARES).tolist() if len(lengths) else []
    return found


def _mean(values: Sequence[float] | Any) -> float | None:
    return float(np.mean(values)) if len(values) else None
