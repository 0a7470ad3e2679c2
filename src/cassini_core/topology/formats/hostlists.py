"""Hostlists, such as ``rack[1-3]n[01-16],login``, as ClusterShell reads them."""

from __future__ import annotations

import re
from typing import Any

from ...errors import InputError, refusal, shown
from ..model import MAX_CABLES, MAX_NODES
from .documents import list_at

__all__ = ["Hostlists"]

# ClusterShell also knows groups, operators and wildcards, none of which belong into a topology file.
_PLAIN = re.compile(r"[\w.:,/\[\]-]+")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18})(?:/0*[1-9]\d{0,8})?)?", re.ASCII)
# Both stop at the next bracket: a list of many open ones takes no longer than its length.
_PIECE = re.compile(r"(?:[^,\[]|\[[^\[\]]*\])+")
_BRACKET = re.compile(r"\[([^\[\]]*)\](\d*)", re.ASCII)
_MOST_BRACKETS = 8
_MOST_SPAN = 10**9
"""From the first to the last number of a range, to which the digits after its bracket belong; of ClusterShell."""

_EXPECTED = "a hostlist such as n[1-4],m5"


class Hostlists:
    """The hostlists of one file, which together may name as much as a network may have cables."""

    def __init__(self) -> None:
        self._left = MAX_CABLES

    def at(self, value: Any, place: str) -> list[str]:
        """The names of a hostlist, or of a list of them; none for None.

        Raises
        ------
        InputError
            No hostlist, or too many names; or ClusterShell is missing.
        """
        names: dict[str, None] = {}
        for part in [value] if isinstance(value, str) else list_at(value, place):
            if not isinstance(part, str) or not _PLAIN.fullmatch(part):
                raise refusal("", place, _EXPECTED, shown(part))
            if part.upper() == "ALL":
                raise refusal("", place, "names of hosts: the file does not say who belongs to ALL", part)
            has_ranges = "[" in part or "]" in part
            self._left -= _size(part, place) if has_ranges else part.count(",") + 1
            if self._left < 0:
                raise refusal("", place, f"at most {MAX_CABLES} names in all hostlists", "more")
            found = _expanded(part, place) if has_ranges else part.split(",")
            if "" in found:
                raise refusal("", place, _EXPECTED, shown(part))
            names.update(dict.fromkeys(found))
        return list(names)


def _expanded(part: str, place: str) -> list[str]:
    try:
        from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException  # type: ignore[import-untyped]
    except ImportError:
        what = "ClusterShell, which is not installed: pip install 'cassini-core[topology]'"
        raise InputError(f"{place}: expected {what}") from None
    try:
        return list(NodeSet(part, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        got = f"{shown(part)} ({shown(str(error))})"
        raise refusal("", place, _EXPECTED, got) from None


def _size(part: str, place: str) -> int:
    """How many names it stands for, or more: steps and repeats are not looked at.

    Too many are refused before they are made, and so are other ranges.
    """
    total = 0
    for piece in _PIECE.findall(part):
        size, brackets = 1, _BRACKET.findall(piece)
        for numbers, digits in brackets:
            ranges = [_RANGE.fullmatch(one) for one in numbers.split(",")]
            if not all(ranges):
                raise refusal("", place, _EXPECTED, shown(part))
            counts = [max(1, int(one[2] or one[1]) - int(one[1]) + 1) for one in ranges if one]
            if digits and (len(digits) > 9 or max(counts) * 10 ** len(digits) > _MOST_SPAN):
                raise refusal("", place, f"ranges from one number to less than {_MOST_SPAN} more", shown(part))
            size *= sum(counts)
        total += size
        if total > MAX_NODES or len(brackets) > _MOST_BRACKETS:
            expected = f"at most {MAX_NODES} names and {_MOST_BRACKETS} ranges in one"
            raise refusal("", place, expected, shown(part))
    return total
