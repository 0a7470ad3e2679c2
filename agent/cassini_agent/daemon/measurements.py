"""What a job told of its iterations: bounded windows and robust figures of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from .messages import Iterations

__all__ = ["Measurements", "Ring", "median", "quantiles"]

NATURAL_WINDOW = 256
ERROR_WINDOW = 64
COMMUNICATION_WINDOW = 256
START_WINDOW = 65
"""Starts of the last 64 whole iterations."""
JITTER_QUANTILES = 64
RECENT_WINDOW = 32

_UNKNOWN = -1
"""In a ring of times, which are at least 0."""


class Ring:
    """The last ``size`` whole numbers, 8 bytes each; memory grows to that and no further."""

    __slots__ = ("_next", "_size", "_values")

    def __init__(self, size: int) -> None:
        self._values = array("q")
        self._size = size
        self._next = 0

    def __len__(self) -> int:
        return len(self._values)

    def extend(self, values: Iterable[int]) -> None:
        for value in values:
            if len(self._values) < self._size:
                self._values.append(value)
            else:
                self._values[self._next] = value
                self._next = (self._next + 1) % self._size

    def clear(self) -> None:
        self._values = array("q")
        self._next = 0

    def to_list(self) -> list[int]:
        """Oldest first."""
        return [*self._values[self._next :], *self._values[: self._next]]


def median(ordered: Sequence[int]) -> int:
    """Of an ordered sequence that is not empty; of an even number, the mean of the middle two, rounded down."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2


def quantiles(ordered: Sequence[int], many: int) -> list[int]:
    """Up to ``many`` values of an ordered sequence at even distances, its least and greatest among them."""
    if len(ordered) <= many:
        return list(ordered)
    return [ordered[i * (len(ordered) - 1) // (many - 1)] for i in range(many)]


OUT_OF_PLACE = ("adjusting", "unlocked", "free")
"""States in which others may hold a job up."""


class Measurements:
    """Of one job. The counters are the job's own, from its start; the windows begin again when the job does."""

    __slots__ = (
        "_calm_from",
        "_communication_ends",
        "_communication_offsets",
        "_communication_starts",
        "_errors",
        "_natural",
        "_recent",
        "_starts",
        "adjustments",
        "delay_total_ns",
        "dropped",
        "followed",
        "iterations",
        "note",
        "pattern_ns",
        "place_at_ns",
        "place_ns",
        "state",
    )

    def __init__(self) -> None:
        self._natural = Ring(NATURAL_WINDOW)
        self._errors = Ring(ERROR_WINDOW)
        self._starts = Ring(START_WINDOW)
        self._communication_starts = Ring(COMMUNICATION_WINDOW)
        self._communication_offsets = Ring(COMMUNICATION_WINDOW)
        self._communication_ends = Ring(COMMUNICATION_WINDOW)
        self._recent = tuple(Ring(RECENT_WINDOW) for _ in range(3))
        self._calm_from = 0  # the first iteration that nobody held up, as far as is known
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
        if began_again:
            self.forget_windows()
        elif message.version != self.followed:
            self._errors.clear()  # of another grid
            self._brought_apart(message.first)
        elif self.state in OUT_OF_PLACE and message.state == "held":
            self._brought_apart(message.first + len(message.start_ns))
        self.followed, self.place_ns, self.place_at_ns = message.version, message.place_ns, message.place_at_ns
        if len(message.pattern_ns) != len(self.pattern_ns):
            self._natural.clear()  # with and without what differs in turn do not go together
        self.pattern_ns = message.pattern_ns
        self._natural.extend(_without_pattern(message, self._calm_from))
        self._errors.extend(value for value in message.error_ns if value is not None)
        self._starts.extend(value for value in message.start_ns if value is not None)
        self._communication_starts.extend(value for value in message.communication_start_ns if value is not None)
        self._communication_offsets.extend(_offsets(message.start_ns, message.communication_start_ns))
        self._communication_ends.extend(_offsets(message.start_ns, message.communication_end_ns))
        for ring, times in zip(
            self._recent,
            (
                message.natural_ns,
                _after(message.start_ns, message.communication_start_ns),
                _after(message.start_ns, message.communication_end_ns),
            ),
            strict=True,
        ):
            ring.extend(_UNKNOWN if time is None else time for time in times)
        self.iterations = message.first + len(message.start_ns)
        self.adjustments = message.adjustments
        self.delay_total_ns = message.delay_total_ns
        self.dropped = message.dropped
        self.state = message.state
        self.note = message.note
        return began_again

    def _brought_apart(self, under_way: int) -> None:
        """Iterations from the one after ``under_way`` on take less than those that others held up."""
        self._natural.clear()
        self._calm_from = under_way + 1

    def forget_windows(self) -> None:
        self._calm_from = 0
        self.followed, self.place_ns, self.place_at_ns = 0, None, None
        for ring in (
            self._natural,
            self._errors,
            self._starts,
            self._communication_starts,
            self._communication_offsets,
            self._communication_ends,
            *self._recent,
        ):
            ring.clear()

    def errors_ns(self) -> list[int]:
        """The last phase errors on the grid of the schedule that is followed, oldest first."""
        return self._errors.to_list()

    def error_ns(self) -> tuple[int | None, int | None]:
        """Median of the last phase errors, and the median of their distances from it."""
        ordered = sorted(self._errors.to_list())
        if not ordered:
            return None, None
        middle = median(ordered)
        return middle, median(sorted(abs(value - middle) for value in ordered))

    def iteration_ns(self) -> tuple[int | None, list[int]]:
        """Median of the last uncontrolled iteration times, and quantiles of their deviations from it."""
        ordered = sorted(self._natural.to_list())
        if not ordered:
            return None, []
        middle = median(ordered)
        return middle, [value - middle for value in quantiles(ordered, JITTER_QUANTILES)]

    def starts_ns(self) -> list[int]:
        """When the last iterations began, oldest first, monotonic clock."""
        return self._starts.to_list()

    def communication_starts_ns(self) -> list[int]:
        """When the last communication phases began, as the job saw them, oldest first, monotonic clock."""
        return self._communication_starts.to_list()

    def communication_ns(self) -> tuple[int | None, int | None]:
        """From the start of an iteration to the first start and to the last end of its communication: medians."""
        starts, ends = sorted(self._communication_offsets.to_list()), sorted(self._communication_ends.to_list())
        return median(starts) if starts else None, median(ends) if ends else None

    def recent_ns(self) -> dict[str, list[int | None]]:
        """The last iterations one by one, oldest first, so that several figures of one iteration can be compared."""
        names = ("natural_ns", "communication_start_ns", "communication_end_ns")
        return {
            name: [None if time == _UNKNOWN else time for time in ring.to_list()]
            for name, ring in zip(names, self._recent, strict=True)
        }


def _without_pattern(message: Iterations, since: int) -> Iterable[int]:
    """Uncontrolled times without what differs in turn, from an iteration on: quantiles say all of these, in any
    order.
    """
    turn = message.pattern_ns or (0,)
    for number, value in enumerate(message.natural_ns, message.first):
        if value is not None and number >= since:
            yield max(0, value - turn[number % len(turn)])


def _offsets(starts_ns: Sequence[int | None], at_ns: Sequence[int | None]) -> Iterable[int]:
    return (time for time in _after(starts_ns, at_ns) if time is not None)


def _after(starts_ns: Sequence[int | None], at_ns: Sequence[int | None]) -> list[int | None]:
    """From the start of each iteration; None where either is not known, or it was before."""
    return [
        None if start is None or at is None or at < start else at - start
        for start, at in zip(starts_ns, at_ns, strict=True)
    ]
