"""What must outlive the daemon: newest versions, schedules in force, owners of jobs that have one, the clock.

A change writes the whole file anew, beside the old one, which it then replaces: what is there is whole. What was
written is in the page cache, so a killed daemon finds it again; only a crash of the host may lose it, and no job
survives that. A full or slow disk costs what the daemon will know after a restart, nothing before.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["Journal"]

WAIT_S = 1.0
"""Longest a caller waits for the disk; then the answer goes out without."""


class Journal:
    """Writes in a thread; all that changes while it writes goes out together.

    Parameters
    ----------
    path : Path
        The file; its folder exists.
    content : callable
        What the file is to hold now.
    on_failure : callable
        Told of every write that failed.

    Attributes
    ----------
    has_failed : bool
        What the file holds is not what it should: it is for the caller to try again.
    """

    def __init__(self, path: Path, content: Callable[[], bytes], on_failure: Callable[[Exception], None]) -> None:
        self.has_failed = False
        self._path = path
        self._content = content
        self._on_failure = on_failure
        self._next: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def read(self) -> bytes | None:
        """What the file holds, None if there is none.

        Raises
        ------
        OSError
            It is there but cannot be read.
        """
        with suppress(FileNotFoundError):
            return self._path.read_bytes()
        return None

    def save(self) -> asyncio.Future[None]:
        """Write soon; the future is done when it is tried."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        if self._task is None:
            self._task = asyncio.ensure_future(self._write_all())
        return self._next

    async def saved(self) -> None:
        """Write now, and wait for it, but not for ever."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.save()), WAIT_S)

    async def close(self) -> None:
        """Let what waits be written, within the usual wait."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=WAIT_S)

    async def _write_all(self) -> None:
        while self._next is not None:
            written, self._next = self._next, None
            try:
                await asyncio.to_thread(self._write, self._content())
                self.has_failed = False
            except Exception as error:
                self.has_failed = True
                self._on_failure(error)
            written.set_result(None)
        self._task = None

    def _write(self, data: bytes) -> None:
        beside = self._path.with_name(f".{self._path.name}.part")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            os.replace(beside, self._path)
        except OSError:
            with suppress(OSError):
                os.unlink(beside)
            raise
