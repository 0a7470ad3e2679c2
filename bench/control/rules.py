"""Rules to compare the agent's control with: none, and waiting for the next point of a grid."""

from __future__ import annotations

from cassini_agent.control.controller import Decision
from cassini_agent.control.phase import lateness, wrap
from cassini_agent.schedule import Schedule

__all__ = ["FirstShift", "NextPoint"]


class FirstShift:
    """Begins at its shift and then runs free: a time-shift without any adjustment."""

    def __init__(self) -> None:
        self._schedule: Schedule | None = None
        self._begun = False

    def set_schedule(self, schedule: Schedule, now_ns: int) -> None:
        self._schedule = schedule

    def sends(self) -> None:
        """Nothing is measured."""

    has_sent = end = sends

    def step(self, now_ns: int) -> Decision:
        if self._schedule is None or self._begun:
            return Decision(0, "free")
        self._begun = True
        return Decision(-lateness(now_ns, self._schedule) % self._schedule.pace_ns, "held", adjusted=True)


class NextPoint:
    """Waits for the next point of the grid wherever it deviates by more than a tolerance, early or late.

    Parameters
    ----------
    tolerance : float
        Relative to the uncontrolled iteration time; 0.05 is the paper's rule (5.7), 0 waits always.
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._schedule: Schedule | None = None

    def set_schedule(self, schedule: Schedule, now_ns: int) -> None:
        self._schedule = schedule

    def sends(self) -> None:
        """Nothing is measured."""

    has_sent = end = sends

    def step(self, now_ns: int) -> Decision:
        if self._schedule is None:
            return Decision(0, "free")
        late = lateness(now_ns, self._schedule)
        error = wrap(late, self._schedule.pace_ns)
        if abs(error) <= self._tolerance * self._schedule.iteration_ns:
            return Decision(0, "held", error_ns=error)
        beyond = 20 * abs(error) > self._schedule.iteration_ns
        return Decision(-late % self._schedule.pace_ns, "held", error_ns=0, adjusted=beyond)
