"""Names of what a lab makes: they carry the process that made it, so that what a dead one left can be told."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

__all__ = ["PREFIX", "left_behind", "name", "prefix"]

PREFIX = "cnl"
_OURS = re.compile(rf"{PREFIX}([0-9]+)-[0-9]+-[a-z0-9]+|{PREFIX}([0-9]+)-files-[a-z0-9_]+")


def prefix(lane: int, pid: int | None = None) -> str:
    """What all names of a lane of this process begin with."""
    return f"{PREFIX}{os.getpid() if pid is None else pid}-{lane}-"


def name(lane: int, role: str, pid: int | None = None) -> str:
    """Of a namespace."""
    return prefix(lane, pid) + role


def left_behind(names: Iterable[str], alive: Callable[[int], bool]) -> list[str]:
    """Those of ``names`` that a lab made whose process is gone; any other name is not ours to touch."""
    found = []
    for one in names:
        match = _OURS.fullmatch(one)
        if match and not alive(int(match[1] or match[2])):
            found.append(one)
    return found
