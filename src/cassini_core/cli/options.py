"""Option types that several verbs share: how a value is read, and what the help says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter, Token, convert

from ..errors import InputError

__all__ = [
    "AggregateName",
    "AngleCount",
    "BlockNodeLimit",
    "DeadlineS",
    "JsonFlag",
    "LinkNodeLimit",
    "NodeLimit",
    "PositiveCount",
    "ResolutionMs",
    "SlackTolerance",
    "number_from",
    "plainly",
    "whole_number_from",
]

Converter = Callable[[Any, Sequence[Token]], Any]


def whole_number_from(least: int, words: Mapping[str, str | None] = MappingProxyType({})) -> Converter:
    """A converter for whole numbers of at least ``least``; a word stands for what ``words`` says."""
    expected = " or ".join([f"a whole number of at least {least}", *words])

    def convert(_: Any, tokens: Sequence[Token]) -> int | str | None:
        text = tokens[0].value.strip()
        if text.lower() in words:
            return words[text.lower()]
        # int() would also take "1_000" and digits of other scripts; a count on a command line is plain.
        if text.isascii() and text.isdecimal() and len(text) <= 18 and int(text) >= least:
            return int(text)
        raise InputError(f"expected {expected}, got {tokens[0].value!r}")

    return convert


def number_from(least: float, *, above: bool = False) -> Converter:
    """A converter for finite numbers of at least (or ``above``) ``least``."""
    expected = f"a number above {least:g}" if above else f"a number of at least {least:g}"

    def convert(_: Any, tokens: Sequence[Token]) -> float:
        text = tokens[0].value
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < least or (above and number == least):
            raise InputError(f"expected {expected}, got {text!r}")
        return number

    return convert


def plainly(kind: Any, tokens: Sequence[Token]) -> Any:
    """The converter of cyclopts, but for whole numbers, which it would round or read in other bases."""
    if kind is int or int in get_args(kind):
        return whole_number_from(1)(kind, tokens)
    return convert(kind, tokens)


def aggregate_from(_: Any, tokens: Sequence[Token]) -> str:
    """The name of an aggregate that the ranking knows."""
    from ..ranking.aggregate import aggregate_named

    try:
        aggregate_named(tokens[0].value)
    except InputError as error:
        raise InputError(str(error).removeprefix("aggregate: ")) from None
    return tokens[0].value


AggregateName = Annotated[str, Parameter(converter=aggregate_from)]
JsonFlag = Annotated[
    bool, Parameter(negative=(), show_default=False, help="Print JSON for programs instead of tables for people.")
]
PositiveCount = Annotated[int | None, Parameter(converter=whole_number_from(1))]
AngleCount = Annotated[int, Parameter(converter=whole_number_from(1))]
DeadlineS = Annotated[
    float | None,
    Parameter(
        converter=number_from(0, above=True),
        help="Stop searching after this many seconds and answer with what is proven by then. "
        "Such answers are valid but not the same on every run.",
    ),
]
NodeLimit = Annotated[
    int | None,
    Parameter(
        converter=whole_number_from(1, {"none": None}),
        help="Search nodes per link problem before the answer is given without proof; none removes the limit.",
    ),
]
LinkNodeLimit = Annotated[
    int | Literal["auto"] | None,
    Parameter(
        converter=whole_number_from(1, {"auto": "auto", "none": None}),
        show_choices=False,  # they would leave out none, and numbers
        help="Search nodes per link problem before the answer is given without proof; auto gives each fewer the more "
        "there are, none removes the limit.",
    ),
]
BlockNodeLimit = Annotated[
    int | Literal["auto"] | None,
    Parameter(
        converter=whole_number_from(1, {"auto": "auto", "none": None}),
        show_choices=False,  # they would leave out none, and numbers
        help="Search nodes per cyclic block of links (--loops joint); auto and none as for --node-limit.",
    ),
]
ResolutionMs = Annotated[
    float,
    Parameter(
        converter=number_from(0),
        help="How precisely a shift can be held, ms. A job whose shift cannot matter at this precision is free.",
    ),
]
SlackTolerance = Annotated[
    float,
    Parameter(converter=number_from(0), help="How much a link's score may drop within the slack that is reported."),
]
