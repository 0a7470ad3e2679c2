"""What problems and answers are written with: JSON values, numbers and names in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from .errors import refusal, shown
from .units import SCORE_TOLERANCE

__all__ = [
    "by_id",
    "counted",
    "finite",
    "finite_or_none",
    "json_line",
    "json_part",
    "listed",
    "magnitude_text",
    "ms_text",
    "ms_text_down",
    "printable",
    "score_text",
    "short",
]

V = TypeVar("V", float, float | None)


def json_line(content: Any) -> bytes:
    """One line of JSON; floats in the shortest form that reads back as the same number."""
    import msgspec  # loading it takes longer than loading this package

    return msgspec.json.encode(content) + b"\n"


def json_part(content: Any) -> Any:
    """What :func:`json_line` takes in place of ``content``, written already: it takes much less memory."""
    import msgspec

    return msgspec.Raw(msgspec.json.encode(content))


def finite(value: Any, place: str) -> float:
    """A plain float that JSON can hold, or :class:`InputError`: the JSON library writes ``null`` for NaN.

    Adding zero makes -0.0 into 0.0, so that equal answers are the same bytes.
    """
    number = float(value) + 0.0
    if not math.isfinite(number):
        raise refusal("", place, "a finite number", repr(number))
    return number


def finite_or_none(value: Any, place: str) -> float | None:
    """As :func:`finite`, for what may be missing."""
    return None if value is None else finite(value, place)


def by_id(values: Mapping[str, V], place: str) -> dict[str, V]:
    """A mapping as :func:`finite` numbers or None, ids sorted."""
    plain: dict[str, Any] = {
        key: None if (value := values[key]) is None else float(value) + 0.0 for key in sorted(values)
    }
    for key, number in plain.items():
        if number is not None and not math.isfinite(number):
            finite(number, f"{place}[{shown(key)}]")
    return plain


def counted(number: int, noun: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{number} {noun}{'s' * (number != 1)}"


def listed(ids: Iterable[str], most: int = 8) -> str:
    """Ids for a message, sorted; of many the first: ``'a', 'b' and 3 more``."""
    ordered = sorted(ids)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(map(shown, ordered[:most])) + more


def short(number: float | None) -> str:
    """A number with six digits, a dash for what is not known."""
    return "-" if number is None else f"{number:.6g}"


def score_text(score: float) -> str:
    """A score with four decimals, more where four would show a score below 1 as 1."""
    text = f"{score:.4f}"
    for digits in (6, 9):
        if float(text) < 1 or score >= 1 - SCORE_TOLERANCE:
            break
        text = f"{score:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def magnitude_text(value: float) -> str:
    """A difference or rate of any size with its leading digits: ``0.1200``, ``3.2e-07``."""
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.1e}"


def ms_text(value: float) -> str:
    """Milliseconds to the microsecond."""
    return f"{value:.3f}"


def ms_text_down(value: float) -> str:
    """Milliseconds to the microsecond, rounded down: what is promised must not grow by printing it."""
    # Times are whole nanoseconds; half of one keeps 2.251, which no double holds exactly, from becoming 2.250.
    return f"{math.floor(value * 1000 + 0.0005) / 1000:.3f}"


def printable(text: str) -> str:
    r"""``text`` on one line: what does not print is an escape (``\n``, ``\u202e``)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
