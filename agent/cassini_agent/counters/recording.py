"""Reading recordings of counters, format ``cassini-counters/1``.

A file is a magic word and blocks; each block has a checksum and is written at once, so a writer that is killed loses at
most the block it was writing, and whatever was cut off or damaged is noticed. ``docs/agent.md``, section "Recording",
has the format to the byte.
"""

from __future__ import annotations

import json
import os
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .blocks import CHECKSUM, FORMAT, HEAD, MAGIC, TIME_UNIT_NS, Group
from .sources import Channel
from .unwrap import BREAK, MISSING
from .varints import read_varints, unzigzag

__all__ = ["Recording", "RecordingError", "Samples", "read_recording"]

_MOST_PAYLOAD = 1 << 24
_MOST_CHANNELS = 1024
_PREFIX = HEAD.size + CHECKSUM.size


class RecordingError(ValueError):
    """The file is not a recording, or cannot be read at all; the message says what was expected and what came."""


@dataclass(frozen=True, slots=True)
class Samples:
    """What was recorded of a group.

    Attributes
    ----------
    group : Group
    times_ns : array of int64, [rows]
        Monotonic clock of the host, to a microsecond.
    values : tuple of array of int64, [channels][rows]
        Totals since the start, or gauges; ``MISSING`` (-1) and ``BREAK`` (-2) as in :mod:`.unwrap`.
    """

    group: Group
    times_ns: array[int]
    values: tuple[array[int], ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole file.

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
    """

    path: str
    about: dict[str, Any]
    samples: tuple[Samples, ...]
    ended: str | None
    problem: str | None


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read a whole file; linear in its size.

    Raises
    ------
    RecordingError
        The file cannot be opened, is no recording, or its header is damaged. Damage after the header is not an error:
        what comes before it is given, and :attr:`Recording.problem` says where it is.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise RecordingError(f"{name}: cannot read the file: {error.strerror or error}") from None
    if data[: len(MAGIC)] != MAGIC:
        if data and MAGIC.startswith(data):
            raise RecordingError(f"{name}: the recording ends after {len(data)} bytes, before its header")
        shown = f"{data[:12]!r}" if data else "an empty file"
        raise RecordingError(f"{name}: expected a recording of counters (it begins with {MAGIC!r}), got {shown}")
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
            raise RecordingError(f"{self._name}: {damage}") from None
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
    return Channel(str(entry["device"]), str(entry["name"]), str(entry["unit"]), entry["gauge"] is True)


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
    numbers = read_varints(packed, rows * width)
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
        now = expected + unzigzag(number)
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
            last += unzigzag(number - 2)
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
