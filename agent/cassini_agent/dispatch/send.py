"""Schedules to daemons: one acknowledgement per job, retried while that can help, never twice something else."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..schedule import Schedule

__all__ = ["Acknowledgement", "Endpoint", "Reply", "Transport", "send"]

AT_ONCE = 64
"""Requests under way at the same time."""

FIRST_WAIT_S = 0.1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a job's daemon is.

    Attributes
    ----------
    url : str
        ``http://host:port`` or ``https://...``.
    token : str or None
        Sent as ``Authorization: Bearer``.
    tls : ssl.SSLContext or None
        With the certificates for ``https``; one with a client certificate for mutual TLS.
    """

    url: str
    token: str | None = None
    tls: Any = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a daemon answered: HTTP status and JSON object."""

    status: int
    body: Mapping[str, Any]


class Transport(Protocol):
    """How requests travel: over HTTP, or to daemons that a test plays."""

    async def put_schedule(self, endpoint: Endpoint, schedule: Schedule) -> Reply:
        """``PUT /v1/jobs/{job}/schedule``. OSError or TimeoutError where no answer came."""

    async def delete_schedule(self, endpoint: Endpoint, job: str, version: int) -> Reply:
        """``DELETE /v1/jobs/{job}/schedule``. OSError or TimeoutError where no answer came."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of one job's schedule.

    Attributes
    ----------
    job : str
        Which.
    accepted : bool
        The daemon has it; or, for a job that is to run free, has none.
    connected : bool
        The job was connected to the daemon at that moment; if not, it gets the schedule when it says hello.
    version : int
        Of the schedule.
    attempts : int
        Requests made.
    reason : str
        Why it was not accepted; else empty.
    schedule : Schedule or None
        What was sent: a coordinator keeps it. None for a job that is to run free.
    """

    job: str
    accepted: bool
    connected: bool
    version: int
    attempts: int
    reason: str
    schedule: Schedule | None = None


async def send(
    schedules: Sequence[Schedule],
    free: Sequence[str],
    version: int,
    where: Mapping[str, Endpoint],
    transport: Transport,
    *,
    attempts: int = 5,
) -> list[Acknowledgement]:
    """Send schedules, and to the jobs of ``free`` that they have none. All at once, each for itself.

    A request that got no answer, or 429 or 5xx, is made again, up to ``attempts`` times with growing pauses: the same
    version with the same contents is acknowledged again, so a lost answer does no harm. Anything else is final. Nothing
    is raised for a daemon that does not answer: its acknowledgement says so.
    """
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(job: str, schedule: Schedule | None) -> Acknowledgement:
        endpoint = where.get(job)
        if endpoint is None:
            return Acknowledgement(job, False, False, version, 0, "no daemon is known for this job", schedule)
        async with gate:
            return await _until_answered(endpoint, job, schedule, version, transport, attempts)

    wanted: list[tuple[str, Schedule | None]] = [(schedule.job, schedule) for schedule in schedules]
    wanted += [(job, None) for job in free]
    return list(await asyncio.gather(*(one(job, schedule) for job, schedule in wanted)))


async def _until_answered(
    endpoint: Endpoint, job: str, schedule: Schedule | None, version: int, transport: Transport, attempts: int
) -> Acknowledgement:
    reason, made = "", 0
    for made in range(1, attempts + 1):
        try:
            if schedule is None:
                reply = await transport.delete_schedule(endpoint, job, version)
            else:
                reply = await transport.put_schedule(endpoint, schedule)
        except (OSError, TimeoutError) as error:
            reason = f"{endpoint.url}: {error or type(error).__name__}"
        else:
            if reply.status == 200:
                return Acknowledgement(job, True, bool(reply.body.get("connected")), version, made, "", schedule)
            reason = f"{endpoint.url}: {reply.status} {reply.body.get('error', '')}".rstrip()
            if reply.status != 429 and reply.status < 500:
                break
        if made < attempts:
            # Spread, so that the schedulers of a whole cluster do not come again in step.
            await asyncio.sleep(FIRST_WAIT_S * 2 ** (made - 1) * random.uniform(0.5, 1.5))
    return Acknowledgement(job, False, False, version, made, reason, schedule)
