"""What a simulation has recorded: iterations of jobs, and loads of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Float64Array

__all__ = ["Iterations", "Loads", "joined"]


@dataclass(frozen=True, slots=True, eq=False)
class Iterations:
    """Whole iterations of a job, in their order.

    Attributes
    ----------
    came_ms : float64 array
        When the job came to it: at the end of the one before, or when it was put on the network.
    start_ms, end_ms : float64 array
        From the first segment's begin to the last one's end; what it waited lies before the start.
    marked : float64 array
        ECN-marked packets; zeros without a marking.
    """

    came_ms: Float64Array
    start_ms: Float64Array
    end_ms: Float64Array
    marked: Float64Array

    @property
    def length_ms(self) -> Float64Array:
        """Of each iteration, its wait included."""
        return self.end_ms - self.came_ms


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """What a link carried: ``gbps[i]`` from ``at_ms[i]`` until ``at_ms[i + 1]``, the last until now.

    Attributes
    ----------
    at_ms, gbps : float64 array
        Before the first entry it carried nothing.
    """

    at_ms: Float64Array
    gbps: Float64Array

    def mean_gbps(self, edges_ms: Float64Array) -> Float64Array:
        """Mean between each two of some times in order; after the last entry the load stays as it was."""
        at, gbps = np.append(self.at_ms, np.inf), self.gbps
        volume = np.concatenate(([0.0], np.cumsum(np.diff(self.at_ms) * gbps[:-1]))) if len(gbps) else np.zeros(1)
        place = np.searchsorted(at[:-1], edges_ms, side="right") - 1
        inside = place >= 0
        until = np.zeros(len(edges_ms))
        until[inside] = volume[place[inside]] + (edges_ms[inside] - at[place[inside]]) * gbps[place[inside]]
        return np.diff(until) / np.diff(edges_ms)


def joined(parts: Sequence[Iterations]) -> Iterations:
    """Parts of what was recorded of a job, one after the other."""
    if not parts:
        return Iterations(*(np.zeros(0) for _ in range(4)))
    return Iterations(
        np.concatenate([part.came_ms for part in parts]),
        np.concatenate([part.start_ms for part in parts]),
        np.concatenate([part.end_ms for part in parts]),
        np.concatenate([part.marked for part in parts]),
    )
