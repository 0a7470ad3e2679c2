"""The jobs of an interleaving, as they are now."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ..coordinator.presence import SILENT
from ..coordinator.status import JobStatus
from ..dispatch import Acknowledgement
from .engine import Engine

__all__ = ["Row", "rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One job, as it is now.

    Attributes
    ----------
    job, host, state, note : str
        ``state`` is that of docs/agent.md's JobStatus, or ``missing``; ``note`` says why it is not held.
    status : JobStatus
        What its daemon said last, with its schedule while that is in force.
    answer : Acknowledgement or None
        What became of it when it was arranged last.
    """

    job: str
    host: str
    state: str
    note: str
    status: JobStatus
    answer: Acknowledgement | None = None


def rows(engine: Engine) -> list[Row]:
    """All jobs that take part, by name."""
    unseen = set(engine.scope.wanted or ()) - engine.seen.keys()
    found = [Row(name, "", "missing", "not seen yet", JobStatus(name, "missing", connected=False)) for name in unseen]
    for name, job in engine.seen.items():
        state = job.status.state if job.absent in ("", SILENT) else "missing"
        free = job.answer.reason if job.answer is not None and job.answer.free else ""
        dear = "it costs the others too much" if job.excluded_until_s > time.monotonic() else ""
        status = replace(job.status, schedule=job.schedule)
        known = filter(None, (job.status.note, job.status.contradicted, job.unknown, free, job.absent, dear))
        found.append(Row(name, job.host, state, "; ".join(known), status, job.answer))
    return sorted(found, key=lambda row: row.job)
