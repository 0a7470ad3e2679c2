"""Asks daemons, has each component decided about, and tells daemons and the scheduler.

Each daemon answers as soon as one of its jobs has news (it is out of its place, came, left, changed), and the component
of that job is decided about at once. Besides, components are looked at once a second, and rarely while all is calm.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ..control.clock_sync import ClockTrack
from ..schedule import SECOND_NS, Schedule
from . import events
from .component import Component
from .http import HttpDaemons, RefusedError, TransportError
from .member import Member
from .status import JobStatus
from .telling import Telling
from .withdrawing import Withdrawals

__all__ = ["Coordinator"]

log = logging.getLogger("cassini_agent")

POLL_S = 1.0

REST_S = 10.0
"""A component for which there was nothing to do is looked at so often, until it has news."""

MOST_APART_S = 5e-4
"""By how much a daemon may be wrong about its clock. It is told where the clock was at the look before, and goes by
that until the next."""

ASKED_AT_ONCE = 32
"""Daemons that are asked at once in a round: with more, the time that an answer takes would be that of the others."""

ANSWER_S = 0.8
"""A daemon that takes longer is passed over in this round."""

NEWS_S = 4.0
"""A daemon that has no news answers after so long."""

LEAST_S = 0.02
"""Between two decisions for one host's news."""

AGAIN_S = 0.03
"""Until a component is looked at again where a decision was put off by a moment."""

LET_GO_NS = 60 * SECOND_NS
"""Who is in no component that is kept any more is set free so long after: the scheduler may still be sending."""

NO_GATE = nullcontext()

_T = TypeVar("_T")


