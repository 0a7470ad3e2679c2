"""The job's end of the socket to the daemon: never blocks, never raises, loses messages rather than time.

Standard library only: imported into training processes.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from .strict_json import MAX_BYTES

__all__ = ["DEFAULT_SOCKET", "SECRET_VARIABLE", "LocalLink", "socket_path"]

DEFAULT_SOCKET = "/run/cassini-agent/agent.sock"
SECRET_VARIABLE = "CASSINI_JOB_SECRET"
"""Where a job finds the secret that it shows to the daemon."""

RETRY_NS = 1_000_000_000
"""Time between two attempts to reach a daemon that is not there: an attempt costs some ten microseconds."""

MOST_AT_ONCE = 16
"""Messages read in one call: a daemon that floods its job may not hold it up."""


def socket_path() -> str:
    """Where the daemon's socket lies: ``$CASSINI_AGENT_SOCKET`` or the default."""
    return os.environ.get("CASSINI_AGENT_SOCKET") or DEFAULT_SOCKET


class LocalLink:
    """A connection to the daemon that is made, and made again, when there is one to talk to.

    Parameters
    ----------
    path : str
        The daemon's socket.
    hello : dict
        First message on each connection.
    now_ns : callable, optional
        Monotonic clock; for tests.

    Attributes
    ----------
    dropped : int
        Messages that were lost because the daemon was not there, or not reading.
    """

    def __init__(self, path: str, hello: dict[str, Any], now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.path = path
        self.dropped = 0
        self._hello = hello
        self._now_ns = now_ns
        self._socket: socket.socket | None = None
        self._next_attempt_ns = 0

    @property
    def connected(self) -> bool:
        """Whether the daemon was there when last looked at."""
        return self._socket is not None

    def send(self, message: dict[str, Any]) -> bool:
        """Send a message if that is possible at once; else it is dropped and counted. Some 10 us."""
        if self._reach() and self._push(message):
            return True
        self.dropped += 1
        return False

    def receive(self) -> list[dict[str, Any]]:
        """What has come since the last call, at most 16 messages; what is no JSON object is left out. Some 2 us."""
        messages: list[dict[str, Any]] = []
        if not self._reach():
            return messages
        for _ in range(MOST_AT_ONCE):
            data = self._pull()
            if not data:
                break
            try:
                message = json.loads(data)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                messages.append(message)
        return messages

    def close(self) -> None:
        """Give the connection back; the next call makes a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def forget(self) -> None:
        """In a child of ``fork``: the connection is the parent's; this end lets go of it."""
        self.close()
        self._next_attempt_ns = 0

    def _reach(self) -> bool:
        if self._socket is not None:
            return True
        now_ns = self._now_ns()
        if now_ns < self._next_attempt_ns:
            return False
        self._next_attempt_ns = now_ns + RETRY_NS
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)
            self._socket.connect(self.path)  # does not wait: a full backlog is EAGAIN
        except (OSError, ValueError):
            self.close()
            return False
        return self._push(self._hello)

    def _push(self, message: dict[str, Any]) -> bool:
        data = json.dumps(message, separators=(",", ":")).encode()
        if self._socket is None or len(data) > MAX_BYTES:
            return False
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) == len(data)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                self.close()
            return False

    def _pull(self) -> bytes:
        if self._socket is None:
            return b""
        try:
            data = self._socket.recv(MAX_BYTES + 1, socket.MSG_DONTWAIT)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                self.close()
            return b""
        if not data:
            self.close()
        return data
