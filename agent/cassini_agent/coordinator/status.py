"""What a daemon knows of a job (``JobStatus``), as the coordinator reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from ..control.change import Change
from ..schedule import Schedule

__all__ = ["JobStatus"]

COMMUNICATION = ("communication_start_ns", "communication_end_ns")


@dataclass(frozen=True, slots=True)
class JobStatus:
    """docs/agent.md's ``JobStatus`` as the scheduler's side reads it; what is not known is None or empty.

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
    iterations : int
        Counted from the start of the job.
    iteration_ns : int or None
        Robust natural iteration time.
    jitter_ns : tuple of int
        Quantiles of natural times minus that.
    errors_ns : tuple of int
        The last phase errors on the grid that is followed, oldest first.
    place_ns, place_at_ns : int or None
        The error of the iteration that is under way, and when it began: on the host's monotonic clock as it comes from
        a daemon, on the coordinator's when a component is decided about.
    pattern_ns : tuple of int
        By how much its iterations differ in turn; the natural times are without that.
    rests_ns : tuple of (int, int)
        Of the last iterations, oldest first: from its start to that of its communication, and from there to its end.
        Contention makes only the second longer.
    recent : tuple of (int or None, int or None, int or None)
        The last iterations, oldest first: natural time; from the start of the iteration, the start and the end of its
        communication.
    communication_ns : tuple of (int, int) or None
        Usual start and end of communication in an iteration, as the job or the counters of its host show them.
    delay_total_ns, adjustments : int
        What the job has waited since it began, and how often for its place.
    error_ns, error_spread_ns : int or None
        Median of the last phase errors, and their distance from it.
    note : str
        Why its state is what it is.
    contradicted : str
        What the counters of its host say against the starts of communication that it reports; empty if nothing.
    contradicted_ns : int
        By how far apart they are at least.
    changed : Change or None
        What the job last found to be its natural iteration time.
    """

    job: str
    state: str
    version: int = 0
    followed: int = 0
    schedule: Schedule | None = None
    connected: bool = True
    iterations: int = 0
    iteration_ns: int | None = None
    jitter_ns: tuple[int, ...] = ()
    errors_ns: tuple[int, ...] = ()
    place_ns: int | None = None
    place_at_ns: int | None = None
    pattern_ns: tuple[int, ...] = ()
    rests_ns: tuple[tuple[int, int], ...] = ()
    recent: tuple[tuple[int | None, int | None, int | None], ...] = ()
    communication_ns: tuple[int, int] | None = None
    delay_total_ns: int = 0
    adjustments: int = 0
    error_ns: int | None = None
    error_spread_ns: int | None = None
    note: str = ""
    contradicted: str = ""
    contradicted_ns: int = 0
    changed: Change | None = None

    @property
    def sends_ns(self) -> int:
        """From the start of an iteration to that of its communication, as a rule; 0 where the job does not say."""
        return median_low([start for start, _ in self.rests_ns]) if self.rests_ns else 0

    @property
    def sending_ns(self) -> tuple[int, int | None]:
        """From the start of an iteration to the first start and to the last end of its communication, as a rule.

        None where it is not known when it ends; from 0 on where nothing is known.
        """
        return self.communication_ns or (self.sends_ns, None)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> JobStatus:
        """From a daemon's answer; keys that are not needed here are passed over.

        Raises
        ------
        ValueError
            A value of another type than docs/agent.md says.
        """
        changed = mapping.get("changed")
        if changed is not None and not isinstance(changed, Mapping):
            raise ValueError(f"status.changed: expected an object or null, got {changed!r}"[:200])
        schedule = mapping.get("schedule")
        if schedule is not None and not isinstance(schedule, Mapping):
            raise ValueError(f"status.schedule: expected an object or null, got {schedule!r}"[:200])
        say = mapping.get("counters_say")
        if say is not None and not isinstance(say, Mapping):
            raise ValueError(f"status.counters_say: expected an object or null, got {say!r}"[:200])
        contradicts = say is not None and say.get("says") == "contradict"
        recent = _recent(mapping.get("recent"))
        begins, ends = (_whole(mapping, key) for key in COMMUNICATION)
        return cls(
            job=_text(mapping, "job"),
            state=_text(mapping, "state"),
            version=_whole(mapping, "version") or 0,
            followed=_whole(mapping, "followed") or 0,
            schedule=None if schedule is None else Schedule.from_mapping(schedule),
            connected=mapping.get("connected") is True,
            iterations=_whole(mapping, "iterations") or 0,
            iteration_ns=_whole(mapping, "iteration_ns"),
            jitter_ns=_wholes(mapping, "jitter_ns"),
            errors_ns=_wholes(mapping, "errors_ns"),
            place_ns=_whole(mapping, "place_ns"),
            place_at_ns=_whole(mapping, "place_at_ns"),
            pattern_ns=_wholes(mapping, "pattern_ns"),
            rests_ns=tuple(
                (start, whole - start)
                for whole, start, _ in recent
                if whole is not None and start is not None and 0 <= start <= whole
            ),
            recent=recent,
            communication_ns=None if begins is None or ends is None else (begins, ends),
            delay_total_ns=_whole(mapping, "delay_total_ns") or 0,
            adjustments=_whole(mapping, "adjustments") or 0,
            error_ns=_whole(mapping, "error_ns"),
            error_spread_ns=_whole(mapping, "error_spread_ns"),
            note=_text(mapping, "note") if mapping.get("note") else "",
            contradicted=_text(say, "reason") if contradicts and say is not None else "",
            contradicted_ns=max(0, abs(_whole(say, "offset_ns") or 0) - (_whole(say, "spread_ns") or 0))
            if contradicts and say is not None
            else 0,
            changed=None
            if changed is None
            else Change(
                _whole(changed, "iteration_ns") or 0, _whole(changed, "was_ns") or 0, changed.get("certain") is True
            ),
        )


def _recent(recent: object) -> tuple[tuple[int | None, int | None, int | None], ...]:
    if recent is None:
        return ()
    if not isinstance(recent, Mapping):
        raise ValueError(f"status.recent: expected an object or null, got {recent!r}"[:200])
    natural, starts, ends = (_times(recent, key) for key in ("natural_ns", *COMMUNICATION))
    return tuple(zip(natural, starts, ends, strict=False))


def _times(recent: Mapping[str, Any], key: str) -> list[int | None]:
    values = recent.get(key)
    if not isinstance(values, list):
        raise ValueError(f"status.recent.{key}: expected a list, got {values!r}"[:200])
    return [value if type(value) is int else None for value in values]


def _text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    if not isinstance(value, str):
        raise ValueError(f"status.{key}: expected text, got {value!r}"[:200])
    return value


def _whole(mapping: Mapping[str, Any], key: str) -> int | None:
    value = mapping.get(key)
    if value is not None and type(value) is not int:
        raise ValueError(f"status.{key}: expected a whole number or null, got {value!r}"[:200])
    return value


def _wholes(mapping: Mapping[str, Any], key: str) -> tuple[int, ...]:
    values = mapping.get(key)
    if values is None:
        return ()
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise ValueError(f"status.{key}: expected a list of whole numbers, got {values!r}"[:200])
    return tuple(values)
