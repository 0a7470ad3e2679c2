"""Whether waiting pays: what a job spends on being interleaved, and what it may spend on getting back."""

from __future__ import annotations

from collections import deque

from ..schedule import Schedule

__all__ = ["Allowance", "RunningCost"]


class Allowance:
    """Bounds what a job waits by its own decision: one pace at once, and then a share of the time that has passed.

    So whatever goes wrong (no coordinator, another job that never comes to its place), the waits cost the job no
    more than that share.
    """

    SHARE = 0.01
    """Of the time that passes, granted for adjustments."""

    def __init__(self, pace_ns: int, now_ns: int) -> None:
        self._most_ns = pace_ns
        self._left_ns = float(pace_ns)
        self._since_ns = now_ns

    def left_ns(self, now_ns: int) -> int:
        """What may be waited now, at most one pace."""
        self._left_ns = min(self._most_ns, self._left_ns + self.SHARE * max(0, now_ns - self._since_ns))
        self._since_ns = now_ns
        return int(self._left_ns)

    def spend(self, wait_ns: int) -> None:
        self._left_ns -= wait_ns


class RunningCost:
    """Mean wait per iteration against what interleaving wins per iteration."""

    WINDOW = 128
    """Iterations the mean is over; nothing is said of fewer."""

    def __init__(self) -> None:
        self._waits: deque[int] = deque(maxlen=self.WINDOW)
        self._total_ns = 0

    def add(self, wait_ns: int) -> None:
        if len(self._waits) == self.WINDOW:
            self._total_ns -= self._waits[0]
        self._waits.append(wait_ns)
        self._total_ns += wait_ns

    @property
    def mean_ns(self) -> int | None:
        """Wait per iteration, ns; None while too little is known."""
        return self._total_ns // self.WINDOW if len(self._waits) == self.WINDOW else None

    def too_high(self, schedule: Schedule) -> bool:
        """Whether the job waits more than it wins; never where the gain is not known."""
        mean = self.mean_ns
        return mean is not None and 0 < schedule.gain_ns < mean
