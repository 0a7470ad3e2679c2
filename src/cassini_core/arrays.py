"""Types of arrays, and rows of different lengths that lie one after the other in flat arrays (CSR).

Row ``i`` of such arrays owns their entries ``offset[i]`` to ``offset[i + 1] - 1``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "BoolArray",
    "Float64Array",
    "Int32Array",
    "Int64Array",
    "Rows",
    "cut",
    "different",
    "int64",
    "objects",
    "offsets",
    "runs",
]

BoolArray = npt.NDArray[np.bool_]
Float64Array = npt.NDArray[np.float64]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """Some rows: ``at`` are the positions of their entries in the flat arrays, one row after the other.

    The ``i``-th of these rows owns ``at[first[i] : first[i] + size[i]]``.
    """

    at: Int64Array
    first: Int64Array
    size: Int64Array

    @classmethod
    def of(cls, offset: Int64Array, rows: Int64Array) -> Rows:
        """The entries of ``rows``; O(entries) in whole arrays."""
        begin = offset[rows]
        size = offset[rows + 1] - begin
        end = size.cumsum()
        first = end - size
        return cls(np.arange(end[-1] if len(end) else 0) + (begin - first).repeat(size), first, size)


def offsets(sizes: Iterable[int] | Int64Array) -> Int64Array:
    """Where rows of these sizes begin, and where the last one ends; shape (rows + 1,)."""
    array = sizes if isinstance(sizes, np.ndarray) else int64(sizes)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(array)))


def cut(array: npt.NDArray[Any], offset: Int64Array) -> list[bytes]:
    """The bytes of each row. They are cut and looked up faster than arrays or tuples of whole numbers."""
    whole, ends = array.tobytes(), (array.itemsize * offset).tolist()
    return [whole[begin:end] for begin, end in itertools.pairwise(ends)]


def runs(values: Int64Array) -> Int64Array:
    """Where runs of equal values begin."""
    return np.flatnonzero(np.diff(values, prepend=values[:1] - 1))


def different(values: Int64Array) -> Int64Array:
    """The different values, ascending. ``numpy.unique`` loads masked arrays: that takes longer than a small ranking."""
    ordered = np.sort(values)
    return ordered[runs(ordered)]


def int64(values: Iterable[int]) -> Int64Array:
    """An array of whole numbers that cannot be written to."""
    array = np.fromiter(values, dtype=np.int64)
    array.setflags(write=False)
    return array


def objects(values: Iterable[object]) -> npt.NDArray[np.object_]:
    """An array of objects, of none too: there NumPy would look for numbers."""
    return np.array([*values, None], dtype=object)[:-1]
