"""Markdown tables and numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def seconds(value: float) -> str:
    """A time with three digits and the unit that fits: ``3.42 µs``."""
    if math.isnan(value):
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size * 0.9995:
            return f"{_three_digits(value / size)} {unit}"
    return f"{value * 1e9:.0f} ns"


def ratio(value: float, *, at_least: bool = False) -> str:
    """How many times: ``1,240×``, with ``≥`` where the slower one was cut short."""
    if math.isnan(value):
        return "–"
    return ("≥ " if at_least else "") + (f"{value:,.0f}×" if value >= 100 else f"{_three_digits(value)}×")


def score(value: float) -> str:
    """A score or a difference of scores, to 1e-4; what is smaller is shown as such."""
    if math.isnan(value):
        return "–"
    return "0" if abs(value) < 1e-9 else f"{value:.4f}" if abs(value) >= 5e-5 else f"{value:.0e}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _three_digits(value: float) -> str:
    # Whole numbers from 99.95 on, two decimals below 9.995: what rounding makes of the value counts.
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3}f}"
