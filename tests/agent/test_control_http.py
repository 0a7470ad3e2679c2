"""The coordinator's requests, against an HTTP server that answers as docs/agent.md says, or not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

aiohttp = pytest.importorskip("aiohttp")

from aiohttp import web  # noqa: E402

from cassini_agent.coordinator.http import HttpDaemons, RefusedError, TransportError  # noqa: E402
from cassini_agent.coordinator.status import JobStatus  # noqa: E402
from cassini_agent.endpoint import Endpoint  # noqa: E402
from cassini_agent.http_transport import HttpTransport  # noqa: E402
from cassini_agent.schedule import MS_NS, Schedule  # noqa: E402

SCHEDULE = Schedule("a/1", "c", 3, 0, 200 * MS_NS, 0, 197 * MS_NS, 0, 0, 0, 0)
STATUS = {"job": "a/1", "state": "held", "version": 3, "connected": True, "iterations": 7, "errors_ns": [1, -2]}


class Server:
    """Answers every request with what is set, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any, str | None]] = []
        self.status, self.answer = 200, {"jobs": [STATUS], "change": 1, "monotonic_ns": 5, "accepted": True}

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        self.asked.append((request.method, request.raw_path, body, request.headers.get("Authorization")))
        return web.json_response(self.answer, status=self.status)


def served(use: Callable[[Server, HttpDaemons], Awaitable[None]]) -> Server:
    async def session() -> Server:
        server, app = Server(), web.Application()
        app.router.add_route("*", "/{path:.*}", server.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            async with HttpTransport(timeout_s=30) as http:
                endpoints = {"h": Endpoint(f"http://127.0.0.1:{port}", "secret"), "off": Endpoint("http://127.0.0.1:9")}
                await use(server, HttpDaemons(http, endpoints))
        finally:
            await runner.cleanup()
        return server

    return asyncio.run(session())


def test_requests_are_those_of_the_document() -> None:
    async def use(_: Server, daemons: HttpDaemons) -> None:
        sample = await daemons.clock("h", 1)
        assert sample.host_ns == 5
        assert sample.sent_ns <= sample.received_ns
        (status,) = await daemons.jobs("h", ["a/1", "ü &=+%"])
        await daemons.jobs("h", [f"{'x' * 250}{i}" for i in range(40)])
        assert (status.job, status.version, status.errors_ns) == ("a/1", 3, (1, -2))
        await daemons.put("h", SCHEDULE)
        await daemons.clear("h", "a/1", 3)

    assert served(use).asked == [
        ("POST", "/v1/clock", {"offset_ns": 1}, "Bearer secret"),
        ("GET", "/v1/jobs?job=a/1&job=%C3%BC%20%26%3D%2B%25", None, "Bearer secret"),
        ("GET", "/v1/jobs", None, "Bearer secret"),
        ("PUT", "/v1/jobs/a%2F1/schedule", SCHEDULE.to_mapping(), "Bearer secret"),
        ("DELETE", "/v1/jobs/a%2F1/schedule?version=3", None, "Bearer secret"),
    ]


def test_of_iterations_what_is_not_known_is_none() -> None:
    recent = {
        "natural_ns": [9, 8, None, None],
        "communication_start_ns": [5, None, 5, 1],
        "communication_end_ns": [9, 8, 7, 1],
    }
    usual = {"communication_start_ns": 5, "communication_end_ns": 9}
    status = msgspec.convert({**STATUS, **usual, "recent": recent}, JobStatus)
    assert status.recent.rows == [(9, 5, 9), (8, None, 8), (None, 5, 7), (None, 1, 1)]
    assert status.rests_ns == [(5, 4)]
    assert status.communication_ns == (5, 9)
    assert msgspec.convert({**STATUS, "communication_start_ns": 5}, JobStatus).communication_ns is None
    for strange in (None, {"natural_ns": 5}, {"natural_ns": ["x"]}, {**recent, "communication_end_ns": None}, [], 3):
        with pytest.raises(msgspec.ValidationError, match="recent"):
            msgspec.convert({**STATUS, "recent": strange}, JobStatus)


@pytest.mark.parametrize(
    ("status", "is_refused"),
    [(400, True), (401, True), (403, True), (404, True), (409, True), (429, False), (500, False), (503, False)],
)
def test_what_sending_again_does_not_change_is_refused(status: int, is_refused: bool) -> None:
    async def use(server: Server, daemons: HttpDaemons) -> None:
        server.status = status
        with pytest.raises(TransportError) as told:
            await daemons.put("h", SCHEDULE)
        assert isinstance(told.value, RefusedError) == is_refused

    served(use)


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (409, {"error": "an older version"}),
        (500, {}),
        (200, {"jobs": [{"job": 1}], "monotonic_ns": "soon"}),
        (200, {"jobs": 3, "monotonic_ns": None}),
        (200, {"jobs": {}, "monotonic_ns": 10**400}),
    ],
)
def test_whatever_else_comes_is_one_kind_of_error(status: int, answer: dict[str, Any]) -> None:
    async def use(server: Server, daemons: HttpDaemons) -> None:
        server.status, server.answer = status, answer
        for request in (daemons.clock("h", None), daemons.jobs("h", ["a"])):
            with pytest.raises(TransportError, match="h: "):
                await request
        if status != 200:
            for request in (daemons.put("h", SCHEDULE), daemons.clear("h", "a", 1)):
                with pytest.raises(TransportError, match=str(status)):
                    await request
        for host in ("off", "unknown"):
            for request in (daemons.jobs(host, ["a"]), daemons.put(host, SCHEDULE), daemons.clear(host, "a", 1)):
                with pytest.raises(TransportError, match=host):
                    await request

    served(use)
