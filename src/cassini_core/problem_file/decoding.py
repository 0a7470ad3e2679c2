"""Bytes of a file to a wire type, strictly, and the errors that name file and place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any, BinaryIO, TypeVar

import msgspec

from ..errors import InputError, refusal, shown
from .faults import explain

__all__ = [
    "MAX_FILE_BYTES",
    "FileWire",
    "count_keys_at_most",
    "decode",
    "file_error",
    "format_of",
    "is_link_file",
    "read_file",
    "within",
]

MAX_FILE_BYTES = 2**30
"""Files beyond 1 GiB are refused, so that a device or a stream without end is an error and not a full memory."""

_CHUNK_BYTES = 2**22


class FileWire(msgspec.Struct, forbid_unknown_fields=True):
    """What the shapes of whole files have in common."""

    def count_keys(self) -> int:
        """Keys of all objects together, which must all differ within their object."""
        raise NotImplementedError


AnyFile = TypeVar("AnyFile", bound=FileWire)


def read_file(path: str | os.PathLike[str], stream: BinaryIO | None = None) -> tuple[bytes, str]:
    """All bytes of a file, or of an open stream that ``path`` only names; and the name fit for a message."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise refusal("", "path", "a str or path-like", shown(path)) from None
    source = name if name.isprintable() else shown(name)
    chunks: list[bytes] = []
    left = MAX_FILE_BYTES + 1
    try:
        with open(name, "rb") if stream is None else nullcontext(stream) as opened:
            while left > 0 and (chunk := opened.read(min(left, _CHUNK_BYTES))):
                chunks.append(chunk)
                left -= len(chunk)
    except (OSError, ValueError) as error:
        came = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise file_error(source, "", f"expected a readable file, got the error {came!r}") from None
    if left <= 0:
        raise file_error(source, "", f"expected at most {MAX_FILE_BYTES} bytes, got more")
    return b"".join(chunks), source


class _Kind(msgspec.Struct):
    """Of a file no more than its format, and a key that only link files have."""

    format: Any = None
    capacity_gbps: Any = None


def format_of(data: bytes) -> Any:
    """What a JSON object says of its format; None where it says nothing, or is none. About 2 ns a byte."""
    try:
        return msgspec.json.decode(data, type=_Kind).format
    except (ValueError, RecursionError):
        return None


def is_link_file(data: bytes) -> bool:
    """Whether a file is meant as one link: it says so, or says nothing and has a capacity. About 2 ns a byte."""
    try:
        found = msgspec.json.decode(data, type=_Kind)
    except (ValueError, RecursionError):
        return False
    return found.format == "cassini-link/1" or (found.format is None and found.capacity_gbps is not None)


def decode(data: bytes, kind: type[AnyFile], source: str) -> AnyFile:
    try:
        wire = msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        place, reason = explain(data, kind) or ("", f"expected a valid file, got the error {shown(str(error))}")
    else:
        if count_keys_at_most(data) == wire.count_keys():
            return wire
        # More colons than keys: a repeated key, or just ids that contain colons.
        fault = explain(data, kind)
        if fault is None:
            return wire
        place, reason = fault
    raise file_error(source, place, reason) from None


def count_keys_at_most(data: bytes) -> int:
    """At least the number of keys of all objects, repeated ones too.

    The decoder drops all but the last of equal keys, so a repeated key shows as fewer keys decoded than written. The
    colon after a key follows its closing quote or white space; such pairs of bytes inside of strings add to the count.
    """
    return sum(data.count(before + b":") for before in (b'"', b" ", b"\t", b"\n", b"\r"))


def file_error(source: str, place: str, reason: str) -> InputError:
    return InputError(": ".join(part for part in (source, place, reason) if part), place=place, reason=reason)


@contextmanager
def within(source: str, place: str, renamed: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Tell an error of ``model`` by its place in the file; ``renamed``: patterns, and what it is called there."""
    try:
        yield
    except InputError as error:
        inner = error.place
        for pattern, name in renamed.items():
            inner = re.sub(pattern, name, inner)
        raise file_error(source, f"{place}.{inner}", error.reason) from None
