"""Accepts HTTP connections and guards the HTTP library: how many there are, who is silent, who does not read.

The library reads requests of any slowness and waits for any reader; with a guard neither costs more than one of a few
places for a few seconds.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from functools import partial

from .counts import Counts
from .limits import FullError, Limits, Places

__all__ = ["Guard", "HttpListener"]

ACCEPTS_PER_TURN = 32
SEND_BUFFER_BYTES = 256 * 1024
"""The kernel's own choice would grow to megabytes for each peer that does not read."""

TLS_HANDSHAKE_S = 5.0


class Guard(asyncio.Protocol):
    """Passes everything on to the library's protocol, and knows since when nothing useful happened.

    Attributes
    ----------
    waits_since : float or None
        Since when the peer owes a request, seconds of the loop; None while one is served.
    began : bool
        Whether it sent a part of one.
    served : int
        Requests that were.
    stuck_since : float or None
        Since when the peer does not read its answer.
    shown : str or None
        The ``Authorization`` that was right last.
    keep_place : callable
        Who may all has shown it on this connection: it makes room for nobody.
    """

    def __init__(
        self, inner: asyncio.Protocol, now: float, lost: asyncio.Future[None], keep_place: Callable[[], None]
    ) -> None:
        self._inner = inner
        self._lost = lost
        self.keep_place = keep_place
        self.waits_since: float | None = now
        self.began = False
        self.served = 0
        self.stuck_since: float | None = None
        self.shown: str | None = None

    def request_begins(self) -> None:
        self.waits_since = None

    def request_ends(self, now: float) -> None:
        self.waits_since = now
        self.began = False
        self.served += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self.began = True
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self.stuck_since = asyncio.get_running_loop().time()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self.stuck_since = None
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._inner.connection_lost(error)
        if not self._lost.done():
            self._lost.set_result(None)


class HttpListener:
    """One listening socket.

    Parameters
    ----------
    factory : callable
        Makes the library's protocol for a connection.
    on_refused : callable
        Told why a connection was turned away or ended, and whose.
    """

    def __init__(
        self,
        factory: Callable[[], asyncio.Protocol],
        limits: Limits,
        counts: Counts,
        tls: ssl.SSLContext | None,
        on_refused: Callable[[str, str], None],
    ) -> None:
        self._factory = factory
        self._limits = limits
        self._counts = counts
        self._tls = tls
        self._on_refused = on_refused
        self._listener: socket.socket | None = None
        self._guards: dict[asyncio.BaseTransport, Guard] = {}
        self._places: Places[asyncio.Task[None]] = Places(limits.http_connections)
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._places)

    def start(self, host: str, port: int, passed: socket.socket | None = None) -> int:
        """Listen, on a socket that is passed if one is; the port, which the system chooses if 0 was asked for.

        Raises
        ------
        OSError
            The place is taken or not this host's.
        """
        self._listener = self._listen(host, port) if passed is None else passed
        loop = asyncio.get_running_loop()
        loop.add_reader(self._listener, self._on_connections)
        self._watch(loop.create_task(self._sweep()))
        return int(self._listener.getsockname()[1])

    def _listen(self, host: str, port: int) -> socket.socket:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(self._limits.http_connections)
            listener.setblocking(False)
        except BaseException:
            listener.close()
            raise
        return listener

    def stop(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
        for task in list(self._tasks):
            task.cancel()

    def use(self, tls: ssl.SSLContext | None) -> None:
        """Other certificates, for connections that come from now on."""
        self._tls = tls

    def guard_of(self, transport: asyncio.BaseTransport | None) -> Guard | None:
        return None if transport is None else self._guards.get(transport)

    def _on_connections(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            assert self._listener is not None
            try:
                sock, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # out of descriptors: the sweep comes round in a second
                self._counts.error("http")
                asyncio.get_running_loop().remove_reader(self._listener)
                return
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
            peer = str(address[0])
            task = asyncio.get_running_loop().create_task(self._serve(sock, peer))
            self._watch(task)
            task.add_done_callback(partial(self._on_end, sock))
            try:
                goes = self._places.take(task, peer, self._limits.http_connections_per_peer)
            except FullError:
                goes = task
            if goes is not None:
                self._refuse("too_many_connections", peer)
                goes.cancel()

    def _on_end(self, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._places.leave(task)
        sock.close()

    def _watch(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, sock: socket.socket, peer: str) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        lost = loop.create_future()
        handshake_s = TLS_HANDSHAKE_S if self._tls else None
        transport: asyncio.Transport | None = None
        try:
            transport, guard = await loop.connect_accepted_socket(
                lambda: Guard(self._factory(), loop.time(), lost, partial(self._places.keep, task)),
                sock,
                ssl=self._tls,
                ssl_handshake_timeout=handshake_s,
            )
            self._guards[transport] = guard
            await lost
        except (TimeoutError, OSError):  # a handshake that failed or came to nothing
            self._refuse("tls", peer)
        finally:
            if transport is not None:
                self._guards.pop(transport, None)
                transport.abort()

    def _refuse(self, reason: str, peer: str) -> None:
        self._counts.refuse("http", reason)
        self._on_refused(reason, peer)

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self._limits.http_idle_s / 4))
            now = loop.time()
            for transport, guard in list(self._guards.items()):
                if reason := self._overdue(guard, now):
                    assert isinstance(transport, asyncio.Transport)
                    if reason != "idle":  # a connection that was of use may rest and be closed
                        self._refuse(reason, str((transport.get_extra_info("peername") or ["?"])[0]))
                    transport.abort()
            if self._listener is not None:
                loop.add_reader(self._listener, self._on_connections)

    def _overdue(self, guard: Guard, now: float) -> str | None:
        if guard.stuck_since is not None and now - guard.stuck_since > self._limits.http_request_s:
            return "does_not_read"
        if guard.waits_since is None or now - guard.waits_since <= self._limits.http_idle_s:
            return None
        if guard.began:
            return "slow_request"
        return "idle" if guard.served else "no_request"
