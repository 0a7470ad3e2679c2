"""What must outlive the daemon, one JSON line each: newest versions, schedules in force, owners, the clock.

A change writes the whole file anew, beside the old one, which it then replaces: what is there is whole. What was
written is in the page cache, so a killed daemon finds it again; only a crash of the host may lose it, and no job
survives that. A full or slow disk costs what the daemon will know after a restart, nothing before: what cannot be
written is counted, passed over and tried again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Journal", "read_journal"]

MAX_LINE_BYTES = 16 * 1024

RETRY_S = 5.0
"""After a failure, until it is tried again."""

WAIT_S = 1.0
"""Longest a caller waits for the disk; then the answer goes out without."""


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Objects of the journal; foreign lines are passed over, no file is an empty one.

    Raises
    ------
    OSError
        The file is there but cannot be read.
    """
    with suppress(FileNotFoundError), path.open("rb") as stream:
        while line := stream.readline(MAX_LINE_BYTES):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                value = msgspec.json.decode(line)
                if isinstance(value, dict):
                    yield value


class Journal:
    """Writes in a thread of its own; all that changes while it writes goes out together.

    Parameters
    ----------
    path : Path
        The file; its folder exists.
    lines : callable
        What the file is to hold now.
    on_failure : callable
        Told of every write that failed.
    """

    def __init__(self, path: Path, lines: Callable[[], list[bytes]], on_failure: Callable[[OSError], None]) -> None:
        self._path = path
        self._lines = lines
        self._on_failure = on_failure
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._written: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._retry: asyncio.TimerHandle | None = None

    def save(self) -> asyncio.Future[None]:
        """Write soon; the future is done when it is tried."""
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        if self._task is None:
            self._task = asyncio.ensure_future(self._write_all())
        return self._written

    async def saved(self) -> None:
        """Write now, and wait for it, but not for ever."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.save()), WAIT_S)

    async def close(self) -> None:
        """Let what waits be written, within the usual wait."""
        if self._retry is not None:
            self._retry.cancel()
        if self._task is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._task), WAIT_S)
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._written is not None:
                written, self._written = self._written, None
                if self._retry is not None:
                    self._retry.cancel()
                try:
                    await loop.run_in_executor(self._thread, self._write, b"\n".join([*self._lines(), b""]))
                except OSError as error:
                    self._on_failure(error)
                    self._retry = loop.call_later(RETRY_S, self.save)
                finally:
                    if not written.done():
                        written.set_result(None)
        finally:
            self._task = None  # whatever failed, the next change is written

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
