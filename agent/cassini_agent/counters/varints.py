"""Integers in few bytes: LEB128 (seven bits a byte, least first, the top bit says that more follow) and zigzag."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["read_varints", "unzigzag", "write_varints", "zigzag"]


def zigzag(number: int) -> int:
    """0, -1, 1, -2, ... to 0, 1, 2, 3, ...: small distances from 0 become small numbers."""
    return number << 1 if number >= 0 else ~(number << 1)


def unzigzag(number: int) -> int:
    """The number that :func:`zigzag` takes to this one."""
    return number >> 1 if not number & 1 else ~(number >> 1)


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


def read_varints(data: bytes, count: int) -> list[int] | None:
    """The ``count`` numbers that ``data`` holds; None if it holds more or fewer, or one of more than 70 bits."""
    numbers = []
    number = shift = 0
    for byte in data:
        if byte & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                return None
        else:
            numbers.append(number | byte << shift)
            number = shift = 0
    return numbers if not shift and len(numbers) == count else None
