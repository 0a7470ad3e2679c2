"""One connection of a job: reads messages as they come, keeps at most one that could not be sent, blocks nobody."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Protocol

from ..job_secret import sha256_of
from .limits import Limits, TokenBucket
from .messages import MAX_BYTES, Hello, Message, read_message, refused

__all__ = ["Connection", "Talk"]

MESSAGES_PER_TURN = 16
"""So that one busy job does not keep the others waiting."""


class Talk(Protocol):
    """What a connection tells the server."""

    limits: Limits

    def on_message(self, connection: Connection, message: Message) -> str | None:
        """Obey a message; or the reason why not."""
        ...

    def on_refused(self, connection: Connection, reason: str, detail: str) -> None: ...

    def on_proved(self, connection: Connection) -> None:
        """It has shown the secret of its job."""
        ...

    def on_closed(self, connection: Connection) -> None: ...


class Connection:
    """Of the peer that ``SO_PEERCRED`` names.

    Attributes
    ----------
    rank : int
        -1 until hello.
    uid, pid : int
        Of the process that connected, as the kernel says.
    secret_sha256 : str or None
        Of the secret that it has shown, if any.
    """

    def __init__(
        self, sock: socket.socket, uid: int, pid: int, talk: Talk, buckets: tuple[TokenBucket, TokenBucket]
    ) -> None:
        self.uid = uid
        self.pid = pid
        self.rank = -1
        self.secret_sha256: str | None = None
        self._sock = sock
        self._talk = talk
        self._own, self._of_user = buckets
        self._is_proved = False
        self._waiting: bytes | None = None
        self._refusals = 0
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock, self._on_readable)
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(
            talk.limits.hello_timeout_s, self._refuse_and_close, "no_hello"
        )

    def send(self, message: bytes) -> None:
        """Send now, or when there is room; a newer message takes the place of one that waits."""
        if self._closed:
            return
        waited = self._waiting is not None
        self._waiting = message
        if not waited:
            self._send_waiting()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._cancel_timer()
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        self._talk.on_closed(self)

    def evict(self, reason: str) -> None:
        """It has no business here, or no place."""
        self._refuse(reason, "")
        self.close()

    def prove(self) -> None:
        """The secret that it has shown is that of its job."""
        self._is_proved = True
        self._talk.on_proved(self)

    def greet(self, hello: Hello) -> None:
        """The hello was taken."""
        self.rank = hello.rank
        self._cancel_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_readable(self) -> None:
        for _ in range(MESSAGES_PER_TURN):
            now = self._loop.time()
            # Others of its user may take that user's share, but neither a hello nor the messages of who is vouched for.
            buckets = (self._own,) if self.rank < 0 or self._is_proved else (self._own, self._of_user)
            if wait_s := max(bucket.wait_s(now) for bucket in buckets):
                self._pause(wait_s)
                return
            try:
                data, _, flags, _ = self._sock.recvmsg(MAX_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.close()
                return
            if not data:  # the peer has gone; an empty message looks the same and means nothing anyway
                self.close()
                return
            for bucket in buckets:
                bucket.take(now, 1 + len(data) / 4096)
            self._on_data(data, bool(flags & socket.MSG_TRUNC))
            if self._closed:
                return

    def _on_data(self, data: bytes, truncated: bool) -> None:
        if truncated:
            self._refuse("oversized", f"expected at most {MAX_BYTES} bytes")
            return
        try:
            message = read_message(data)
        except ValueError as error:
            self._refuse("malformed", str(error))
            return
        if isinstance(message, Hello) and self.rank < 0 and message.secret is not None:
            self.secret_sha256 = sha256_of(message.secret)
        if self.rank < 0 and not isinstance(message, Hello):
            self._refuse("no_hello", "expected hello first")
        elif reason := self._talk.on_message(self, message):
            self._refuse(reason, "")

    def _refuse(self, reason: str, detail: str) -> None:
        """Say no. Who was told often enough, or did not even get past hello, is shown the door."""
        self._talk.on_refused(self, reason, detail)
        self._refusals += 1
        if self._waiting is None:
            with suppress(OSError):  # no room: a refusal is not worth waiting for
                self._sock.send(refused(reason))
        if self.rank < 0 or self._refusals >= self._talk.limits.refusals_per_connection:
            self.close()

    def _refuse_and_close(self, reason: str) -> None:
        self._timer = None
        self._refuse(reason, "silent")
        self.close()

    def _pause(self, wait_s: float) -> None:
        """Read no more for a while: the socket fills up, and the job drops what does not fit, without waiting."""
        self._talk.on_refused(self, "too_fast", "")
        self._loop.remove_reader(self._sock)
        self._loop.call_later(wait_s, self._resume)

    def _resume(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._sock, self._on_readable)

    def _send_waiting(self) -> None:
        if self._waiting is None:
            return
        try:
            self._sock.send(self._waiting)
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self._sock, self._on_writable)
            return
        except OSError:
            # Not from within a walk over the job's connections, which closing would change.
            self._loop.call_soon(self.close)
        self._waiting = None

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._sock)
        self._send_waiting()
