"""From marks to iterations: when each began and ended, what was waited before it, and when it communicated."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from .timeline import Name

__all__ = ["COMMUNICATION_END", "COMMUNICATION_START", "END", "START", "Iteration", "Records"]

START, END = "start", "end"
COMMUNICATION_START, COMMUNICATION_END = "communication start", "communication end"

MOST_OPEN = 64
"""Iterations whose marks are awaited; a stream that is further behind has lost them."""


@dataclass(slots=True)
class Iteration:
    """One iteration, on the host's monotonic clock.

    Attributes
    ----------
    number : int
        From 0.
    start_ns, end_ns : int or None
        When its work began, after the wait, and when it was done and the next one could begin. On a GPU these are the
        stream's times, so what the host waited while the stream still had work is in no one's way and counts nowhere.
    delay_ns : int
        From the end of the iteration before to the start of this one: what the wait has cost. 0 for the first.
    communication_start_ns, communication_end_ns : int or None
        Of the first and the last communication in it.
    interrupted : bool
        The loop paused during it.
    """

    number: int
    start_ns: int | None = None
    end_ns: int | None = None
    delay_ns: int = 0
    communication_start_ns: int | None = None
    communication_end_ns: int | None = None
    interrupted: bool = False

    @property
    def natural_ns(self) -> int | None:
        """How long it took, without any wait; None where that is not known, or where the loop paused."""
        if self.start_ns is None or self.end_ns is None or self.interrupted:
            return None
        return self.end_ns - self.start_ns


class Records:
    """Iterations that are under way or whose marks are still to come. Bounded."""

    def __init__(self) -> None:
        self._open: deque[Iteration] = deque(maxlen=MOST_OPEN)
        self._last_end: tuple[int, int] | None = None  # number, ns

    def open(self, number: int) -> None:
        """A new iteration begins."""
        self._open.append(Iteration(number))

    def interrupted(self) -> None:
        """The loop pauses in the iteration that is under way."""
        if self._open:
            self._open[-1].interrupted = True

    def take(self, marks: Iterable[tuple[Name, int]]) -> list[Iteration]:
        """Enter marks, each named ``(what, number)``; give the iterations whose ends are known by them, in order."""
        complete: list[Iteration] = []
        for name, at_ns in marks:
            what, number = name
            while self._open and self._open[0].number < number and what == START:
                self._open.popleft()  # its end was lost
            iteration = self._find(number)
            if iteration is None:
                continue
            self._enter(iteration, what, at_ns)
            if what == END:
                complete.append(iteration)
                self._last_end = (number, at_ns)
                while self._open and self._open[0].number <= number:
                    self._open.popleft()
        return complete

    def has_ended(self, number: int) -> bool:
        """Whether it is known when an iteration ended, or a later one did."""
        return self._last_end is not None and self._last_end[0] >= number

    def under_way(self) -> Iteration | None:
        """The latest iteration whose start is known and whose end is not."""
        started = [iteration for iteration in self._open if iteration.start_ns is not None]
        return started[-1] if started else None

    def _find(self, number: int) -> Iteration | None:
        if not self._open or not 0 <= number - self._open[0].number < len(self._open):
            return None
        return self._open[number - self._open[0].number]

    def _enter(self, iteration: Iteration, what: str, at_ns: int) -> None:
        if what == START:
            iteration.start_ns = at_ns
            if self._last_end is not None and self._last_end[0] == iteration.number - 1:
                iteration.delay_ns = max(0, at_ns - self._last_end[1])
        elif what == END:
            iteration.end_ns = at_ns
        elif what == COMMUNICATION_END:
            iteration.communication_end_ns = at_ns
        elif iteration.communication_start_ns is None:
            iteration.communication_start_ns = at_ns
