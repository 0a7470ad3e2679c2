"""Answers of daemons arrive whole, however they are cut up on the way; what is no answer is an error, not a guess."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from typing import Any

import pytest

from cassini_agent.dispatch import Endpoint
from cassini_agent.http_transport import LARGEST_ANSWER, HttpTransport


async def asked(parts: list[bytes], length: int | None = None, timeout_s: float = 30.0) -> Any:
    """What a request gives whose answer comes in these parts, one after the other."""
    connections: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        size = sum(map(len, parts)) if length is None else length
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode())
        with suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.005)
        writer.transport.abort() if length is not None else writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with HttpTransport(timeout_s) as http:
            return (await http.request("GET", Endpoint(f"http://127.0.0.1:{port}"), "/v1/jobs")).body
    finally:
        server.close()
        for writer in connections:
            writer.transport.abort()
        await asyncio.sleep(0.02)  # the loop closes what was given up


@pytest.mark.parametrize("pieces", [1, 2, 7, 50])
def test_an_answer_in_parts_is_read_whole(pieces: int) -> None:
    known = {"jobs": [{"job": f"job{k}", "errors_ns": list(range(64))} for k in range(100)]}
    text = json.dumps(known).encode()
    step = len(text) // pieces + 1
    assert asyncio.run(asked([text[i : i + step] for i in range(0, len(text), step)])) == known


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    with pytest.raises(OSError, match=r"."):
        asyncio.run(asked([b'{"jobs": ['], length=1000))


def test_an_answer_without_end_is_no_answer() -> None:
    with pytest.raises(OSError, match="at most"):
        asyncio.run(asked([b"x" * (1 << 20)] * 17, length=LARGEST_ANSWER * 2))


@pytest.mark.parametrize("text", [b"", b"[1]", b"no json", b"[" * 100_000, b"\xff"])
def test_what_is_no_object_is_an_empty_one(text: bytes) -> None:
    assert asyncio.run(asked([text])) == {}


def test_nobody_there_and_nobody_answering_are_errors() -> None:
    async def request(port: int) -> None:
        async with HttpTransport(timeout_s=0.3) as http:
            await http.request("GET", Endpoint(f"http://127.0.0.1:{port}"), "/")

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        with pytest.raises(OSError, match=r"."):
            asyncio.run(request(port))
        silent.listen(1)
        with pytest.raises(TimeoutError):
            asyncio.run(request(port))
