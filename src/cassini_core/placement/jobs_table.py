"""Jobs in CSV: a line of columns, then a line for each job."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import refusal, shown
from ..topology.formats.hostlists import Hostlists

__all__ = ["COLUMNS", "JobRow", "job_rows"]

COLUMNS = ("id", "profile", "workers", "gpus_per_worker", "pattern", "hosts")
"""The first three must be there; an empty cell of the others says nothing."""

_NEEDED = COLUMNS[:3]
_COUNT = re.compile("[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class JobRow:
    """A line as read; only the form of its cells is checked. ``place`` says where it stands."""

    place: str
    id: str
    profile: str
    workers: int
    gpus_per_worker: int
    pattern: str
    hosts: dict[str, int] | None


def job_rows(data: bytes) -> Iterator[JobRow]:
    """The jobs of a table.

    Raises
    ------
    InputError
        A column is missing, unknown or there twice, or a cell is wrong.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal("", f"byte {error.start}", "text in UTF-8", f"the byte 0x{data[error.start]:02x}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    hostlists = Hostlists()
    names: list[str] | None = None
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise refusal(
                "", f"line {reader.line_num}", "comma-separated values", f"the error {shown(str(error))}"
            ) from None
        if cells is None:
            break
        place = f"line {reader.line_num}"
        stripped = [cell.strip() for cell in cells]
        if not any(stripped):
            continue
        if names is None:
            names = _checked_names(stripped, place)
        elif len(stripped) != len(names):
            raise refusal("", place, f"{len(names)} cells, one for each column", str(len(stripped)))
        else:
            yield _row(dict(zip(names, stripped, strict=True)), place, hostlists)
    if names is None:
        raise refusal("", "", f"cassini-jobs/1 or a line {','.join(_NEEDED)}", "an empty file")


def _checked_names(names: list[str], place: str) -> list[str]:
    for name in _NEEDED:
        if name not in names:
            raise refusal("", place, f"JSON, or the columns {','.join(_NEEDED)} of a table", shown(",".join(names)))
    for name in names:
        if name not in COLUMNS:
            raise refusal("", place, f"no columns but {', '.join(COLUMNS)}", shown(name))
        if names.count(name) > 1:
            raise refusal("", place, "each column once", f"{shown(name)} again")
    return names


def _row(cells: dict[str, str], place: str, hostlists: Hostlists) -> JobRow:
    workers = _count(cells["workers"], f"{place}.workers")
    gpus = cells.get("gpus_per_worker", "")
    hosts = cells.get("hosts", "")
    return JobRow(
        place,
        cells["id"],
        cells["profile"],
        workers,
        _count(gpus, f"{place}.gpus_per_worker") if gpus else 1,
        cells.get("pattern", "") or "ring",
        _hosts(hosts, workers, f"{place}.hosts", hostlists) if hosts else None,
    )


def _count(cell: str, place: str) -> int:
    if not _COUNT.fullmatch(cell):
        raise refusal("", place, "a whole number of at least 1", shown(cell))
    return int(cell)


def _hosts(cell: str, workers: int, place: str, hostlists: Hostlists) -> dict[str, int]:
    """Workers by host: ``a:4 b:2``, or a hostlist over which they divide evenly."""
    words = cell.split()
    if all(":" in word for word in words):
        found: dict[str, int] = {}
        for word in words:
            host, _, count = word.rpartition(":")
            if host in found:
                raise refusal("", place, "each host once", f"{shown(host)} again")
            found[host] = _count(count, place)
        return found
    if any(":" in word for word in words):
        raise refusal("", place, "workers for each host (a:4 b:2) or for none (n[1-4])", shown(cell))
    names = hostlists.at(words, place)
    if workers % len(names):
        expected = f"hosts over which {workers} workers divide evenly, or how many each has (a:4 b:2)"
        raise refusal("", place, expected, f"{len(names)} hosts")
    return dict.fromkeys(names, workers // len(names))
