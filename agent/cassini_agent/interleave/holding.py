"""Jobs get their schedules, or lose them, and the coordinator keeps together those that have some."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, replace

from .. import dispatch
from ..coordinator import events
from ..coordinator.coordinator import Coordinator
from ..coordinator.http import HttpDaemons
from ..coordinator.member import Member
from ..coordinator.presence import UNREACHABLE
from ..coordinator.status import JobStatus
from ..coordinator.telling import Telling
from ..dispatch.send import Acknowledgement
from ..endpoint import Endpoint
from ..requests import Transport
from ..schedule import Schedule

__all__ = ["Holding"]

AGAIN_S = 1.0
"""Until a coordinator that failed is started again."""

LIST_ALL_S = 30.0
"""So often all jobs of a daemon are looked at: one that began again may have come to the count that is known."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """What was there when all jobs of a daemon were looked at: its count of changes, when, and who was connected."""

    change: int
    at_s: float
    connected: tuple[str, ...]


class Holding:
    """Holds jobs of some daemons.

    Parameters
    ----------
    daemons : Transport
        How they are reached.
    hosts : mapping of str to Endpoint
        All daemons, by the names of their hosts.
    hear : callable
        Called with each event of the coordinator.
    tell : Telling
    """

    def __init__(
        self,
        daemons: Transport,
        hosts: Mapping[str, Endpoint],
        hear: Callable[[events.Event], None],
        tell: Telling,
    ) -> None:
        self._daemons = daemons
        self._hosts = dict(hosts)
        self._silent: Set[str] = set()
        self._listed: dict[str, _Listed] = {}
        self._tell = tell
        self._http = HttpDaemons(daemons, self._hosts)
        self.coordinator = Coordinator(self._http, hear)

    async def run(self) -> None:
        """Coordinate until cancelled."""
        while True:
            try:
                await self.coordinator.run()
            except Exception as error:
                self._tell.failed("the coordinator", error)
            await asyncio.sleep(AGAIN_S)

    async def ask(self, takes_part: Callable[[str], bool]) -> dict[str, dict[str, JobStatus]]:
        """What all daemons say of their jobs, by host and job; without those that do not answer.

        Where nothing has changed, only of jobs that are connected and take part.
        """
        answers = await self.coordinator.ask(self._hosts, lambda host: self._list(host, takes_part))
        self._silent = self._hosts.keys() - answers.keys()
        return answers

    async def _list(self, host: str, takes_part: Callable[[str], bool]) -> list[JobStatus]:
        known, now_s = self._listed.get(host), time.monotonic()
        if known is not None and now_s - known.at_s < LIST_ALL_S:
            jobs, change = await self._http.listed(host, list(filter(takes_part, known.connected)))
            if change == known.change:
                return jobs
        jobs, change = await self._http.listed(host, None)
        self._listed[host] = _Listed(change, now_s, tuple(job.job for job in jobs if job.connected))
        return jobs

    async def send(
        self, plan: dispatch.Plan, version: int, host_of: Mapping[str, str], *, to_silent: bool = False
    ) -> list[Acknowledgement]:
        """Have these jobs do what is planned; those that are not in the plan lose their schedules.

        Daemons that did not answer a moment ago are left to the coordinator, as others would wait for them, unless
        ``to_silent``.
        """
        # Until it knows the new ones, the coordinator would take them for somebody else's.
        self.coordinator.make_way(host_of)
        where = {job: self._hosts[host] for job, host in host_of.items() if to_silent or host not in self._silent}
        answers = await dispatch.send_plan(plan, version, where, self._daemons)
        answers = [one if one.job in where else replace(one, reason=UNREACHABLE) for one in answers]
        sent = {one.job: one.schedule for one in answers if one.schedule is not None}
        self.keep(sent, host_of, {one.job: one.planned for one in answers if one.planned is not None})
        return answers

    async def withdraw(
        self, reasons: Mapping[str, str], host_of: Mapping[str, str], *, to_silent: bool = False
    ) -> list[Acknowledgement]:
        """Set jobs free, for these reasons."""
        if not reasons:
            return []
        here = {job: host_of[job] for job in reasons}
        return await self.send(dispatch.Plan((), reasons), dispatch.new_version(), here, to_silent=to_silent)

    def keep(
        self,
        schedules: Mapping[str, Schedule],
        host_of: Mapping[str, str],
        ranked: Mapping[str, Schedule] | None = None,
    ) -> None:
        """Coordinate jobs that have these schedules; ``ranked`` is what those came from, where it is something else."""
        members: dict[str, list[Member]] = {}
        for job, schedule in sorted(schedules.items()):
            member = Member(schedule, host_of[job])
            member.ranked = (ranked or schedules).get(job, schedule)
            members.setdefault(schedule.component, []).append(member)
        for together in members.values():
            self.coordinator.keep(together)

    def kept(self) -> dict[str, str]:
        """Who is coordinated, with the host of each."""
        return {job: one.host for component in self.coordinator.components() for job, one in component.members.items()}

    def forget(self, jobs: Collection[str]) -> None:
        """Coordinate these no more, nor whom they were held with."""
        for component in self.coordinator.components():
            if not component.members.keys().isdisjoint(jobs):
                self.coordinator.forget(component.name)

    def move(self, hosts: Mapping[str, Endpoint]) -> None:
        """From now on these are all daemons."""
        self.forget([job for job, host in self.kept().items() if host not in hosts])
        self._hosts.clear()
        self._hosts.update(hosts)
        self._listed.clear()
