"""Daemons that answer as the real ones do and cost next to nothing, any number in one process: ``bench.agent.scale``.

``python -m bench.agent.fake_daemons PORT_FILE STRAYS_PER_S``. All listen on one port, each on an address of its own
(:func:`address`), and one job is on each. A job is held by whatever schedule comes; so many jobs a second say that they
are out of their place, until a newer schedule comes.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

__all__ = ["address", "job_on"]

KEPT_ERRORS, KEPT_RECENT = 64, 32
ALWAYS = {
    "note": "",
    "connected": True,
    "uid": 1000,
    "pattern_ns": [],
    "error_ns": 0,
    "error_spread_ns": 20_000,
    "errors_ns": [123_456] * KEPT_ERRORS,
    "adjustments": 0,
    "delay_total_ns": 0,
    "dropped": 0,
    "changed": None,
    "counters": None,
    "counters_say": None,
    "disagreement": None,
    "marks_per_iteration": None,
}
STRAY_SHARE = 0.2
"""Of a pace: how far out of its place a job says it is."""


def address(index: int) -> str:
    """Of one daemon."""
    return f"127.1.{index // 250}.{index % 250 + 1}"


def job_on(index: int) -> str:
    """The job of one daemon."""
    return f"job-{index:04}"


class Daemon:
    """One, with its job."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.schedule: dict[str, Any] | None = None
        self.version = 0
        self.strayed_ns = 0
        self.changes = 1
        self.waiting: set[asyncio.Future[None]] = set()

    def note(self) -> None:
        """Whoever waits for news has some."""
        self.changes += 1
        for one in self.waiting:
            if not one.done():
                one.set_result(None)
        self.waiting.clear()

    async def news(self, known: int, wait_s: float) -> None:
        """Returns once there are some, or after so long."""
        if self.changes == known:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.add(future)
            with suppress(TimeoutError):
                await asyncio.wait_for(future, wait_s)
            self.waiting.discard(future)

    def put(self, schedule: dict[str, Any]) -> None:
        """Held by this one from now on."""
        was_strayed, self.strayed_ns = self.strayed_ns, 0
        self.schedule, self.version = schedule, schedule["version"]
        if was_strayed:
            self.note()

    def status(self, job: str) -> dict[str, Any]:
        """``JobStatus`` as large as a real one."""
        held = self.schedule
        pace_ns = held["pace_ns"] if held else 10**8
        natural_ns = held["iteration_ns"] if held else 10**8
        place_at_ns, iterations = 0, 0
        if held:
            late_ns = (time.time_ns() - held["epoch_ns"] - held["shift_ns"] - self.strayed_ns) % pace_ns
            place_at_ns, iterations = time.monotonic_ns() - late_ns, (time.time_ns() - held["epoch_ns"]) // pace_ns
        times = {"natural_ns": natural_ns, "communication_start_ns": natural_ns // 2}
        times["communication_end_ns"] = natural_ns * 3 // 4
        return {
            **ALWAYS,
            **times,
            "job": job,
            "component": held and held["component"],
            "version": self.version,
            "followed": self.version,
            "schedule": held,
            "state": "adjusting" if self.strayed_ns else "held" if held else "waiting",
            "iterations": max(0, iterations),
            "iteration_ns": natural_ns,
            "recent": {key: [value] * KEPT_RECENT for key, value in times.items()},
            "place_ns": self.strayed_ns,
            "place_at_ns": place_at_ns,
            "seen_ns": time.monotonic_ns(),
        }


class Connection(asyncio.Protocol):
    """HTTP/1.1 as far as the coordinator and the dispatcher speak it, one request after the other."""

    def __init__(self, daemons: dict[str, Daemon]) -> None:
        self._daemons = daemons
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host = transport.get_extra_info("sockname")[0]
        self._daemon = self._daemons.setdefault(host, Daemon(host))

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode().split("\r\n")
        length = next((int(line[15:]) for line in lines if line.lower().startswith("content-length:")), 0)
        if len(body) < length:
            return
        self._data = body[length:]
        method, target, _ = first.split(" ")
        path, _, query = target.partition("?")
        options = [pair.partition("=")[::2] for pair in query.split("&")]
        if method == "GET" and any(key == "wait_ms" for key, _ in options):
            self._task = asyncio.get_running_loop().create_task(self._wait(options))
        else:
            self._answer(self._serve(method, path, options, body[:length]))

    async def _wait(self, options: list[tuple[str, str]]) -> None:
        values = dict(options)
        await self._daemon.news(int(values["since"]), int(values["wait_ms"]) / 1000)
        self._answer({"jobs": self._jobs(options), "change": self._daemon.changes})

    def _jobs(self, options: list[tuple[str, str]]) -> list[dict[str, Any]]:
        here = job_of(self._daemon.host)
        return [self._daemon.status(here) for key, value in options if key == "job" and unquote(value) == here]

    def _serve(self, method: str, path: str, options: list[tuple[str, str]], body: bytes) -> dict[str, Any]:
        daemon = self._daemon
        if path == "/v1/clock":
            return {"monotonic_ns": time.monotonic_ns(), "unix_ns": time.time_ns()}
        if method == "GET":
            return {"jobs": self._jobs(options), "change": daemon.changes}
        if method == "PUT":
            daemon.put(json.loads(body))
        return {"accepted": True, "version": daemon.version, "connected": True}

    def _answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self._transport.write(head.encode() + data)


def job_of(host: str) -> str:
    """The job of the daemon at this address."""
    _, _, high, low = host.split(".")
    return job_on(250 * int(high) + int(low) - 1)


async def stray(daemons: dict[str, Daemon], per_s: float) -> None:
    """Now and then a job is out of its place."""
    chance = random.Random(0)
    while per_s > 0:
        await asyncio.sleep(1 / per_s)
        if held := [one for one in daemons.values() if one.schedule and not one.strayed_ns]:
            one = chance.choice(held)
            assert one.schedule is not None
            one.strayed_ns = round(STRAY_SHARE * one.schedule["pace_ns"])
            one.note()


async def serve(port_file: Path, strays_per_s: float) -> None:
    """Until killed."""
    daemons: dict[str, Daemon] = {}
    server = await asyncio.get_running_loop().create_server(lambda: Connection(daemons), "0.0.0.0", 0, backlog=4096)
    port_file.write_text(f"{server.sockets[0].getsockname()[1]}\n")
    await stray(daemons, strays_per_s)
    await server.serve_forever()


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2])))
