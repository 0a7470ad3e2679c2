"""Daemons that a test plays, in this process: the rules of docs/agent.md without sockets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from cassini_agent.endpoint import Endpoint
from cassini_agent.requests import Reply
from cassini_agent.schedule import Schedule

__all__ = ["FakeDaemons"]


@dataclass
class FakeDaemons:
    """A transport whose daemons live in a dictionary.

    Attributes
    ----------
    schedules : dict
        What each job has, by id.
    versions : dict
        The latest version each job has seen, removals too.
    faults : list of int or None
        What goes wrong with the next requests, first to last: an HTTP status, or None for no answer at all.
    lost : list of bool
        Whether the answers to the next requests that are carried out get lost on the way.
    requests : Counter
        Requests per job.
    """

    schedules: dict[str, Schedule] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    faults: list[int | None] = field(default_factory=list)
    lost: list[bool] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)

    async def request(
        self, method: str, endpoint: Endpoint, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Reply:
        """Of one job, or what some of them have."""
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        if method == "GET":
            return Reply(200, {"jobs": await self.look(endpoint, query["job"]), "change": 0})
        if method == "PUT":
            return await self.put_schedule(endpoint, Schedule.from_mapping(body))
        return await self.delete_schedule(endpoint, unquote(parts.path.split("/")[3]), int(query["version"][0]))

    async def look(self, endpoint: Endpoint, jobs: list[str]) -> list[dict[str, Any]]:
        """What jobs have; never counted as a request, and never wrong."""
        known = [job for job in jobs if job in self.versions]
        has = {job: one.to_mapping() for job, one in self.schedules.items()}
        return [
            {"job": job, "state": "held", "version": self.versions[job], "connected": True, "schedule": has.get(job)}
            for job in known
        ]

    async def put_schedule(self, endpoint: Endpoint, schedule: Schedule) -> Reply:
        """Accept a newer version, or the same one again."""
        if (fault := self._fault(schedule.job)) is not None:
            return fault
        known = self.versions.get(schedule.job, 0)
        if schedule.version < known or (schedule.version == known and self.schedules.get(schedule.job) != schedule):
            return Reply(409, {"error": f"version {known} is known"})
        self.schedules[schedule.job] = schedule
        return self._done(schedule.job, schedule.version)

    async def delete_schedule(self, endpoint: Endpoint, job: str, version: int) -> Reply:
        """Let the job run free."""
        if (fault := self._fault(job)) is not None:
            return fault
        if version < self.versions.get(job, 0):
            return Reply(409, {"error": f"version {self.versions[job]} is known"})
        self.schedules.pop(job, None)
        return self._done(job, version)

    def _fault(self, job: str) -> Reply | None:
        self.requests[job] += 1
        if not self.faults:
            return None
        status = self.faults.pop(0)
        if status is None:
            raise TimeoutError
        return Reply(status, {"error": "as the test wants it"}) if status != 200 else None

    def _done(self, job: str, version: int) -> Reply:
        self.versions[job] = version
        if self.lost and self.lost.pop(0):
            raise ConnectionResetError("the answer was lost")
        return Reply(200, {"accepted": True, "version": version, "connected": True})
