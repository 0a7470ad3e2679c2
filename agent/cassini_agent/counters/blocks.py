"""The blocks of a recording, format ``cassini-counters/1``: what the writer makes.

``docs/agent.md``, section "Recording", has the format to the byte.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .ring import Rows
from .sources import Channel
from .unwrap import MISSING
from .varints import write_varints, zigzag

__all__ = ["Group", "end_block", "header_block", "sample_block"]

MAGIC = b"CASCNT1\n"
FORMAT = "cassini-counters/1"
TIME_UNIT_NS = 1000
MOST_ROWS = 4096  # a killed writer loses at most one block
HEAD = struct.Struct("<cBHI")
"""Kind, group, rows, length of the payload; then comes the CRC-32 of this and the payload."""
CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Group:
    """Channels that were read together, every ``interval_ns``."""

    interval_ns: int
    channels: tuple[Channel, ...]


def header_block(groups: Sequence[Group], about: dict[str, Any]) -> bytes:
    """The beginning of a file: magic word and header."""
    listed = [
        {
            "interval_ns": group.interval_ns,
            "channels": [asdict(one) for one in group.channels],
        }
        for group in groups
    ]
    header = {"format": FORMAT, "time_unit_ns": TIME_UNIT_NS, "clock": "monotonic", "groups": listed, "about": about}
    return MAGIC + _block(b"H", 0, 0, json.dumps(header, separators=(",", ":")).encode())


def sample_block(group: int, interval_ns: int, rows: Rows) -> bytes:
    """One block of 1 to 65,535 rows of a group (the recorder writes at most ``MOST_ROWS``).

    Cost: some 0.3 µs per value.
    """
    columns = list(zip(*rows, strict=True))
    numbers: list[int] = []
    step = interval_ns // TIME_UNIT_NS
    last = expected = 0
    for time_ns in columns[0]:
        last = time_ns // TIME_UNIT_NS
        numbers.append(zigzag(last - expected))
        expected = last + step
    for column in columns[1:]:
        last = 0
        for value in column:
            if value < 0:
                numbers.append(0 if value == MISSING else 1)
            else:
                numbers.append(2 + zigzag(value - last))
                last = value
    return _block(b"S", group, len(rows), zlib.compress(write_varints(numbers), 1))


def end_block(reason: str) -> bytes:
    """The last block: why recording ended."""
    return _block(b"E", 0, 0, json.dumps({"reason": reason}).encode())


def _block(kind: bytes, group: int, rows: int, payload: bytes) -> bytes:
    head = HEAD.pack(kind, group, rows, len(payload))
    return head + CHECKSUM.pack(zlib.crc32(payload, zlib.crc32(head))) + payload
