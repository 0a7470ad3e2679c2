"""What a daemon knows of a job (``JobStatus``), as the coordinator reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..control.change import Change

__all__ = ["JobStatus"]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The part of docs/agent.md's ``JobStatus`` that decisions are made of; what is not known is None or empty.

    Attributes
    ----------
    job, state : str
    version : int
        Of the schedule the daemon has; 0 for none.
    connected : bool
    iterations : int
        Counted from the start of the job.
    iteration_ns : int or None
        Robust natural iteration time.
    jitter_ns : tuple of int
        Quantiles of natural times minus that.
    errors_ns : tuple of int
        The last phase errors, oldest first.
    changed : Change or None
        What the job last found to be its natural iteration time.
    """

    job: str
    state: str
    version: int = 0
    connected: bool = True
    iterations: int = 0
    iteration_ns: int | None = None
    jitter_ns: tuple[int, ...] = ()
    errors_ns: tuple[int, ...] = ()
    changed: Change | None = None

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
        return cls(
            job=_text(mapping, "job"),
            state=_text(mapping, "state"),
            version=_whole(mapping, "version") or 0,
            connected=mapping.get("connected") is True,
            iterations=_whole(mapping, "iterations") or 0,
            iteration_ns=_whole(mapping, "iteration_ns"),
            jitter_ns=_wholes(mapping, "jitter_ns"),
            errors_ns=_wholes(mapping, "errors_ns"),
            changed=None
            if changed is None
            else Change(_whole(changed, "iteration_ns") or 0, _whole(changed, "was_ns") or 0),
        )


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
