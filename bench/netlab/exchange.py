"""The communication of an iteration between two ranks over plain sockets: a ring all-reduce of two.

Each socket carries its part of the gradients in two halves, each way: the second half leaves when the first of the
other rank has come, as reduced values leave after they were reduced. But for a byte nothing leaves before the other
rank communicates too, as with gloo and NCCL, whose senders wait until the receiver has a buffer for it.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from typing import cast

from cassini_agent import Agent

__all__ = ["Exchange", "connected"]

CHUNK = 1 << 20
"""Bytes of one call at most."""


class Exchange:
    """All sockets between two ranks.

    Parameters
    ----------
    sockets : list of socket.socket
        Connected.
    size_bytes : int
        What each rank sends in an iteration.
    leads : bool
        Whether this rank says when the last iteration is; it does so in the first byte that it sends.
    """

    def __init__(self, sockets: list[socket.socket], size_bytes: int, leads: bool) -> None:
        self._sockets = sockets
        self._half = size_bytes // len(sockets) // 2
        self._leads = leads
        self._payload = bytearray(min(self._half, CHUNK))
        self._sink = bytearray(CHUNK)
        for one in sockets:
            one.setblocking(False)

    def warm_up(self) -> None:
        """Exchange once outside the loop: afterwards windows have grown, and the other rank is here."""
        self._exchange(False)

    def part(self) -> None:
        """Wait until the other rank has ended too. A byte is all that is sent: a job that leaves has no burst left.

        Raises
        ------
        ConnectionError
            The other rank is gone.
        """
        one = self._sockets[0]
        one.setblocking(True)
        one.sendall(b"\0")
        if not one.recv(1):
            raise ConnectionError("the other rank is gone")

    def run(self, agent: Agent | None, last: bool = False) -> bool:
        """What a training loop does for its communication; whether it was the last iteration.

        Raises
        ------
        ConnectionError
            The other rank is gone.
        """
        with agent.communication() if agent is not None else contextlib.nullcontext():
            return self._exchange(last)

    def _exchange(self, last: bool) -> bool:
        """Once; the ``last`` of the rank that leads.

        Raises
        ------
        ConnectionError
            The other rank is gone.
        """
        self._payload[0] = int(last)
        told = last
        sent = dict.fromkeys(self._sockets, 0)
        got = dict.fromkeys(self._sockets, 0)
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        with selectors.DefaultSelector() as ready:
            wanted = dict.fromkeys(self._sockets, both)
            for each in self._sockets:
                ready.register(each, both)
            while wanted:
                for key, events in ready.select():
                    one = cast(socket.socket, key.fileobj)
                    if events & selectors.EVENT_READ:
                        first = got[one] == 0
                        got[one] += self._receive(one, 2 * self._half - got[one])
                        if first and one is self._sockets[0] and not self._leads:
                            told = bool(self._sink[0])
                    if events & selectors.EVENT_WRITE:
                        sent[one] += self._send(one, sent[one], got[one])
                    now = selectors.EVENT_READ if got[one] < 2 * self._half else 0
                    if sent[one] < self._allowed(got[one]):
                        now |= selectors.EVENT_WRITE
                    if not now:
                        ready.unregister(one)
                        del wanted[one]
                    elif now != wanted[one]:
                        ready.modify(one, now)
                        wanted[one] = now
        return told

    def _allowed(self, got: int) -> int:
        """What may have been sent in all once so many bytes have come."""
        if got == 0:
            return 1
        return self._half if got < self._half else 2 * self._half

    def _send(self, one: socket.socket, sent: int, got: int) -> int:
        allowed = self._allowed(got)
        if sent == allowed:
            return 0
        with contextlib.suppress(BlockingIOError):
            return one.send(memoryview(self._payload)[: allowed - sent])
        return 0

    def _receive(self, one: socket.socket, most: int) -> int:
        if most == 0:
            return 0
        try:
            count = one.recv_into(self._sink, min(CHUNK, most))
        except BlockingIOError:
            return 0
        if count == 0:
            raise ConnectionError("the other rank is gone")
        return count


def connected(rank: int, address: str, port: int, flows: int, patience_s: float) -> list[socket.socket]:
    """So many connections from rank 1 to rank 0, which listens at ``address``.

    Raises
    ------
    TimeoutError
        The other rank did not come.
    """
    end_s = time.monotonic() + patience_s
    found = []
    if rank == 0:
        with socket.create_server((address, port), backlog=flows) as server:
            for _ in range(flows):
                server.settimeout(max(0.1, end_s - time.monotonic()))
                found.append(server.accept()[0])
            order = [(one.recv(1)[0], one) for one in found]
        found = [one for _, one in sorted(order, key=lambda each: each[0])]
    else:
        for number in range(flows):
            found.append(_connect(address, port, end_s))
            found[-1].sendall(bytes([number]))
    for one in found:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _connect(address: str, port: int, end_s: float) -> socket.socket:
    while True:
        try:
            return socket.create_connection((address, port), timeout=max(0.1, end_s - time.monotonic()))
        except ConnectionError:
            if time.monotonic() > end_s:
                raise TimeoutError(f"{address}:{port}: nobody listens") from None
            time.sleep(0.05)
