"""Checks of single values that a caller gives: each takes any type and gives a plain one, or refuses it in one line."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from .errors import refusal, shown

__all__ = ["first_repeated", "identifier", "is_plain_id", "items_of", "number", "number_between", "whole_number"]

_INT64_MAX = 2**63 - 1


def number(value: Any, subject: str, place: str, words: str = "") -> float:
    """A finite plain float from any real number, NumPy's too; bool is an int to Python but never a quantity.

    ``words`` say what else may be given, followed by "or ".
    """
    if isinstance(value, bool) or not isinstance(value, (float, int, Real)):
        raise refusal(subject, place, f"{words}a number", shown(value))
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise refusal(subject, place, f"{words}a finite number", shown(value))
    # Adding zero makes -0.0 into 0.0, so that equal objects are also written equally.
    return found + 0.0


def number_between(value: Any, least: float, most: float, subject: str, place: str, words: str = "") -> float:
    """As :func:`number`, in ``[least, most]``; ``most`` may be infinite."""
    found = number(value, subject, place, words)
    if not least <= found <= most:
        expected = f"{least!r} to {most!r}" if most < math.inf else f"a finite number of at least {least!r}"
        raise refusal(subject, place, f"{words}{expected}", shown(found))
    return found


def whole_number(value: Any, place: str, *, most: int = _INT64_MAX, words: str = "") -> int:
    """A plain int from 1 to ``most``; ``words`` as in :func:`number`."""
    try:
        # Whatever can index a list is a whole number, NumPy's too; so is a bool, but it counts nothing.
        found = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = 0
    if not 1 <= found <= most:
        expected = "of at least 1" if most == _INT64_MAX else f"from 1 to {most}"
        raise refusal("", place, f"{words}a whole number {expected}", shown(value))
    return found


def is_plain_id(value: Any) -> bool:
    """Whether :func:`identifier` has nothing to say or change; it need not be given a place then."""
    return type(value) is str and value.isascii() and value != ""


def identifier(value: Any, subject: str, place: str) -> str:
    """A non-empty plain str that can be written as UTF-8."""
    if not isinstance(value, str) or not value:
        raise refusal(subject, place, "a non-empty string", shown(value))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise refusal(subject, place, "a string of whole Unicode characters", shown(value)) from None
    # A subclass such as numpy.str_ becomes what it looks like; a plain str is returned as it is.
    return value if type(value) is str else str.__str__(value)


def first_repeated(ids: list[str]) -> int:
    """Index of the first id that occurred before; one must."""
    seen: set[str] = set()
    for index, one in enumerate(ids):
        if one in seen:
            return index
        seen.add(one)
    raise ValueError("all ids differ")


def items_of(value: Any, kind: type, subject: str, place: str) -> tuple[Any, ...]:
    """The items of an iterable, each of which must be a ``kind``."""
    # Strings and mappings are iterable, yet when one stands here something else was meant.
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise refusal(subject, place, f"a list of {kind.__name__}", shown(value))
    items = tuple(value)
    for index, item in enumerate(items):
        if not isinstance(item, kind):
            raise refusal(subject, f"{place}[{index}]", f"a {kind.__name__}", shown(item))
    return items
