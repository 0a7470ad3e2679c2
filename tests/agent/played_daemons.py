"""Daemons and their jobs that a test plays in this process: what docs/agent.md says of answers, without sockets."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fake_daemons import FakeDaemons

from cassini_agent.endpoint import Endpoint
from cassini_agent.requests import Reply

MS = 1_000_000
RECENT = 32


@dataclass
class PlayedJob:
    """A job that iterates when it is told to; times in ms.

    ``rest_ms`` is what contention does not stretch, ``sending_ms`` what it takes to communicate, ``marks`` whether it
    says when it does.
    """

    rest_ms: float
    sending_ms: float
    jitter: float = 0.0
    marks: bool = True
    connected: bool = True
    world_size: int = 1
    state: str = "waiting"
    iterations: int = 0
    rows: list[tuple[int, int | None, int | None]] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def run(self, many: int) -> None:
        for _ in range(many):
            rest = self.rest_ms * (1 + self.jitter * self.rng.gauss(0, 1))
            start, end = round(rest * MS), round((rest + self.sending_ms) * MS)
            self.rows.append((end, start, end) if self.marks else (end, None, None))
        self.iterations += many
        del self.rows[:-RECENT]

    def begin_again(self) -> None:
        self.iterations, self.rows = 0, []

    def status(self, name: str) -> dict[str, Any]:
        columns = list(zip(*self.rows, strict=True)) or [(), (), ()]
        names = ("natural_ns", "communication_start_ns", "communication_end_ns")
        return {
            "job": name,
            "state": self.state,
            "connected": self.connected,
            "world_size": self.world_size,
            "iterations": self.iterations,
            "iteration_ns": self.rows[-1][0] if self.rows else None,
            "recent": {key: list(column) for key, column in zip(names, columns, strict=True)},
            "error_ns": 0,
            "delay_total_ns": 0,
            "adjustments": 0,
        }


class PlayedDaemons(FakeDaemons):
    """Daemons by address, each with its jobs.

    Attributes
    ----------
    listed : int
        Jobs that were in answers so far.
    """

    def __init__(self, **jobs: dict[str, PlayedJob]) -> None:
        super().__init__()
        self.hosts = {f"http://{host}:1": known for host, known in jobs.items()}
        self.silent: set[str] = set()
        self.listed = 0
        self._changes: dict[str, list[object]] = {}  # what could be seen each time that something else was

    def endpoints(self) -> dict[str, Endpoint]:
        return {url.removeprefix("http://").removesuffix(":1"): Endpoint(url) for url in self.hosts}

    def job(self, name: str) -> PlayedJob:
        return next(jobs[name] for jobs in self.hosts.values() if name in jobs)

    def run(self, many: int) -> None:
        for jobs in self.hosts.values():
            for job in jobs.values():
                if job.connected:
                    job.run(many)

    async def get_job(self, endpoint: Endpoint, job: str) -> Reply:
        if endpoint.url in self.silent:
            raise TimeoutError
        return await super().get_job(endpoint, job)

    async def request(
        self, method: str, endpoint: Endpoint, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Reply:
        if endpoint.url in self.silent:
            raise TimeoutError
        if path.startswith("/v1/jobs/"):
            return await super().request(method, endpoint, path, body, timeout_s)
        if method == "POST":
            now = time.time_ns()
            return Reply(200, {"monotonic_ns": now, "unix_ns": now})
        query = parse_qs(urlsplit(path).query, keep_blank_values=True)
        statuses = []
        for name, job in self.hosts[endpoint.url].items():
            if name not in query.get("job", [name]):
                continue
            has = self.schedules.get(name)
            schedule = None if has is None else has.to_mapping()
            statuses.append({**job.status(name), "version": self.versions.get(name, 0), "schedule": schedule})
        self.listed += len(statuses)
        return Reply(200, {"jobs": statuses, "change": self._count(endpoint.url)})

    def _count(self, url: str) -> int:
        seen = [(name, job.connected, job.state) for name, job in self.hosts[url].items()]
        changes = self._changes.setdefault(url, [])
        if not changes or changes[-1] != seen:
            changes.append(seen)
        return len(changes)
