"""Requests to the daemons of jobs: retried while that can help, never twice something else, one outcome per job."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..endpoint import Endpoint
from ..requests import Reply, Transport, delete_schedule, get_job, put_schedule
from ..schedule import Schedule, ScheduleError

__all__ = ["Acknowledgement", "Known", "look", "send"]

AT_ONCE = 64
"""Requests under way at the same time."""

ATTEMPTS, LOOKS = 5, 3
"""How often a change is sent, and how often a daemon is asked what it has, before it is given up."""

FIRST_WAIT_S = 0.1


@dataclass(frozen=True, slots=True)
class Known:
    """What the daemon of a job has.

    Attributes
    ----------
    version : int
        Of the newest command, 0 before the first.
    schedule : Schedule or None
        In force or expired, on the coordinator's clock; None if the job runs free.
    connected : bool
        The job is connected to the daemon.
    """

    version: int = 0
    schedule: Schedule | None = None
    connected: bool = False

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Known:
        """From a ``JobStatus``; what makes no sense is taken for a job without a schedule."""
        version, schedule = body.get("version"), None
        if isinstance(body.get("schedule"), Mapping):
            try:
                schedule = Schedule.from_mapping(body["schedule"])
            except ScheduleError:
                schedule = None
        return cls(version if type(version) is int else 0, schedule, body.get("connected") is True)


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of one job.

    Attributes
    ----------
    job : str
        Which.
    accepted : bool
        The daemon has the schedule; or, for a job that is to run free, has none.
    connected : bool
        The job was connected to the daemon at that moment; if not, it gets the schedule when it says hello.
    version : int
        Of the schedule; of a job that runs free, of the latest command.
    attempts : int
        Requests made to change something; 0 where the daemon had it already.
    reason : str
        Why it was not accepted; or why the job runs free; else empty.
    schedule : Schedule or None
        What the job has now, or is to have when its daemon answers: a coordinator keeps it. None for a job that is to
        run free.
    free : bool
        The job is to run free.
    planned : Schedule or None
        What the ranking gave the job: its pace, for which its hold is known, is not always that of ``schedule``, which
        a coordinator may have adapted since. None for a job that is to run free.
    """

    job: str
    accepted: bool
    connected: bool
    version: int
    attempts: int
    reason: str
    schedule: Schedule | None = None
    free: bool = False
    planned: Schedule | None = None


async def look(
    jobs: Iterable[str], where: Mapping[str, Endpoint], transport: Transport, *, attempts: int = LOOKS
) -> dict[str, Known | str]:
    """What the daemons of jobs have, all asked at once; a text that says why, where that is not to be known.

    A request that got no answer, or 429 or 5xx, is made again up to ``attempts`` times.
    """
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(job: str) -> Known | str:
        endpoint = where.get(job)
        if endpoint is None:
            return NO_DAEMON
        async with gate:
            reply, reason, _ = await _until_answered(lambda: get_job(transport, endpoint, job), endpoint, attempts)
        if reply is None:
            return reason
        return Known() if reply.status == 404 else Known.from_body(reply.body)

    asked = list(jobs)
    return dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))


NO_DAEMON = "no daemon is known for this job"


async def send(
    schedules: Sequence[Schedule],
    free: Mapping[str, int],
    where: Mapping[str, Endpoint],
    transport: Transport,
    *,
    attempts: int = ATTEMPTS,
) -> list[Acknowledgement]:
    """Send schedules, and to the jobs of ``free`` (with the version) that they have none. All at once, each for itself.

    A request that got no answer, or 429 or 5xx, is made again, up to ``attempts`` times with growing pauses: the same
    version with the same contents is acknowledged again, so a lost answer does no harm. Anything else is final. Nothing
    is raised for a daemon that does not answer: its acknowledgement says so.
    """
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(job: str, schedule: Schedule | None) -> Acknowledgement:
        endpoint = where.get(job)
        version = free[job] if schedule is None else schedule.version
        if endpoint is None:
            return Acknowledgement(job, False, False, version, 0, NO_DAEMON, schedule, schedule is None)

        def request() -> Awaitable[Reply]:
            if schedule is None:
                return delete_schedule(transport, endpoint, job, version)
            return put_schedule(transport, endpoint, schedule)

        async with gate:
            reply, reason, made = await _until_answered(request, endpoint, attempts)
        accepted = reply is not None and reply.status == 200
        connected = accepted and reply is not None and bool(reply.body.get("connected"))
        return Acknowledgement(job, accepted, connected, version, made, reason, schedule, schedule is None)

    wanted: list[tuple[str, Schedule | None]] = [(schedule.job, schedule) for schedule in schedules]
    wanted += [(job, None) for job in free]
    return list(await asyncio.gather(*(one(job, schedule) for job, schedule in wanted)))


async def _until_answered(
    request: Callable[[], Awaitable[Reply]], endpoint: Endpoint, attempts: int
) -> tuple[Reply | None, str, int]:
    """An answer that is final, or None; what is wrong with it, empty for 200 and 404; and how often it was asked."""
    reason, made = "", 0
    for made in range(1, attempts + 1):
        try:
            reply = await request()
        except (OSError, TimeoutError) as error:
            reason = f"{endpoint.url}: {str(error) or type(error).__name__}"
        else:
            if reply.status == 200:
                return reply, "", made
            reason = f"{endpoint.url}: {reply.status} {reply.body.get('error', '')}".rstrip()
            if reply.status != 429 and reply.status < 500:
                return (reply if reply.status == 404 else None), reason, made
        if made < attempts:
            # Spread, so that the schedulers of a whole cluster do not come again in step.
            await asyncio.sleep(FIRST_WAIT_S * 2 ** (made - 1) * random.uniform(0.5, 1.5))
    return None, reason, made
