"""What a job told of its iterations: a bounded window of them, and robust figures of it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

from .messages import Iterations

__all__ = ["Measurements", "median"]

WINDOW = 256
ERROR_WINDOW = 64
START_WINDOW = 65
"""Starts of the last 64 whole iterations."""
RECENT_WINDOW = 32

NUMBER, START, NATURAL, STEADY, ERROR, COMMUNICATION_START, COMMUNICATION_END, COLUMNS = range(8)
"""Columns of the window. Steady is the uncontrolled time without what differs in turn."""

UNKNOWN = -(2**63)

OUT_OF_PLACE = ("adjusting", "unlocked", "free")
"""States in which others may hold a job up."""


def median(ordered: Sequence[int]) -> int:
    """Of an ordered sequence that is not empty; of an even number, the mean of the middle two, rounded down."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2


class Measurements:
    """Of one job. The counters are the job's own, from its start; the window begins again when the job does.

    The window takes 14 KiB when it is full: rows of whole numbers, 8 bytes each, oldest first.
    """

    def __init__(self) -> None:
        self._window = array("q")
        self._natural_from = 0  # the first iteration that nobody held up, as far as is known
        self._errors_from = 0  # the first on the grid that is followed
        self.iterations = 0
        self.followed = 0
        self.place_ns: int | None = None
        self.place_at_ns: int | None = None
        self.pattern_ns: tuple[int, ...] = ()
        self.adjustments = 0
        self.delay_total_ns = 0
        self.dropped = 0
        self.state = "waiting"
        self.note: str | None = None

    def record(self, message: Iterations) -> bool:
        """Take a report; whether the job began again with it: what was before is another run's."""
        began_again = message.first < self.iterations
        under_way = message.first + len(message.start_ns)
        if began_again:
            self._window = array("q")
            self._natural_from = self._errors_from = 0
        elif message.version != self.followed:
            self._errors_from, self._natural_from = message.first, message.first + 1
        elif self.state in OUT_OF_PLACE and message.state == "held":
            self._natural_from = under_way + 1
        if len(message.pattern_ns) != len(self.pattern_ns):  # with and without what differs in turn do not go together
            self._natural_from = max(self._natural_from, message.first)
        self._extend(message)
        self.followed, self.place_ns, self.place_at_ns = message.version, message.place_ns, message.place_at_ns
        self.pattern_ns = message.pattern_ns
        self.iterations = under_way
        self.adjustments = message.adjustments
        self.delay_total_ns = message.delay_total_ns
        self.dropped = message.dropped
        self.state = message.state
        self.note = message.note
        return began_again

    def _extend(self, message: Iterations) -> None:
        turn = message.pattern_ns or (0,)
        numbers = range(message.first, message.first + len(message.start_ns))
        rows = zip(
            numbers,
            message.start_ns,
            message.natural_ns,
            (
                None if natural is None else max(0, natural - turn[number % len(turn)])
                for number, natural in zip(numbers, message.natural_ns, strict=True)
            ),
            message.error_ns,
            message.communication_start_ns,
            message.communication_end_ns,
            strict=True,
        )
        self._window.extend(UNKNOWN if value is None else value for value in chain.from_iterable(rows))
        del self._window[: -WINDOW * COLUMNS]

    def _column(self, column: int) -> array[int]:
        return self._window[column::COLUMNS]

    def _known(self, column: int, since: int = 0, most: int = WINDOW) -> list[int]:
        """The last ``most`` values of a column that are known, of iterations from ``since`` on, oldest first."""
        values = zip(self._column(NUMBER), self._column(column), strict=True)
        return [value for number, value in values if value != UNKNOWN and number >= since][-most:]

    def errors_ns(self) -> list[int]:
        """The last phase errors on the grid of the schedule that is followed, oldest first."""
        return self._known(ERROR, self._errors_from, ERROR_WINDOW)

    def error_ns(self) -> tuple[int | None, int | None]:
        """Median of the last phase errors, and the median of their distances from it."""
        ordered = sorted(self.errors_ns())
        if not ordered:
            return None, None
        middle = median(ordered)
        return middle, median(sorted(abs(value - middle) for value in ordered))

    def iteration_ns(self) -> int | None:
        """Median of the last uncontrolled iteration times."""
        ordered = sorted(self._known(STEADY, self._natural_from))
        return median(ordered) if ordered else None

    def starts_ns(self) -> list[int]:
        """When the last iterations began, oldest first, monotonic clock."""
        return self._known(START, most=START_WINDOW)

    def communication_starts_ns(self) -> list[int]:
        """When the last communication phases began, as the job saw them, oldest first, monotonic clock."""
        return self._known(COMMUNICATION_START)

    def communication_ns(self) -> tuple[int | None, int | None]:
        """From the start of an iteration to the first start and to the last end of its communication: medians."""
        starts, ends = (
            sorted(time for time in self._after_start(column) if time is not None)
            for column in (COMMUNICATION_START, COMMUNICATION_END)
        )
        return median(starts) if starts else None, median(ends) if ends else None

    def recent_ns(self) -> dict[str, list[int | None]]:
        """The last iterations one by one, oldest first, so that several figures of one iteration can be compared."""
        natural = [None if value == UNKNOWN else value for value in self._column(NATURAL)]
        return {
            "natural_ns": natural[-RECENT_WINDOW:],
            "communication_start_ns": self._after_start(COMMUNICATION_START)[-RECENT_WINDOW:],
            "communication_end_ns": self._after_start(COMMUNICATION_END)[-RECENT_WINDOW:],
        }

    def _after_start(self, column: int) -> list[int | None]:
        """From the start of each iteration; None where either is not known, or it was before."""
        return [
            None if UNKNOWN in (start, at) or at < start else at - start
            for start, at in zip(self._column(START), self._column(column), strict=True)
        ]
