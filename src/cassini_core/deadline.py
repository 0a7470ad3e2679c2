"""A point in time by which an answer is wanted, and the table of what each step gets of the time until then."""

from __future__ import annotations

import time

__all__ = ["Deadline", "DeadlinePassed"]


# What each step of a ranking gets, as a share of the time that is left when the step begins.

PACING_SHARE = 0.25
"""For choosing iteration times: they are worth no more, the links need the rest."""

LINK_SHARE, LINK_SHARE_OF_LARGE = 0.8, 0.2
"""For solving single links, in rounds of small and of large placements: bounds without shifts are no answer."""

BASE_SHARE = 0.4
"""For searching the base placement, from which all large placements begin."""

RETURN_SHARE, RETURN_S = 0.1, 0.05
"""For the way back of an answer from an executor: this share, but no more seconds than this."""

PATIENCE_SHARE = 0.1
"""For waiting for an executor that answers nothing, before the work is done here."""

# What a step needs, by the time that a step before it took. With less it is not begun: it would not come to an end.

PACING_PER_READING = 0.7
"""To choose iteration times, by the time of reading the routes."""

PREPARING_LINKS_PER_READING = 0.2
"""To hand all links to the kernel, by the time of reading all candidates."""

PREPARING_PER_READING = 0.4
"""To prepare for the first large candidate, by the time of reading all candidates."""

BOUNDING_PER_READING = 0.12
"""To say how each candidate is bound where no link is solved, by the time of reading all candidates."""

READY_PER_BASE_SEARCH = 0.3
"""To answer the first large candidate, by the time of searching the base placement."""

FREEING_PER_READING = 0.06
"""To free what was read, by the time of reading it."""

FREEING_PER_ANSWERING = 0.03
"""To free the answers of candidates, by the time of finding them."""

FINISH_S, FINISH_S_PER_CANDIDATE = 0.004, 25e-6
"""Seconds to stop searches, sort what was found and free what is no longer needed."""

LONGEST_S = 3e8
"""Ten years, in seconds, stand for any longer time: nanoseconds must fit in 64 bits."""


class DeadlinePassed(Exception):
    """Raised inside the package only: whoever catches it gives up what is under way."""


class Deadline:
    """A point in time, or none: ``seconds`` from now on the monotonic clock."""

    def __init__(self, seconds: float | None) -> None:
        self._begin = time.monotonic()
        self._end = None if seconds is None else time.monotonic() + min(seconds, LONGEST_S)

    def remaining_s(self) -> float | None:
        """Seconds left, at least 0; None without a deadline."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def remaining_ns(self) -> int | None:
        """Whole nanoseconds left; None without a deadline."""
        remaining_s = self.remaining_s()
        return None if remaining_s is None else int(remaining_s * 1e9)

    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining_s() == 0.0

    def check(self) -> None:
        """Raises :class:`DeadlinePassed` if nothing is left."""
        if self.passed():
            raise DeadlinePassed

    def elapsed_s(self) -> float:
        """Seconds since it was set."""
        return time.monotonic() - self._begin

    def leaves(self, share: float) -> bool:
        """Whether more time is left than ``share`` times what has passed since it was set."""
        remaining_s = self.remaining_s()
        return remaining_s is None or remaining_s > share * self.elapsed_s()

    def check_reading(self) -> None:
        """Raises :class:`DeadlinePassed` if the time left just suffices to free what was read since it was set."""
        if not self.leaves(FREEING_PER_READING):
            raise DeadlinePassed

    def after_reading(self) -> Deadline:
        """An earlier deadline, which leaves time to free what was read since this one was set."""
        return self.before(FREEING_PER_READING * self.elapsed_s())

    def before(self, seconds: float) -> Deadline:
        """A deadline that is earlier by ``seconds``, to leave time for what follows."""
        remaining_s = self.remaining_s()
        return Deadline(None if remaining_s is None else max(0.0, remaining_s - seconds))

    def from_now(self) -> Deadline:
        """The same end, as if it was set now."""
        return Deadline(self.remaining_s())

    def part(self, share: float) -> Deadline:
        """A deadline that comes after ``share`` of what is left of this one."""
        remaining_s = self.remaining_s()
        return Deadline(None if remaining_s is None else share * remaining_s)
