"""Recordings of the agent, format ``cassini-counters/1``.

A file is a magic word and blocks; each block has a checksum and is written at once, so a writer that is killed loses at
most the block it was writing, and whatever was cut off or damaged is noticed. ``docs/agent.md``, section "Recording",
has the format to the byte; ``cassini_agent.counters`` writes it. Each of the two has its own half, because
the agent runs where there is no NumPy, and this package where there is no agent.
"""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from collections.abc import Sequence
from typing import Any

from ....errors import InputError
from ..samples import BREAK, MISSING, Channel, Group, Recording, Samples

__all__ = ["MAGIC", "read_recorded"]

MAGIC = b"CASCNT1\n"
FORMAT = "cassini-counters/1"
TIME_UNIT_NS = 1000
HEAD = struct.Struct("<cBHI")
"""Kind, group, rows, length of the payload; then comes the CRC-32 of this and the payload."""

CHECKSUM = struct.Struct("<I")

_MOST_PAYLOAD = 1 << 24
_MOST_CHANNELS = 1024
_LONGEST_REFRESH_MS = 1 << 20
_PREFIX = HEAD.size + CHECKSUM.size


def read_recorded(name: str, data: bytes) -> Recording:
    """Read the whole of a file; linear in its size.

    Raises
    ------
    InputError
        Its header is cut off or damaged. Damage after the header is not an error: what comes before it is given, and
        :attr:`Recording.problem` says where it is.
    """
    if len(data) < len(MAGIC):
        raise InputError(f"{name}: the recording ends after {len(data)} bytes, before its header")
    return _Reader(name, data).read()


class _DamageError(Exception):
    """A block that cannot be used."""


class _Reader:
    def __init__(self, name: str, data: bytes) -> None:
        self._name, self._data, self._at = name, data, len(MAGIC)

    def read(self) -> Recording:
        try:
            kind, _, _, payload = self._next()
            if kind != b"H":
                raise _DamageError("its first block is not the header")
            groups, about = _header(payload)
        except _DamageError as damage:
            raise InputError(f"{self._name}: {damage}") from None
        columns = [[array("q") for _ in range(1 + len(group.channels))] for group in groups]
        ended = problem = None
        while self._at < len(self._data):
            begin = self._at
            try:
                kind, number, rows, payload = self._next()
                if kind == b"S":
                    _append(groups, columns, number, rows, payload)
                elif kind == b"E":
                    ended = _reason(payload)
                # Blocks of other kinds are for later versions, and skipped.
            except _DamageError as damage:
                problem = f"{damage}; the last {len(self._data) - begin} bytes were left out"
                break
        samples = tuple(
            Samples(group, parts[0], tuple(parts[1:])) for group, parts in zip(groups, columns, strict=True)
        )
        return Recording(self._name, about, samples, ended, problem)

    def _next(self) -> tuple[bytes, int, int, bytes]:
        data, at = self._data, self._at
        if len(data) - at < _PREFIX:
            raise _DamageError(f"the recording ends inside a block, at byte {len(data)}")
        kind, group, rows, length = HEAD.unpack_from(data, at)
        (checksum,) = CHECKSUM.unpack_from(data, at + HEAD.size)
        begin = at + _PREFIX
        if length > _MOST_PAYLOAD:
            raise _DamageError(f"damaged block at byte {at}: a length of {length} bytes")
        if len(data) - begin < length:
            raise _DamageError(f"the recording ends inside a block, at byte {len(data)}")
        payload = data[begin : begin + length]
        if zlib.crc32(payload, zlib.crc32(data[at : at + HEAD.size])) != checksum:
            raise _DamageError(f"damaged block at byte {at}: its checksum does not match")
        self._at = begin + length
        return kind, group, rows, payload


def _header(payload: bytes) -> tuple[list[Group], dict[str, Any]]:
    try:
        header = json.loads(payload)
    except (ValueError, RecursionError):
        raise _DamageError("its header is not JSON") from None
    found = header.get("format") if isinstance(header, dict) else None
    if found != FORMAT:
        raise _DamageError(f"expected format {FORMAT!r} in the header, got {found!r}")
    try:
        groups = [
            Group(int(group["interval_ns"]), tuple(_channel(one) for one in group["channels"]))
            for group in header["groups"]
        ]
        about = dict(header["about"])
        fits = header["time_unit_ns"] == TIME_UNIT_NS and all(
            group.interval_ns > 0 and len(group.channels) <= _MOST_CHANNELS for group in groups
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _DamageError("its header lacks a key, or a value there has the wrong type") from None
    if not fits or len(groups) > 256:
        raise _DamageError("a value in its header is out of range")
    return groups, about


def _channel(entry: dict[str, Any]) -> Channel:
    device, name, unit = str(entry["device"]), str(entry["name"]), str(entry["unit"])
    refresh_ms = entry.get("refresh_ms")  # This one and "absent" are younger than the format.
    if type(refresh_ms) is not int or not 0 < refresh_ms < _LONGEST_REFRESH_MS:
        refresh_ms = 0
    return Channel(device, name, unit, entry["gauge"] is True, entry.get("absent") is True, refresh_ms)


def _append(groups: list[Group], columns: list[list[array[int]]], number: int, rows: int, payload: bytes) -> None:
    if number >= len(groups):
        raise _DamageError(f"a block of group {number}, of {len(groups)}")
    width = 1 + len(groups[number].channels)
    # Ten bytes hold the largest number there may be; a block that unpacks to more is not unpacked.
    most = min(10 * rows * width, _MOST_PAYLOAD)
    try:
        packed = zlib.decompressobj().decompress(payload, most + 1)
    except zlib.error:
        raise _DamageError("a block that cannot be unpacked") from None
    numbers = _varints(packed, rows * width)
    if numbers is None:
        raise _DamageError(f"a block that does not hold {rows} rows")
    step = groups[number].interval_ns // TIME_UNIT_NS
    decoded = [_times(numbers[:rows], step)]
    decoded += [_values(numbers[column * rows : (column + 1) * rows]) for column in range(1, width)]
    for column, part in zip(columns[number], decoded, strict=True):
        column.extend(part)


def _times(numbers: Sequence[int], step: int) -> array[int]:
    times = []
    expected = 0
    for number in numbers:
        now = expected + _unzigzag(number)
        times.append(now * TIME_UNIT_NS)
        expected = now + step
    return _int64(times)


def _values(numbers: Sequence[int]) -> array[int]:
    values = []
    last = 0
    for number in numbers:
        if number < 2:
            values.append(BREAK if number else MISSING)
        else:
            last += _unzigzag(number - 2)
            values.append(last)
    return _int64(values)


def _int64(numbers: Sequence[int]) -> array[int]:
    try:
        return array("q", numbers)
    except OverflowError:
        raise _DamageError("a block with a number of more than 64 bits") from None


def _reason(payload: bytes) -> str:
    try:
        return str(json.loads(payload)["reason"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _DamageError("a last block that gives no reason") from None


def _varints(data: bytes, count: int) -> list[int] | None:
    """The ``count`` LEB128 numbers that ``data`` holds; None if it holds more or fewer, or one of more than 70 bits."""
    numbers = []
    number = shift = 0
    for byte in data:
        if byte & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                return None
        else:
            numbers.append(number | byte << shift)
            number = shift = 0
    return numbers if not shift and len(numbers) == count else None


def _unzigzag(number: int) -> int:
    """0, 1, 2, 3, ... to 0, -1, 1, -2, ..."""
    return number >> 1 if not number & 1 else ~(number >> 1)
