"""The agent in the training loop: ``connect()``, ``agent.iteration()``, ``agent.communication()``.

Whatever happens in here, the job trains on: no call blocks but for the wait it is there for, nothing is raised, and
after a failure the agent is silent.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .pause import wait_until
from .rank0_controller import Rank0Controller
from .records import COMMUNICATION_END, COMMUNICATION_START, END, START, Records
from .timeline import Timeline

__all__ = ["Agent"]

log = logging.getLogger("cassini_agent")

ALL_ENDS = 128
"""Iterations whose ends of communication are all marked; then those of every fourth."""

MOST_AHEAD, LOOK_NS = 8, 200_000
"""Iterations that a host may be ahead of its GPU and still be waited for; and how often to look."""


class Agent:
    """Measures the iterations of rank 0, and delays them: the other ranks wait for it in their next collective.

    Made by :func:`cassini_agent.connect`. Not for use by several threads at once: it belongs to the training loop.

    Parameters
    ----------
    timeline : Timeline
        Clock of the marks.
    rank0_controller : Rank0Controller or None
        Decides and reports. None on the other ranks, and where the agent is switched off: iterations are counted.
    now_ns, wait : callable
        The monotonic clock, and how to wait for a point of it; for tests.
    """

    def __init__(
        self,
        timeline: Timeline,
        rank0_controller: Rank0Controller | None,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wait: Callable[[int], None] = wait_until,
    ) -> None:
        self._timeline = timeline
        self._rank0_controller = rank0_controller
        self._now_ns = now_ns
        self._wait = wait
        self._records = Records()
        self._number = -1
        self._communicating = False
        self._failed = False
        self._may_catch_up = True
        self._pid = os.getpid()
        self._delay_total_ns = 0

    @property
    def is_off(self) -> bool:
        """Whether nothing is measured and nothing waited for: not rank 0, switched off, or it could not be set up."""
        return self._rank0_controller is None

    # --- what the training loop calls ---------------------------------------------------------------------------------

    def iteration(self) -> None:
        """An iteration begins: call it first thing in each. Waits here if the job is to be delayed."""
        if self._rank0_controller is None:
            self._number += 1
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
            self._safely(lambda _: self._timeline.mark((COMMUNICATION_START, self._number)))

    def communication_ended(self) -> None:
        """Communication of this iteration ends; the last call counts."""
        # The end is for the profile alone, which is a median: of many iterations every fourth will do.
        if self._number < ALL_ENDS or self._number % 4 == 0:
            self._safely(lambda _: self._timeline.mark((COMMUNICATION_END, self._number)))

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
            has cost; ``dropped``, messages that the daemon did not take; ``profile``, what is natural for the job as
            far as it is known: ``iteration_ns`` and where its communication begins and ends in it
            (``communication_start_ns``, ``communication_end_ns``), medians of the last iterations, and those
            iterations' ``natural_ns``. On other ranks than 0 iterations alone are known.
        """
        one = self._rank0_controller
        return {
            "iterations": self._number + 1,
            "state": "follows rank 0" if one is None else one.state,
            "note": "stopped after a failure" if self._failed else "" if one is None else one.note,
            "adjustments": 0 if one is None else one.adjustments,
            "delay_total_ns": self._delay_total_ns,
            "dropped": 0 if one is None else one.dropped,
            "profile": None if one is None else one.profile(),
        }

    def close(self) -> None:
        """Report what is left, and let go of the daemon. The agent does nothing afterwards."""
        self._safely(self._close)
        self._pid = -1

    # --- what happens in an iteration ---------------------------------------------------------------------------------

    def _iteration(self, rank0_controller: Rank0Controller) -> None:
        came_ns = self._now_ns()
        if self._number >= 0:
            self._timeline.mark((END, self._number))
        self._learn(rank0_controller)
        rank0_controller.listen(came_ns)
        done_ns = self._caught_up(rank0_controller, self._now_ns())
        self._number += 1
        self._communicating = False
        delay_ns = rank0_controller.starting(self._number, done_ns, came_ns=came_ns)
        rank0_controller.report(done_ns, self._delay_total_ns)
        if delay_ns > 0:
            self._wait(done_ns + delay_ns)
        self._records.open(self._number)
        self._timeline.mark((START, self._number))

    def _learn(self, rank0_controller: Rank0Controller) -> None:
        """Take in what has become known."""
        for ended in self._records.take(self._timeline.known()):
            self._delay_total_ns += ended.delay_ns
            rank0_controller.ended(ended)
        rank0_controller.under_way(self._records.under_way())

    def _caught_up(self, rank0_controller: Rank0Controller, now_ns: int) -> int:
        """Wait until the GPU is as far as its host, where the job may have to wait for its grid; the time then.

        A host may be some iterations ahead. What these will take is known well enough while the job is held, but not
        while it is out of its place, as they may be held up. That costs the GPU no more than the launch of what comes
        next.
        """
        if self._number < 0:  # there is nothing before the first iteration that the GPU could be busy with
            return now_ns
        give_up_ns = now_ns + MOST_AHEAD * rank0_controller.pace_ns
        while self._may_catch_up and rank0_controller.is_unsure and not self._records.has_ended(self._number):
            if now_ns >= give_up_ns:
                self._may_catch_up = False  # marks were lost, or the host is ahead by more than can be waited for
                break
            self._wait(now_ns + LOOK_NS)
            self._learn(rank0_controller)
            now_ns = self._now_ns()
        return now_ns

    def _interrupted(self, rank0_controller: Rank0Controller) -> None:
        self._records.interrupted()
        rank0_controller.interrupted()

    def _close(self, rank0_controller: Rank0Controller) -> None:
        if self._number >= 0:
            self._timeline.mark((END, self._number))
        self._learn(rank0_controller)
        rank0_controller.close(self._now_ns(), self._delay_total_ns)

    def _safely(self, work: Callable[[Rank0Controller], object]) -> None:
        rank0_controller = self._rank0_controller
        if rank0_controller is None or self._failed or os.getpid() != self._pid:
            # After a failure; after close; in a forked child, such as a data loader's worker, which is not the job.
            return
        try:
            if not self._timeline.is_capturing():  # a graph's work is no iteration; its replays are
                work(rank0_controller)
        except Exception:
            self._failed = True
            log.exception("the agent stops after a failure of its own; training goes on without time-shifts")
            with suppress(Exception):  # the daemon sees that it has left: what it said last is not true any more
                rank0_controller.leave()
