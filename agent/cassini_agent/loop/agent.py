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

from .decider import Decider
from .pause import wait_until
from .ranks import Ranks
from .records import COMMUNICATION_END, COMMUNICATION_START, END, START, Records
from .timeline import Timeline

__all__ = ["Agent"]

log = logging.getLogger("cassini_agent")

ALL_ENDS = 128
"""Iterations whose ends of communication are all marked; then those of every fourth."""


MOST_AHEAD, LOOK_NS = 8, 200_000
"""Iterations that a host may be ahead of its GPU and still be waited for; and how often to look."""


class Agent:
    """Measures the iterations of one rank, and delays them as rank 0 decides.

    Made by :func:`cassini_agent.connect`. Not for use by several threads at once: it belongs to the training loop.

    Parameters
    ----------
    ranks : Ranks
        How decisions get to all ranks.
    timeline : Timeline
        Clock of the marks.
    decider : Decider or None
        Decides and reports; on rank 0 only.
    now_ns, wait : callable
        The monotonic clock, and how to wait for a point of it; for tests.
    """

    def __init__(
        self,
        ranks: Ranks,
        timeline: Timeline,
        decider: Decider | None,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wait: Callable[[int], None] = wait_until,
    ) -> None:
        self._ranks = ranks
        self._timeline = timeline
        self._decider = decider
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
        """Whether nothing is measured and nothing waited for: switched off, or it could not be set up."""
        return self._decider is None and self._ranks.lag == 0

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
            self._safely(self._communication_started)

    def communication_ended(self) -> None:
        """Communication of this iteration ends; the last call counts."""
        # The end is for the profile alone, which is a median: of many iterations every fourth will do.
        if self._number < ALL_ENDS or self._number % 4 == 0:
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
            take; ``profile``, what is natural for the job as far as it is known: ``iteration_ns`` and where its
            communication begins and ends in it (``communication_start_ns``, ``communication_end_ns``), medians of the
            last iterations, and those iterations' ``natural_ns``.
        """
        decider = self._decider
        return {
            "iterations": self._number + 1,
            "state": decider.state if decider is not None else "follows rank 0",
            "note": "stopped after a failure" if self._failed else (decider.note if decider is not None else ""),
            "adjustments": decider.adjustments if decider is not None else 0,
            "delay_total_ns": self._delay_total_ns,
            "missed": self._ranks.missed,
            "dropped": decider.dropped if decider is not None else 0,
            "profile": decider.profile() if decider is not None else None,
        }

    def close(self) -> None:
        """Report what is left, and let go of the daemon and the other ranks. The agent does nothing afterwards."""
        self._safely(self._close)
        self._pid = -1

    # --- what happens in an iteration ---------------------------------------------------------------------------------

    def _iteration(self) -> None:
        came_ns = now_ns = self._now_ns()
        asked_ns = self._delay(now_ns) if self._ranks.lag else None
        # On a GPU each mark is an event to record and to read: where nothing is waited, an end is the next start.
        ends_here = self._number >= 0
        if ends_here and asked_ns != 0:
            self._timeline.mark((END, self._number))
            ends_here = False
        if asked_ns is None:
            self._learn()
            now_ns = self._now_ns()
            asked_ns = self._delay(now_ns)
        self._number += 1
        self._communicating = False
        if asked_ns > 0:
            self._wait(now_ns + asked_ns)
        self._records.open(self._number, came_ns)
        ended = [(END, self._number - 1)] if ends_here else []
        self._timeline.mark(*ended, (START, self._number))
        if self._ranks.lag:
            self._learn()

    def _communication_started(self) -> None:
        self._timeline.mark((COMMUNICATION_START, self._number))
        if self._ranks.lag:
            self._learn()
            if self._decider is not None and (revised := self._decider.revised(self._now_ns())) is not None:
                self._ranks.publish(*revised)
                self._decider.report(self._now_ns(), self._delay_total_ns)

    def _learn(self) -> None:
        """Take in what has become known, and let rank 0 decide for the iteration after the latest known start."""
        for ended in self._records.take(self._timeline.known()):
            self._delay_total_ns += ended.delay_ns
            if self._decider is not None:
                self._decider.ended(ended)
        if self._decider is None:
            return
        latest = self._records.under_way()
        if self._ranks.lag == 0:
            self._decider.under_way(latest)
        elif latest is not None:
            release = self._decider.started(latest)
            if release is not None:
                self._ranks.publish(latest.number + 1, release)
                self._decider.report(self._now_ns(), self._delay_total_ns)

    def _delay(self, now_ns: int) -> int:
        """The wait before the iteration that begins."""
        number = self._number + 1
        if self._decider is not None:
            self._decider.listen(now_ns)
            if self._ranks.lag == 0:
                done_ns = self._caught_up(now_ns)
                delay_ns = self._decider.starting(number, done_ns, came_ns=now_ns)
                self._decider.report(done_ns, self._delay_total_ns)
                return done_ns - now_ns + delay_ns if delay_ns > 0 else 0
        return self._ranks.due(number, now_ns)

    def _caught_up(self, now_ns: int) -> int:
        """Wait until the GPU is as far as its host, where the job may have to wait for its grid; the time then.

        A host may be some iterations ahead. What these will take is known well enough while the job is held, but not
        while it is out of its place, as they may be held up. That costs the GPU no more than the launch of what comes
        next.
        """
        assert self._decider is not None
        if self._number < 0:  # there is nothing before the first iteration that the GPU could be busy with
            return now_ns
        give_up_ns = now_ns + MOST_AHEAD * self._decider.pace_ns
        while self._may_catch_up and self._decider.is_unsure and not self._records.has_ended(self._number):
            if now_ns >= give_up_ns:
                self._may_catch_up = False  # marks were lost, or the host is ahead by more than can be waited for
                break
            self._wait(now_ns + LOOK_NS)
            self._learn()
            now_ns = self._now_ns()
        return now_ns

    def _interrupted(self) -> None:
        self._records.interrupted()
        self._ranks.interrupted()
        if self._decider is not None:
            self._decider.interrupted()

    def _close(self) -> None:
        if self._number >= 0:
            self._timeline.mark((END, self._number))
        self._learn()
        self._ranks.close()
        if self._decider is not None:
            self._decider.close(self._now_ns(), self._delay_total_ns)

    def _safely(self, work: Callable[[], None]) -> None:
        if self._failed or os.getpid() != self._pid:
            # After a failure; after close; in a forked child, such as a data loader's worker, which is not the job.
            return
        try:
            if not self._timeline.is_capturing():  # a graph's work is no iteration; its replays are
                work()
        except Exception:
            self._failed = True
            log.exception("the agent stops after a failure of its own; training goes on without time-shifts")
            self._let_go()

    def _let_go(self) -> None:
        """The daemon sees that the job has left: what it said last, that it is held, is not true any more."""
        with suppress(Exception):
            if self._decider is not None:
                self._decider.leave()
        with suppress(Exception):
            self._ranks.close()
