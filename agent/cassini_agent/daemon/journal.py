"""What must outlive the daemon, one JSON line per change: newest versions, schedules in force, owners, the mapping.

A line that was written is in the page cache, so a killed daemon finds it again; only a crash of the host may lose the
last seconds, and no job survives that. A full or slow disk costs what the daemon will know after a restart, nothing
before: what cannot be written is counted, passed over and tried again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Journal", "read_journal"]

MAX_LINE_BYTES = 16 * 1024
SPARE_LINES = 4096
"""Lines that are added before the file is written anew, without those that no longer count."""

RETRY_S = 5.0
"""After a failure, until all is tried again."""

WAIT_S = 1.0
"""Longest a caller waits for the disk; then the answer goes out without."""


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Objects of the journal, oldest first; torn or foreign lines are passed over, no file is an empty one.

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
    """Appends lines in a thread of its own; all that come while it writes go out together.

    Parameters
    ----------
    path : Path
        The file; its folder exists.
    lines_in_use : callable
        The lines that a new file would have to hold, asked for when the file has grown.
    on_failure : callable
        Told of every write that failed.
    """

    def __init__(
        self, path: Path, lines_in_use: Callable[[], list[bytes]], on_failure: Callable[[OSError], None]
    ) -> None:
        self._path = path
        self._lines_in_use = lines_in_use
        self._on_failure = on_failure
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._waiting: list[bytes] = []
        self._written: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._lines = 0
        self._behind = True  # the first write makes the file anew, and the first after a failure
        self._torn = False

    def append(self, *lines: bytes) -> asyncio.Future[None]:
        """Write soon; the future is done when it is tried."""
        self._waiting.extend(lines)
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        if self._task is None:
            self._task = asyncio.ensure_future(self._write_all())
        return self._written

    async def settle(self, written: asyncio.Future[None]) -> None:
        """Wait for a write, but not for ever."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(written), WAIT_S)

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
        while self._written is not None:
            lines, self._waiting = self._waiting, []
            written, self._written = self._written, None
            self._lines += len(lines)
            try:
                if self._behind or self._lines > SPARE_LINES:
                    in_use = self._lines_in_use()
                    await loop.run_in_executor(self._thread, self._write_anew, in_use)
                    self._lines, self._behind = 0, False
                else:
                    await loop.run_in_executor(self._thread, self._write_more, lines)
            except OSError as error:
                self._behind = True
                self._on_failure(error)
            finally:
                if not written.done():
                    written.set_result(None)
        self._task = None
        if self._behind:
            self._retry = loop.call_later(RETRY_S, self.append)

    def _write_more(self, lines: Iterable[bytes]) -> None:
        data = b"".join(line + b"\n" for line in lines)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if self._torn:
                data = b"\n" + data
            self._torn = True
            if os.write(descriptor, data) < len(data):
                raise OSError(28, "No space left on device", str(self._path))
            self._torn = False
        finally:
            os.close(descriptor)

    def _write_anew(self, lines: Iterable[bytes]) -> None:
        beside = self._path.with_name(f".{self._path.name}.part")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.writelines(line + b"\n" for line in lines)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(beside, self._path)
            self._torn = False
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise
