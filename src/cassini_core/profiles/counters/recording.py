"""Reading recordings of counters, in whichever of the known formats: :func:`read_recording`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from ...errors import InputError
from .samples import BREAK, MISSING, Channel, Group, Recording, Samples
from .sources.csv_table import read_csv
from .sources.prometheus import read_query_range, read_text_format
from .sources.rdma_statistic import read_rdma_statistic
from .sources.recorded import MAGIC, read_recorded

__all__ = ["BREAK", "MISSING", "Channel", "Group", "Recording", "Samples", "read_recording"]

MAX_TEXT_BYTES = 1 << 28
_HEAD_BYTES = 4096
_PART_BYTES = 1 << 20


class _Source(NamedTuple):
    """A format, by what it says near its beginning; which name a file has does not matter."""

    name: str
    begins: re.Pattern[str]
    read: Callable[[str, bytes], Recording]


_SOURCES = (
    _Source("a response of Prometheus' query_range", re.compile(r'\A\s*\{\s*"(?:status|data)"\s*:'), read_query_range),
    _Source(
        "outputs of rdma -j statistic",
        re.compile(
            r'\A\s*(?:[^\s{}\[\]]+\s+)?(?:\[\s*(?:\]|\{\s*"if(?:name|index)")|\{\s*"(?:time\w*|statistic)"\s*:)'
        ),
        read_rdma_statistic,
    ),
    _Source(
        "Prometheus' text format", re.compile(r"(?m)^(?:# (?:HELP|TYPE) |node_\w+\{|\{__name__=)"), read_text_format
    ),
    _Source("a CSV table", re.compile(r'\A\s*"?time\w*"?\s*,'), read_csv),
)
"""The first that fits reads the file."""


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read a whole file; linear in its size.

    Raises
    ------
    InputError
        The file cannot be opened, is in no format known, or there is a fault in it; of a line that is no more than cut
        off at the end, and of damage after the header of a recording of the agent, :attr:`Recording.problem` tells.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read(_HEAD_BYTES)
            recorded = data.startswith(MAGIC) or (data != b"" and MAGIC.startswith(data))
            data += file.read() if recorded else b"".join(_parts(file))
    except OSError as error:
        raise InputError(f"{name}: cannot read the file: {error.strerror or error}") from None
    if recorded:
        return read_recorded(name, data)
    if len(data) > MAX_TEXT_BYTES:
        raise InputError(f"{name}: expected at most {MAX_TEXT_BYTES} bytes of text, got more")
    head = data[:_HEAD_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    for source in _SOURCES:
        if source.begins.search(head):
            return source.read(name, data)
    shown = f"{data[:12]!r}" if data else "an empty file"
    known = ", ".join(source.name for source in _SOURCES)
    raise InputError(f"{name}: expected a recording of counters (the agent's, which is gzip), or {known}; got {shown}")


def _parts(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, to a little more than may be read; asked for at once, so much memory would be set aside."""
    left = MAX_TEXT_BYTES
    while left >= 0 and (part := file.read(_PART_BYTES)):
        left -= len(part)
        yield part
