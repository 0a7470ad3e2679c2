"""Input files, and standard input in place of one."""

from __future__ import annotations

import sys

from ..errors import InputError

__all__ = ["STREAM", "read_input"]

STREAM = "\0"
"""What the argument ``-`` is replaced by before options are parsed. No argument can contain this character."""

STDIN = "standard input"


def read_input(file: str) -> tuple[bytes, str]:
    """All bytes of a file, or of standard input for ``-``, and its name for messages.

    Raises
    ------
    InputError
        The file cannot be read; the message begins with its name.
    """
    from ..problem_file.decoding import read_file

    if file != STREAM:
        return read_file(file)
    if sys.stdin is None:
        raise InputError(f"{STDIN}: expected a problem, got a closed stream")
    return read_file(STDIN, sys.stdin.buffer)
