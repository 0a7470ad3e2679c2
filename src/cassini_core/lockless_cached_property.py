"""A property that is computed when first asked for and then kept, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["lockless_cached_property"]

T = TypeVar("T")


class lockless_cached_property(Generic[T]):
    """Works as ``functools.cached_property``, but without a lock; instances must have a ``__dict__``.

    Before Python 3.12 ``cached_property`` has one lock for all instances of a class. It makes threads wait for each
    other. If the process is forked while a thread holds it, nobody releases it in the child, which then hangs.
    Here two threads may compute the same value, and one of the results is kept: it must not matter which.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lockless_cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | lockless_cached_property[T]:
        # Without __set__ the instance's own entry is found first from the second time on.
        if instance is None:
            return self
        value = self._compute(instance)
        kept: T = instance.__dict__.setdefault(self._name, value)
        return kept
