"""In the scheduler: a ranking becomes schedules, schedules reach the agents, each job's daemon acknowledges."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import cassini_core as cc

from ..endpoint import Endpoint
from ..job_secret import JobSecret
from ..requests import Transport
from ..schedule import SECOND_NS
from .arrange import Arrangement, arrange, with_headroom
from .plan import Plan, plan
from .running_shifts import Running, with_running_shifts
from .send import LEASE_S, Acknowledgement, look, send_plan

__all__ = [
    "Acknowledgement",
    "Arrangement",
    "Endpoint",
    "JobSecret",
    "Plan",
    "Running",
    "Transport",
    "apply",
    "arrange",
    "plan",
    "running",
    "send_plan",
    "with_headroom",
    "with_running_shifts",
]

Result = TypeVar("Result")

LEAD_S = 0.5


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
    version: jobs that the ranking leaves where they run (:func:`running`) keep their grid; where it
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
        nothing. Blocks for as long as they take, at most some seconds each: where an event loop runs, it is for
        ``asyncio.to_thread``.

    Raises
    ------
    ValueError
        As :func:`plan`.
    """
    held = None
    if isinstance(ranking, Arrangement):
        if problem is not None or uncontrolled is not None:
            raise ValueError("problem, uncontrolled: expected none with an arrangement, which has them")
        problem, uncontrolled, held, ranking = ranking.problem, ranking.uncontrolled, ranking.held, ranking.ranking
    if problem is None or where is None:
        raise ValueError("apply: expected the problem that was ranked, and where the jobs' daemons are")
    planned = plan(
        ranking,
        problem,
        epoch_ns=time.time_ns() + round(lead_s * SECOND_NS),
        uncontrolled=uncontrolled,
        since_ns=since_ns,
        held=held,
    ).with_secrets(secrets or {})
    return _run(lambda daemons: send_plan(planned, where, daemons, lease_s=lease_s), transport)


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
    jobs = sorted({job.id for job in problem.jobs} & where.keys())
    known = _run(lambda daemons: look(jobs, where, daemons), transport)
    has = {job: each.schedule for job, each in known.items() if not isinstance(each, str) and each.schedule is not None}
    return with_running_shifts(problem, has, time.time_ns() + round(lead_s * SECOND_NS))


def _run(work: Callable[[Transport], Awaitable[Result]], transport: Transport | None) -> Result:
    """Do it over HTTP, unless there is something else; in a thread, as this one may have an event loop that runs."""

    async def there() -> Result:
        if transport is not None:
            return await work(transport)
        from ..http_transport import HttpTransport  # loads aiohttp

        async with HttpTransport() as http:
            return await work(http)

    with ThreadPoolExecutor(1, "cassini-dispatch") as thread:
        return thread.submit(asyncio.run, there()).result()
