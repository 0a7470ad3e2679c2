"""A bounded ring of samples: one thread writes rows, others read them, nobody waits.

A row is a time and a fixed number of integers of 64 bits. The memory is allocated once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

__all__ = ["Ring", "Rows"]

Rows = list[tuple[int, ...]]
"""Each row: time in ns, then one value per channel."""


class Ring:
    """The last ``capacity`` rows of ``width`` values.

    Parameters
    ----------
    capacity : int
        Rows kept; memory is ``8 * capacity * (1 + width)`` bytes.
    width : int
        Values in a row, besides the time.
    """

    def __init__(self, capacity: int, width: int) -> None:
        if capacity < 2 or width < 0:
            raise ValueError(f"ring: expected at least 2 rows of at least 0 values, got {capacity} of {width}")
        self.capacity = capacity
        self.width = width
        self._row = struct.Struct(f"={1 + width}q")
        self._data = bytearray(self._row.size * capacity)
        self._written = 0

    @property
    def written(self) -> int:
        """Rows written since the start; the next one gets this number."""
        return self._written

    def append(self, now_ns: int, values: Sequence[int]) -> None:
        """Write a row; the oldest one goes. Only one thread may do so."""
        row = self._row
        row.pack_into(self._data, self._written % self.capacity * row.size, now_ns, *values)
        # Counted after it is whole, so that a reader never sees half a row.
        self._written += 1

    def read(self, first: int, most: int | None = None) -> tuple[Rows, int, int]:
        """Rows from number ``first`` on, at most ``most``; from any thread.

        Returns
        -------
        rows : list of tuple of int
        following : int
            Number of the row to go on from.
        lost : int
            Rows that were overwritten before they could be read.
        """
        end = self._written
        start = max(first, end - self.capacity)
        if most is not None:
            end = min(end, start + most)
        size = self._row.size
        begin, stop = start % self.capacity * size, end % self.capacity * size
        if start >= end:
            data = b""
        elif begin < stop:
            data = bytes(self._data[begin:stop])
        else:
            data = bytes(self._data[begin:]) + bytes(self._data[:stop])
        # While it was copied the writer may have come round; one more row may be half written.
        intact = max(start, self._written + 1 - self.capacity)
        rows = list(self._row.iter_unpack(data))[min(intact, end) - start :]
        return rows, max(end, first), min(intact, end) - first if intact > first else 0
