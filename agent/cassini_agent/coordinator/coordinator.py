"""Asks daemons, has each component decided about, and tells daemons and the scheduler.

Once a second all is looked at. In between each daemon answers as soon as one of its jobs has news (it is out of its
place, came, left, changed), and the component of that job is decided about at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ..control.clock_sync import ClockTrack
from . import events
from .component import Component, Outcome
from .member import Member
from .status import JobStatus
from .transport import RefusedError, Transport, TransportError

if TYPE_CHECKING:
    from cassini_core import Job

__all__ = ["Coordinator"]

log = logging.getLogger("cassini_agent")

POLL_S = 1.0

ANSWER_S = 0.8
"""A daemon that takes longer is passed over in this round."""

NEWS_S = 4.0
"""A daemon that has no news answers after so long."""

LEAST_S = 0.02
"""Between two decisions for one host's news."""

AGAIN_S = 0.03
"""Until a component is looked at again where a decision was put off by a moment."""

SEARCH_S = 5.0
"""So often all hosts are asked for a job that is missing on its own."""

_T = TypeVar("_T")


class Coordinator:
    """Keeps components together; works for any number of them.

    Parameters
    ----------
    transport : Transport
        How daemons are reached.
    tell : callable
        Called with each event, in the event loop. What it raises is logged, and costs nobody anything.
    clock_ns : callable
        The coordinator's clock, which schedules are written on: Unix time by default. Daemons are told how their clocks
        map to it, so a step of it is seen as a reboot of all hosts and followed.
    hosts : collection of str
        All hosts that there are: where a job is looked for that is missing on its own.

    Attributes
    ----------
    failures : Counter
        Decisions that failed, by component: faults of ours, see ``events.Failed``.
    """

    def __init__(
        self,
        transport: Transport,
        tell: Callable[[events.Event], None],
        clock_ns: Callable[[], int] = time.time_ns,
        hosts: Collection[str] = (),
    ) -> None:
        self._transport = transport
        self._tell_scheduler = tell
        self._clock_ns = clock_ns
        self._all_hosts = hosts
        self._components: dict[str, Component] = {}
        self._clocks: dict[str, ClockTrack] = {}
        self._searched_s = -SEARCH_S
        self._silent: set[str] = set()
        self._news: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, int] = {}
        self._again: dict[str, asyncio.Task[None]] = {}
        self._is_running = False
        self.failures: Counter[str] = Counter()

    def keep(self, members: Iterable[Member], profiles: Mapping[str, Job] | None = None) -> None:
        """Take on a component whose schedules have been sent; it replaces those that any of its jobs was in.

        Parameters
        ----------
        members : iterable of Member
            Each with the schedule it was sent, its host, weight and number of ranks.
        profiles : mapping of str to cassini_core.Job, optional
            See ``Component``.
        """
        component = Component(members, profiles)
        for other in list(self._components.values()):
            if other.members.keys() & component.members.keys():
                del self._components[other.name]
            else:  # who was let go of there is somebody's again
                for job in other.released.keys() & component.members.keys():
                    del other.released[job]
        self._components[component.name] = component

    def forget(self, name: str) -> None:
        """Let go of a component, for example because its jobs have ended. Unknown ones are let go of already."""
        self._components.pop(name, None)

    def component(self, name: str) -> Component:
        """A component that is kept. KeyError if there is none of this name."""
        return self._components[name]

    def components(self) -> list[Component]:
        """All that are kept."""
        return list(self._components.values())

    async def ask(self, hosts: Collection[str]) -> dict[str, dict[str, JobStatus]]:
        """The jobs of each host that answers, by their names; hosts that fall silent, or answer again, are told of."""
        return await self._ask(hosts)

    async def run(self, poll_s: float = POLL_S) -> None:
        """Go on for ever, until cancelled."""
        self._is_running = True
        try:
            while True:
                begun = time.monotonic()
                await self.poll()
                self._watch()
                await asyncio.sleep(max(0.0, poll_s - (time.monotonic() - begun)))
        finally:
            self._is_running = False
            tasks = [*self._news.values(), *self._again.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._news.clear()
            self._again.clear()

    async def poll(self) -> None:
        """One round: clocks and jobs of all hosts at once, decisions, schedules. Failures are told, not raised."""
        hosts = self._hosts()
        for gone in self._clocks.keys() - hosts:
            del self._clocks[gone]
        self._silent &= hosts | set(self._all_hosts)
        search = self._search() - hosts
        await asyncio.gather(*(self._map_clock(host) for host in hosts))
        await self._decide(list(self._components.values()), await self._ask(hosts | search))

    def _hosts(self) -> set[str]:
        return {host for component in self._components.values() for host in component.hosts()}

    def _search(self) -> set[str]:
        """Where else to look, if some job is missing."""
        missing = any(component.is_missing_members for component in self._components.values())
        if not missing or time.monotonic() - self._searched_s < SEARCH_S:
            return set()
        self._searched_s = time.monotonic()
        return set(self._all_hosts)

    def _watch(self) -> None:
        """A task for each host, that waits for its news."""
        hosts = self._hosts()
        for host in self._news.keys() - hosts:
            self._news.pop(host).cancel()
        for host in hosts:
            if host not in self._news or self._news[host].done():
                self._news[host] = asyncio.create_task(self._hear(host))

    async def _hear(self, host: str) -> None:
        known: int | None = None
        while host not in self._silent:  # one that is silent is asked once a second
            try:
                async with asyncio.timeout(NEWS_S + ANSWER_S):
                    change = await self._transport.news(host, known, NEWS_S)
            except (TransportError, TimeoutError):
                return
            if known is not None and change != known:
                concerned = [one for one in self._components.values() if host in one.hosts()]
                statuses = await self._ask({other for one in concerned for other in one.hosts()} - self._silent)
                await self._decide(concerned, statuses)
            known = change
            await asyncio.sleep(LEAST_S)

    async def _map_clock(self, host: str) -> None:
        track = self._clocks.setdefault(host, ClockTrack())
        sample = await self._within(host, self._transport.clock(host, track.mapping))
        if sample is not None:
            track.add(sample)

    async def _ask(self, hosts: Collection[str]) -> dict[str, dict[str, JobStatus]]:
        """The jobs of each host that answers, by their names."""
        ordered = sorted(hosts)
        answers = await asyncio.gather(*(self._within(host, self._transport.jobs(host)) for host in ordered))
        return {
            host: {status.job: self._on_our_clock(host, status) for status in jobs}
            for host, jobs in zip(ordered, answers, strict=True)
            if jobs is not None
        }

    def _on_our_clock(self, host: str, status: JobStatus) -> JobStatus:
        track = self._clocks.get(host)
        if track is None or track.mapping is None or status.place_at_ns is None:
            return replace(status, place_at_ns=None)
        return replace(status, place_at_ns=track.mapping.to_coordinator(status.place_at_ns))

    async def _decide(self, components: Iterable[Component], statuses: Mapping[str, Mapping[str, JobStatus]]) -> None:
        sending = []
        for component in components:
            if self._components.get(component.name) is not component:
                continue  # let go of meanwhile
            try:
                self._follow_moves(component, statuses)
                outcome = component.decide(_of_members(component, statuses), self._clock_ns())
            except Exception as error:
                self._note_failure(component.name, error)
                continue
            for event in outcome.events:
                self._tell(event)
            sending.append(self._send(component, outcome))
            if component.look_again:
                self._look_again(component)
            if component.superseded:
                del self._components[component.name]
        await asyncio.gather(*sending)

    def _look_again(self, component: Component) -> None:
        """In a moment, unless that is about to happen anyway."""

        async def look() -> None:
            await asyncio.sleep(AGAIN_S)
            self._again.pop(component.name, None)
            await self._decide([component], await self._ask(component.hosts() - self._silent))

        if self._is_running and component.name not in self._again:
            self._again[component.name] = asyncio.create_task(look())

    def _follow_moves(self, component: Component, statuses: Mapping[str, Mapping[str, JobStatus]]) -> None:
        """A job that is connected elsewhere, and not where it was, has moved."""
        for job, member in component.members.items():
            here = statuses.get(member.host, {}).get(job)
            if here is not None and here.connected:
                continue
            for host, jobs in statuses.items():
                if host != member.host and job in jobs and jobs[job].connected:
                    self._tell(events.MemberMoved(component.name, job, host, member.host))
                    member.host = host
                    break

    def _note_failure(self, name: str, error: Exception) -> None:
        self.failures[name] += 1
        count = self.failures[name]
        if count & (count - 1) == 0:  # the first, second, fourth, ...: a fault that stays is told of, but not for ever
            log.exception("deciding about component %s failed (%d times)", name, count)
            self._tell(events.Failed(name, f"{type(error).__name__}: {error}", count))

    def _tell(self, event: events.Event) -> None:
        try:
            self._tell_scheduler(event)
        except Exception:
            log.exception("the scheduler failed on %r", event)

    async def _send(self, component: Component, outcome: Outcome) -> None:
        commands = [
            *((s.job, s.version, self._transport.put(component.host_of(s.job), s)) for s in outcome.send),
            *((job, v, self._transport.clear(component.host_of(job), job, v)) for job, v in outcome.clear),
        ]
        await asyncio.gather(*(self._command(component.name, *command) for command in commands))

    async def _command(self, component: str, job: str, version: int, request: Awaitable[None]) -> None:
        """What does not get there is sent again: the next round sees that it is not there."""
        try:
            async with asyncio.timeout(ANSWER_S):
                await request
        except RefusedError as error:
            if self._refused.get(job) != version:
                self._refused[job] = version
                self._tell(events.Refused(component, job, str(error)))
        except (TransportError, TimeoutError) as error:
            log.info("job %s: version %d did not get there: %s", job, version, error)

    async def _within(self, host: str, request: Awaitable[_T]) -> _T | None:
        """The answer; None if there is none in time: a host that is silent may not hold up the others."""
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await request
        except TransportError as error:
            self._note_silence(host, str(error))
        except TimeoutError:
            self._note_silence(host, f"no answer within {ANSWER_S:g} s")
        else:
            if host in self._silent:
                self._silent.remove(host)
                self._tell(events.Reachable(host))
            return answer
        return None

    def _note_silence(self, host: str, reason: str) -> None:
        if host not in self._silent:
            self._silent.add(host)
            self._tell(events.Unreachable(host, reason))


def _of_members(component: Component, statuses: Mapping[str, Mapping[str, JobStatus]]) -> dict[str, JobStatus]:
    """Of the jobs whose daemons answered; one that its daemon does not know is not connected to it."""
    return {
        job: statuses[host].get(job) or JobStatus(job, "waiting", connected=False)
        for job in (*component.members, *component.released)
        if (host := component.host_of(job)) in statuses
    }
