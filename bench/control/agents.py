"""The agent of a simulated job, on its rank 0, as a training loop would call it."""

from __future__ import annotations

import random
from pathlib import Path

from cassini_agent.control.controller import Controller, Decision
from cassini_agent.loop.agent import Agent
from cassini_agent.loop.rank0_controller import Rank0Controller
from cassini_agent.loop.timeline import HostTimeline
from cassini_agent.schedule import Schedule

from .events import Events
from .job import JobModel
from .training import LaterLink, RankClock

__all__ = ["AgentControl"]

REPORT_MS = 5.0
"""From a report until the daemon has it."""


class _HostClock:
    """The monotonic clock of a job's host."""

    def __init__(self, model: JobModel, events: Events) -> None:
        self._model = model
        self._events = events

    def monotonic_ns(self) -> int:
        return self._model.host_ns(self._events.now_ms)


class AgentControl:
    """What a simulated job asks, answered by the agent."""

    def connect(self, model: JobModel, socket: Path, events: Events) -> None:
        """To the daemon of the job's host; before it begins."""
        self._clock = RankClock(_HostClock(model, events), random.Random(0), overslept_ms=0.0)
        self._link = LaterLink(socket, model.name, model.ranks, events, self._clock, REPORT_MS)
        self._rank0_controller = Rank0Controller(self._link, Controller())
        now_ns, wait = self._clock.now_ns, self._clock.wait
        self._agent = Agent(HostTimeline(now_ns), self._rank0_controller, now_ns, wait)

    def set_schedule(self, schedule: Schedule, now_ns: int) -> None:
        """The daemon does that."""
        raise NotImplementedError

    def step(self, now_ns: int) -> Decision:
        before = self._rank0_controller.adjustments
        self._agent.iteration()
        adjusted = self._rank0_controller.adjustments > before
        delay_ns = round(1e6 * self._clock.ahead_ms())
        return Decision(delay_ns, self._rank0_controller.state, adjusted=adjusted)

    def sends(self) -> None:
        self._agent.communication_started()

    def has_sent(self) -> None:
        self._agent.communication_ended()

    def end(self) -> None:
        """Once more changes nothing."""
        if self._agent.summary()["note"] == "stopped after a failure":
            raise RuntimeError("the agent failed")
        self._agent.close()
        self._link.end()
