"""The hash that picks one of several equally short paths; ``routing`` says how it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ..arrays import Int64Array

__all__ = ["U64Array", "digests", "mix", "pick"]

U64Array = npt.NDArray[np.uint64]


def digests(names: Iterable[str]) -> U64Array:
    parts = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names]
    return np.frombuffer(b"".join(parts), dtype="<u8").astype(np.uint64)


def mix(x: U64Array) -> U64Array:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def pick(key: U64Array, size: Int64Array) -> Int64Array:
    return (mix(key) % size.astype(np.uint64)).astype(np.int64)