class Coordinator:
    """Keeps components together; works for any number of them.

    Parameters
    ----------
    transport : HttpDaemons
        How daemons are reached.
    tell : callable
        Called with each event, in the event loop. What it raises is logged, and costs nobody anything.
    clock_ns : callable
        The coordinator's clock, which schedules are written on: Unix time by default. Daemons are told how their clocks
        map to it, so a step of it is seen as a reboot of all hosts and followed.
    monotonic_ns : callable
        A clock that nobody sets: for how long anything lasts.

    Attributes
    ----------
    failures : Counter
        Decisions that failed, by component: faults of ours, see ``events.Failed``.
    """

    def __init__(
        self,
        transport: HttpDaemons,
        tell: Callable[[events.Event], None],
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._transport = transport
        self._tell = Telling(tell)
        self._clock_ns = clock_ns
        self._monotonic_ns = monotonic_ns
        self._components: dict[str, Component] = {}
        self._withdrawals = Withdrawals()
        self._clocks: dict[str, ClockTrack] = {}
        self._silent: set[str] = set()
        self._refused: dict[str, int] = {}
        self._spread = random.Random(0)
        self._is_running = False
        self._tasks: dict[str | Component, asyncio.Task[None]] = {}  # hear a host; look at a component again
        self.failures = self._tell.failures

    def keep(self, members: Iterable[Member]) -> None:
        """Take on a component whose schedules have been sent; it replaces those that any of its jobs was in.

        See ``make_way``.

        Parameters
        ----------
        members : iterable of Member
            Each with the schedule it was sent, and its host.
        """
        component = Component(members)
        self.make_way(component.members)
        self._withdrawals.drop(component.members)
        self._components[component.name] = component

    def make_way(self, jobs: Collection[str]) -> None:
        """Let go of the components that any of these jobs is in: they get other schedules now.

        Jobs of these components that are in none that is kept, and have nothing newer a minute later, are set free.
        """
        for component in self.components():
            if not component.members.keys().isdisjoint(jobs):
                self._end(component)

    def forget(self, name: str) -> None:
        """Let go of a component, for example because its jobs have ended. Unknown ones are let go of already.

        Its jobs keep their schedules until these expire: the scheduler sends them others, or withdraws them
        (``dispatch``).
        """
        self._components.pop(name, None)

    def _end(self, component: Component) -> None:
        """Something newer has taken its place."""
        del self._components[component.name]
        self._withdrawals.add(component.members.values(), self._clock_ns() + LET_GO_NS)

    def component(self, name: str) -> Component:
        """A component that is kept. KeyError if there is none of this name."""
        return self._components[name]

    def components(self) -> list[Component]:
        """All that are kept."""
        return list(self._components.values())

    async def ask(
        self, hosts: Collection[str], list_jobs: Callable[[str], Awaitable[list[JobStatus]]]
    ) -> dict[str, dict[str, JobStatus]]:
        """What ``list_jobs`` says of each host, by job; hosts that fall silent, or answer again, are told of."""
        hosts = sorted(hosts)
        answers = await asyncio.gather(*(self._ask(host, list_jobs, with_clock=False) for host in hosts))
        return {host: jobs for host, jobs in zip(hosts, answers, strict=True) if jobs is not None}

    async def run(self, poll_s: float = POLL_S) -> None:
        """Go on for ever, until cancelled."""
        self._is_running = True
        try:
            while True:
                begun = time.monotonic()
                await self.poll([one for one in self.components() if not self._rests(one)])
                self._watch()
                await asyncio.sleep(max(0.0, poll_s - (time.monotonic() - begun)))
        finally:
            self._is_running = False
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, of: str | Component, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do this beside the rounds, unless it is being done."""
        if not self._is_running or of in self._tasks:
            return
        self._tasks[of] = asyncio.create_task(work())
        self._tasks[of].add_done_callback(lambda _: self._tasks.pop(of))

    async def poll(self, components: Collection[Component] | None = None) -> None:
        """One round: clocks and jobs, decisions, schedules. Failures are told, not raised.

        Of all components unless some are given; and of all hosts on which something is to be withdrawn.
        """
        components = self.components() if components is None else components
        for gone in self._clocks.keys() - self.hosts():
            del self._clocks[gone]
        for component in components:  # not all at the same time again
            rest_s = min([REST_S, *(self._may_run_on_s(host) for host in component.hosts())])
            rest_s *= self._spread.uniform(0.5, 1.5)
            component.rests_until_ns = self._monotonic_ns() + round(rest_s * SECOND_NS)
        asked = {host for one in components for host in one.hosts()} | self._withdrawals.hosts()
        await self._look(components, asked, gate=asyncio.Semaphore(ASKED_AT_ONCE))

    def _may_run_on_s(self, host: str) -> float:
        """For how long a host's clock need not be looked at."""
        track = self._clocks.get(host)
        if track is None or track.drift is None:
            return 0.0
        # Two rests pass until what is told is replaced, each up to half as long again.
        return MOST_APART_S / (3 * abs(track.drift)) if track.drift else REST_S

    def _rests(self, component: Component) -> bool:
        """Whether it need not be looked at now."""
        return component.is_calm and self._monotonic_ns() < component.rests_until_ns

    def hosts(self) -> set[str]:
        """Whose daemons are asked: those of all members, and of jobs whose schedules are to be withdrawn."""
        return {host for one in self._components.values() for host in one.hosts()} | self._withdrawals.hosts()

    def _watch(self) -> None:
        """Wait for the news of each host."""
        gate = asyncio.Semaphore(ASKED_AT_ONCE)
        hosts = self.hosts()
        for of, task in self._tasks.items():
            if isinstance(of, str) and of not in hosts:
                task.cancel()
        for host in hosts:
            self._start(host, partial(self._hear, host, gate))

    async def _hear(self, host: str, gate: AbstractAsyncContextManager[Any]) -> None:
        known: int | None = None
        while host not in self._silent:  # one that is silent is asked once a second
            try:
                # The first answer comes at once, and so would those of all hosts.
                async with gate if known is None else NO_GATE, asyncio.timeout(NEWS_S + ANSWER_S):
                    change = await self._transport.news(host, known, NEWS_S)
            except (TransportError, TimeoutError):
                break
            except Exception:
                log.exception("waiting for the news of %s failed", host)
                break
            if known is not None and change != known:
                concerned = [one for one in self._components.values() if host in one.hosts()]
                hosts = {other for one in concerned for other in one.hosts()} - self._silent
                await self._look(concerned, hosts)
            known = change
            await asyncio.sleep(LEAST_S)
        for component in self.components():  # what it does not tell has to be asked for
            if host in component.hosts():
                component.is_calm = False

    async def _look(
        self,
        components: Collection[Component],
        hosts: Collection[str],
        with_clocks: bool = True,
        gate: AbstractAsyncContextManager[Any] = NO_GATE,
    ) -> None:
        """Ask hosts, and decide about each component as soon as its own have answered: what they say is old soon."""
        jobs_on = {host: set(self._withdrawals.jobs_on(host)) for host in sorted(hosts)}
        for component in components:
            for job, member in component.members.items():
                if member.host in jobs_on:
                    jobs_on[member.host].add(job)

        async def ask(host: str) -> dict[str, JobStatus] | None:
            async with NO_GATE if host in self._silent else gate:  # whom nothing is expected of keeps nobody waiting
                return await self._ask(host, lambda host: self._transport.jobs(host, jobs_on[host]), with_clocks)

        async with asyncio.TaskGroup() as group:
            asked = {host: group.create_task(ask(host)) for host in jobs_on}
            for component in components:
                its = {host: asked[host] for host in sorted(component.hosts() & asked.keys())}
                group.create_task(self._decide(component, its))
        now_ns = self._clock_ns()
        due = [self._withdrawals.due(host, jobs_on[host], asked[host].result(), now_ns) for host in asked]
        await asyncio.gather(*(self._clear(member) for members in due for member in members))

    async def _ask(
        self, host: str, list_jobs: Callable[[str], Awaitable[list[JobStatus]]], with_clock: bool
    ) -> dict[str, JobStatus] | None:
        """What a host has of jobs, by their names; None if it does not answer."""
        found, reason = None, ""
        try:
            if with_clock:
                track = self._clocks.setdefault(host, ClockTrack())
                track.add(await _in_time(self._transport.clock(host, track.offset_ns)))
            statuses = await _in_time(list_jobs(host))
            found = {status.job: self._on_our_clock(host, status) for status in statuses}
        except (TransportError, TimeoutError) as error:
            reason = str(error) or f"no answer within {ANSWER_S:g} s"
        except Exception as error:  # a fault of ours, which costs nobody else anything
            reason = f"{type(error).__name__}: {error}"
            if host not in self._silent:
                log.exception("asking %s failed", host)
        if found is None and host not in self._silent:
            self._silent.add(host)
            self._tell(events.Unreachable(host, reason))
        elif found is not None and host in self._silent:
            self._silent.remove(host)
            self._tell(events.Reachable(host))
        return found

    def _on_our_clock(self, host: str, status: JobStatus) -> JobStatus:
        track = self._clocks.get(host)
        if track is None or track.offset_ns is None or status.place_at_ns is None:
            return replace(status, place_at_ns=None)
        return replace(status, place_at_ns=status.place_at_ns - track.offset_ns)

    async def _decide(self, component: Component, asked: Mapping[str, Awaitable[dict[str, JobStatus] | None]]) -> None:
        answers = {host: await answer for host, answer in asked.items()}
        statuses = {host: jobs for host, jobs in answers.items() if jobs is not None}
        if not self._is_kept(component):
            return
        try:
            outcome = component.decide(_of_members(component, statuses), self._clock_ns(), self._monotonic_ns())
        except Exception as error:
            self._tell.failed(component.name, error)
            return
        self._withdrawals.add(outcome.released, self._clock_ns())
        if component.over:
            self._end(component)
        elif component.look_again:
            self._start(component, partial(self._look_again, component))
        for event in outcome.events:
            self._tell(event)
        await asyncio.gather(*(self._put(component, schedule) for schedule in outcome.send))

    async def _look_again(self, component: Component) -> None:
        """In a moment, for as long as the decision is put off."""
        while component.look_again and self._is_kept(component):
            await asyncio.sleep(AGAIN_S)
            await self._look([component], component.hosts() - self._silent, with_clocks=False)

    def _is_kept(self, component: Component) -> bool:
        """Whether it was not let go of meanwhile."""
        return self._components.get(component.name) is component

    async def _put(self, component: Component, schedule: Schedule) -> None:
        """What does not get there is sent again: the next round sees that it is not there."""
        job, version = schedule.job, schedule.version
        try:
            await _in_time(self._transport.put(component.members[job].host, schedule))
        except RefusedError as error:
            if self._refused.get(job) != version:
                self._refused[job] = version
                self._tell(events.Refused(component.name, job, str(error)))
        except Exception as error:
            log.info("job %s: version %d did not get there: %r", job, version, error)

    async def _clear(self, member: Member) -> None:
        """The next round sees whether it got there; where it is refused, something newer has come meanwhile."""
        job, version = member.schedule.job, member.schedule.version
        try:
            await _in_time(self._transport.clear(member.host, job, version))
        except Exception as error:
            log.info("job %s: that version %d is withdrawn did not get there: %r", job, version, error)


async def _in_time(request: Awaitable[_T]) -> _T:
    async with asyncio.timeout(ANSWER_S):
        return await request


def _of_members(component: Component, statuses: Mapping[str, Mapping[str, JobStatus]]) -> dict[str, JobStatus]:
    """Of the jobs whose daemons answered; one that its daemon does not know is not connected to it."""
    return {
        job: statuses[host].get(job) or JobStatus(job, "waiting", connected=False)
        for job, member in component.members.items()
        if (host := member.host) in statuses
    }
