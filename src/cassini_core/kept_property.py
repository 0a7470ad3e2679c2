"""A property that is computed when first asked for and then kept, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["kept_property"]

T = TypeVar("T")


class kept_property(Generic[T]):
    """As ``functools.cached_property``, for instances that have a ``__dict__``.

    Before Python 3.12 that one has a lock, one for all instances of a class. It makes threads wait for each other; and
    if the process is forked while a thread holds it, nobody ever lets go of it in the child, which hangs when it asks.
    Here two threads may compute the same value, and one of them is kept: it must not matter which.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> kept_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | kept_property[T]:
        # Without __set__ the instance's own entry is found first from the second time on.
        if instance is None:
            return self
        value = self._compute(instance)
        kept: T = instance.__dict__.setdefault(self._name, value)
        return kept
