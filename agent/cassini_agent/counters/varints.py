"""Integers in few bytes: LEB128 (seven bits a byte, least first, the top bit says that more follow) and zigzag."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["write_varints", "zigzag"]


def zigzag(number: int) -> int:
    """0, -1, 1, -2, ... to 0, 1, 2, 3, ...: small distances from 0 become small numbers."""
    return number << 1 if number >= 0 else ~(number << 1)


def write_varints(numbers: Iterable[int]) -> bytearray:
    """Numbers of at least 0, one after the other."""
    out = bytearray()
    append = out.append
    for number in numbers:
        while number > 0x7F:
            append(number & 0x7F | 0x80)
            number >>= 7
        append(number)
    return out
