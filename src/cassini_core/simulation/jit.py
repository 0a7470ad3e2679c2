"""The simulator's inner loops, compiled by Numba when they are first called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["jit"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def jit(function: _Function) -> _Function:
    """Compile a function, for the types that it is called with; it runs without the interpreter's lock.

    What was compiled is kept in Numba's cache, so that the next process need not wait; where no cache can be written
    every process compiles anew.
    """
    try:
        return cast(_Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # there is no place for a cache
        return cast(_Function, numba.njit(nogil=True)(function))
