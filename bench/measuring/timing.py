"""Timing in turns: every call runs once per round, so that a drift of the machine's speed meets all alike."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Call = Callable[[], object]

SHORTEST_SAMPLE_S = 2e-4
"""A call that is shorter is repeated until the clock's resolution and the loop do not matter."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds per call."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        """Seconds."""
        return min(self.samples)


def in_turns(calls: Sequence[Call], rounds: int, limit_s: float) -> list[Timed]:
    """Seconds per call of each of ``calls``.

    Each is called once or more beforehand. A call of which all samples together would last longer than ``limit_s``
    takes part in fewer rounds; if it alone lasts longer, that first run is its only sample.
    """
    samples: list[list[float]] = []
    repeats: list[int] = []
    turns: list[int] = []
    for call in calls:
        first = sample(call, 1)
        # The first call is slower than the next: a few more tell how long one lasts.
        usual = first if first >= SHORTEST_SAMPLE_S else max(sample(call, 5), 1e-8)
        repeats.append(max(1, round(SHORTEST_SAMPLE_S / usual)))
        turns.append(min(rounds, int(limit_s / (usual * repeats[-1]))))
        samples.append([] if turns[-1] else [first])
    for turn in range(rounds):
        for index, call in enumerate(calls):
            if turn < turns[index]:
                samples[index].append(sample(call, repeats[index]))
    return [Timed(tuple(own)) for own in samples]


def sample(call: Call, repeats: int) -> float:
    """Seconds per call of ``repeats`` calls in a row, with the garbage collector off."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - start) / repeats
    finally:
        if collecting:
            gc.enable()


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest-rank percentile: one of the values, so that a small family does not show a time nobody measured."""
    rank = max(1, math.ceil(len(values) * percent / 100))
    return sorted(values)[rank - 1]
