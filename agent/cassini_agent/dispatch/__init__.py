"""In the scheduler: a ranking becomes schedules, schedules reach the agents, each job's daemon acknowledges."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import cassini_core as cc

from ..endpoint import Endpoint
from ..job_secret import JobSecret
from ..requests import Reply, Transport
from .arrange import Arrangement, UncontrolledTimes, arrange, with_headroom
from .difference import difference, is_torn
from .plan import Plan, plan
from .running_shifts import Running, with_running_shifts
from .send import Acknowledgement, Known, look, send

__all__ = [
    "Acknowledgement",
    "Arrangement",
    "Endpoint",
    "JobSecret",
    "Known",
    "Plan",
    "Reply",
    "Running",
    "Transport",
    "UncontrolledTimes",
    "apply",
    "apply_async",
    "arrange",
    "look",
    "new_version",
    "plan",
    "running",
    "running_async",
    "send",
    "send_plan",
    "with_headroom",
    "with_running_shifts",
]

Result = TypeVar("Result")

LEASE_S = 3600.0
LEAD_S = 0.5

SETTLE_S, SETTLE_TIMES = 0.7, 3
"""Between two looks while a coordinator is just sending new versions of what is looked at, and how often."""


def apply(
    ranking: cc.Ranking | Arrangement,
    problem: cc.Problem | None = None,
    where: Mapping[str, Endpoint] | None = None,
    *,
    uncontrolled: cc.Problem | None = None,
    since_ns: int | None = None,
    secrets: Mapping[str, JobSecret] | None = None,
    lease_s: float = LEASE_S,
    lead_s: float = LEAD_S,
    transport: Transport | None = None,
) -> list[Acknowledgement]:
    """Have the agents apply and hold the shifts of a ranking's best placement. Twice the same changes nothing.

    Daemons are asked first what they have. A component that runs as planned is left alone, on the grid that it has; the
    acknowledgements have its schedules, so a coordinator that was restarted goes on with them. Another one gets a new
    version: jobs that the ranking leaves where they run (:func:`running`) keep their grid and its epoch; where it
    leaves none, the grid is put where the jobs that were held before wait least.

    Parameters
    ----------
    ranking : Ranking or Arrangement
        Of ``problem``; or what :func:`arrange` made, which has the problem in it.
    problem : Problem
        What was ranked; None with an arrangement.
    where : mapping of str to Endpoint
        The daemon of each job of the placement: that of the server of its rank 0. Jobs that the placement does not have
        lose the schedule that they may have.
    uncontrolled : Problem, optional
        The problem before headroom for jitter was added, if it was (:func:`with_headroom`).
    since_ns : int, optional
        The instant that running shifts count from, where the ranking was told of them (:func:`running`).
    secrets : mapping of str to JobSecret, optional
        Of jobs that were started with one in their environment: the daemon then takes no other process for the job.
        Jobs that are not named here keep what their schedules say.
    lease_s : float
        The agents let their jobs run free so long after, unless a newer schedule has come.
    lead_s : float
        New grids begin so long from now, so that all jobs have heard of them.
    transport : Transport, optional
        Default: HTTP.

    Returns
    -------
    list of Acknowledgement
        One per job of the placement; look at ``accepted`` and ``free`` of each. Daemons that do not answer raise
        nothing. May be called from a thread with or without a running event loop.

    Raises
    ------
    ValueError
        As :func:`plan`.
    """
    return _run(
        apply_async(
            ranking,
            problem,
            where,
            uncontrolled=uncontrolled,
            since_ns=since_ns,
            secrets=secrets,
            lease_s=lease_s,
            lead_s=lead_s,
            transport=transport,
        )
    )


def running(
    problem: cc.Problem,
    where: Mapping[str, Endpoint],
    *,
    lead_s: float = LEAD_S,
    transport: Transport | None = None,
) -> Running:
    """The problem with the shifts at which its jobs are held now, as their daemons say; to be ranked or arranged.

    Parameters
    ----------
    problem : Problem
    where, lead_s, transport
        As for :func:`apply`.

    Notes
    -----
    A daemon that does not answer says nothing of its jobs: they count as if they did not run.
    """
    return _run(running_async(problem, where, lead_s=lead_s, transport=transport))


async def running_async(
    problem: cc.Problem,
    where: Mapping[str, Endpoint],
    *,
    lead_s: float = LEAD_S,
    transport: Transport | None = None,
) -> Running:
    """:func:`running`, for a scheduler with an event loop of its own."""
    jobs = sorted({job.id for job in problem.jobs} & where.keys())
    async with _over(transport) as daemons:
        known = await look(jobs, where, daemons)
    has = {job: each.schedule for job, each in known.items() if isinstance(each, Known) and each.schedule is not None}
    return with_running_shifts(problem, has, time.time_ns() + round(lead_s * 1e9))


async def apply_async(
    ranking: cc.Ranking | Arrangement,
    problem: cc.Problem | None = None,
    where: Mapping[str, Endpoint] | None = None,
    *,
    uncontrolled: cc.Problem | None = None,
    since_ns: int | None = None,
    secrets: Mapping[str, JobSecret] | None = None,
    lease_s: float = LEASE_S,
    lead_s: float = LEAD_S,
    transport: Transport | None = None,
) -> list[Acknowledgement]:
    """:func:`apply`, for a scheduler with an event loop of its own."""
    if isinstance(ranking, Arrangement):
        if problem is not None or uncontrolled is not None:
            raise ValueError("problem, uncontrolled: expected none with an arrangement, which has them")
        problem, uncontrolled, ranking = ranking.problem, ranking.uncontrolled, ranking.ranking
    if problem is None or where is None:
        raise ValueError("apply: expected the problem that was ranked, and where the jobs' daemons are")
    version = new_version()
    epoch_ns = time.time_ns() + round(lead_s * 1e9)
    lease_ns = round(lease_s * 1e9)
    planned = plan(
        ranking,
        problem,
        epoch_ns=epoch_ns,
        version=version,
        lease_ns=lease_ns,
        uncontrolled=uncontrolled,
        since_ns=since_ns,
    ).with_secrets(secrets or {})
    async with _over(transport) as daemons:
        return await send_plan(planned, version, where, daemons, lease_s=lease_s)


async def send_plan(
    planned: Plan,
    version: int,
    where: Mapping[str, Endpoint],
    transport: Transport,
    *,
    lease_s: float = LEASE_S,
) -> list[Acknowledgement]:
    """Send what of a plan its jobs do not have yet; an acknowledgement per job, also of those that had it."""
    jobs = {one.job for one in planned.schedules} | set(planned.free)
    known = await look(sorted(jobs | set(where)), where, transport)
    for _ in range(SETTLE_TIMES):
        if not is_torn(planned, known):
            break
        await asyncio.sleep(SETTLE_S)
        known = await look(sorted(known), where, transport)
    wanted = difference(planned, known, version=version, now_ns=time.time_ns(), lease_ns=round(lease_s * 1e9))
    # Who did not answer a moment ago is not asked again: the others would wait for it twice.
    silent = {job: reason for job, reason in known.items() if isinstance(reason, str)}
    sent = await send([one for one in wanted.send if one.job not in silent], wanted.clear, where, transport)
    answers = {one.job: one for one in sent}
    unsent = {one.job: one for one in wanted.send if one.job in silent}
    for job in jobs & silent.keys():
        has = unsent.get(job) or wanted.kept.get(job)
        answers[job] = Acknowledgement(job, False, False, 0, 0, silent[job], has, job in planned.free)
    for job in (jobs | set(answers)) - answers.keys():
        each, has = known[job], wanted.kept.get(job)
        assert isinstance(each, Known)
        answers[job] = Acknowledgement(job, True, each.connected, each.version, 0, "", has, has is None)
    of_plan = {one.job: one for one in planned.schedules}
    return [_told(one, planned, of_plan) for _, one in sorted(answers.items())]


def _told(one: Acknowledgement, planned: Plan, of_plan: Mapping[str, Any]) -> Acknowledgement:
    if one.free and one.accepted:
        return replace(one, reason=planned.free.get(one.job, "the placement does not have it"))
    return replace(one, planned=of_plan.get(one.job))


@asynccontextmanager
async def _over(transport: Transport | None) -> AsyncIterator[Transport]:
    """What requests travel over: HTTP, unless there is something else."""
    if transport is not None:
        yield transport
        return
    from ..http_transport import HttpTransport  # loads aiohttp

    async with HttpTransport() as http:
        yield http


_version_lock = threading.Lock()
_last_version = 0


def new_version() -> int:
    """A version above all before it, also after a restart: the Unix time in ms, or one more than the last."""
    global _last_version
    with _version_lock:
        _last_version = max(_last_version + 1, time.time_ns() // 1_000_000)
        return _last_version


def _run(call: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, whether or not this thread has an event loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    with ThreadPoolExecutor(1, "cassini-dispatch") as thread:
        return thread.submit(asyncio.run, call).result()
