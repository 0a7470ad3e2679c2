"""What tables of jobs have in common."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["STYLES", "milliseconds", "plain", "print_table"]

STYLES = {
    "held": "green",
    "adjusting": "yellow",
    "unlocked": "yellow",
    "free": "cyan",
    "expired": "red",
    "missing": "red",
    "silent": "red",
    "waiting": "dim",
}
"""By the state of a job."""

PIPED_WIDTH = 10_000
"""Columns where stdout is no terminal: nothing is folded or cut for the next program."""


def print_table(table: Table) -> None:
    """On stdout."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    Console(width=width, markup=False, emoji=False, highlight=False).print(table)


def milliseconds(value_ns: Any) -> str:
    """Of nanoseconds; ``-`` where nothing is known."""
    return f"{value_ns / 1e6:.3f}" if isinstance(value_ns, (int, float)) else "-"


def plain(value: Any) -> str:
    """What a job calls itself, without what a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(value))
