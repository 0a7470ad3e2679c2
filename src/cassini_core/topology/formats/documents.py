"""YAML and JSON from strangers as plain lists, dictionaries and text, in bounded time and memory.

YAML is taken apart by PyYAML's parser alone: no object is constructed and no type is guessed, so every scalar is text
(``1101`` and ``no`` are names) or None. Aliases are refused, so that a small file cannot stand for a huge one.
"""

from __future__ import annotations

import json
from typing import Any

from ...errors import InputError, refusal, shown
from ..model import MAX_NODES

__all__ = ["MAX_DEPTH", "MAX_YAML_BYTES", "json_document", "list_at", "mapping_at", "text_at", "yaml_documents"]

MAX_YAML_BYTES = 32 * 2**20
"""Longer YAML is refused: the parser takes a second for 1 to 2 MB."""

MAX_DEPTH = 64
"""Lists and mappings inside each other."""


def json_document(text: str) -> Any:
    """The value of a JSON text; an error for repeated keys."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_number)
    except RecursionError:
        raise refusal("", "", "JSON", "lists or objects nested too deep") from None
    except json.JSONDecodeError as error:
        raise refusal("", f"line {error.lineno}", "JSON", f"the error {shown(error.msg)}") from None
    except InputError:
        raise
    except ValueError as error:  # an integer of more digits than Python reads
        raise refusal("", "", "JSON", f"the error {shown(str(error))}") from None


def yaml_documents(text: str) -> list[Any]:
    """The documents of a YAML text.

    Raises
    ------
    InputError
        No YAML, too long or too deep, an alias, a repeated key, or a key that is no scalar; or PyYAML is missing.
    """
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise _missing("PyYAML") from None
    if len(text) > MAX_YAML_BYTES:
        raise refusal("", "", f"at most {MAX_YAML_BYTES} characters of YAML", str(len(text)))
    documents: list[Any] = []
    open_nodes: list[Any] = []
    keys: list[Any] = []
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            place = f"line {event.start_mark.line + 1}"
            value: Any
            if isinstance(event, yaml.AliasEvent):
                raise refusal("", place, "YAML without aliases", f"*{event.anchor}")
            if isinstance(event, yaml.ScalarEvent):
                value = None if event.implicit[0] and event.value in _NULLS else event.value
            elif isinstance(event, yaml.MappingStartEvent):
                value = {}
            elif isinstance(event, yaml.SequenceStartEvent):
                value = []
            else:
                if isinstance(event, yaml.CollectionEndEvent):
                    open_nodes.pop()
                    keys.pop()
                continue
            _put(open_nodes, keys, documents, value, place)
            if not isinstance(event, yaml.ScalarEvent):
                open_nodes.append(value)
                keys.append(_NO_KEY)
                if len(open_nodes) > MAX_DEPTH:
                    raise refusal("", place, f"at most {MAX_DEPTH} levels", "more")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise refusal("", f"line {mark.line + 1}" if mark else "", "YAML", f"the error {shown(what)}") from None
    return documents


def mapping_at(value: Any, place: str) -> dict[str, Any]:
    """The mapping, or an empty one for None."""
    if not isinstance(value, dict | None):
        raise refusal("", place, "a mapping", shown(value))
    return value or {}


def list_at(value: Any, place: str) -> list[Any]:
    """The list, or an empty one for None."""
    if not isinstance(value, list | None):
        raise refusal("", place, "a list", shown(value))
    if value and len(value) > MAX_NODES:
        raise refusal("", place, f"at most {MAX_NODES} entries", str(len(value)))
    return value or []


def text_at(value: Any, place: str) -> str:
    """The text, which may not be empty."""
    if not isinstance(value, str) or not value:
        raise refusal("", place, "a non-empty string", shown(value))
    return value


_NULLS = ("", "~", "null", "Null", "NULL")
_NO_KEY = object()


def _put(open_nodes: list[Any], keys: list[Any], documents: list[Any], value: Any, place: str) -> None:
    """Add a value to the innermost open list or mapping."""
    if not open_nodes:
        documents.append(value)
    elif isinstance(open_nodes[-1], list):
        open_nodes[-1].append(value)
    elif keys[-1] is not _NO_KEY:
        open_nodes[-1][keys[-1]] = value
        keys[-1] = _NO_KEY
    else:
        if value is not None and not isinstance(value, str):
            raise refusal("", place, "a scalar for a key", shown(value))
        keys[-1] = value or ""
        if keys[-1] in open_nodes[-1]:
            raise refusal("", place, "each key once", f"{shown(keys[-1])} again")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        again = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise refusal("", "", "each key once", f"{shown(again)} again")
    return found


def _no_number(word: str) -> Any:
    raise refusal("", "", "JSON", word)


def _missing(what: str) -> InputError:
    return InputError(f"expected {what}, which is not installed: pip install 'cassini-core[topology]'")
