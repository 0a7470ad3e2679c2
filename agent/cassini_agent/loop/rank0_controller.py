"""Rank 0: takes schedules from the daemon, has the controller decide, and reports."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import fields
from statistics import median
from typing import Any

from ..control.controller import Controller, Decision
from ..control.pattern import FEWEST, WINDOW, pattern
from ..local_link import LocalLink
from ..schedule import FORMAT, Schedule, ScheduleError
from .records import Iteration
from .reporter import Reporter

__all__ = ["Rank0Controller"]

log = logging.getLogger("cassini_agent")

PROFILE = 512
"""Iterations that a profile is of."""

RECENT = 8
"""Iterations whose medians say how long the next takes, and how far the host runs ahead of its GPU."""

SCHEDULE_KEYS = frozenset({"format", *(field.name for field in fields(Schedule))})
"""A newer daemon may send more."""

HINTS = {
    "name_taken": "name_taken: another process of this host runs under its name; CASSINI_JOB_ID gives it one",
    "wrong_secret": "wrong_secret: CASSINI_JOB_SECRET is not that of the job which the scheduler has started",
}
"""What to do about a reason of the daemon's."""

AHEAD = 0.95
"""The host runs ahead of the GPU where an iteration would take less than this share of the usual time."""


class Rank0Controller:
    """The controller of one job, between its daemon and its loop.

    Parameters
    ----------
    link : LocalLink
        To the daemon.
    controller : Controller
        Decides.
    """

    def __init__(self, link: LocalLink, controller: Controller) -> None:
        self._link = link
        self._controller = controller
        self._reporter = Reporter(link)
        self._last = Decision(0, "waiting")
        self._ended = -1  # the latest iteration that is known to have ended
        self._decided = -1  # the latest iteration whose start the controller knows
        self._errors: dict[int, tuple[int, int | None]] = {}  # of iterations that have not ended: version and error
        self._profile: deque[Iteration] = deque(maxlen=PROFILE)
        self._start: tuple[int, int] | None = None  # number and time of the latest start that is known
        self._pattern_ns: tuple[int, ...] = ()
        self._launched: dict[int, int] = {}  # when the host let iterations go whose starts are not known yet
        self._left: dict[int, int] = {}  # when the host was done with iterations whose ends are not known yet
        self._ahead_ns: deque[int] = deque(maxlen=RECENT)  # how much later their work was
        self._measured_delay_ns = 0
        self._compute_ns: int | None = None  # of the latest iteration, until the controller has been told
        self._refused = ""
        self._followed = 0  # version of the schedule that the latest start was decided by
        self._place_at_ns: int | None = None
        self._said_alone = False

    @property
    def state(self) -> str:
        """Of docs/agent.md."""
        return self._last.state

    @property
    def note(self) -> str:
        """Why the job runs free, or what was refused."""
        return self._last.note or self._refused

    @property
    def adjustments(self) -> int:
        """So far."""
        return self._controller.adjustments

    @property
    def dropped(self) -> int:
        """Messages that the daemon did not take."""
        return self._link.dropped

    @property
    def is_unsure(self) -> bool:
        """Whether the job may have to wait for more than its pace asks for, see ``Controller``."""
        return self._controller.is_unsure

    @property
    def pace_ns(self) -> int:
        """Of the schedule; 0 without one."""
        schedule = self._controller.schedule
        return 0 if schedule is None else schedule.pace_ns

    def listen(self, now_ns: int) -> None:
        """Take what the daemon sends."""
        for message in self._link.receive():
            self._obey(message, now_ns)
        if not self._said_alone and not self._link.connected:
            log.warning("no agent daemon at %s: training goes on without time-shifts", self._link.path)
        self._said_alone = True

    def starting(self, number: int, now_ns: int, *, came_ns: int | None = None) -> int:
        """What to wait before iteration ``number``, which could begin now: ns.

        ``came_ns`` is when the host came to it, if it waited for its GPU since.
        """
        self._left[number - 1] = now_ns if came_ns is None else came_ns
        for unknown in (self._left, self._launched):
            unknown.pop(number - PROFILE, None)  # its marks were lost
        begin_ns = self._begin(number, now_ns)
        delay_ns = self._step(number, begin_ns, self._measured_delay_ns)
        self._measured_delay_ns = delay_ns  # as far as is known now
        # Where the stream is behind, waiting on the host to this point holds the stream no longer than wanted.
        wait_ns = max(0, begin_ns - now_ns) + delay_ns if delay_ns > 0 else 0
        self._launched[number] = now_ns + wait_ns
        return wait_ns

    def ended(self, iteration: Iteration) -> None:
        """An iteration is over."""
        if iteration.number == self._decided:
            self._measured_delay_ns = iteration.delay_ns
        self._ended = max(self._ended, iteration.number)
        left_ns = self._left.pop(iteration.number, None)
        if iteration.end_ns is not None and left_ns is not None:
            self._ahead_ns.append(iteration.end_ns - left_ns)
        if iteration.start_ns is not None:
            self._began(iteration.number, iteration.start_ns)
            if iteration.natural_ns is not None:
                self._profile.append(iteration)
                if iteration.number in (FEWEST, WINDOW) or iteration.number % PROFILE == 0:
                    last = list(self._profile)[-WINDOW:]
                    self._pattern_ns = pattern([(one.number, one.natural_ns or 0) for one in last])
                if iteration.communication_start_ns is not None:
                    self._compute_ns = max(0, iteration.communication_start_ns - iteration.start_ns)
        version, error_ns = self._errors.pop(iteration.number, (0, None))
        self._reporter.add(iteration, error_ns if version == self._followed else None)  # a report is of one grid alone

    def under_way(self, iteration: Iteration | None) -> None:
        """The latest iteration that is known to have begun and not to have ended."""
        if iteration is not None and iteration.start_ns is not None:
            self._began(iteration.number, iteration.start_ns)

    def interrupted(self) -> None:
        """The loop pauses: nothing is learned from this iteration, and the next is not delayed."""
        self._controller.pause()
        self._controller.resume()

    def profile(self) -> dict[str, Any] | None:
        """What is natural for the job; None before three iterations are known."""
        if len(self._profile) < 3:
            return None
        known: dict[str, Any] = {"iteration_ns": round(median(one.natural_ns or 0 for one in self._profile))}
        for key in ("communication_start_ns", "communication_end_ns"):
            offsets = [
                at_ns - one.start_ns
                for one in self._profile
                if (at_ns := getattr(one, key)) is not None and one.start_ns is not None
            ]
            known[key] = round(median(offsets)) if offsets else None
        known["natural_ns"] = [one.natural_ns for one in self._profile]
        return known

    def close(self, now_ns: int, delay_total_ns: int) -> None:
        """Report what is left and leave the daemon."""
        self._reporter.flush(now_ns, self._totals(delay_total_ns), at_once=True)
        self._link.close()

    def leave(self) -> None:
        """Leave the daemon, whatever has not been reported."""
        self._link.close()

    def _began(self, number: int, start_ns: int) -> None:
        if self._start is None or self._start[0] <= number:
            self._start = (number, start_ns)
            for begun in [one for one in self._launched if one <= number]:
                del self._launched[begun]

    def _begin(self, number: int, now_ns: int) -> int:
        """When iteration ``number`` can begin: now, or where a GPU that is behind its host will be done."""
        if self._start is None or len(self._profile) < 3 or self._ended >= number - 1:
            return now_ns
        at, start_ns = self._start
        usual_ns = median(one.natural_ns or 0 for one in list(self._profile)[-RECENT:])
        if median(self._ahead_ns or [0]) < (1 - AHEAD) * usual_ns:
            return now_ns  # there is no GPU, or the loop waits for it: an iteration that ends early has ended
        expected_ns = start_ns + usual_ns
        for between in range(at + 1, number):
            # An iteration begins when the one before it is done, and not before the host lets it go.
            expected_ns = max(expected_ns, self._launched.get(between, 0)) + usual_ns
        return round(expected_ns) if now_ns - start_ns < AHEAD * (expected_ns - start_ns) else now_ns

    def _step(self, number: int, at_ns: int, waited_ns: int) -> int:
        said, schedule = (self._last.state, self._followed), self._controller.schedule
        version = schedule.version if schedule is not None else 0
        self._follow(version, at_ns)
        decision = self._controller.step(at_ns, waited_ns, self._compute_ns)
        self._compute_ns = None
        self._decided = number
        self._place_at_ns = at_ns + decision.delay_ns
        if decision.strayed or said != (decision.state, version):
            self._reporter.news()
        self._note(number, decision)
        if decision.changed is not None:
            self._reporter.changed(decision.changed)
        return decision.delay_ns

    def _follow(self, version: int, now_ns: int) -> None:
        """From here on starts are judged by this version's grid."""
        if version != self._followed:  # what was measured on the grid before
            self._reporter.flush(now_ns, self._totals(self._controller.delay_total_ns), at_once=True)
        self._followed = version

    def _note(self, number: int, decision: Decision) -> None:
        self._last = decision
        self._errors[number] = self._followed, decision.error_ns
        while len(self._errors) > 2 * PROFILE:
            self._errors.pop(next(iter(self._errors)))

    def _obey(self, message: dict[str, Any], now_ns: int) -> None:
        kind = message.pop("type", None)
        if kind == "schedule":
            try:
                known = {key: value for key, value in message.items() if key in SCHEDULE_KEYS}
                schedule = Schedule.from_mapping({"format": FORMAT, **known})
                schedule.check_near(now_ns)
            except ScheduleError as error:
                self._refused = str(error)
                log.warning("a schedule was refused: %s", error)
            else:
                self._refused = ""
                self._controller.set_schedule(schedule, now_ns)
        elif kind == "clear":
            self._controller.clear()
        elif kind == "refused":
            reason = str(message.get("reason"))[:200]
            if reason != self._refused:  # it says so each time that the job comes back
                log.warning("the daemon refuses this job: %s", HINTS.get(reason, reason))
            self._refused = reason

    def report(self, now_ns: int, delay_total_ns: int) -> None:
        """Report, if it is time."""
        self._reporter.flush(now_ns, self._totals(delay_total_ns))

    def _totals(self, delay_total_ns: int) -> dict[str, Any]:
        is_under_way = self._decided >= self._reporter.following
        return {
            "adjustments": self.adjustments,
            "delay_total_ns": delay_total_ns,
            "dropped": self.dropped,
            "state": self.state,
            "note": self.note,
            "pattern_ns": self._pattern_ns,
            "version": self._followed,
            "place_ns": self._last.error_ns if is_under_way else None,
            "place_at_ns": self._place_at_ns if is_under_way else None,
        }
