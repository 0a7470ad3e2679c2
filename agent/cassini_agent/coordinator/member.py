"""One job of a component: its schedule, and what its starts say about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median_low

from ..control.phase import circular_median, wrap
from ..schedule import SECOND_NS, Schedule
from .status import JobStatus

__all__ = ["Member"]

RECENT = 5
"""Starts whose median is a job's phase error."""

JUDGED = 400
"""Starts after which the margin is judged by how many were late beyond the reach."""

TOO_MANY, TOO_FEW = 0.15, 0.01
"""Shares of late starts outside of which the margin is widened or narrowed: the cheapest leaves some hundredths."""

WIDEST = 4.0


@dataclass(slots=True)
class Member:
    """A job of a component.

    Attributes
    ----------
    schedule : Schedule
        The latest, whether the daemon has it or not.
    host : str
        Whose daemon serves the job.
    weight : float
        What its waiting costs, for example GPUs.
    ranks : int
        With more than one a wait is decided an iteration before.
    margin_ns : int or None
        What its pace was last found to need above its natural iteration time.
    ranked : Schedule
        As it came from the ranking: for its pace the hold is certified.
    widened : float
        By what the margin is multiplied because the jitter is worse than its quantiles say.
    """

    schedule: Schedule
    host: str
    weight: float = 1.0
    ranks: int = 1
    widened: float = 1.0
    margin_ns: int | None = None
    ranked: Schedule = field(init=False)
    _since: int | None = field(default=None, repr=False)  # iterations when the schedule was in force
    _counted: int = field(default=0, repr=False)
    _judged: int = field(default=0, repr=False)
    _late: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        self.ranked = self.schedule

    @property
    def lag(self) -> int:
        return 1 if self.ranks > 1 else 0

    def follow(self, schedule: Schedule) -> None:
        """A new schedule; what was measured under the old one does not count for it."""
        self.schedule, self._since = schedule, None

    def fresh_errors(self, status: JobStatus) -> Sequence[int]:
        """Phase errors of starts that were surely on the present schedule.

        A job reports once a second, so what it reports after the daemon has the schedule can be older by that.
        """
        if status.version != self.schedule.version:
            return ()
        if self._since is None or status.iterations < self._since - 64:  # or the job began again
            self._since = status.iterations + math.ceil(1.25 * SECOND_NS / self.schedule.pace_ns) + 2
        count = min(status.iterations - self._since, len(status.errors_ns))
        return status.errors_ns[-count:] if count > 0 else ()

    def error_ns(self, status: JobStatus) -> int | None:
        """Median error of the last starts on the present schedule; None while there are too few."""
        fresh = self.fresh_errors(status)
        return circular_median(fresh[-RECENT:], self.schedule.pace_ns) if len(fresh) >= RECENT else None

    def drift_ns(self, status: JobStatus) -> int:
        """By how much its starts get later from one to the next (negative: earlier), by the median of the last."""
        last = self.fresh_errors(status)[-RECENT:]
        return median_low([wrap(b - a, self.schedule.pace_ns) for a, b in pairwise(last)]) if len(last) > 1 else 0

    def judge(self, status: JobStatus, reach_ns: int) -> None:
        """Count starts late beyond the reach, and widen or narrow the margin by their share."""
        fresh = self.fresh_errors(status)
        new = fresh[-max(0, status.iterations - self._counted) :] if status.iterations > self._counted else ()
        self._counted = status.iterations
        self._judged += len(new)
        self._late += sum(error > reach_ns for error in new)
        if self._judged < JUDGED:
            return
        share, self._judged, self._late = self._late / self._judged, 0, 0
        if share > TOO_MANY:
            self.widened = min(WIDEST, self.widened * 1.5)
        elif share < TOO_FEW:
            self.widened = max(1.0, self.widened / 1.1)
