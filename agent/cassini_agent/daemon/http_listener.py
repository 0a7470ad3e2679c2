"""Accepts HTTP connections and guards the HTTP library: how many there are, and for how long one may be of no use.

The library reads requests of any slowness and waits for any reader; with a guard neither costs more than one of a few
places for a few seconds.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from .accepting import BACKLOG, accept_all
from .limits import Limits, Places
from .log import Log

__all__ = ["Guard", "HttpListener"]

SEND_BUFFER_BYTES = 256 * 1024
"""The kernel's own choice would grow to megabytes for each peer that does not read."""

TLS_HANDSHAKE_S = 5.0


class Guard(asyncio.Protocol):
    """Passes everything on to the library's protocol; ends a connection that asks nothing, or does not hear the answer.

    Parameters
    ----------
    inner : asyncio.Protocol
        The library's.
    due : asyncio.Timeout
        Ends the connection.
    patience_s : float
        From its beginning, or from the end of a request, to the next request.
    ended : asyncio.Future
        Done when the connection is.
    keep_place : callable
        Who may all has shown it on this connection: it makes room for nobody.

    Attributes
    ----------
    has_asked : bool
        It was of use.
    """

    def __init__(
        self,
        inner: asyncio.Protocol,
        due: asyncio.Timeout,
        patience_s: float,
        ended: asyncio.Future[None],
        keep_place: Callable[[], None],
    ) -> None:
        self._inner = inner
        self._due = due
        self._patience_s = patience_s
        self._ended = ended
        self.keep_place = keep_place
        self.has_asked = False

    def request_begins(self) -> None:
        self.has_asked = True
        if not self._ended.done() and not self._due.expired():
            self._due.reschedule(None)

    def await_request(self) -> None:
        """From now on."""
        if not self._ended.done() and not self._due.expired():
            self._due.reschedule(asyncio.get_running_loop().time() + self._patience_s)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.await_request()
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._inner.connection_lost(error)
        if not self._ended.done():
            self._ended.set_result(None)


class HttpListener:
    """One listening socket.

    Parameters
    ----------
    factory : callable
        Makes the library's protocol for a connection.
    """

    def __init__(
        self, factory: Callable[[], asyncio.Protocol], limits: Limits, log: Log, tls: ssl.SSLContext | None
    ) -> None:
        self.tls = tls  # of connections that come from now on
        self._factory = factory
        self._limits = limits
        self._log = log
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
        self._listener = _listen(host, port) if passed is None else passed
        on_error = partial(self._log.error, "http")
        self._watch(asyncio.get_running_loop().create_task(accept_all(self._listener, self._admit, on_error)))
        return int(self._listener.getsockname()[1])

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()

    def guard_of(self, transport: asyncio.BaseTransport | None) -> Guard | None:
        return None if transport is None else self._guards.get(transport)

    def _admit(self, sock: socket.socket, address: Any) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        peer = str(address[0])
        task = asyncio.get_running_loop().create_task(self._serve(sock, peer))
        self._watch(task)
        task.add_done_callback(partial(self._on_end, sock))
        if (goes := self._places.take(task, peer)) is not None:
            self._log.refused("http", "too_many_connections", peer=peer)
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
        ended = loop.create_future()
        keep_place = partial(self._places.keep, task)
        patience_s = self._limits.http_patience_s
        transport: asyncio.Transport | None = None
        try:
            async with asyncio.timeout(TLS_HANDSHAKE_S) as due:
                transport, guard = await loop.connect_accepted_socket(
                    lambda: Guard(self._factory(), due, patience_s, ended, keep_place), sock, ssl=self.tls
                )
                self._guards[transport] = guard
                await ended
        except TimeoutError:
            if transport is None or not guard.has_asked:  # one that was of use may rest and be closed
                self._log.refused("http", "tls" if transport is None else "no_request", peer=peer)
        except OSError:
            self._log.refused("http", "tls", peer=peer)
        finally:
            ended.cancel()
            if transport is not None:
                self._guards.pop(transport, None)
                transport.abort()


def _listen(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=family == socket.AF_INET6)
    listener.setblocking(False)
    return listener
