"""Jobs of a component that a test plays: they do what they are told at once, each with a phase error of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from cassini_agent.control.change import Change
from cassini_agent.control.clock_sync import ClockSample
from cassini_agent.control.phase import wrap
from cassini_agent.coordinator import events
from cassini_agent.coordinator.component import Component, Outcome
from cassini_agent.coordinator.http import TransportError
from cassini_agent.coordinator.lease import LEASE_NS
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.status import JobStatus, Recent
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule

PACE = 200 * MS_NS


def schedule(job: str, **other: Any) -> Schedule:
    values: dict[str, Any] = {
        "job": job,
        "component": "c",
        "version": 1,
        "epoch_ns": 0,
        "pace_ns": PACE,
        "shift_ns": 0 if job == "a" else PACE // 2,
        "iteration_ns": 197 * MS_NS,
        "hold_ns": 7 * MS_NS,
        "slack_ns": 14 * MS_NS,
        "gain_ns": 38 * MS_NS,
        "expires_ns": LEASE_NS,
    }
    return Schedule(**{**values, **other})


def members_of(counts: Sequence[int], shifts: Sequence[float], hold_ns: int) -> dict[str, Member]:
    """Jobs ``a``, ``b``, ... with paces of so many ``PACE``, and shifts that are these shares of their paces."""
    return {
        job: Member(
            schedule(
                job,
                pace_ns=count * PACE,
                iteration_ns=count * PACE - 2 * MS_NS,
                shift_ns=int(shift * count * PACE),
                hold_ns=hold_ns,
                slack_ns=hold_ns,
                gain_ns=0,
            ),
            host=job,
        )
        for job, count, shift in zip("abc", counts, shifts, strict=False)
    }


def sends(begin_ns: int, iteration_ns: int, end_ns: int | None = None) -> dict[str, Any]:
    """What the status of a job has that says when it communicates."""
    end_ns = iteration_ns if end_ns is None else end_ns
    recent = Recent((iteration_ns,) * 8, (begin_ns,) * 8, (end_ns,) * 8)
    return {"recent": recent, "communication_start_ns": begin_ns, "communication_end_ns": end_ns}


@dataclass
class Played:
    """Jobs that do what they are told at once, each with a phase error of its own."""

    members: dict[str, Member]
    errors_ns: dict[str, int]
    iterations: int = 0
    changed: dict[str, Change] = field(default_factory=dict)
    waited_ns: int = 0
    sends_ns: dict[str, int] = field(default_factory=dict)
    cleared: set[str] = field(default_factory=set)
    says: dict[str, str] = field(default_factory=dict)
    clock_ahead_s: float = 0.0

    def __post_init__(self) -> None:
        self.component = Component(self.members.values())
        self.has = {job: member.schedule for job, member in self.members.items()}

    def status(self, job: str) -> JobStatus:
        error = self.errors_ns[job]
        lost = abs(error) > self.has[job].dead_band_ns
        return JobStatus(
            job,
            self.says.get(job) or ("adjusting" if lost else "held"),
            self.has[job].version,
            followed=self.has[job].version,
            schedule=None if job in self.cleared else self.has[job],
            iterations=self.iterations,
            iteration_ns=self.has[job].iteration_ns,
            errors_ns=(error,) * 64,
            place_ns=error,
            delay_total_ns=self.waited_ns,
            changed=self.changed.get(job),
            **(sends(self.sends_ns[job], self.has[job].iteration_ns) if job in self.sends_ns else {}),
        )

    def poll(self, now_s: float, without: Sequence[str] = ()) -> Outcome:
        statuses = {job: self.status(job) for job in self.members if job not in without}
        now_ns = round((now_s + self.clock_ahead_s) * SECOND_NS)
        outcome = self.component.decide(statuses, now_ns, round(now_s * SECOND_NS))
        for sent in outcome.send:
            self._take(sent, now_ns)
        self.iterations += 5
        return outcome

    def _take(self, sent: Schedule, now_ns: int) -> None:
        old, job = self.has[sent.job], sent.job
        place = now_ns - now_ns % old.pace_ns + old.epoch_ns + old.shift_ns + self.errors_ns[job]
        error = wrap(place - sent.epoch_ns - sent.shift_ns, sent.pace_ns)
        waits = not 0 <= error <= sent.dead_band_ns
        self.has[job], self.errors_ns[job] = sent, 0 if waits else error
        self.waited_ns += -error % sent.pace_ns if waits else 0


def pair(error_a: int = 0, error_b: int = 0, **other: Any) -> Played:
    members = {job: Member(schedule(job, **other), host=job) for job in "ab"}
    return Played(members, {"a": error_a, "b": error_b})


def run(played: Played, seconds: int, begin: int = 0) -> list[events.Event]:
    told: list[events.Event] = []
    for second in range(begin, begin + seconds):
        told += played.poll(second).events
    return told


class PlayedHosts:
    """A daemon for each job, on a host of the job's name, that can be silent; what is put is kept.

    Attributes
    ----------
    cleared : list of (str, int)
        Jobs that were set free, with the version.
    """

    def __init__(self, played: Played) -> None:
        self.played, self.silent, self.now_ns = played, set[str](), 0
        self.offsets_ns: dict[str, int | None] = {}
        self.cleared: list[tuple[str, int]] = []

    def now(self) -> int:
        """On all clocks."""
        return self.now_ns

    def _reach(self, host: str) -> None:
        if host in self.silent:
            raise TransportError("no answer")

    async def clock(self, host: str, offset_ns: int | None) -> ClockSample:
        self._reach(host)
        self.offsets_ns[host] = offset_ns
        return ClockSample(self.now_ns - 200_000, self.now_ns + 5 * MS_NS, self.now_ns)

    async def jobs(self, host: str, jobs: Collection[str] = ()) -> list[JobStatus]:
        self._reach(host)
        self.played.iterations += 3
        return [self.played.status(host)]

    async def news(self, host: str, known: int | None, wait_s: float) -> int:
        self._reach(host)
        await asyncio.sleep(wait_s)
        return 0

    async def put(self, host: str, schedule: Schedule) -> None:
        self._reach(host)
        self.played._take(schedule, self.now_ns)

    async def clear(self, host: str, job: str, version: int) -> None:
        self._reach(host)
        self.cleared.append((job, version))
        self.played.cleared.add(job)
