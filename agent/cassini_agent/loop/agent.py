"""The agent in the training loop: ``connect()``, ``agent.iteration()``, ``agent.communication()``.

Whatever happens in here, the job trains on: no call blocks but for the wait it is there for, nothing is raised, and
after a failure the agent is silent.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..control.controller import Controller
from ..local_link import LocalLink
from ..schedule import Schedule, ScheduleError
from .pause import wait_until
from .ranks import Ranks
from .records import COMMUNICATION_END, COMMUNICATION_START, END, START, Iteration, Records
from .reporter import Reporter
from .timeline import Timeline

__all__ = ["Agent"]

log = logging.getLogger("cassini_agent")


class Agent:
    """Measures the iterations of one rank, and delays them as rank 0 decides.

    Made by :func:`cassini_agent.connect`. Not for use by several threads at once: it belongs to the training loop.

    Parameters
    ----------
    link : LocalLink or None
        To the daemon; on rank 0 only.
    ranks : Ranks
        How decisions get to all ranks.
    timeline : Timeline
        Clock of the marks.
    controller : Controller or None
        Decides; on rank 0 only.
    now_ns, wait : callable
        The monotonic clock, and how to wait for a point of it; for tests.
    """

    def __init__(
        self,
        link: LocalLink | None,
        ranks: Ranks,
        timeline: Timeline,
        controller: Controller | None,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wait: Callable[[int], None] = wait_until,
    ) -> None:
        self._link = link
        self._reporter = Reporter(link) if link is not None else None
        self._ranks = ranks
        self._timeline = timeline
        self._controller = controller
        self._now_ns = now_ns
        self._wait = wait
        self._records = Records()
        self._number = -1
        self._communicating = False
        self._said_alone = False
        self._failed = False
        self._pid = os.getpid()
        self._asked_total_ns = 0
        self._delay_total_ns = 0
        self._refused = ""

    # --- what the training loop calls ---------------------------------------------------------------------------------

    def iteration(self) -> None:
        """An iteration begins: call it first thing in each. Waits here if the job is to be delayed."""
        self._safely(self._iteration)

    @contextmanager
    def communication(self) -> Iterator[None]:
        """Around the communication of an iteration; of several the first start and the last end count."""
        self.communication_started()
        try:
            yield
        finally:
            self.communication_ended()

    def communication_started(self) -> None:
        """Communication of this iteration begins; what :meth:`communication` calls. Later calls change nothing."""
        if not self._communicating:
            self._communicating = True
            self._safely(lambda: self._timeline.mark((COMMUNICATION_START, self._number)))

    def communication_ended(self) -> None:
        """Communication of this iteration ends; the last call counts."""
        self._safely(lambda: self._timeline.mark((COMMUNICATION_END, self._number)))

    def interrupted(self) -> None:
        """Say that this iteration is not like the others: the loop pauses in it, for a checkpoint or an evaluation.

        Its duration is not learned from, and the next one is not delayed.
        """
        self._safely(self._interrupted)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Around what is no training: a checkpoint, an evaluation. See :meth:`interrupted`."""
        self.interrupted()
        try:
            yield
        finally:
            self.interrupted()

    def summary(self) -> dict[str, Any]:
        """What the agent has done so far.

        Returns
        -------
        dict
            ``iterations``; ``state`` and ``note`` (docs/agent.md); ``adjustments``; ``delay_total_ns``, what waiting
            has cost; ``missed``, decisions of rank 0 that came too late; ``dropped``, messages that the daemon did not
            take.
        """
        controller = self._controller
        return {
            "iterations": self._number + 1,
            "state": controller.state if controller is not None else "follows rank 0",
            "note": "stopped after a failure" if self._failed else (controller.note if controller is not None else ""),
            "adjustments": controller.adjustments if controller is not None else 0,
            "delay_total_ns": self._delay_total_ns,
            "missed": self._ranks.missed,
            "dropped": self._link.dropped if self._link is not None else 0,
        }

    def close(self) -> None:
        """Report what is left, and let go of the daemon and the other ranks. The agent does nothing afterwards."""
        self._safely(self._close)
        self._failed = True

    # --- what happens in an iteration ---------------------------------------------------------------------------------

    def _iteration(self) -> None:
        if self._number >= 0:
            self._timeline.mark((END, self._number))
        self._number += 1
        self._communicating = False
        for ended in self._records.take(self._timeline.known()):
            self._learn(ended)
        self._listen()
        asked_ns = self._decide()
        before_ns = self._now_ns()
        if asked_ns > 0:
            self._wait(before_ns + asked_ns)
        self._asked_total_ns += asked_ns
        self._records.open(self._number, asked_ns)
        self._timeline.mark((START, self._number))

    def _learn(self, ended: Iteration) -> None:
        self._delay_total_ns += ended.delay_ns
        if self._controller is None or ended.start_ns is None:
            return
        error_ns = self._controller.learn(ended)
        if self._reporter is not None:
            self._reporter.add(ended, error_ns)

    def _listen(self) -> None:
        if self._link is None or self._controller is None or self._reporter is None:
            return
        for message in self._link.receive():
            self._obey(message)
        now_ns = self._now_ns()
        changed = self._controller.take_change()
        if changed is not None:
            self._reporter.changed(*changed)
        self._reporter.flush(now_ns, self._totals())
        self._say_alone()

    def _obey(self, message: dict[str, Any]) -> None:
        assert self._controller is not None
        kind = message.pop("type", None)
        if kind == "schedule":
            try:
                self._controller.take(Schedule.from_mapping(message))
            except ScheduleError as error:
                self._refused = str(error)
                log.warning("a schedule was refused: %s", error)
        elif kind == "clear":
            self._controller.take(None)
        elif kind == "refused":
            log.warning("the daemon refuses this job: %s", message.get("reason"))

    def _decide(self) -> int:
        if self._controller is not None:
            at = self._number + self._ranks.lag
            self._ranks.publish(at, self._controller.delay(at, self._now_ns()))
        return self._ranks.due(self._number)

    def _interrupted(self) -> None:
        self._records.interrupted()
        if self._controller is not None:
            self._controller.interrupted(self._number)

    def _totals(self) -> dict[str, Any]:
        assert self._controller is not None
        assert self._link is not None
        return {
            "adjustments": self._controller.adjustments,
            "delay_total_ns": self._delay_total_ns,
            "dropped": self._link.dropped,
            "state": self._controller.state,
            "note": self._controller.note or self._refused,
        }

    def _say_alone(self) -> None:
        if not self._said_alone and self._link is not None and not self._link.connected:
            log.warning("no agent daemon at %s: training goes on without time-shifts", self._link.path)
        self._said_alone = True

    def _close(self) -> None:
        if self._number >= 0:
            self._timeline.mark((END, self._number))
        for ended in self._records.take(self._timeline.known()):
            self._learn(ended)
        if self._reporter is not None and self._controller is not None:
            self._reporter.flush(self._now_ns(), self._totals(), at_once=True)
        self._ranks.close()
        if self._link is not None:
            self._link.close()

    def _safely(self, work: Callable[[], None]) -> None:
        if self._failed:
            return
        if os.getpid() != self._pid:  # a forked child, such as a data loader's worker, is not the job
            self._failed = True
            if self._link is not None:
                self._link.forget()
            return
        try:
            work()
        except Exception:
            self._failed = True
            log.exception("the agent stops after a failure of its own; training goes on without time-shifts")
