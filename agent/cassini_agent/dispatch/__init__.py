"""In the scheduler: a ranking becomes schedules, schedules reach the agents, each job's daemon acknowledges."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import cassini_core as cc

from .plan import Plan, plan, with_margins
from .send import Acknowledgement, Endpoint, Reply, Transport, send

__all__ = [
    "Acknowledgement",
    "Endpoint",
    "Plan",
    "Reply",
    "Transport",
    "apply",
    "apply_async",
    "new_version",
    "plan",
    "send",
    "with_margins",
]

Result = TypeVar("Result")


def apply(
    ranking: cc.Ranking,
    problem: cc.Problem,
    where: Mapping[str, Endpoint],
    *,
    natural: cc.Problem | None = None,
    lease_s: float = 3600.0,
    lead_s: float = 0.5,
    transport: Transport | None = None,
) -> list[Acknowledgement]:
    """Have the agents apply and hold the shifts of a ranking's best placement.

    Parameters
    ----------
    ranking : Ranking
        Of ``problem``.
    problem : Problem
        What was ranked.
    where : mapping of str to Endpoint
        The daemon of each job of the placement: that of the server of its rank 0.
    natural : Problem, optional
        The problem before margins for jitter were added, if they were (:func:`with_margins`).
    lease_s : float
        The agents let their jobs run free so long after, unless a newer schedule has come.
    lead_s : float
        The grids begin so long from now, so that all jobs have heard of them.
    transport : Transport, optional
        Default: HTTP.

    Returns
    -------
    list of Acknowledgement
        One per job of the placement that shares a link; look at ``accepted`` of each. Daemons that do not answer raise
        nothing. May be called from a thread with or without a running event loop.

    Raises
    ------
    ValueError
        As :func:`plan`.
    """
    call = apply_async(ranking, problem, where, natural=natural, lease_s=lease_s, lead_s=lead_s, transport=transport)
    return _run(call)


async def apply_async(
    ranking: cc.Ranking,
    problem: cc.Problem,
    where: Mapping[str, Endpoint],
    *,
    natural: cc.Problem | None = None,
    lease_s: float = 3600.0,
    lead_s: float = 0.5,
    transport: Transport | None = None,
) -> list[Acknowledgement]:
    """:func:`apply`, for a scheduler with an event loop of its own."""
    version = new_version()
    epoch_ns = time.time_ns() + round(lead_s * 1e9)
    planned = plan(ranking, problem, epoch_ns=epoch_ns, version=version, lease_ns=round(lease_s * 1e9), natural=natural)
    if transport is not None:
        return await send(planned.schedules, planned.free, version, where, transport)
    from .http import HttpTransport

    async with HttpTransport() as http:
        return await send(planned.schedules, planned.free, version, where, http)


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
    results: list[Result] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(call))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work, name="cassini-dispatch")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]
