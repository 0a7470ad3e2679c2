"""Whether waiting pays: what a job spends on being interleaved, and what it may spend on getting back."""

from __future__ import annotations

from collections import deque

from ..schedule import Schedule

__all__ = ["CostBudget", "RunningCost"]


class CostBudget:
    """Bounds what a job waits besides pacing: so much at once, and then a share of the time that has passed.

    So whatever goes wrong (no coordinator, schedules that never fit, another job that never comes to its place), these
    waits cost the job no more than that share, and ``OF_LOSS`` of what it loses to others while it is out of its place:
    a job that others hold up for a third of its time may wait once to end that, however often it had to before.

    Parameters
    ----------
    most_ns : int
        What can be saved up, and is there at first.
    now_ns : int
    share : float
        Of the time that passes.
    """

    SHARE, OF_LOSS = 0.01, 0.25

    def __init__(self, most_ns: int, now_ns: int, share: float = SHARE) -> None:
        self.most_ns = most_ns
        self._share = share
        self._left_ns = float(most_ns)
        self._since_ns = now_ns

    def left_ns(self, now_ns: int) -> int:
        """What may be waited now; at least 0."""
        self._left_ns = min(self.most_ns, self._left_ns + self._share * max(0, now_ns - self._since_ns))
        self._since_ns = now_ns
        return max(0, int(self._left_ns))

    def lost(self, held_up_ns: int) -> None:
        """Others have held the job up for so long."""
        self._left_ns += self.OF_LOSS * held_up_ns

    def spend(self, wait_ns: int) -> None:
        """It was waited."""
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
