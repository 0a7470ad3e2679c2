"""Which members of a component are heard of, and what becomes of one that is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..schedule import SECOND_NS
from . import events
from .status import JobStatus

__all__ = ["DISCONNECTED", "SILENT", "UNREACHABLE", "Presence", "has_left", "why_absent"]

MISSING_NS = 3 * SECOND_NS
"""A member that is not heard of for so long is told of."""

STEP_NS = 3 * SECOND_NS
"""From one look to the next nobody gets absent for longer than this: the clock may be set, or nobody have looked."""

GONE_NS = 30 * SECOND_NS
"""A job that is not connected for so long, though its daemon answers, has ended, or begins again from a checkpoint."""

LOST_NS = 120 * SECOND_NS
"""A job that is silent, or whose daemon does not answer, for so long is not counted on: it may be in a checkpoint, and
its daemon may be about to be started again, so this is longer."""

UNREACHABLE, DISCONNECTED, SILENT = "its daemon does not answer", "not connected", "silent"


class Presence:
    """Of one component.

    Attributes
    ----------
    absent : dict of str to str
        Members that are not heard of now, and why: their places are not known.
    """

    def __init__(self, component: str) -> None:
        self._component = component
        self._absent_ns: dict[str, tuple[str, int]] = {}  # why, and for how long for that reason
        self._looked_ns: int | None = None
        self._told: set[str] = set()
        self.absent: dict[str, str] = {}

    def look(
        self, members: Iterable[str], statuses: Mapping[str, JobStatus], now_ns: int
    ) -> tuple[dict[str, str], list[events.Event]]:
        """Who has left, and why; and what is told of those who are missing, or back."""
        self.absent = {job: why for job in members if (why := why_absent(statuses.get(job)))}
        told: list[events.Event] = []
        passed_ns = 0 if self._looked_ns is None else min(max(0, now_ns - self._looked_ns), STEP_NS)
        self._looked_ns = now_ns
        for job in self._absent_ns.keys() - self.absent.keys():
            del self._absent_ns[job]
            if job in self._told:
                self._told.remove(job)
                told.append(events.MemberBack(self._component, job))
        left = {}
        for job, why in self.absent.items():
            before, missing_ns = self._absent_ns.get(job, ("", 0))
            missing_ns = missing_ns + passed_ns if before == why else 0
            self._absent_ns[job] = why, missing_ns
            if has_left(why, missing_ns):
                left[job] = why
            elif missing_ns >= MISSING_NS and job not in self._told:
                self._told.add(job)
                told.append(events.MemberMissing(self._component, job, why))
        return left, told

    def forget(self, job: str) -> None:
        """It is no member any more."""
        self._absent_ns.pop(job, None)
        self._told.discard(job)
        self.absent.pop(job, None)

    @property
    def may_move(self) -> bool:
        """Whether the epoch may move: not while a job may run on, out of reach, on the grid that it has."""
        return UNREACHABLE not in self.absent.values()


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
