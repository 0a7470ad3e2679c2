"""Every exception the package raises on purpose.

Three kinds, so that a caller can tell them apart: the input is wrong (:class:`InputError`, also a
:class:`ValueError`), the answer exists but is too large to compute exactly (:class:`LimitError`, carries
a certified interval), or the kernel itself failed (:class:`KernelError`). Running out of
memory is none of these: it is Python's :class:`MemoryError`.
"""

from __future__ import annotations

import reprlib
from functools import partial
from typing import Any

__all__ = ["CassiniError", "InputError", "KernelError", "LimitError", "refusal", "shown", "worded"]

SHOWN_LENGTH = 80
"""Longest text a message gives to one value, characters."""


class CassiniError(Exception):
    """Base of all errors raised by ``cassini_core``."""


class InputError(CassiniError, ValueError):
    """The input is wrong; the message says what, where, what was expected and what came.

    Attributes
    ----------
    place : str
        Where the fault is: inside the refused object, written as in a JSON path, e.g. ``phases[1].duration_ms``; or in
        the arguments, e.g. ``loops`` or ``multipliers['a']``. The name of a file, or empty, where all of it is wrong.
    reason : str
        The rest of the message, nearly always ``expected ..., got ...``. Never empty.

    Notes
    -----
    Where ``place`` and ``reason`` are not given they are read from the message, ``... PLACE: expected ..., got ...``.
    They must be given where the place holds an id, which may look like anything; :func:`refusal` does that.
    """

    def __init__(self, message: str, *, place: str | None = None, reason: str = "") -> None:
        super().__init__(message)
        where, expected, rest = message.partition(": expected ")
        self.place = place if place is not None else where.rpartition(": ")[2] if expected else ""
        self.reason = reason or (f"expected {rest}" if expected else message)


def refusal(subject: str, place: str, expected: str, got: str) -> InputError:
    """The error ``SUBJECT PLACE: expected EXPECTED, got GOT``; subject or place may be empty."""
    reason = f"expected {expected}, got {got}"
    what = f"{subject} {place}" if subject and place else subject or place
    return InputError(f"{what}: {reason}" if what else reason, place=place, reason=reason)


class LimitError(CassiniError):
    """An exact score needs more events or levels than the stated limits allow (F1 in docs/method.md).

    Attributes
    ----------
    lower, upper : float
        Certified bounds: the true score lies in ``[lower, upper]``.
    """

    def __init__(self, message: str, *, lower: float, upper: float) -> None:
        super().__init__(message)
        self.lower = lower
        self.upper = upper

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are unpickled from their positional arguments alone, which would lose the bounds.
        return partial(LimitError, lower=self.lower, upper=self.upper), self.args


class KernelError(CassiniError, RuntimeError):
    """The native kernel reported a failure that is not the caller's fault: a defect."""


class _Shortened(reprlib.Repr):
    """``repr`` that looks at the first few items and characters only, so that any value may be shown."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = SHOWN_LENGTH

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write integers of more than some thousand digits.
        return super().repr_int(x, level) if x.bit_length() < 1000 else f"an integer of {x.bit_length()} bits"


_SHORTENED = _Shortened()


def shown(value: object) -> str:
    """What ``value`` is, for a message: like ``repr``, on one line, at most 80 characters, whatever it is."""
    text = _SHORTENED.repr(value)
    if not text.isprintable():
        # The repr of some objects (arrays) has line ends of its own.
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 3] + "..."


def worded(text: str) -> str:
    """A name out of a file, for a message: as it is, unless it is too long or would break the line."""
    return text if len(text) <= SHOWN_LENGTH and text.isprintable() else shown(text)
