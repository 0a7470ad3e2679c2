"""Messages between a job and the daemon, checked as they are read. ``docs/agent.md`` has the format.

Keys that this version does not know are passed over: a container may bring a newer client than the host has a daemon.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import msgspec

from ..schedule import MAX_ID_CHARACTERS, Schedule
from ..strict_json import MAX_BYTES

__all__ = [
    "CLEAR",
    "MAX_BYTES",
    "PROTOCOL",
    "Changed",
    "Hello",
    "Iterations",
    "Message",
    "read_message",
    "refused",
    "to_job",
]

PROTOCOL = 1
MAX_ITERATIONS = 1024
"""Longest list in one message; 16 KiB hold fewer."""

_Instant = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
_Duration = Annotated[int, msgspec.Meta(ge=0, le=2**42)]
_Signed = Annotated[int, msgspec.Meta(ge=-(2**42), le=2**42)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_List = msgspec.Meta(max_length=MAX_ITERATIONS)


class Hello(msgspec.Struct, frozen=True, tag="hello", tag_field="type"):
    """First on each connection: which job, of how many ranks, and its secret, which is never shown again.

    Clients of before say which rank they are too: rank 0 is the job.
    """

    protocol: int
    job: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_CHARACTERS)]
    secret: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    world_size: Annotated[int, msgspec.Meta(ge=1, le=2**24)] = 1
    rank: Annotated[int, msgspec.Meta(ge=0, le=0)] = 0

    def __repr__(self) -> str:
        return f"Hello(job={self.job!r})"


class Iterations(msgspec.Struct, frozen=True, tag="iterations", tag_field="type"):
    """What rank 0 measured; one entry per iteration in each list, null where nothing is known.

    ``version`` is that of the schedule whose grid the errors are from, 0 for none: of one message all are from one.
    ``place_ns`` is the error of the iteration that is under way, which no list has yet, and ``place_at_ns`` when it
    began. ``pattern_ns``: by how much iterations differ in turn, at ``number % len``.
    """

    first: _Count
    start_ns: Annotated[list[_Instant | None], _List]
    natural_ns: Annotated[list[_Duration | None], _List]
    delay_ns: Annotated[list[_Duration | None], _List]
    error_ns: Annotated[list[_Signed | None], _List]
    communication_start_ns: Annotated[list[_Instant | None], _List]
    communication_end_ns: Annotated[list[_Instant | None], _List]
    adjustments: _Count
    delay_total_ns: _Count
    dropped: _Count
    state: Annotated[str, msgspec.Meta(pattern="^(waiting|held|adjusting|unlocked|free|expired)$")]
    note: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    version: _Count = 0
    place_ns: _Signed | None = None
    place_at_ns: _Instant | None = None
    pattern_ns: Annotated[tuple[_Signed, ...], msgspec.Meta(max_length=64)] = ()

    def __post_init__(self) -> None:
        lists = (self.natural_ns, self.delay_ns, self.error_ns, self.communication_start_ns, self.communication_end_ns)
        if any(len(one) != len(self.start_ns) for one in lists):
            raise ValueError("lists: expected one entry per iteration in each")


class Changed(msgspec.Struct, frozen=True, tag="changed", tag_field="type"):
    """The uncontrolled iteration time is another one; ``certain`` where contention cannot have made it so."""

    iteration_ns: _Duration
    was_ns: _Duration
    certain: bool = False


Message = Hello | Iterations | Changed

_decoder = msgspec.json.Decoder(Message)


def read_message(data: bytes | memoryview) -> Message:
    """One message.

    Raises
    ------
    ValueError
        Not one of the messages, or a value out of bounds.
    """
    try:
        message: Message = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return message


def to_job(schedule: Schedule) -> bytes:
    """The message that gives a job its schedule, which is on the host's monotonic clock; without the secret's hash."""
    return _encode({"type": "schedule", **replace(schedule, secret_sha256=None).to_mapping()})


def refused(reason: str) -> bytes:
    return _encode({"type": "refused", "reason": reason})


def _encode(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode(message)


CLEAR = _encode({"type": "clear"})
