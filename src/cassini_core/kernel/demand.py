"""What a job asks of a link, in whole numbers."""

from __future__ import annotations

from typing import NamedTuple

from ..model import Job
from .prepared_link import PreparedLink

__all__ = ["Demand"]


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
        steps: list[tuple[int, int]] = []
        for start, length, rate in self.phases:
            end = start + length
            steps += [(start, rate), (min(end, self.period), -rate)]
            if end > self.period:  # wraps past the end of the iteration
                steps += [(0, rate), (end - self.period, -rate)]
        level = peak = 0
        for _, step in sorted(steps):  # at one time ends come before starts
            level += step
            peak = max(peak, level)
        return peak
