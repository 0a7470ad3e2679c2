"""The command in this process: exit status, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Answer", "Run"]


class Answer(NamedTuple):
    """Of one call of ``main``."""

    status: int
    out: str
    err: str


Run = Callable[..., Answer]
"""Takes the command's words."""
