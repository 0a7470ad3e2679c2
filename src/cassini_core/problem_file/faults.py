"""Says what is wrong with a file that the fast path refused: a place and a reason.

The fast decoder stops at the first thing it dislikes and is sparing with words: it names neither the job whose route
is wrong nor the value that came, and it takes the last of two equal keys in silence. So a refused file is parsed
again with the standard library, keeping what the fast decoder drops, and compared with the shapes in ``wire``. This
costs seconds for 100 MB, and only where the answer is an error anyway.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Raw, Struct, UnsetType

from ..errors import SHOWN_LENGTH, shown

__all__ = ["Fault", "explain"]

Fault = tuple[str, str]
"""Place (``$.jobs[0].id``, ``line 3 column 7``, or empty for the whole file) and reason (``expected ..., got ...``)."""

_NAMES = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "a string",
    list: "an array",
    dict: "an object",
    NoneType: "null",
}


class _Repeated(dict[str, Any]):
    """An object in which ``key`` occurs more than once."""

    key: str


class _NotFinite:
    """A numeral that is no finite number: ``NaN``, ``Infinity``, ``1e400``."""

    def __init__(self, text: str) -> None:
        self.text = text


def explain(data: bytes, kind: type[Struct]) -> Fault | None:
    """The first fault of ``data`` read as ``kind``, or None if it has none.

    Cost: up to about 60 ns a byte, and 5 times the file's size in memory.
    """
    if not data.strip():
        return "", "expected a JSON object, got an empty file"
    if data.startswith(b"\xef\xbb\xbf"):
        return "", "expected JSON that begins with '{', got a byte order mark"
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start}", f"expected UTF-8, got the byte 0x{data[error.start]:02x}"
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal, parse_constant=_NotFinite
        )
    except json.JSONDecodeError as error:
        came = shown(text[error.pos : error.pos + 20]) if error.pos < len(text) else "the end of the file"
        return f"line {error.lineno} column {error.colno}", f"expected JSON, got {came} ({error.msg.lower()})"
    except RecursionError:
        return "", "expected a few levels of JSON, got brackets nested too deep to read"
    return next(_faults(value, kind, "$"), None)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    repeated = _Repeated(made)
    repeated.key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return repeated


def _integer(text: str) -> Any:
    return int(text) if len(text) < 300 else _decimal(text)


def _decimal(text: str) -> Any:
    value = float(text)
    return value if math.isfinite(value) else _NotFinite(text)


def _faults(value: Any, kind: Any, place: str) -> Iterator[Fault]:
    """Every place where decoded JSON differs from a wire type, in the order of the type's fields."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        yield from _union_faults(value, kind, place)
    elif origin is Literal:
        if value not in get_args(kind):
            yield place, f"expected {_name(kind)}, got {_came(value)}"
    elif origin is list:
        yield from _array_faults(value, get_args(kind)[0], place)
    elif origin is dict:
        yield from _mapping_faults(value, get_args(kind)[1], place)
    elif kind is str:
        yield from _string_faults(value, place)
    elif kind in (float, Any) and isinstance(value, _NotFinite):
        yield place, f"expected a finite number, got {_came(value)}"
    elif kind in _NAMES:
        if not _fits(value, kind):
            yield place, f"expected {_NAMES[kind]}, got {_came(value)}"
    elif kind not in (Any, Raw):
        yield from _struct_faults(value, kind, place)


def _union_faults(value: Any, kind: Any, place: str) -> Iterator[Fault]:
    kinds = [member for member in get_args(kind) if member is not UnsetType]
    fitting = [member for member in kinds if len(kinds) == 1 or _fits(value, member)]
    if fitting:
        yield from _faults(value, fitting[0], place)
    else:
        yield place, f"expected {' or '.join(map(_name, kinds))}, got {_came(value)}"


def _fits(value: Any, kind: Any) -> bool:
    """Whether decoded JSON is of a kind, whatever is inside."""
    kind = _plain_type(kind)
    if kind in (float, int):
        numbers = (int, float, _NotFinite) if kind is float else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, kind)


def _plain_type(kind: Any) -> type:
    """What the standard library reads JSON of this kind as."""
    if get_origin(kind) is Literal:
        return str
    found: type = get_origin(kind) or kind
    return dict if issubclass(found, Struct) else found


def _string_faults(value: Any, place: str) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield place, f"expected a string, got {_came(value)}"
    elif not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        yield place, f"expected whole Unicode characters, got {shown(value)}"


def _array_faults(value: Any, kind: Any, place: str) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield place, f"expected an array, got {_came(value)}"
        return
    for index, item in enumerate(value):
        yield from _faults(item, kind, f"{place}[{index}]")


def _object_faults(value: Any, place: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield place, f"expected an object, got {_came(value)}"
    elif isinstance(value, _Repeated):
        yield place, f"expected each key once, got {shown(value.key)} twice"


def _mapping_faults(value: Any, kind: Any, place: str) -> Iterator[Fault]:
    yield from _object_faults(value, place)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _string_faults(key, place)
            yield from _faults(item, kind, f"{place}[{shown(key)}]")


@cache
def _fields(kind: type[Struct]) -> dict[str, Any]:
    return get_type_hints(kind)


def _struct_faults(value: Any, kind: type[Struct], place: str) -> Iterator[Fault]:
    yield from _object_faults(value, place)
    if not isinstance(value, dict):
        return
    fields = _fields(kind)
    # Another kind of file differs in many ways; that it is another kind is what helps.
    if "format" in fields and "format" in value:
        yield from _faults(value["format"], fields["format"], f"{place}.format")
    for key in value:
        if key not in fields:
            yield place, f"expected no keys but {', '.join(map(repr, fields))}, got {shown(key)}"
    for name, field in fields.items():
        if name in value:
            yield from _faults(value[name], field, f"{place}.{name}")
        elif UnsetType not in get_args(field):
            yield f"{place}.{name}", f"expected {_name(field)}, got nothing: the key is missing"


def _name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(shown, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_name, get_args(kind)))
    return _NAMES.get(get_origin(kind) or kind, "an object")


def _came(value: Any) -> str:
    """A decoded value in the words of JSON."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, _NotFinite):
        return value.text if len(value.text) <= SHOWN_LENGTH else f"{value.text[: SHOWN_LENGTH - 3]}..."
    if isinstance(value, (dict, list)):
        return _NAMES[dict if isinstance(value, dict) else list]
    return shown(value)
