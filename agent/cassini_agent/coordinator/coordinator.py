"""Asks daemons once a second, has each component decided about, and tells daemons and the scheduler."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from ..control.clock_sync import ClockTrack
from . import events
from .component import Component, Outcome
from .member import Member
from .status import JobStatus
from .transport import Transport, TransportError

if TYPE_CHECKING:
    from cassini_core import Job

__all__ = ["Coordinator"]

POLL_S = 1.0

ANSWER_S = 0.8
"""A daemon that takes longer is passed over in this round."""

_T = TypeVar("_T")


class Coordinator:
    """Keeps components together; works for any number of them.

    Parameters
    ----------
    transport : Transport
        How daemons are reached.
    tell : callable
        Called with each event, in the event loop; what it raises ends ``run``.
    clock_ns : callable
        The coordinator's clock, which schedules are written on: Unix time by default. Daemons are told how their clocks
        map to it, so a step of it is seen as a reboot of all hosts and followed.
    """

    def __init__(
        self,
        transport: Transport,
        tell: Callable[[events.Event], None],
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._transport = transport
        self._tell = tell
        self._clock_ns = clock_ns
        self._components: dict[str, Component] = {}
        self._clocks: dict[str, ClockTrack] = {}

    def keep(self, members: Iterable[Member], profiles: Mapping[str, Job] | None = None) -> None:
        """Take on a component whose schedules have been sent; it replaces one of the same name.

        Parameters
        ----------
        members : iterable of Member
            Each with the schedule it was sent, its host, weight and number of ranks.
        profiles : mapping of str to cassini_core.Job, optional
            See ``Component``.
        """
        component = Component(members, profiles)
        self._components[component.name] = component

    def forget(self, name: str) -> None:
        """Let go of a component, for example because its jobs have ended. Unknown ones are let go of already."""
        self._components.pop(name, None)

    def component(self, name: str) -> Component:
        """A component that is kept. KeyError if there is none of this name."""
        return self._components[name]

    async def run(self, poll_s: float = POLL_S) -> None:
        """Poll for ever, until cancelled."""
        while True:
            begun = time.monotonic()
            await self.poll()
            await asyncio.sleep(max(0.0, poll_s - (time.monotonic() - begun)))

    async def poll(self) -> None:
        """One round: clocks and jobs of all hosts at once, decisions, schedules. Failures are told, not raised."""
        hosts = sorted({m.host for component in self._components.values() for m in component.members.values()})
        for gone in self._clocks.keys() - set(hosts):
            del self._clocks[gone]
        answers = await asyncio.gather(*(self._ask(host) for host in hosts))
        statuses = {host: {status.job: status for status in jobs} for host, jobs in zip(hosts, answers, strict=True)}
        now_ns = self._clock_ns()
        sending = []
        for component in list(self._components.values()):
            # A component that was taken on meanwhile may be on hosts that were not asked yet.
            of_members = {
                job: status
                for job, member in component.members.items()
                if (status := statuses.get(member.host, {}).get(job)) is not None
            }
            outcome = component.decide(of_members, now_ns)
            for event in outcome.events:
                self._tell(event)
            sending.append(self._send(component, outcome))
        await asyncio.gather(*sending)

    async def _ask(self, host: str) -> list[JobStatus]:
        track = self._clocks.setdefault(host, ClockTrack())

        async def ask() -> list[JobStatus]:
            track.add(await self._transport.clock(host, track.mapping))
            return await self._transport.jobs(host)

        return await self._within(host, ask()) or []

    async def _send(self, component: Component, outcome: Outcome) -> None:
        where = {job: member.host for job, member in component.members.items()}
        # What does not get there is sent again: the next round sees that it is not there.
        await asyncio.gather(
            *(self._within(where[each.job], self._transport.put(where[each.job], each)) for each in outcome.send),
            *(self._within(where[job], self._transport.clear(where[job], job, v)) for job, v in outcome.clear),
        )

    async def _within(self, host: str, request: Awaitable[_T]) -> _T | None:
        """The answer; None if there is none in time: a host that is silent may not hold up the others."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await request
        except TransportError as error:
            self._tell(events.Unreachable(host, str(error)))
        except TimeoutError:
            self._tell(events.Unreachable(host, f"no answer within {ANSWER_S:g} s"))
        return None
