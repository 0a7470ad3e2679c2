"""The coordinator's requests to the daemons of hosts (docs/agent.md)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import msgspec

from ..control.clock_sync import ClockSample
from ..endpoint import Endpoint
from ..requests import Reply, Transport, delete_schedule, put_schedule
from ..schedule import MAX_TIME_NS, Schedule
from .status import JobStatus

__all__ = ["HttpDaemons", "RefusedError", "TransportError"]

_T = TypeVar("_T")

LONGEST_QUERY = 4000
"""Characters of the names of jobs: servers take lines of some 8000."""


class TransportError(Exception):
    """No answer, or one that makes no sense."""


class RefusedError(TransportError):
    """The daemon answered, and does not take what it was sent; to send it again does not help."""


class HttpDaemons:
    """Daemons by host name; all requests may raise TransportError.

    Parameters
    ----------
    http : Transport
        ``http_transport.HttpTransport``, already entered; its time limit is that of each request.
    endpoints : mapping of str to Endpoint
        Address and access of each host's daemon.
    clock_ns : callable
        The coordinator's clock.
    """

    def __init__(
        self, http: Transport, endpoints: Mapping[str, Endpoint], clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._http = http
        self._endpoints = endpoints
        self._clock_ns = clock_ns

    async def clock(self, host: str, offset_ns: int | None) -> ClockSample:
        """``POST /v1/clock``; the round trip is measured around it, so it must be short."""
        sent = self._clock_ns()
        answer = await self._request("POST", host, "/v1/clock", {"offset_ns": offset_ns})
        received = self._clock_ns()
        if received < sent:
            raise TransportError(f"{host}: the coordinator's clock was set back")
        return ClockSample(sent, _as(_Clock, host, answer).monotonic_ns, received)

    async def jobs(self, host: str, jobs: Collection[str] | None) -> list[JobStatus]:
        """``GET /v1/jobs?job=...``: a daemon remembers the jobs of days. Of all jobs where the names are too long."""
        return (await self.listed(host, jobs))[0]

    async def listed(self, host: str, jobs: Collection[str] | None) -> tuple[list[JobStatus], int]:
        """The same, and the daemon's count of changes before that."""
        query = None if jobs is None else _query(jobs)
        path = "/v1/jobs" if query is None or len(query) > LONGEST_QUERY else f"/v1/jobs?{query}"
        answer = _as(_Listed, host, await self._request("GET", host, path))
        return answer.jobs, answer.change

    async def news(self, host: str, known: int | None, wait_s: float) -> int:
        """``GET /v1/jobs?since&wait_ms``, of no job: those of other hosts are asked for at the same time."""
        since = "" if known is None else f"&since={known}&wait_ms={round(1000 * wait_s)}"
        path = f"/v1/jobs?{_query([])}{since}"
        return _as(_Listed, host, await self._request("GET", host, path, timeout_s=wait_s + 1.0)).change

    async def put(self, host: str, schedule: Schedule) -> None:
        """``PUT /v1/jobs/{job}/schedule``."""
        await self._answer(host, put_schedule(self._http, self._endpoint(host), schedule))

    async def clear(self, host: str, job: str, version: int) -> None:
        """``DELETE /v1/jobs/{job}/schedule``."""
        await self._answer(host, delete_schedule(self._http, self._endpoint(host), job, version))

    async def _request(
        self, method: str, host: str, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Mapping[str, Any]:
        return await self._answer(
            host, self._http.request(method, self._endpoint(host), path, body, timeout_s=timeout_s)
        )

    async def _answer(self, host: str, request: Awaitable[Reply]) -> Mapping[str, Any]:
        try:
            reply = await request
        except (OSError, TimeoutError) as error:
            raise TransportError(f"{host}: {str(error) or type(error).__name__}") from error
        if reply.status != 200:
            kind = RefusedError if 400 <= reply.status < 500 and reply.status != 429 else TransportError
            raise kind(f"{host}: {reply.status} {reply.body.get('error', '')}".rstrip())
        return reply.body

    def _endpoint(self, host: str) -> Endpoint:
        if host not in self._endpoints:
            raise TransportError(f"{host}: no daemon is known")
        return self._endpoints[host]


class _Clock(msgspec.Struct):
    monotonic_ns: Annotated[int, msgspec.Meta(ge=-MAX_TIME_NS, le=MAX_TIME_NS)]


class _Listed(msgspec.Struct):
    jobs: list[JobStatus]
    change: int


def _as(kind: type[_T], host: str, answer: Mapping[str, Any]) -> _T:
    """An answer of this kind; keys that are not needed here are passed over."""
    try:
        return msgspec.convert(answer, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise TransportError(f"{host}: {error}"[:300]) from None


def _query(jobs: Collection[str]) -> str:
    """These jobs, or none: no job's name is empty."""
    return "&".join(f"job={quote(job, safe='')}" for job in sorted(jobs)) or "job="
