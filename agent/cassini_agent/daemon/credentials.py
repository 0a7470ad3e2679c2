"""Tokens and certificates that are replaced while they are in use: looked for once a second, read when they change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Credentials"]

Stamp = tuple[tuple[int, int, int] | None, ...]


class Reader(Protocol):
    """What reads the files, such as ``Config``."""

    def credentials(self) -> tuple[Any, ...]:
        """What they hold; ValueError if that is not fit for use."""
        ...

    def credential_files(self) -> Iterable[Path]: ...


class Credentials:
    """What the files of a configuration hold.

    Parameters
    ----------
    config : Reader
        Whose files have been read.
    use : callable
        Given what they hold now, when they have changed and are fit for use.
    on_unfit : callable
        Told why it is not, once for each change; what was read before goes on counting.
    """

    def __init__(
        self,
        config: Reader,
        use: Callable[..., None],
        on_unfit: Callable[[str], None],
    ) -> None:
        self._config = config
        self._use = use
        self._on_unfit = on_unfit
        self._stamp: Stamp = ()  # of nothing: the files may have changed since they were read

    def refresh(self) -> None:
        """Read the files if any has changed since. Some 10 us if not."""
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp  # as it was before reading: what is written meanwhile is another change
        try:
            read = self._config.credentials()
        except ValueError as error:
            self._on_unfit(str(error))
        else:
            self._use(*read)

    def _look(self) -> Stamp:
        stamps: list[tuple[int, int, int] | None] = []
        for file in self._config.credential_files():
            try:
                status = file.stat()
            except OSError:
                stamps.append(None)
            else:
                stamps.append((status.st_ino, status.st_mtime_ns, status.st_ctime_ns))
        return tuple(stamps)
