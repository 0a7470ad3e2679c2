"""One job of a component: its schedule, and what its starts say about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median_low

from ..control.phase import wrap
from ..schedule import Schedule
from .lasting import Lasting
from .status import JobStatus

__all__ = ["Member"]


@dataclass(slots=True)
class Member:
    """A job of a component.

    Attributes
    ----------
    schedule : Schedule
        The latest, whether the daemon has it or not.
    host : str
        Whose daemon serves the job.
    ranked : Schedule
        As it came from the ranking: for its pace the hold is certified.
    absence : Lasting of str
        Why nothing is heard of it; empty while it is heard of.
    off_grid : Lasting of bool
        Whether it follows no grid.
    told_missing : bool
        Whether the scheduler knows that it is missing.
    is_contradicted : bool
        The counters show its bursts elsewhere than it says.
    told_changed_ns : int or None
        The changed iteration time that the scheduler knows.
    """

    schedule: Schedule
    host: str
    ranked: Schedule = field(init=False)
    absence: Lasting[str] = field(default_factory=lambda: Lasting(""))
    off_grid: Lasting[bool] = field(default_factory=lambda: Lasting(False))
    told_missing: bool = False
    is_contradicted: bool = False
    told_changed_ns: int | None = None

    def __post_init__(self) -> None:
        self.ranked = self.schedule

    def errors_ns(self, status: JobStatus) -> tuple[int, ...]:
        """Phase errors of starts on the present schedule, the latest last; none while the job follows another."""
        if status.followed != self.schedule.version:
            return ()
        return status.errors_ns if status.place_ns is None else (*status.errors_ns, status.place_ns)

    def place_ns(self, status: JobStatus) -> int | None:
        """Error of the latest start on the present schedule; None while there is none."""
        errors = self.errors_ns(status)
        return errors[-1] if errors else None

    def drift_ns(self, status: JobStatus) -> int:
        """By how much its last start was later on the grid than the one before (negative: earlier)."""
        last = self.errors_ns(status)[-2:]
        return wrap(last[1] - last[0], self.schedule.pace_ns) if len(last) > 1 else 0

    def stretch_ns(self, status: JobStatus) -> int | None:
        """By how much contention made its last iteration longer; None where the job does not say when it communicates.

        The schedule has the iteration time without contention, and computing takes as long as ever: what is left of
        that is how long the rest should have taken.
        """
        rests = status.rests_ns
        if not rests:
            return None
        usual_start = median_low([start for start, _ in rests])
        return max(0, rests[-1][1] - max(0, self.schedule.iteration_ns - usual_start))
