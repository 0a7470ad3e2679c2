"""A plan reaches the daemons of its jobs: asked first what they have, retried while that helps, one outcome per job."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ..coordinator.http import HttpDaemons, RefusedError, TransportError
from ..coordinator.status import JobStatus
from ..endpoint import Endpoint
from ..requests import Transport
from ..schedule import SECOND_NS, Schedule
from .difference import Wanted, difference
from .plan import Plan

__all__ = ["LEASE_S", "Acknowledgement", "look", "send_plan"]

LEASE_S = 3600.0

AT_ONCE = 64
"""Jobs whose daemons are asked at the same time."""

ATTEMPTS = 3
"""How often a request is made before its daemon is given up."""

FIRST_WAIT_S = 0.1

NO_DAEMON = "no daemon is known for this job"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of one job.

    Attributes
    ----------
    job : str
    accepted : bool
        Its daemon has what it is to have.
    connected : bool
        The job is connected to the daemon at the moment; if not, it gets the schedule when it says hello.
    attempts : int
        Requests made to change something; 0 where the daemon had it already.
    reason : str
        Why it was not accepted; or why the job runs free; else empty.
    schedule : Schedule or None
        What the job has now, or is to have when its daemon answers: a coordinator keeps it. None for a job that is to
        run free.
    planned : Schedule or None
        What the ranking gave the job: its pace, for which its hold is known, is not always that of ``schedule``, which
        a coordinator may have adapted since. None for a job that is to run free.
    """

    job: str
    accepted: bool
    connected: bool
    attempts: int
    reason: str
    schedule: Schedule | None = None
    planned: Schedule | None = None

    @property
    def free(self) -> bool:
        """The job is to run free."""
        return self.schedule is None


async def look(jobs: Iterable[str], where: Mapping[str, Endpoint], transport: Transport) -> dict[str, JobStatus | str]:
    """What the daemons of jobs have, all asked at once; a text that says why, where that is not to be known."""
    daemons, gate = _by_url(where, transport), asyncio.Semaphore(AT_ONCE)

    async def one(job: str) -> JobStatus | str:
        if job not in where:
            return NO_DAEMON
        async with gate:
            known, reason, _ = await _until_answered(lambda: daemons.jobs(where[job].url, [job]))
        return reason if known is None else next(iter(known), JobStatus(job, "waiting", connected=False))

    asked = list(jobs)
    return dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))


async def send_plan(
    planned: Plan,
    where: Mapping[str, Endpoint],
    transport: Transport,
    *,
    lease_s: float = LEASE_S,
) -> list[Acknowledgement]:
    """Send what of a plan its jobs do not have yet; an acknowledgement per job, by id, also of those that had it.

    A request that got no answer, or 429 or 5xx, is made again, up to three times with growing pauses: the same version
    with the same contents is acknowledged again, so a lost answer does no harm. Anything else is final. Nothing is
    raised for a daemon that does not answer: the acknowledgements of its jobs say so. Jobs of ``where`` that the plan
    does not have lose the schedules that they may have.
    """
    of_plan = {one.job: one for one in planned.schedules}
    known = await look(sorted(of_plan.keys() | planned.free.keys() | where.keys()), where, transport)
    now_ns = time.time_ns()
    # Above those before, also after a restart; where the clock was set back, above what the daemon knows.
    version = now_ns // 1000
    wanted = difference(planned, known, version=version, now_ns=now_ns, lease_ns=round(lease_s * SECOND_NS))
    daemons, gate = _by_url(where, transport), asyncio.Semaphore(AT_ONCE)

    async def change(job: str, its: Wanted) -> None:
        if its.schedule is not None:
            await daemons.put(where[job].url, its.schedule)
        else:
            await daemons.clear(where[job].url, job, its.version)

    async def one(job: str, its: Wanted) -> Acknowledgement:
        has, reason, attempts = known[job], "", 0
        if isinstance(has, str):  # the others do not wait for who did not answer a moment ago
            return Acknowledgement(job, False, False, 0, has, its.schedule, of_plan.get(job))
        if its.version:
            async with gate:
                _, reason, attempts = await _until_answered(lambda: change(job, its))
        accepted = not reason
        if accepted and its.schedule is None:
            reason = planned.free.get(job, "the placement does not have it")
        return Acknowledgement(job, accepted, has.connected, attempts, reason, its.schedule, of_plan.get(job))

    return list(await asyncio.gather(*(one(job, its) for job, its in sorted(wanted.items()))))


def _by_url(where: Mapping[str, Endpoint], transport: Transport) -> HttpDaemons:
    return HttpDaemons(transport, {one.url: one for one in where.values()})


async def _until_answered(request: Callable[[], Awaitable[_T]]) -> tuple[_T | None, str, int]:
    """An answer that is final, or None; what is wrong with it, empty if nothing; and how often it was asked for."""
    reason, made = "", 0
    for made in range(1, ATTEMPTS + 1):
        try:
            return await request(), "", made
        except RefusedError as error:
            return None, str(error), made
        except TransportError as error:
            reason = str(error)
        if made < ATTEMPTS:
            # Spread, so that the schedulers of a whole cluster do not come again in step.
            await asyncio.sleep(FIRST_WAIT_S * 2 ** (made - 1) * random.uniform(0.5, 1.5))
    return None, reason, made
