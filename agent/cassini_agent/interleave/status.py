"""The jobs of an interleaving, as they are now."""

from __future__ import annotations

from dataclasses import dataclass

from ..coordinator.presence import SILENT
from .engine import Engine

__all__ = ["Row", "rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One job, as it is now; None where nothing is known. Times in ns.

    Attributes
    ----------
    job, host, state, note : str
        ``state`` is that of docs/agent.md's JobStatus, or ``missing``; ``note`` says why it is not held.
    component : str or None
        What it is held with.
    iteration_ns : int or None
        Uncontrolled: without waiting.
    pace_ns, error_ns, error_spread_ns : int or None
        What it is held at, and how far its starts are from its grid.
    delay_total_ns, adjustments : int
        What it has waited since it began, and how often for its place.
    """

    job: str
    host: str
    state: str
    note: str = ""
    component: str | None = None
    iteration_ns: int | None = None
    pace_ns: int | None = None
    error_ns: int | None = None
    error_spread_ns: int | None = None
    delay_total_ns: int = 0
    adjustments: int = 0


def rows(engine: Engine) -> list[Row]:
    """All jobs that take part, by name."""
    unseen = set(engine.scope.wanted or ()) - engine.seen.jobs.keys()
    found = [Row(name, "", "missing", "not seen yet") for name in unseen]
    free = {job: why for group in engine.groups for job, why in group.free.items()}
    for name, job in engine.seen.jobs.items():
        told, schedule = job.status, job.schedule
        known = [told.note, told.contradicted, job.unknown, free.get(name), job.absent]
        if name in engine.excluded:
            known.append("it costs the others too much")
        found.append(
            Row(
                job=name,
                host=job.host,
                state=told.state if job.absent in ("", SILENT) else "missing",
                component=None if schedule is None else schedule.component,
                iteration_ns=told.iteration_ns,
                pace_ns=None if schedule is None else schedule.pace_ns,
                error_ns=told.error_ns,
                error_spread_ns=told.error_spread_ns,
                delay_total_ns=told.delay_total_ns,
                adjustments=told.adjustments,
                note="; ".join(filter(None, known)),
            )
        )
    return sorted(found, key=lambda row: row.job)
