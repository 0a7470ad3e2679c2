"""What a daemon knows of a job (``JobStatus``), as the scheduler's side reads it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low

from ..control.change import Change
from ..schedule import Schedule

__all__ = ["CountersSay", "JobStatus", "Recent"]

Times = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Recent:
    """The last iterations, oldest first: their uncontrolled times; when in each its communication began and ended."""

    natural_ns: Times = ()
    communication_start_ns: Times = ()
    communication_end_ns: Times = ()

    @property
    def rows(self) -> list[tuple[int | None, int | None, int | None]]:
        """One per iteration."""
        return list(zip(self.natural_ns, self.communication_start_ns, self.communication_end_ns, strict=False))


@dataclass(frozen=True, slots=True)
class CountersSay:
    """What the counters of its host say about the starts of communication that a job reports."""

    says: str
    reason: str
    offset_ns: int | None = None
    spread_ns: int | None = None


@dataclass(frozen=True, slots=True)
class JobStatus:
    """docs/agent.md's ``JobStatus``, without what is for people alone; what is not known is None or empty.

    Keys and types are those of the JSON, so msgspec makes it of an answer.

    Attributes
    ----------
    job, state : str
    version : int
        Of the newest command the daemon has; 0 for none.
    followed : int
        Of the schedule whose grid the errors are from; 0 for none.
    schedule : Schedule or None
        What the daemon has, on the coordinator's clock.
    connected : bool
    world_size : int
        Its ranks.
    iterations : int
        Counted from the start of the job.
    iteration_ns : int or None
        Robust uncontrolled iteration time.
    jitter_ns : tuple of int
        Quantiles of uncontrolled times minus that.
    errors_ns : tuple of int
        The last phase errors on the grid that is followed, oldest first.
    place_ns, place_at_ns : int or None
        The error of the iteration that is under way, and when it began: on the host's monotonic clock as it comes from
        a daemon, on the coordinator's when a component is decided about.
    pattern_ns : tuple of int
        By how much its iterations differ in turn; the uncontrolled times are without that.
    recent : Recent
    communication_start_ns, communication_end_ns : int or None
        Usual start and end of communication in an iteration, as the job or the counters of its host show them.
    delay_total_ns, adjustments : int
        What the job has waited since it began, and how often for its place.
    error_ns, error_spread_ns : int or None
        Median of the last phase errors, and their distance from it.
    note : str or None
        Why its state is what it is.
    counters_say : CountersSay or None
    changed : Change or None
        What the job last found to be its uncontrolled iteration time.
    """

    job: str
    state: str
    version: int = 0
    followed: int = 0
    schedule: Schedule | None = None
    connected: bool = True
    world_size: int = 1
    iterations: int = 0
    iteration_ns: int | None = None
    jitter_ns: tuple[int, ...] = ()
    errors_ns: tuple[int, ...] = ()
    place_ns: int | None = None
    place_at_ns: int | None = None
    pattern_ns: tuple[int, ...] = ()
    recent: Recent = Recent()
    communication_start_ns: int | None = None
    communication_end_ns: int | None = None
    delay_total_ns: int = 0
    adjustments: int = 0
    error_ns: int | None = None
    error_spread_ns: int | None = None
    note: str | None = None
    counters_say: CountersSay | None = None
    changed: Change | None = None

    @property
    def rests_ns(self) -> list[tuple[int, int]]:
        """Of the last iterations, oldest first: from its start to that of its communication, and from there to its end.

        Contention makes only the second longer.
        """
        return [
            (start, whole - start)
            for whole, start, _ in self.recent.rows
            if whole is not None and start is not None and 0 <= start <= whole
        ]

    @property
    def sends_ns(self) -> int:
        """From the start of an iteration to that of its communication, as a rule; 0 where the job does not say."""
        rests = self.rests_ns
        return median_low([start for start, _ in rests]) if rests else 0

    @property
    def communication_ns(self) -> tuple[int, int] | None:
        """Usual start and end of communication in an iteration, if both are known."""
        begin, end = self.communication_start_ns, self.communication_end_ns
        return None if begin is None or end is None else (begin, end)

    @property
    def sending_ns(self) -> tuple[int, int | None]:
        """From the start of an iteration to the first start and to the last end of its communication, as a rule.

        None where it is not known when it ends; from 0 on where nothing is known.
        """
        return self.communication_ns or (self.sends_ns, None)

    @property
    def contradicted(self) -> str:
        """What the counters of its host say against the starts of communication that it reports; empty if nothing."""
        say = self.counters_say
        return say.reason if say is not None and say.says == "contradict" else ""

    @property
    def contradicted_ns(self) -> int:
        """By how far apart they are at least."""
        say = self.counters_say
        return max(0, abs(say.offset_ns or 0) - (say.spread_ns or 0)) if say is not None and self.contradicted else 0
