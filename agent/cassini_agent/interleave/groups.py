"""Groups of jobs that meet, as they are remembered from one arrangement to the next. Times are given, in seconds."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ..coordinator import events

__all__ = ["Group", "Groups"]

EVERY_S, SELDOM_S = 10.0, 300.0
"""Between two arrangements of the same jobs; doubled each time, up to the other, while one follows the other."""

CALM_S = 120.0
"""After so long without a new arrangement the next comes soon again."""


@dataclass(slots=True)
class Group:
    """Jobs that meet, as they were arranged last.

    Attributes
    ----------
    jobs : frozenset of str
    at_s : float
        When they were.
    pause_s : float
        No sooner after that are they arranged anew.
    changed : set of str
        Jobs that have said so.
    held : dict of str to str
        Components by job: those that are to be held.
    free : dict of str to str
        Why the others are not.
    pending : str
        Why they are being arranged; empty when that is done.
    is_parting : bool
        They were parted, to be known apart: the other half of an arrangement comes as soon as they are.
    """

    jobs: frozenset[str]
    at_s: float
    pause_s: float
    changed: set[str] = field(default_factory=set)
    held: dict[str, str] = field(default_factory=dict)
    free: dict[str, str] = field(default_factory=dict)
    pending: str = ""
    is_parting: bool = False

    def is_due(self, now_s: float) -> bool:
        """Whether they may be arranged anew."""
        return now_s - self.at_s >= (EVERY_S if self.is_parting else self.pause_s)


class Groups:
    """All that were arranged."""

    def __init__(self) -> None:
        self._of_jobs: dict[frozenset[str], Group] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(self._of_jobs.values())

    def get(self, jobs: frozenset[str]) -> Group | None:
        """These very jobs; None if they were not arranged as one group."""
        return self._of_jobs.get(jobs)

    def overlapping(self, jobs: Collection[str]) -> list[Group]:
        """Those with any of these jobs."""
        return [group for group in self._of_jobs.values() if not group.jobs.isdisjoint(jobs)]

    def is_done(self, jobs: frozenset[str]) -> bool:
        """Whether these very jobs are arranged, and not only parted."""
        group = self._of_jobs.get(jobs)
        return group is not None and not (group.pending or group.is_parting)

    def clear(self) -> None:
        """Forget all."""
        self._of_jobs.clear()

    def keep_only(self, jobs: Collection[str]) -> None:
        """Forget groups of which nobody is among these."""
        kept = self.overlapping(jobs)
        self._of_jobs = {group.jobs: group for group in kept}

    def begin(self, jobs: frozenset[str], because: str, now_s: float) -> Group:
        """These are being arranged; sooner and sooner is not allowed."""
        before = self._of_jobs.get(jobs)
        group = Group(jobs, now_s, EVERY_S, pending=because)
        if before is not None:
            group.free = before.free
            if now_s - before.at_s < CALM_S + before.pause_s:
                group.pause_s = before.pause_s if before.is_parting else min(2 * before.pause_s, SELDOM_S)
        for other in self.overlapping(jobs):
            del self._of_jobs[other.jobs]
        self._of_jobs[jobs] = group
        return group

    def hear(self, event: events.Event) -> None:
        """What the coordinator tells of a job, or of a component that jobs are held in."""
        match event:
            case events.IterationChanged(_, job):
                for group in self.overlapping([job]):
                    group.changed.add(job)
            case events.RatioBroken(component):
                for group in self._held_in(component):
                    group.changed |= group.jobs
            case events.Superseded(component):  # somebody else has the say
                for group in self._held_in(component):
                    group.held.clear()

    def _held_in(self, component: str) -> list[Group]:
        return [group for group in self._of_jobs.values() if component in group.held.values()]

    def were_just_arranged(self, jobs: Collection[str], now_s: float) -> bool:
        """Whether any of these jobs was, with whomever."""
        return any(now_s - group.at_s < EVERY_S for group in self.overlapping(jobs))

    def ask_for_all(self, because: str) -> None:
        """Each is to be arranged anew, at once."""
        for group in self._of_jobs.values():
            group.pending, group.at_s = because, -math.inf

    def what_is_new(self, jobs: frozenset[str]) -> str:
        """Of a group that was not arranged as it is."""
        before = frozenset().union(*(group.jobs for group in self.overlapping(jobs)))
        if not before:
            return "new"
        told = [f"{job} joined" for job in sorted(jobs - before)] + [f"{job} left" for job in sorted(before - jobs)]
        return ", ".join(told) or "others meet"
