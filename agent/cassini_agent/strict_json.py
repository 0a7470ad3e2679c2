"""JSON from outside, read strictly: one object, and no key twice. Standard library only."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MAX_BYTES", "load_object", "shown"]

MAX_BYTES = 16 * 1024
"""Longest message between job and daemon in either direction, and longest body of a request (docs/agent.md)."""


def load_object(text: str | bytes, where: str) -> dict[str, Any]:
    """The JSON object in ``text``, which is UTF-8 if bytes; ``where`` says in errors what is read.

    Raises
    ------
    ValueError
        Not JSON, not an object, a repeated key, or nested too deeply.
    """
    try:
        value = json.loads(text.decode() if isinstance(text, bytes) else text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError(f"{where}: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{where}: expected JSON, got an error: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object, got {shown(value)}")
    return value


def shown(value: object) -> str:
    """A value as an error message shows it: its repr, cut short."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for key, value in pairs:
        if key in built:
            raise ValueError(f"expected each key once, got {shown(key)} twice")
        built[key] = value
    return built
