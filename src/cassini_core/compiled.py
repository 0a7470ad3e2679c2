"""Plain functions on numbers and arrays, compiled by Numba where that is possible.

Numba is imported when functions are first asked for. Compiled functions run without the interpreter's lock, in the
standard library's threads: Numba's own threads are never started. What it compiled it keeps in its cache, beside the
module or in the user's cache folder (``NUMBA_CACHE_DIR`` names another); where neither can be written every process
would compile again, for seconds, so nothing is compiled then. Nobody needs Numba: there is another way to each answer,
and :func:`why_not` says why that is gone.
"""

from __future__ import annotations

import os
import sys
import typing
from collections.abc import Callable, Sequence
from typing import Any

from .arrays import BoolArray, Float64Array, Int64Array

__all__ = ["compiled", "why_not"]

_found: dict[tuple[Callable[..., Any], ...], tuple[Callable[..., Any], ...] | None] = {}
_why_not = ""
_under_way = 0  # calls that compile at this time
_forked = False  # while somebody compiled


def compiled(functions: Sequence[Callable[..., Any]], *, wait: bool = True) -> tuple[Callable[..., Any], ...] | None:
    """The same functions, compiled; None where that is not possible.

    Parameters
    ----------
    functions : sequence of callable
        Their parameters are annotated: ``int``, and arrays of one dimension without gaps. Arrays whose names begin with
        ``to_`` are written, all others may be read-only.
    wait : bool
        Compile them if they are not yet. Without it None may also say that nobody did.

    Notes
    -----
    The first call of a process takes some tenths of a second if Numba's cache has them, else seconds; later calls take
    nothing.
    """
    global _under_way
    key = tuple(functions)
    if key in _found:
        return _found[key]
    if not wait:
        return None
    _under_way += 1
    try:
        found = _compile(key)
    finally:
        _under_way -= 1
    return _found.setdefault(key, found)  # of two threads both have the same


def why_not() -> str:
    """Why nothing was compiled; empty where nobody asked, or all went well."""
    return _why_not


def _compile(functions: tuple[Callable[..., Any], ...]) -> tuple[Callable[..., Any], ...] | None:
    global _why_not
    if _forked:
        _why_not = "the process was forked while a thread compiled"
        return None
    # A package that does not say that it can do without the interpreter's lock would turn it on for all.
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        _why_not = "the interpreter has no lock that compiled functions could do without"
        return None
    try:
        import numba

        if numba.config.DISABLE_JIT:
            _why_not = "NUMBA_DISABLE_JIT is set"
            return None
        return tuple(
            numba.njit(_signature(function, numba), nogil=True, cache=True)(function) for function in functions
        )
    except Exception as error:  # whatever it is that this Numba, this processor or this file system does not have
        _why_not = f"{type(error).__name__}: {error}".splitlines()[0]
        return None


def _signature(function: Callable[..., Any], numba: Any) -> tuple[Any, ...]:
    """The types of the parameters: there is one compiled form, and a wrong type is refused."""
    item = {Int64Array: numba.int64, Float64Array: numba.float64, BoolArray: numba.boolean}
    hints = typing.get_type_hints(function)
    return tuple(
        numba.int64 if hint is int else numba.types.Array(item[hint], 1, "C", readonly=not name.startswith("to_"))
        for name, hint in hints.items()
        if name != "return"
    )


def _after_fork() -> None:
    """A thread of the parent may have held Numba's lock while it compiled, and nobody would release it."""
    global _forked, _under_way
    _forked = _forked or _under_way > 0
    _under_way = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
