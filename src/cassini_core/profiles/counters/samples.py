"""What a recording of counters holds, wherever it comes from. Unknown is not zero: both have a value of their own."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["BREAK", "MISSING", "Channel", "Group", "Recording", "Samples"]

MISSING = -1
"""No value at this time; the next one continues the total, so what was counted meanwhile is not lost."""

BREAK = -2
"""The total goes on from here, but what was counted since the value before is not known."""


class Channel(NamedTuple):
    """One column of samples.

    Attributes
    ----------
    device : str
    name : str
        ``tx_bytes``, ``rx_bytes``, ...
    unit : str
    absent : bool
        The device had no such counter when recording began.
    refresh_ms : int
        The source hands out the same value for so long; 0: not known to.
    gbps : float or None
        What the device's link carries, Gbit/s; None: not known.
    """

    device: str
    name: str
    unit: str
    absent: bool = False
    refresh_ms: int = 0
    gbps: float | None = None


class Group(NamedTuple):
    """Channels that were read together, every ``interval_ns``."""

    interval_ns: int
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one group.

    Attributes
    ----------
    group : Group
    times_ns : array of int64, [rows]
        Of one clock, which one depends on the source: the agent's is the host's monotonic one.
    values : tuple of array of int64, [channels][rows]
        Totals since the start; ``MISSING`` and ``BREAK`` as said above.
    """

    group: Group
    times_ns: array[int]
    values: tuple[array[int], ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """What a recording holds.

    Attributes
    ----------
    path : str
    about : dict
        What the writer says about host and job.
    samples : tuple of Samples
        One per group.
    ended : str or None
        Why the writer stopped; None if it did not get to say so (killed, or still writing).
    problem : str or None
        Where the file is cut off or damaged; what comes before is sound, what comes after was not read.
    choose : str or None
        Why the devices that carry the job must be named; None where it is right to add up all of them.
    """

    path: str
    about: dict[str, Any]
    samples: tuple[Samples, ...]
    ended: str | None
    problem: str | None
    choose: str | None = None
