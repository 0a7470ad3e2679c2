"""Input files, and standard input in place of one."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from typing import TypeVar

from ..errors import InputError

__all__ = ["STREAM", "load_input"]

STREAM = "\0"
"""What the argument ``-`` is replaced by before options are parsed. No argument can contain this character."""

STDIN = "standard input"

_CHUNK_BYTES = 2**22

Loaded = TypeVar("Loaded")


def load_input(load: Callable[[str], Loaded], file: str) -> Loaded:
    """``load(file)``, where ``-`` means standard input.

    Raises
    ------
    InputError
        The file cannot be read or its content is wrong; the message begins with the file.
    """
    if file != STREAM:
        return load(file)
    if sys.stdin is None:
        raise InputError(f"{STDIN}: expected a problem, got a closed stream")
    # A copy and not /dev/stdin, which cannot be opened again by every user in every container.
    with tempfile.NamedTemporaryFile(prefix="cassini-") as copy:
        _copy_stdin(copy.write)
        copy.flush()
        try:
            return load(copy.name)
        except InputError as error:
            text = str(error).replace(copy.name, STDIN)
            raise InputError(text, place=error.place, reason=error.reason) from None


def _copy_stdin(write: Callable[[bytes], int]) -> None:
    """Copy as much as a loader would look at: it refuses what is longer, and a stream may have no end."""
    from ..problem_file.reader import MAX_FILE_BYTES

    left = MAX_FILE_BYTES + 1
    while left > 0 and (chunk := sys.stdin.buffer.read(min(left, _CHUNK_BYTES))):
        write(chunk)
        left -= len(chunk)
