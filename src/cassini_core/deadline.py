"""A point in time by which an answer is wanted."""

from __future__ import annotations

import time

__all__ = ["Deadline", "DeadlinePassed"]


_LONGEST_S = 3e8
"""Ten years stand for any longer time: nanoseconds must fit in 64 bits."""


LETTING_GO = 0.06
"""Of the time that it took to read something, to free it again; of answers it is half as much."""


class DeadlinePassed(Exception):
    """Raised inside the package only: what is under way is given up."""


class Deadline:
    """A point in time, or none: ``seconds`` from now on the monotonic clock."""

    def __init__(self, seconds: float | None) -> None:
        self._begin = time.monotonic()
        self._end = None if seconds is None else time.monotonic() + min(seconds, _LONGEST_S)

    def remaining_s(self) -> float | None:
        """Seconds left, at least 0; None without a deadline."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def remaining_ns(self) -> int | None:
        """The same in whole nanoseconds."""
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
        """Whether more is left than a share of what has passed since it was set."""
        remaining_s = self.remaining_s()
        return remaining_s is None or remaining_s > share * self.elapsed_s()

    def check_reading(self) -> None:
        """Raises :class:`DeadlinePassed` if what was read up to now can just be let go of in time."""
        if not self.leaves(LETTING_GO):
            raise DeadlinePassed

    def after_reading(self) -> Deadline:
        """A deadline that leaves time to let go of what was read up to now."""
        return self.before(LETTING_GO * self.elapsed_s())

    def before(self, seconds: float) -> Deadline:
        """A deadline so much earlier, to leave time for what follows."""
        remaining_s = self.remaining_s()
        return Deadline(None if remaining_s is None else max(0.0, remaining_s - seconds))

    def from_now(self) -> Deadline:
        """The same end, as if it was set now."""
        return Deadline(self.remaining_s())

    def part(self, share: float) -> Deadline:
        """A deadline of its own after ``share`` of what is left."""
        remaining_s = self.remaining_s()
        return Deadline(None if remaining_s is None else share * remaining_s)
