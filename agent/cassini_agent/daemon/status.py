"""``JobStatus``: what the daemon knows of a job, as the scheduler and the operator read it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ..counters.starts import CONTRADICT, Heard, Witness
from ..counters.watch import CounterWatch
from ..schedule import SECOND_NS
from .log import Log
from .registry import Job

__all__ = ["CounterView", "job_status"]

SILENT_NS, SILENT_ITERATIONS = 5 * SECOND_NS, 10
"""A job reports each second, or after each iteration if that takes longer. One that is not heard of for so long, and
for so many of its iterations, is in a checkpoint, was stopped, or its agent has failed: what it said last says
nothing."""


class CounterView:
    """The counters as they are put into answers: read once for many jobs, and a source that fails is only counted.

    ``source`` is None where the host has none, or nobody asked for them.
    """

    def __init__(self, source: CounterWatch | None, log: Log) -> None:
        self._source = source
        self._log = log
        self.latest: Mapping[str, Any] | None = None
        self._said: Mapping[str, Witness] = {}

    async def refresh(self, jobs: Iterable[Job]) -> None:
        """Read the counters, and compare them with what the connected jobs report, in a thread; once a second."""
        if self._source is None:
            return
        heard = {
            job.id: Heard(job.measurements.starts_ns(), job.measurements.communication_starts_ns())
            for job in jobs
            if job.link is not None
        }
        latest: Mapping[str, Any] | None = None
        said: Mapping[str, Witness] = {}
        try:
            latest = self._source.latest()
            said = await asyncio.to_thread(self._source.witness, heard)
        except Exception as error:  # whatever a driver of somebody's network card does
            self._log.error("counters", error)
        self.latest, self._said = latest, said

    def said_of(self, job: Job) -> Witness | None:
        """What the counters last said about a job; None where there are no counters."""
        return self._said.get(job.id)

    def marks_per_iteration(self, iteration_ns: int | None) -> dict[str, float | None] | None:
        """Congestion marks that the ports of this host count in the time of an iteration, by kind."""
        per_s = (self.latest or {}).get("marks_per_s")
        if not per_s or iteration_ns is None:
            return None
        return {
            name: None if value is None else round(value * iteration_ns / SECOND_NS, 3) for name, value in per_s.items()
        }


def job_status(job: Job, counters: CounterView, now_ns: int) -> dict[str, Any]:
    """Of one job; the keys are those of docs/agent.md. ``seen_ns`` is on the host's monotonic clock."""
    told = job.measurements
    error_ns, error_spread_ns = told.error_ns()
    iteration_ns = told.iteration_ns()
    communication_start_ns, communication_end_ns = told.communication_ns()
    said = counters.said_of(job)
    if communication_start_ns is None and said is not None:
        communication_start_ns, communication_end_ns = said.start_ns, said.end_ns
    return {
        "job": job.id,
        "component": None if job.offered is None or job.cleared else job.offered.component,
        "version": job.version,
        "followed": told.followed,
        "schedule": None if job.offered is None or job.cleared else job.offered.to_mapping(),
        "state": _state(job, now_ns),
        "note": told.note,
        "connected": job.link is not None,
        "uid": job.owner,
        "world_size": job.world_size,
        "iterations": told.iterations,
        "iteration_ns": iteration_ns,
        "communication_start_ns": communication_start_ns,
        "communication_end_ns": communication_end_ns,
        "recent": told.recent_ns(),
        "place_ns": told.place_ns,
        "place_at_ns": told.place_at_ns,
        "pattern_ns": list(told.pattern_ns),
        "error_ns": error_ns,
        "error_spread_ns": error_spread_ns,
        "errors_ns": told.errors_ns(),
        "adjustments": told.adjustments,
        "delay_total_ns": told.delay_total_ns,
        "dropped": told.dropped,
        "changed": None if job.changed is None else msgspec.structs.asdict(job.changed),
        "counters": counters.latest,
        "counters_say": None
        if said is None
        else {
            "says": said.says,
            "reason": said.reason,
            "offset_ns": said.offset_ns,
            "spread_ns": said.spread_ns,
            "iterations": said.iterations,
        },
        "disagreement": said.reason if said is not None and said.says == CONTRADICT else None,
        "marks_per_iteration": counters.marks_per_iteration(iteration_ns),
        "seen_ns": job.seen_ns,
    }


def _state(job: Job, now_ns: int) -> str:
    """What the job said of itself; without a connection, what would become of it if it came."""
    if job.link is not None and job.measurements.iterations:
        return "silent" if _is_silent(job, now_ns) else job.measurements.state
    if job.offset_ns is None:
        return "free" if job.cleared else "waiting"
    return "expired" if job.in_force(now_ns) is None else job.measurements.state


def _is_silent(job: Job, now_ns: int) -> bool:
    if job.heard_ns is None:
        return False
    usual_ns = job.measurements.iteration_ns() or 0
    return now_ns - job.heard_ns > max(SILENT_NS, SILENT_ITERATIONS * usual_ns)
