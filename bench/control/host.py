"""A host's daemon in simulated time: the daemon's own parts, with requests handed over instead of HTTP."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cassini_agent.daemon.clocks import CoordinatorClock
from cassini_agent.daemon.limits import Limits
from cassini_agent.daemon.local_socket import LocalSocket
from cassini_agent.daemon.log import Log
from cassini_agent.daemon.registry import Job, RefusedError, Registry
from cassini_agent.daemon.schedules import Schedules
from cassini_agent.daemon.status import CounterView, job_status
from cassini_agent.endpoint import Endpoint
from cassini_agent.requests import Reply
from cassini_agent.schedule import Schedule

from .simulated_time import Clock

__all__ = ["Host", "Requests"]


class _StrictLog(Log):
    def refused(self, where: str, reason: str, **details: object) -> None:
        raise RuntimeError(f"the daemon refuses its job: {reason} {details}")

    def error(self, where: str, error: object) -> None:
        raise RuntimeError(f"the daemon fails: {error}")


class Host:
    """One daemon: started, killed, started again with what its journal would have.

    Parameters
    ----------
    path : Path
        Of its socket.
    clock : Clock
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.is_up = False
        self._clock = clock
        self._journal: bytes | None = None

    def start(self) -> None:
        """In an event loop that runs."""
        limits, log = Limits(), _StrictLog(lambda _: None)
        self._registry = Registry(limits.jobs)
        self._coordinators = CoordinatorClock(self._clock)
        self._schedules = Schedules(self._registry, self._coordinators, "boot")
        if self._journal is not None:
            self._schedules.restore(self._journal)
        self._counters = CounterView(None, log)
        self._socket = LocalSocket(self.path, self._registry, limits, log, self._clock)
        self._socket.start()
        self.is_up = True

    def kill(self) -> None:
        """At once; its journal stays."""
        self._journal = self._schedules.kept()
        self.is_up = False
        self._socket.stop()

    async def answer(self, method: str, path: str, body: Any) -> Reply:
        """The requests of docs/agent.md that a scheduler makes."""
        parts = urlsplit(path)
        query = parse_qs(parts.query, keep_blank_values=True)
        try:
            match method, parts.path.split("/")[2:]:
                case "GET", ["jobs"]:
                    changes = self._registry.changes
                    if "wait_ms" in query:
                        await changes.after(int(query["since"][0]), int(query["wait_ms"][0]) / 1e3)
                    found = map(self._registry.get, query.get("job") or self._registry.ids())
                    jobs = [self._status(job) for job in found if job is not None]
                    return Reply(200, {"jobs": jobs, "change": changes.count})
                case "GET", ["jobs", name]:
                    job = self._registry.get(name)
                    return Reply(404, {}) if job is None else Reply(200, self._status(job))
                case "PUT", ["jobs", name, "schedule"]:
                    job, _ = self._schedules.offer(name, Schedule.from_mapping(body))
                case "DELETE", ["jobs", name, "schedule"]:
                    job = self._schedules.clear(name, int(query["version"][0]))
                case "POST", ["clock"]:
                    if body["offset_ns"] is not None:
                        asyncio.get_running_loop().call_soon(self._schedules.follow, body["offset_ns"])
                    reading = self._coordinators.observe()
                    return Reply(200, {"monotonic_ns": reading.monotonic_ns, "unix_ns": reading.unix_ns})
                case _:
                    return Reply(405, {})
        except RefusedError as error:
            return Reply(409, {"accepted": False, "reason": error.reason, "error": str(error)})
        return Reply(200, {"accepted": True, "version": job.version, "connected": job.link is not None})

    def _status(self, job: Job) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(json.dumps(job_status(job, self._counters, self._clock.monotonic_ns())))
        return told


class Requests:
    """How requests get to hosts, and answers back: each takes a while.

    Parameters
    ----------
    hosts : mapping of str to Host
        By the URLs of their daemons.
    way_ms : float
        One way, on average: half of it, and the rest is random (exponential).
    seed : int
        Of that.
    """

    def __init__(self, hosts: Mapping[str, Host], way_ms: float, seed: int) -> None:
        self._hosts = hosts
        self._way_ms = way_ms
        # One for each host: in which order hosts are asked differs from process to process.
        self._rngs = {url: random.Random(f"{seed} {url}") for url in hosts}

    async def request(
        self, method: str, endpoint: Endpoint, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Reply:
        """One; ConnectionError if nobody is there."""
        host = self._hosts[endpoint.url]
        await self._way(endpoint.url)
        if not host.is_up:
            raise ConnectionRefusedError(endpoint.url)
        reply = await host.answer(method, path, body)
        if not host.is_up:
            raise ConnectionResetError(endpoint.url)
        await self._way(endpoint.url)
        return reply

    async def _way(self, url: str) -> None:
        await asyncio.sleep(self._way_ms * (0.5 + self._rngs[url].expovariate(2.0)) / 1e3)
