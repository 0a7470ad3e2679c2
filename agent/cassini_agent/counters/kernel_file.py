"""A file of the kernel that is read again and again from its start; opened anew when its device has gone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

__all__ = ["KernelFile"]

_FIRST_PAUSE_NS = 100_000_000
_LONGEST_PAUSE_NS = 5_000_000_000
_MOST_BYTES = 1 << 20
# Whoever hands out a table gives whole lines as long as they fit into a page, so after a part that leaves room for the
# longest line nothing follows.
_LAST_PART = 3072
# What does not mean that the device is gone: the same descriptor may be read again.
_PASSING = {errno.EINTR, errno.EAGAIN, errno.EBUSY, errno.ENOMEM, errno.ETIMEDOUT}


class KernelFile:
    """An open file; reading it never raises.

    Parameters
    ----------
    path : str
    pread : callable
        ``os.pread``; another one where a test has a device fail.
    """

    __slots__ = ("_fd", "_next_ns", "_pause_ns", "_pread", "path", "problem", "reopened")

    def __init__(self, path: str, pread: Callable[[int, int, int], bytes] = os.pread) -> None:
        self.path = path
        self.problem: str | None = None
        self.reopened = 0
        self._pread = pread
        self._fd = -1
        self._next_ns = 0
        self._pause_ns = _FIRST_PAUSE_NS
        self._open()

    def read(self, size: int, now_ns: int) -> bytes | None:
        """At most ``size`` bytes from the start of the file; None where it cannot be read now."""
        if self._fd < 0 and not self._reopen(now_ns):
            return None
        try:
            data = self._pread(self._fd, size, 0)
        except OSError as error:
            self._failed(error, now_ns)
            return None
        if self.problem is not None:
            self.problem = None
            self._pause_ns = _FIRST_PAUSE_NS
        return data

    def read_all(self, now_ns: int) -> bytes | None:
        """The whole file, up to 1 MiB: tables are handed out in parts of about a page."""
        data = self.read(65536, now_ns)
        if data is None:
            return None
        parts = [data]
        length = len(data)
        while len(data) >= _LAST_PART and length < _MOST_BYTES:
            try:
                data = self._pread(self._fd, 65536, length)
            except OSError as error:
                self._failed(error, now_ns)
                return None
            parts.append(data)
            length += len(data)
        return b"".join(parts)

    def close(self) -> None:
        """Give the descriptor back; reading goes on with a new one."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _failed(self, error: OSError, now_ns: int) -> None:
        self.problem = f"{self.path}: {error.strerror or error}"
        if error.errno not in _PASSING:
            self.close()
            self._pause(now_ns)

    def _pause(self, now_ns: int) -> None:
        self._next_ns = now_ns + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _LONGEST_PAUSE_NS)

    def _reopen(self, now_ns: int) -> bool:
        if now_ns < self._next_ns:
            return False
        if self._open():
            self.reopened += 1
            return True
        self._pause(now_ns)
        return False

    def _open(self) -> bool:
        try:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror or error}"
            return False
        return True
