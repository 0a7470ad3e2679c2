"""Requests to daemons and how they travel. ``docs/agent.md``, section "Between scheduler and daemon"."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from .endpoint import Endpoint
from .schedule import Schedule

__all__ = ["Reply", "Transport", "delete_schedule", "put_schedule"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a daemon answered: HTTP status and JSON object."""

    status: int
    body: Mapping[str, Any]


class Transport(Protocol):
    """How requests travel: over HTTP (``http_transport.HttpTransport``), or to daemons that a test plays."""

    async def request(
        self, method: str, endpoint: Endpoint, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Reply:
        """One request of docs/agent.md; an answer that is no JSON object comes back as an empty one.

        ``timeout_s`` is for a request that the daemon is to answer later.

        Raises
        ------
        OSError, TimeoutError
            No answer.
        """


def put_schedule(transport: Transport, endpoint: Endpoint, schedule: Schedule) -> Awaitable[Reply]:
    """``PUT /v1/jobs/{job}/schedule``."""
    return transport.request("PUT", endpoint, f"{_path(schedule.job)}/schedule", schedule.to_mapping())


def delete_schedule(transport: Transport, endpoint: Endpoint, job: str, version: int) -> Awaitable[Reply]:
    """``DELETE /v1/jobs/{job}/schedule``."""
    return transport.request("DELETE", endpoint, f"{_path(job)}/schedule?version={version}")


def _path(job: str) -> str:
    return f"/v1/jobs/{quote(job, safe='')}"
