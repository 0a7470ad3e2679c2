"""What a job asks of a link, in whole numbers."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from typing import NamedTuple

from ..model import Job
from .prepared_link import PreparedLink

__all__ = ["Demand", "Levels"]


class Levels(NamedTuple):
    """How long a job's demand has each level, in one iteration: what is above a capacity is then looked up.

    ``level`` ascends, kbit/s. ``ticks_from[i]`` are the ticks at ``level[i]`` or more, ``sum_from[i]`` is the demand of
    these ticks added up, kbit/s x ticks. Both end with 0.
    """

    level: list[int]
    ticks_from: list[int]
    sum_from: list[int]

    def excess(self, capacity: int) -> int:
        """Demand above ``capacity``, kbit/s, added up over an iteration, kbit/s x ticks. O(log levels), exact."""
        first = bisect_right(self.level, capacity)
        return self.sum_from[first] - capacity * self.ticks_from[first]


class Demand(NamedTuple):
    """What one job asks of one link: its iteration time and phases, in ticks and kbit/s.

    ``phases`` are ``(start, length, rate)``, sorted; those without length or rate are dropped.
    """

    period: int
    phases: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, job: Job, multiplier: float = 1.0) -> Demand:
        """What a job asks of a link on which its rates are multiplied, rounded as everywhere."""
        # The capacity plays no part.
        one = PreparedLink.from_jobs((job,), 1.0, {job.id: multiplier})
        phases = zip(one.phase_start.tolist(), one.phase_length.tolist(), one.phase_rate.tolist(), strict=True)
        return cls(int(one.period[0]), tuple(sorted(phases)))

    def scaled_down(self, divisor: int) -> Demand:
        """The same demand with all rates divided; ``divisor`` divides each of them."""
        return Demand(self.period, tuple((start, length, rate // divisor) for start, length, rate in self.phases))

    def peak(self) -> int:
        """Highest demand at any time, kbit/s; overlapping phases add up. O(phases log phases)."""
        level = peak = 0
        for _, step in sorted(self._steps()):  # at one time ends come before starts
            level += step
            peak = max(peak, level)
        return peak

    def levels(self) -> Levels:
        """How long the demand has each level; overlapping phases add up. O(phases log phases)."""
        ticks: Counter[int] = Counter()
        level = before = 0
        for time, step in [*sorted(self._steps()), (self.period, 0)]:
            ticks[level] += time - before
            level, before = level + step, time
        ascending = sorted(level for level, lasts in ticks.items() if lasts)

        def added_from(values: list[int]) -> list[int]:
            return [0, *itertools.accumulate(reversed(values))][::-1]

        return Levels(
            ascending,
            added_from([ticks[level] for level in ascending]),
            added_from([level * ticks[level] for level in ascending]),
        )

    def _steps(self) -> list[tuple[int, int]]:
        """Times in an iteration at which a phase begins or ends, and by how much the demand changes then."""
        steps: list[tuple[int, int]] = []
        for start, length, rate in self.phases:
            end = start + length
            steps += [(start, rate), (min(end, self.period), -rate)]
            if end > self.period:  # wraps past the end of the iteration
                steps += [(0, rate), (end - self.period, -rate)]
        return steps
