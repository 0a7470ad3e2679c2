"""The Unix socket the jobs connect to: ``SOCK_SEQPACKET``, one JSON object per message.

asyncio has no transport for this kind of socket: a task for each connection reads it.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..job_secret import sha256_of
from .accepting import BACKLOG, accept_all
from .clocks import Clocks
from .connection import Connection
from .limits import Limits, Places, TokenBucket
from .log import Log
from .messages import MAX_BYTES, PROTOCOL, Changed, Hello, Iterations, read_message, to_job
from .registry import Job, RefusedError, Registry

__all__ = ["LocalSocket"]


class LocalSocket:
    """Serves jobs from start to stop.

    Parameters
    ----------
    path : Path
        Of the socket. Every user may connect; what each may do is decided by the user the kernel names.
    """

    def __init__(self, path: Path, registry: Registry, limits: Limits, log: Log, clocks: Clocks) -> None:
        self._path = path
        self._registry = registry
        self._limits = limits
        self._log = log
        self._clocks = clocks
        self._connections: set[Connection] = set()
        self._places: Places[Connection] = Places(limits.connections)
        per_s = limits.strangers_messages_per_s
        self._strangers = TokenBucket(per_s, per_s, 0.0)
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._is_own = True

    def __len__(self) -> int:
        return len(self._connections)

    def start(self, passed: socket.socket | None = None) -> None:
        """Listen, on a socket that stays when the daemon ends if one is passed.

        Raises
        ------
        OSError
            Another daemon listens there, or the place cannot be written.
        """
        self._is_own = passed is None
        self._listener = _listen(self._path) if passed is None else passed
        accepting = accept_all(self._listener, self._admit, lambda error: self._log.error("socket", error))
        self._accepting = asyncio.get_running_loop().create_task(accepting)

    def stop(self) -> None:
        """At once: who is connected sees it."""
        if self._listener is not None and self._accepting is not None:
            self._accepting.cancel()
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            if self._is_own:
                with suppress(OSError):
                    self._path.unlink()
        for connection in self._connections:
            connection.task.cancel()
            connection.close()

    def _admit(self, sock: socket.socket, _: Any) -> None:
        connection = Connection(sock, self._places, self._log)
        connection.task = asyncio.get_running_loop().create_task(self._serve(connection))
        connection.task.add_done_callback(lambda _: self._on_end(connection))
        self._connections.add(connection)
        if (goes := self._places.take(connection, connection.uid)) is not None:
            goes.evict("too_many_connections")

    def _on_end(self, connection: Connection) -> None:
        connection.close()
        self._connections.discard(connection)
        self._places.leave(connection)
        if connection.job is not None:
            self._registry.leave(connection.job, connection, self._clocks.monotonic_ns())

    async def _serve(self, connection: Connection) -> None:
        """Read messages until the peer has gone, in turn with all others."""
        loop = asyncio.get_running_loop()
        own = TokenBucket(self._limits.messages_per_s, self._limits.message_burst, loop.time())
        try:
            async with asyncio.timeout(self._limits.hello_timeout_s) as until_hello:
                # One byte more than may be. An empty message looks as if the peer had gone, and means nothing anyway.
                while data := await loop.sock_recv(connection.sock, MAX_BYTES + 1):
                    try:
                        self._obey(connection, data)
                    except RefusedError as error:
                        connection.refuse(error.reason, str(error))
                        if connection.job is None:
                            return
                    until_hello.reschedule(None)
                    # Strangers may use up what they have together, but nothing of who is vouched for.
                    buckets = (own,) if connection.is_proved else (own, self._strangers)
                    if wait_s := max(bucket.take(loop.time(), 1 + len(data) / 4096) for bucket in buckets):
                        # The socket fills up, and the job drops what does not fit, without waiting.
                        self._log.refused("socket", "too_fast", uid=connection.uid, pid=connection.pid)
                    await asyncio.sleep(wait_s)
        except TimeoutError:
            connection.refuse("no_hello", "silent")
        except OSError:
            pass
        except Exception as error:
            self._log.error("socket", error)

    def _obey(self, connection: Connection, data: bytes) -> None:
        """Do what a message says, or RefusedError."""
        if len(data) > MAX_BYTES:
            raise RefusedError("oversized", f"expected at most {MAX_BYTES} bytes")
        try:
            message = read_message(data)
        except ValueError as error:
            raise RefusedError("malformed", str(error)) from None
        self._log.events["messages"] += 1
        job = connection.job
        if job is None:
            if not isinstance(message, Hello):
                raise RefusedError("no_hello", "expected hello first")
            self._greet(connection, message)
        elif isinstance(message, Hello):
            raise RefusedError("second_hello")
        else:
            self._record(job, connection, message)

    def _record(self, job: Job, connection: Connection, message: Iterations | Changed) -> None:
        job.hear(connection.secret_sha256)
        is_urgent = True
        if isinstance(message, Changed):
            job.changed = message
        else:
            before = job.measurements.state, job.measurements.followed
            if job.measurements.record(message):
                job.changed = None
            is_urgent = message.state == "adjusting" or before != (message.state, message.version)
        job.heard_ns = self._clocks.monotonic_ns()
        self._registry.touch(job, job.heard_ns)
        if is_urgent:
            self._registry.changes.note()

    def _greet(self, connection: Connection, hello: Hello) -> None:
        if hello.protocol != PROTOCOL:
            raise RefusedError("protocol")
        if hello.secret is not None:
            connection.secret_sha256 = sha256_of(hello.secret)
        now_ns = self._clocks.monotonic_ns()
        job = connection.job = self._registry.join(hello.job, connection, now_ns)
        job.world_size = hello.world_size
        if (held := job.in_force(now_ns)) is not None:
            connection.send(to_job(held))


def _listen(path: Path) -> socket.socket:
    """A job that meets the socket before it is ready is turned away and comes again within a second."""
    if _is_alive(path):
        raise OSError(errno.EADDRINUSE, "another daemon listens here", str(path))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        if path.is_socket():  # nothing else is removed: binding then says that the place is taken
            path.unlink()
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True
