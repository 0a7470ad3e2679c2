"""Recordings of the agent, format ``cassini-counters/2``: lines of JSON, each a gzip member of its own.

A member has a checksum and is written at once, so a writer that is killed loses at most the line it was writing, and
whatever was cut off or damaged is noticed. ``docs/agent.md``, section "Recording", has the format;
``cassini_agent.counters`` writes it. Each of the two has its own half, because the agent runs where there is no NumPy,
and this package where there is no agent.
"""

from __future__ import annotations

import json
import zlib
from array import array
from itertools import accumulate
from typing import Any

from ....errors import InputError
from ..samples import BREAK, Channel, Group, Recording, Samples

__all__ = ["MAGIC", "read_recorded"]

MAGIC = b"\x1f\x8b"
"""Of gzip."""

FORMAT = "cassini-counters/2"

_MOST_BYTES = 1 << 24  # of a line
_PART_BYTES = 1 << 16
_MOST_CHANNELS = 1024
_FASTEST_GBPS = 1e6


def read_recorded(name: str, data: bytes) -> Recording:
    """Read the whole of a file; linear in its size.

    Raises
    ------
    InputError
        Its header is cut off or damaged. Damage after the header is not an error: what comes before it is given, and
        :attr:`Recording.problem` says where it is.
    """
    try:
        line, at = _next_line(data, 0)
        groups, about = _header(line)
    except _DamageError as damage:
        raise InputError(f"{name}: {damage}") from None
    columns = [[array("q") for _ in range(1 + len(group.channels))] for group in groups]
    ended = problem = None
    while at < len(data) and problem is None:
        try:
            line, end = _next_line(data, at)
            if "columns" in line:
                _append(columns, line)
            elif "ended" in line:
                ended = str(line["ended"])
            at = end  # Lines of other kinds are for later versions, and skipped.
        except _DamageError as damage:
            problem = f"{damage}; the last {len(data) - at} bytes were left out"
    samples = tuple(Samples(group, parts[0], tuple(parts[1:])) for group, parts in zip(groups, columns, strict=True))
    return Recording(name, about, samples, ended, problem)


class _DamageError(Exception):
    """A line that cannot be used."""


def _next_line(data: bytes, at: int) -> tuple[dict[str, Any], int]:
    """The line whose member begins at ``at``, and where that ends."""
    unpacker = zlib.decompressobj(wbits=31)
    text, begin = b"", at
    try:
        while not unpacker.eof:
            part = data[at : at + _PART_BYTES]
            if not part:
                raise _DamageError(f"the recording ends inside a line, at byte {at}")
            text += unpacker.decompress(part, _MOST_BYTES + 1 - len(text))
            if len(text) > _MOST_BYTES:
                raise _DamageError(f"damaged line at byte {begin}: longer than {_MOST_BYTES} bytes")
            at += len(part) - len(unpacker.unused_data)
        line = json.loads(text)
    except zlib.error:
        raise _DamageError(
            f"damaged line at byte {begin}: it cannot be unpacked, or its checksum does not match"
        ) from None
    except (ValueError, RecursionError):
        raise _DamageError(f"damaged line at byte {begin}: it is not JSON") from None
    if not isinstance(line, dict):
        raise _DamageError(f"damaged line at byte {begin}: it is no object")
    return line, at


def _header(header: dict[str, Any]) -> tuple[list[Group], dict[str, Any]]:
    if header.get("format") != FORMAT:
        raise _DamageError(f"expected format {FORMAT!r} in the header, got {header.get('format')!r}"[:200])
    try:
        groups = [
            Group(int(group["interval_ns"]), tuple(_channel(one) for one in group["channels"]))
            for group in header["groups"]
        ]
        about = dict(header["about"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _DamageError("its header lacks a key, or a value there has the wrong type") from None
    if len(groups) > 256 or any(one.interval_ns < 1 or len(one.channels) > _MOST_CHANNELS for one in groups):
        raise _DamageError("a value in its header is out of range")
    return groups, about


def _channel(entry: dict[str, Any]) -> Channel:
    gbps = entry.get("gbps")
    if not isinstance(gbps, (int, float)) or not 0 < gbps < _FASTEST_GBPS:
        gbps = None
    device, name, unit = str(entry["device"]), str(entry["name"]), str(entry["unit"])
    return Channel(device, name, unit, entry["absent"] is True, gbps=gbps)


def _append(columns: list[list[array[int]]], line: dict[str, Any]) -> None:
    """Take the rows of a line: of each column its first value, and then how much each is above the one before."""
    try:
        kept = dict(enumerate(columns))[line["group"]]
        parts = [array("q", accumulate(one)) for one in line["columns"]]
        if len(parts) != len(kept) or any(len(one) != len(parts[0]) or min(one) < BREAK for one in parts[1:]):
            raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _DamageError("a line that does not hold rows of one of its groups") from None
    for column, part in zip(kept, parts, strict=True):
        column.extend(part)
