"""Tokens and certificates that are replaced while they are in use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

__all__ = ["ChangedFiles"]


class ChangedFiles:
    """Tells when any of some files has changed.

    Parameters
    ----------
    files : iterable of Path or None
        None is no file.
    """

    def __init__(self, files: Iterable[Path | None]) -> None:
        self._files = [file for file in files if file is not None]
        self._stamps: list[tuple[int, int, int] | None] = []  # they may have changed since they were read

    def look(self) -> bool:
        """Whether one of them is another since the last look, or this is the first. Some 10 us.

        What is written while they are read is seen by the next look.
        """
        before, self._stamps = self._stamps, [_stamp(file) for file in self._files]
        return self._stamps != before


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns
