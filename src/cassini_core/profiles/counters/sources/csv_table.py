"""A table in CSV: a time, and for each port and direction the total of its bytes.

The first line names the columns: ``time_s``, ``time_ms``, ``time_us`` or ``time_ns`` (a number) or ``time`` (ISO 8601)
first, then ``DEVICE tx_bytes`` and ``DEVICE rx_bytes``, each as often as there are devices; a colon may stand for the
space. An empty cell is a value that is not known.
"""

from __future__ import annotations

import csv
import re

from ....errors import shown
from ..samples import Recording
from .readings import TIME_NAMES, Readings, named_time_ns, read_lines, total_of

__all__ = ["read_csv"]

_COLUMN = re.compile(r"(.*[^ :])[ :](tx|rx)_bytes")


def read_csv(name: str, data: bytes) -> Recording:
    """Read a table; errors name the line and the column."""
    table = _Table()
    problem = read_lines(name, data, table.take)
    return table.readings.recording(name, "CSV", problem=problem)


class _Table:
    def __init__(self) -> None:
        self.readings = Readings()
        self._names: list[str] = []
        self._columns: list[tuple[str, str]] = []

    def take(self, line: str) -> None:
        try:
            cells = next(csv.reader([line], strict=True), [])
        except csv.Error as error:
            raise ValueError(f"expected comma-separated values: {error}") from None
        if not self._names:
            self._head([cell.strip() for cell in cells])
        elif cells:
            self._row(cells)

    def _head(self, names: list[str]) -> None:
        if not names or names[0] not in TIME_NAMES:
            raise ValueError(f"column 1: expected one of {', '.join(TIME_NAMES)}, got {shown(''.join(names[:1]))}")
        for number, column in enumerate(names[1:], 2):
            match = _COLUMN.fullmatch(column)
            if match is None:
                raise ValueError(
                    f"column {number}: expected 'DEVICE tx_bytes' or 'DEVICE rx_bytes', as in 'mlx5_0/1 tx_bytes', "
                    f"got {shown(column)}"
                )
            if (match[1], match[2]) in self._columns:
                raise ValueError(f"column {number}: expected each column once, got {shown(column)} again")
            self._columns.append((match[1], match[2]))
            self.readings.expect(match[1], match[2])
        self._names = names

    def _row(self, cells: list[str]) -> None:
        if len(cells) != len(self._names):
            raise ValueError(f"expected {len(self._names)} cells, got {len(cells)}")
        at_ns = named_time_ns(self._names[0], cells[0].strip())
        for name, key, cell in zip(self._names[1:], self._columns, cells[1:], strict=True):
            try:
                raw = total_of(cell)
            except ValueError as error:
                raise ValueError(f"column {shown(name)}: {error}") from None
            self.readings.add(*key, at_ns, raw)
