"""The Unix socket the jobs connect to: ``SOCK_SEQPACKET``, one JSON object per message.

asyncio has no transport for this kind of socket, so it is read as the loop finds it readable.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .clocks import Clocks
from .connection import Connection
from .counts import Counts
from .limits import FullError, Limits, PeerBuckets, Places, TokenBucket
from .messages import PROTOCOL, Changed, Hello, Iterations, Message, to_job
from .registry import ROOT, Job, NameTakenError, NotYoursError, Registry, TooManyError, WrongSecretError

__all__ = ["LocalSocket"]

ACCEPTS_PER_TURN = 64
BACKLOG = 1024
_CREDENTIALS = struct.Struct("3i")


class LocalSocket:
    """Serves jobs from start to stop.

    Parameters
    ----------
    path : Path
        Of the socket. Every user may connect; what each may do is decided by the user the kernel names.
    on_claimed : callable
        Told of a job that has an owner now.
    on_refused : callable
        Told the reason and details of everything that was refused, for the log.
    """

    def __init__(
        self,
        path: Path,
        registry: Registry,
        limits: Limits,
        counts: Counts,
        clocks: Clocks,
        on_claimed: Callable[[Job], None],
        on_refused: Callable[[str, dict[str, object]], None],
    ) -> None:
        self.limits = limits
        self._path = path
        self._registry = registry
        self._counts = counts
        self._clocks = clocks
        self._on_claimed = on_claimed
        self._log_refused = on_refused
        self._jobs: dict[Connection, Job | None] = {}
        self._places: Places[Connection] = Places(limits.connections)
        self._arrivals, self._messages = (
            PeerBuckets(limits.user_messages_per_s, limits.user_message_burst) for _ in range(2)
        )
        self._listener: socket.socket | None = None
        self._is_own = True

    def __len__(self) -> int:
        return len(self._jobs)

    def start(self, passed: socket.socket | None = None) -> None:
        """Listen, on a socket that stays when the daemon ends if one is passed.

        Raises
        ------
        OSError
            Another daemon listens there, or the place cannot be written.
        """
        self._is_own = passed is None
        self._listener = _listen(self._path) if passed is None else passed
        asyncio.get_running_loop().add_reader(self._listener, self._on_connections)

    def stop(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            if self._is_own:
                with suppress(OSError):
                    self._path.unlink()
        for connection in list(self._jobs):
            connection.close()

    def _on_connections(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            assert self._listener is not None
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._counts.error("socket")
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS):
                    self._rest()
                return
            self._admit(sock)

    def _rest(self) -> None:
        """Out of descriptors: the listener stays readable, so look away for a while."""
        loop = asyncio.get_running_loop()
        listener = self._listener
        assert listener is not None
        loop.remove_reader(listener)
        loop.call_later(0.1, lambda: listener.fileno() >= 0 and loop.add_reader(listener, self._on_connections))

    def _admit(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(credentials)
        now = asyncio.get_running_loop().time()
        if not self._arrivals.of(uid, now).take(now):
            self._counts.refuse("socket", "too_fast")
            self._log_refused("too_fast", {"uid": uid, "pid": pid})
            sock.close()
            return
        own = TokenBucket(self.limits.messages_per_s, self.limits.message_burst, now)
        connection = Connection(sock, uid, pid, self, (own, self._messages.of(uid, now)))
        self._jobs[connection] = None
        share = self.limits.connections if uid == ROOT else self.limits.connections // 2
        try:
            goes = self._places.take(connection, uid, share)
        except FullError:
            goes = connection
        if goes is not None:
            goes.evict("too_many_connections")

    def on_message(self, connection: Connection, message: Message) -> str | None:
        self._counts.event("messages")
        job = self._jobs[connection]
        if isinstance(message, Hello):
            return "second_hello" if job is not None else self._greet(connection, message)
        assert job is not None
        if connection.rank != 0:
            return "not_rank_0"
        job.hear(connection.secret_sha256)
        is_urgent = False
        if isinstance(message, Iterations):
            before = job.measurements.state, job.measurements.followed
            if job.measurements.record(message):
                job.changed = None
            is_urgent = message.state == "adjusting" or before != (message.state, message.version)
        elif isinstance(message, Changed):
            job.changed = {
                "iteration_ns": message.iteration_ns,
                "was_ns": message.was_ns,
                "certain": message.certain,
            }
            is_urgent = True
        job.heard_ns = self._clocks.monotonic_ns()
        self._registry.touch(job, job.heard_ns)
        if is_urgent:
            self._registry.changes.note()
        return None

    def _greet(self, connection: Connection, hello: Hello) -> str | None:
        if hello.protocol != PROTOCOL:
            return "protocol"
        now_ns = self._clocks.monotonic_ns()
        try:
            job, claimed = self._registry.join(hello.job, connection, now_ns, hello.rank)
        except WrongSecretError:
            return "wrong_secret"
        except NotYoursError:
            return "not_yours"
        except NameTakenError:
            return "name_taken"
        except TooManyError as error:
            return error.reason
        self._jobs[connection] = job
        job.world_size = hello.world_size
        connection.greet(hello)
        if claimed:
            self._on_claimed(job)
        if (held := job.in_force(now_ns)) is not None:
            connection.send(to_job(held))
        return None

    def on_refused(self, connection: Connection, reason: str, detail: str) -> None:
        self._counts.refuse("socket", reason)
        self._log_refused(reason, {"uid": connection.uid, "pid": connection.pid, "detail": detail})

    def on_proved(self, connection: Connection) -> None:
        self._places.keep(connection)

    def on_closed(self, connection: Connection) -> None:
        job = self._jobs.pop(connection, None)
        self._places.leave(connection)
        if job is not None:
            self._registry.leave(job, connection, self._clocks.monotonic_ns())


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
