"""One of two processes of a job without a GPU: it computes by waiting, and exchanges bytes over plain sockets.

For hosts with too few GPUs for two jobs: on the link it is to the other job what that one is to it, and takes nothing
else from it. The agent's three lines are those with ``agent``.
"""

from __future__ import annotations

import argparse
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import cassini_agent

from .requests import answer, requests, wait_for

FLOWS = 2
"""Connections between the two, each used both ways: as many as NCCL uses with two channels."""

CHUNK = 1 << 20


class Exchange:
    """Both processes send each other so many bytes at the same time."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        self._sockets = sockets
        self._pool = ThreadPoolExecutor(2 * len(sockets))
        self._payload = memoryview(bytearray(CHUNK))

    def run(self, size_bytes: int) -> None:
        """Once. Neither begins before the other is there, as in an all-reduce."""
        self._sockets[0].sendall(b"!")
        if not self._sockets[0].recv(1):
            raise ConnectionError("the other process is gone")
        each = size_bytes // len(self._sockets)
        work = [self._pool.submit(what, one, each) for one in self._sockets for what in (self._send, self._receive)]
        for one in work:
            one.result()

    def _send(self, one: socket.socket, count: int) -> None:
        while count:
            count -= one.send(self._payload[: min(count, CHUNK)])

    def _receive(self, one: socket.socket, count: int) -> None:
        sink = bytearray(CHUNK)
        while count:
            got = one.recv_into(sink, min(count, CHUNK))
            if not got:
                raise ConnectionError("the other process is gone")
            count -= got


def connected(rank: int, port: int) -> list[socket.socket]:
    """The connections; rank 0 listens."""
    if rank == 0:
        with socket.create_server(("127.0.0.1", port)) as server:
            server.settimeout(30)
            sockets = [server.accept()[0] for _ in range(FLOWS)]
        by_number = sorted((one.recv(1), number) for number, one in enumerate(sockets))
        return [sockets[number] for _, number in by_number]
    sockets = []
    end_s = time.monotonic() + 30
    while len(sockets) < FLOWS:
        try:
            sockets.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        except ConnectionError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.05)
            continue
        sockets[-1].sendall(bytes([len(sockets)]))
    return sockets


def run(exchange: Exchange, agent: cassini_agent.Agent | None, request: dict[str, Any]) -> dict[str, Any]:
    """Some iterations of so many seconds of computation, then an exchange of so many bytes each way."""
    starts_ns = []
    wait_for(request)
    for _ in range(request["iterations"]):
        if agent is not None:
            agent.iteration()
        starts_ns.append(time.monotonic_ns())
        time.sleep(max(0.0, starts_ns[-1] / 1e9 + request["compute_s"] - time.monotonic()))
        with agent.communication() if agent is not None else nullcontext():
            exchange.run(request["bytes"])
    starts_ns.append(time.monotonic_ns())
    return {"starts_ns": starts_ns, "agent": agent.summary() if agent is not None else None}


def main() -> None:
    """Do what is asked until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", action="store_true")
    arguments = parser.parse_args()
    rank = int(os.environ["RANK"])
    sockets = connected(rank, int(os.environ["MASTER_PORT"]))
    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    exchange = Exchange(sockets)
    # The process that leads waits, and the other for it in the exchange.
    agent = cassini_agent.connect(rank=0, world_size=1) if arguments.agent and rank == 0 else None
    asked = requests()
    while True:
        with agent.paused() if agent is not None else nullcontext():
            request = next(asked, None)
        if request is None:
            break
        known = run(exchange, agent, request) if request["do"] == "run" else {}
        if rank == 0:
            answer(request, **known)
    if agent is not None:
        agent.close()


if __name__ == "__main__":
    main()
