"""Hostlists, such as ``rack[1-3]n[01-16],login``, as ClusterShell reads them."""

from __future__ import annotations

import re
from typing import Any

from ...errors import InputError, refusal, shown
from ..model import MAX_NODES
from .documents import list_at

__all__ = ["hosts_at"]

# ClusterShell also knows groups, operators and wildcards, none of which belong into a topology file.
_PLAIN = re.compile(r"[\w.:,/\[\]-]+")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18})(?:/0*[1-9]\d{0,8})?)?", re.ASCII)
# Both stop at the next bracket: a list of many open ones takes no longer than its length.
_PIECE = re.compile(r"(?:[^,\[]|\[[^\[\]]*\])+")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_MOST_BRACKETS = 8
_EXPECTED = "a hostlist such as n[1-4],m5"


def hosts_at(value: Any, place: str) -> list[str]:
    """The names of a hostlist, or of a list of them; none for None.

    Raises
    ------
    InputError
        No hostlist, or one of more than :data:`MAX_NODES` names; or ClusterShell is missing.
    """
    parts = [value] if isinstance(value, str) else list_at(value, place)
    names: dict[str, None] = {}
    for part in parts:
        if not isinstance(part, str) or not _PLAIN.fullmatch(part):
            raise refusal("", place, _EXPECTED, shown(part))
        if part.upper() == "ALL":
            raise refusal("", place, "names of hosts: the file does not say who belongs to ALL", part)
        if "[" not in part and "]" not in part:
            found = part.split(",")
            if "" in found:
                raise refusal("", place, _EXPECTED, shown(part))
        else:
            _check_size(part, place)
            found = _expanded(part, place)
        names.update(dict.fromkeys(found))
        if len(names) > MAX_NODES:
            raise refusal("", place, f"at most {MAX_NODES} names", "more")
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


def _check_size(part: str, place: str) -> None:
    """Refuse what stands for too many names before it is expanded, and ranges of another form."""
    total = 0
    for piece in _PIECE.findall(part):
        size, brackets = 1, _BRACKET.findall(piece)
        for numbers in (bracket.split(",") for bracket in brackets):
            ranges = [_RANGE.fullmatch(one) for one in numbers]
            if not all(ranges):
                raise refusal("", place, _EXPECTED, shown(part))
            size *= sum(max(1, int(one[2] or one[1]) - int(one[1]) + 1) for one in ranges if one)
        total += size
        if total > MAX_NODES or len(brackets) > _MOST_BRACKETS:
            expected = f"at most {MAX_NODES} names and {_MOST_BRACKETS} ranges in one"
            raise refusal("", place, expected, shown(part))
