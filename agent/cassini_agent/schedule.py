"""A job's schedule, ``cassini-schedule/1``: which grid its iterations start on, and how far they may stray from it.

Imported into training processes: standard library only.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .strict_json import load_object, shown

__all__ = ["DAY_NS", "FORMAT", "MS_NS", "SECOND_NS", "OutOfBoundsError", "Schedule", "ScheduleError"]

FORMAT = "cassini-schedule/1"

MS_NS = 1_000_000
SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS

MAX_VERSION = 2**53
MAX_ITERATION_NS = 2**40
MAX_ID_CHARACTERS = 256
MAX_TIME_NS = 2**62
"""Instants may be negative: a host that booted an hour ago puts an epoch of yesterday before its clock's zero."""

_DEAD_BAND_DIVISOR = 20  # 5 % of the iteration time, as in the paper (5.7)


class ScheduleError(ValueError):
    """Not a schedule, or one out of bounds: says which key, what was expected, and what came."""


class OutOfBoundsError(ScheduleError):
    """Keys and types are right."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Iteration ``k`` starts no earlier than ``epoch_ns + shift_ns + k * pace_ns``.

    Attributes
    ----------
    job, component : str
        1 to 256 characters. Jobs of one component share an epoch; only their relative phase matters.
    version : int
        1 to 2^53; grows with each schedule of the job.
    epoch_ns : int
        Where the grid of the component begins, on the coordinator's clock; on the host's monotonic clock in what the
        daemon sends to the job.
    pace_ns : int
        Iteration time to hold, ``iteration_ns`` to 1.5 ``iteration_ns``.
    shift_ns : int
        The job's delay on the grid, 0 to ``pace_ns``, exclusive.
    iteration_ns : int
        Uncontrolled iteration time, without waiting, 1 ms to 2^40 ns.
    hold_ns : int
        How far all jobs may move at once, 0 to ``pace_ns / 2``; 0: nothing can be held.
    slack_ns : int
        How far this job alone may move, ``hold_ns`` to ``pace_ns / 2``.
    gain_ns : int
        What interleaving is expected to save per iteration, 0 to ``iteration_ns``; 0: not known.
    expires_ns : int
        From then on the job runs free; on the clock of ``epoch_ns``.
    secret_sha256 : str, optional
        SHA-256, in hexadecimal, of the secret that the job shows to the daemon (``dispatch.JobSecret``); None: the
        daemon goes by the job's user.

    Raises
    ------
    ScheduleError
        A value out of bounds or of another type. That ``epoch_ns`` and ``expires_ns`` are within a day of now is for
        ``check_near``: a schedule knows no clock.
    """

    job: str
    component: str
    version: int
    epoch_ns: int
    pace_ns: int
    shift_ns: int
    iteration_ns: int
    hold_ns: int
    slack_ns: int
    gain_ns: int
    expires_ns: int
    secret_sha256: str | None = None

    def __post_init__(self) -> None:
        _check_id(self.job, "job")
        _check_id(self.component, "component")
        _check_int(self.version, "version", 1, MAX_VERSION)
        _check_int(self.epoch_ns, "epoch_ns", -MAX_TIME_NS, MAX_TIME_NS)
        _check_int(self.iteration_ns, "iteration_ns", MS_NS, MAX_ITERATION_NS)
        _check_int(self.pace_ns, "pace_ns", self.iteration_ns, self.iteration_ns * 3 // 2)
        _check_int(self.shift_ns, "shift_ns", 0, self.pace_ns - 1)
        _check_int(self.hold_ns, "hold_ns", 0, self.pace_ns // 2)
        _check_int(self.slack_ns, "slack_ns", self.hold_ns, self.pace_ns // 2)
        _check_int(self.gain_ns, "gain_ns", 0, self.iteration_ns)
        _check_int(self.expires_ns, "expires_ns", -MAX_TIME_NS, MAX_TIME_NS)
        _check_hash(self.secret_sha256)

    @property
    def dead_band_ns(self) -> int:
        """Deviations up to this are left to the pace: 5 % of the iteration time, or the hold if that is less."""
        return min(self.iteration_ns // _DEAD_BAND_DIVISOR, self.hold_ns)

    def check_near(self, now_ns: int) -> None:
        """Raise ScheduleError unless ``epoch_ns`` and ``expires_ns`` are within a day of ``now_ns`` on their clock."""
        for key in ("epoch_ns", "expires_ns"):
            _check_int(getattr(self, key), key, now_ns - DAY_NS, now_ns + DAY_NS)

    def to_mapping(self) -> dict[str, Any]:
        """The keys of the format, ``format`` first."""
        mapping = {"format": FORMAT, **dataclasses.asdict(self)}
        if self.secret_sha256 is None:  # daemons of before know no such key
            del mapping["secret_sha256"]
        return mapping

    def to_json(self) -> str:
        return json.dumps(self.to_mapping(), separators=(",", ":"))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Schedule:
        """From the keys of the format; unknown and missing keys are errors, but ``secret_sha256`` may be missing."""
        if mapping.get("format", FORMAT) != FORMAT:
            raise ScheduleError(f"schedule.format: expected {FORMAT!r}, got {shown(mapping['format'])}")
        keys = _KEYS | {"format"}
        if unknown := [key for key in mapping if key not in keys]:
            raise ScheduleError(f"schedule: expected the keys of {FORMAT}, got {shown(unknown[0])}")
        if missing := sorted(keys - mapping.keys() - {"secret_sha256"}):
            raise ScheduleError(f"schedule.{missing[0]}: expected a value, got none")
        return cls(**{key: value for key, value in mapping.items() if key != "format"})

    @classmethod
    def from_json(cls, text: str | bytes) -> Schedule:
        """From JSON text; a key that comes twice is an error too."""
        try:
            mapping = load_object(text, "schedule")
        except ScheduleError:
            raise
        except ValueError as error:
            raise ScheduleError(str(error)) from None
        return cls.from_mapping(mapping)


_HASH = re.compile("[0-9a-f]{64}")

_KEYS = frozenset(field.name for field in dataclasses.fields(Schedule))


def _check_int(value: object, key: str, low: int, high: int) -> None:
    if type(value) is not int:  # True is an int too, and 1.0 equals one
        raise ScheduleError(f"schedule.{key}: expected a whole number, got {shown(value)}")
    if not low <= value <= high:
        raise OutOfBoundsError(f"schedule.{key}: expected {low} to {high}, got {shown(value)}")


def _check_hash(value: object) -> None:
    if value is not None and not (isinstance(value, str) and _HASH.fullmatch(value)):
        raise ScheduleError(f"schedule.secret_sha256: expected 64 digits 0 to 9 and a to f, got {shown(value)}")


def _check_id(value: object, key: str) -> None:
    if not isinstance(value, str):
        raise ScheduleError(f"schedule.{key}: expected text, got {shown(value)}")
    if not 1 <= len(value) <= MAX_ID_CHARACTERS:
        raise OutOfBoundsError(f"schedule.{key}: expected 1 to {MAX_ID_CHARACTERS} characters, got {len(value)}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ScheduleError(f"schedule.{key}: expected Unicode text, got a lone surrogate in {shown(value)}")
