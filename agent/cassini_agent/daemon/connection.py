"""The connection of a job, on which at most one message waits to be sent: nobody is waited for."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress

from .limits import Places
from .log import Log
from .messages import refused
from .registry import Job

__all__ = ["Connection"]

_CREDENTIALS = struct.Struct("3i")


class Connection:
    """Of the peer that ``SO_PEERCRED`` names.

    Attributes
    ----------
    uid, pid : int
        Of the process that connected, as the kernel says.
    job : Job or None
        None until hello.
    secret_sha256 : str or None
        Of the secret that it has shown, if any.
    is_proved : bool
        That secret is its job's.
    task : asyncio.Task
        What serves it; the connection ends with it.
    """

    task: asyncio.Task[None]

    def __init__(self, sock: socket.socket, places: Places[Connection], log: Log) -> None:
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        self.pid, self.uid, _ = _CREDENTIALS.unpack(credentials)
        self.sock = sock
        self.job: Job | None = None
        self.secret_sha256: str | None = None
        self.is_proved = False
        self._places = places
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._waiting: bytes | None = None

    def send(self, message: bytes) -> None:
        """Send now, or when there is room; a newer message takes the place of one that waits."""
        waited, self._waiting = self._waiting is not None, message
        if not waited:
            self._send_waiting()

    def refuse(self, reason: str, detail: str = "") -> None:
        """Say why not, to the peer if there is room at once."""
        self._log.refused("socket", reason, uid=self.uid, pid=self.pid, detail=detail[:400])
        if self._waiting is None:
            with suppress(OSError):
                self.sock.send(refused(reason))

    def prove(self) -> None:
        """The secret that it has shown is that of its job."""
        self.is_proved = True
        self._places.keep(self)

    def evict(self, reason: str) -> None:
        """It has no business here, or no place."""
        self.refuse(reason)
        self.task.cancel()

    def close(self) -> None:
        """The last thing that is done with it; once more does nothing."""
        if self.sock.fileno() < 0:
            return
        self._waiting = None
        self._loop.remove_reader(self.sock)
        self._loop.remove_writer(self.sock)
        self.sock.close()

    def _send_waiting(self) -> None:
        if self._waiting is None or self.sock.fileno() < 0:
            return
        try:
            self.sock.send(self._waiting)
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self.sock, self._on_writable)
            return
        except OSError:
            self.task.cancel()
        self._waiting = None

    def _on_writable(self) -> None:
        self._loop.remove_writer(self.sock)
        self._send_waiting()
