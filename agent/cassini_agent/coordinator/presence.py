"""Why nothing is heard of a job, and when it is not counted on any more."""

from __future__ import annotations

from ..schedule import SECOND_NS
from .status import JobStatus

__all__ = ["DISCONNECTED", "MISSING_NS", "SILENT", "UNREACHABLE", "has_left", "why_absent"]

MISSING_NS = 3 * SECOND_NS
"""A member that is not heard of for so long is told of."""

GONE_NS = 30 * SECOND_NS
"""A job that is not connected for so long, though its daemon answers, has ended, or begins again from a checkpoint."""

LOST_NS = 120 * SECOND_NS
"""A job that is silent, or whose daemon does not answer, for so long is not counted on: it may be in a checkpoint, and
its daemon may be about to be started again, so this is longer."""

UNREACHABLE, DISCONNECTED, SILENT = "its daemon does not answer", "not connected", "silent"


def why_absent(status: JobStatus | None) -> str:
    """Why nothing is heard of a job whose daemon said this, None for no answer; empty if it is heard of."""
    if status is None:
        return UNREACHABLE
    if not status.connected:
        return DISCONNECTED
    return SILENT if status.state == "silent" else ""


def has_left(why: str, missing_ns: int) -> bool:
    """Whether a job that has been absent for so long, all the time for this reason, is not counted on any more."""
    return missing_ns >= (GONE_NS if why == DISCONNECTED else LOST_NS)
