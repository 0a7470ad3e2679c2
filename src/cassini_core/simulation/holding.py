"""What holds a job's iterations to their time-shift: a simple rule, or the agent's own control code."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cassini_agent.control.controller import Controller
from cassini_agent.schedule import DAY_NS, MS_NS, Schedule

__all__ = ["AgentHold", "Grid", "Hold"]

_BOOT_NS = 10**12
"""What clocks show at time 0."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Pacing by a simple rule: a job's iterations begin no earlier than the points of a grid, one iteration a point.

    The first that begins after the grid is set takes the next point. A job that is late by no more than ``late_ms``
    begins at once, and catches up with what its pace leaves. One that is later waits for the next point if it may:
    such waits take ``share`` of its time, two paces at once at most. Without that bound a job that others always hold
    up by a little would wait most of a pace each time. Where links are nearly full, or fuller, late jobs rarely come
    back so, and holding may be worse than nothing; the agent, which tells jitter from what others do, wins there, too.

    Parameters
    ----------
    at_ms : float
        A point of the grid: the epoch and the job's time-shift.
    pace_ms : float
        From one point to the next.
    late_ms : float
        By default none waits: a job whose iterations always take longer than the pace runs freely. The paper's agents
        adjust beyond 5 % of the iteration time (section 5.7).
    share : float
        At least 0.
    """

    at_ms: float
    pace_ms: float
    late_ms: float = math.inf
    share: float = 0.01


@dataclass(slots=True, eq=False)
class AgentHold:
    """The agent's controller (:class:`cassini_agent.control.controller.Controller`), on the clock of its host.

    There is no coordinator: a job that others have held up waits for an answer in vain, and then goes back to the grid
    by itself.

    Parameters
    ----------
    grid : Grid
    iteration_ms : float
        Uncontrolled iteration time, from which the pace is at most one and a half.
    hold_ms, slack_ms : float
        How far all jobs may move, and this one alone; 0 to half the pace.
    gain_ms : float
        What interleaving saves per iteration; 0: not known.
    clock_ms, clock_ppm : float
        How far the host's clock is ahead of that of the grid at time 0, and how much faster it is.

    Attributes
    ----------
    adjusted_ms : list of float
        When a deviation beyond the dead band was corrected; the first begins the interleaving.
    """

    grid: Grid
    iteration_ms: float
    hold_ms: float
    slack_ms: float
    gain_ms: float = 0.0
    clock_ms: float = 0.0
    clock_ppm: float = 0.0
    adjusted_ms: list[float] = field(default_factory=list, init=False)
    _controller: Controller = field(default_factory=Controller, init=False)
    _version: int = field(default=0, init=False)
    _waited_ns: int = field(default=0, init=False)

    def follow(self, job_id: str, now_ms: float) -> None:
        """Begin to hold this schedule, or another one from now on."""
        pace = round(self.grid.pace_ms * MS_NS)
        hold = min(int(self.hold_ms * MS_NS), pace // 2)
        now_ns = self._clock_ns(now_ms)
        self._version += 1
        schedule = Schedule(
            job=job_id,
            component="simulation",
            version=self._version,
            epoch_ns=_BOOT_NS,
            pace_ns=pace,
            shift_ns=round(self.grid.at_ms * MS_NS) % pace,
            iteration_ns=min(round(self.iteration_ms * MS_NS), pace),
            hold_ns=hold,
            slack_ns=max(hold, min(int(self.slack_ms * MS_NS), pace // 2)),
            gain_ns=round(min(self.gain_ms, self.iteration_ms) * MS_NS),
            expires_ns=now_ns + 365 * DAY_NS,
        )
        self._controller.set_schedule(schedule, now_ns)

    def succeed(self, before: AgentHold) -> None:
        """Go on with another hold's controller, which knows the job: the same job is to have other shifts."""
        self._controller, self._version, self._waited_ns = before._controller, before._version, before._waited_ns
        self.adjusted_ms = before.adjusted_ms

    def wait_ms(self, now_ms: float, computed_ms: float | None) -> float:
        """The job has come to an iteration: what it waits."""
        now_ns = self._clock_ns(now_ms)
        computed_ns = None if computed_ms is None else round(computed_ms * MS_NS)
        decision = self._controller.step(now_ns, self._waited_ns, computed_ns)
        self._waited_ns = decision.delay_ns
        if decision.adjusted:
            self.adjusted_ms.append(now_ms)
        return decision.delay_ns / MS_NS

    def _clock_ns(self, now_ms: float) -> int:
        return _BOOT_NS + round((now_ms * (1 + 1e-6 * self.clock_ppm) + self.clock_ms) * MS_NS)


Hold = Grid | AgentHold
