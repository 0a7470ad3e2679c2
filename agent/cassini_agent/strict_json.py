"""JSON from outside, read strictly: one object, no key twice, no NaN, bounded size and depth. Standard library only."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

__all__ = ["MAX_BYTES", "load_object", "shown"]

MAX_BYTES = 16 * 1024
"""Longest message between job and daemon."""

MAX_DIGITS = 40
"""Of a whole number: no time or count needs more, and Python reads more than 4300 not at all."""


def load_object(text: str | bytes, where: str, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in ``text``.

    Parameters
    ----------
    text : str or bytes
        UTF-8 if bytes; at most ``max_bytes``.
    where : str
        What is read, for the error messages.

    Raises
    ------
    ValueError
        Not JSON, not an object, a repeated key, NaN or an infinity, too long or nested too deeply.
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise ValueError(f"{where}: expected at most {max_bytes} bytes, got {size}")
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        value = _decoder(where).decode(decoded)
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: expected UTF-8, got byte {text[error.start]!r} at {error.start}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise ValueError(f"{where}: expected JSON, got an error at {place}: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{where}: nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object, got {shown(value)}")
    return value


def shown(value: object) -> str:
    """A value as an error message shows it: its repr, cut short."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _decoder(where: str) -> json.JSONDecoder:
    """Refuses what ``json`` alone lets pass."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for i, key in enumerate(keys) if key in keys[:i])
            raise ValueError(f"{where}: expected each key once, got {shown(repeated)} twice")
        return built

    def whole(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise ValueError(f"{where}: expected whole numbers of at most {MAX_DIGITS} digits, got {len(digits)}")
        return int(digits)

    def finite(digits: str) -> float:
        if not math.isfinite(number := float(digits)):
            raise ValueError(f"{where}: expected finite numbers, got {shown(digits)}")
        return number

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{where}: expected finite numbers, got {constant}")

    return json.JSONDecoder(object_pairs_hook=unique, parse_int=whole, parse_float=finite, parse_constant=refuse)
