"""Jobs get their schedules, or lose them, and the coordinator keeps together those that have some."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from .. import dispatch
from ..coordinator import events
from ..coordinator.coordinator import Coordinator
from ..coordinator.http import HttpDaemons
from ..coordinator.member import Member
from ..coordinator.presence import UNREACHABLE
from ..coordinator.status import JobStatus
from ..dispatch import Acknowledgement
from ..endpoint import Endpoint
from ..requests import Transport

__all__ = ["Holding"]


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
    """

    def __init__(self, daemons: Transport, hosts: Mapping[str, Endpoint], hear: Callable[[events.Event], None]) -> None:
        self._daemons = daemons
        self._hosts = dict(hosts)
        self._connected: dict[str, tuple[int, list[str]]] = {}  # of each host, with its count of changes before that
        self._http = HttpDaemons(daemons, self._hosts)
        self.coordinator = Coordinator(self._http, hear)

    async def ask(self, takes_part: Callable[[str], bool]) -> dict[str, dict[str, JobStatus]]:
        """What all daemons say of their jobs, by host and job; without those that do not answer.

        Where nothing has changed, only of jobs that are connected and take part.
        """
        return await self.coordinator.ask(self._hosts, lambda host: self._list(host, takes_part))

    async def _list(self, host: str, takes_part: Callable[[str], bool]) -> list[JobStatus]:
        if host in self._connected:
            known, connected = self._connected[host]
            jobs, change = await self._http.listed(host, list(filter(takes_part, connected)))
            if change == known:
                return jobs
        jobs, change = await self._http.listed(host, None)
        self._connected[host] = change, [job.job for job in jobs if job.connected]
        return jobs

    async def send(
        self, plan: dispatch.Plan, host_of: Mapping[str, str], silent: Collection[str] = ()
    ) -> list[Acknowledgement]:
        """Have these jobs do what is planned; those that are not in the plan lose their schedules.

        Daemons of ``silent`` jobs are left to the coordinator, as others would wait for them.
        """
        # Until it knows the new ones, the coordinator would take them for somebody else's.
        self.coordinator.make_way(host_of)
        where = {job: self._hosts[host] for job, host in host_of.items() if job not in silent}
        answers = await dispatch.send_plan(plan, where, self._daemons)
        answers = [one if one.job in where else replace(one, reason=UNREACHABLE) for one in answers]
        self.keep(answers, host_of)
        return answers

    def keep(self, answers: Iterable[Acknowledgement], host_of: Mapping[str, str]) -> None:
        """Coordinate those of these jobs that have schedules."""
        members: dict[str, list[Member]] = {}
        for one in answers:
            if one.schedule is not None:
                member = Member(one.schedule, host_of[one.job])
                member.ranked = one.planned or one.schedule
                members.setdefault(one.schedule.component, []).append(member)
        for together in members.values():
            self.coordinator.keep(together)

    def kept(self) -> dict[str, str]:
        """Who is coordinated, with the host of each."""
        return {job: one.host for component in self.coordinator.components() for job, one in component.members.items()}

    def move(self, hosts: Mapping[str, Endpoint]) -> None:
        """From now on these are all daemons."""
        for one in self.coordinator.components():
            if not one.hosts() <= hosts.keys():
                self.coordinator.forget(one.name)
        self._hosts.clear()
        self._hosts.update(hosts)
        self._connected.clear()
