"""Looks at jobs once a second, finds who meets, and has each group arranged and sent again where something is new."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace

from .. import dispatch
from ..coordinator import events as of_coordinator
from ..coordinator.presence import DISCONNECTED, UNREACHABLE, has_left
from ..coordinator.telling import Telling
from ..dispatch import Acknowledgement
from ..dispatch.meeting import that_meet
from ..requests import Transport
from ..schedule import SECOND_NS
from .changes import as_scheduled, changes
from .events import Arranged, Event, GoesOn, NotHeld
from .holding import Holding
from .jobs import Seen, SeenJobs
from .planning import planned
from .profile import ONLY, Profile
from .scope import Scope

__all__ = ["Engine"]

LOOK_S = 1.0

SETTLE_S = 5.0
"""Jobs that are there at the beginning are waited for so long, so that they are arranged together."""


class Engine:
    """Interleaves the jobs of some daemons, in one event loop.

    Parameters
    ----------
    scope : Scope
    tell : callable
        Called with each event, in the event loop. What it raises is logged, and costs nobody anything.
    daemons : Transport
        How they are reached.

    Attributes
    ----------
    is_arranged : bool
        All jobs that are there were arranged, and parted before that; or were found to be held already.
    """

    def __init__(self, scope: Scope, tell: Callable[[Event], None], daemons: Transport) -> None:
        self.scope = scope
        self._next_scope = scope
        self._tell = Telling(tell)
        self._round = asyncio.Lock()
        self._begun_s = time.monotonic()
        self._heard: set[str] = set()
        self.seen = SeenJobs(self._tell)
        self.is_arranged = False
        self._is_paused = False
        self.holding = Holding(daemons, scope.hosts, self._hear)

    def update(self, scope: Scope) -> None:
        """From the next round on another network, other daemons, jobs or secrets of jobs."""
        self._next_scope = scope
        self._is_paused = False

    async def run(self) -> None:
        """Go on until cancelled."""
        self._begun_s = time.monotonic()
        async with asyncio.TaskGroup() as both:
            both.create_task(self._again_and_again("the coordinator", lambda: self.holding.coordinator.run()))
            both.create_task(self._again_and_again("a look at the jobs", self.look))

    async def _again_and_again(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            begun_s = time.monotonic()
            try:
                await work()
            except Exception as error:  # whatever a daemon says
                self._tell.failed(what, error)
            await asyncio.sleep(max(0.0, LOOK_S - (time.monotonic() - begun_s)))

    async def look(self) -> None:
        """One round: see what there is, and arrange the groups for which something is new."""
        async with self._round:
            await self._take_up_scope()
            answers = await self.holding.ask(self.scope.takes_part)
            self._heard |= answers.keys()
            self.seen.look(answers, self.scope, time.monotonic_ns())
            found = self._find_groups()
            if not self._is_paused:
                for jobs in found:
                    try:
                        await self._attend(jobs)
                    except Exception as error:  # costs this group alone
                        self._tell.failed(", ".join(sorted(jobs)), error)
            self.is_arranged = self._is_settled() and all(len(jobs) == 1 or self._is_done(jobs) for jobs in found)

    async def release(self) -> list[Acknowledgement]:
        """Withdraw the schedules of all jobs, and arrange none until the next update."""
        async with self._round:
            await self._take_up_scope()
            self._is_paused = True
            for job in self.seen.values():
                job.group = job.answer = None
            # Nobody tries again later: also those that were silent a moment ago are told.
            return await self._set_free(self._host_of(self.seen), "interleaving ends")

    # --- what there is ------------------------------------------------------------------------------------------------

    async def _take_up_scope(self) -> None:
        """Go over to what was said last; who takes part no more is set free. The same again changes nothing."""
        old, self.scope = self.scope, self._next_scope
        if self.scope == old:
            return
        self._begun_s = time.monotonic()
        if self.scope.network != old.network:
            for group in self.seen.groups_with(self.seen):
                group.pending, group.at_s = "another network", -math.inf
        self.holding.move(self.scope.hosts)
        here = {job: host for job, host in self.holding.kept().items() if not self.scope.takes_part(job)}
        silent = self._silent()
        for name, job in list(self.seen.items()):
            if job.host not in self.scope.hosts or not self.scope.takes_part(name):
                del self.seen[name]
        if here:
            await self._set_free(here, "it takes part no more", silent)

    def _silent(self) -> set[str]:
        """Jobs whose daemons did not answer a moment ago."""
        return {name for name, job in self.seen.items() if job.absent == UNREACHABLE}

    def _find_groups(self) -> list[frozenset[str]]:
        """Who meets, of the jobs that take part now."""
        now_s = time.monotonic()
        routes = {}
        for name, job in sorted(self.seen.items()):
            profile = job.parting()
            self._note_unknown(job, profile if isinstance(profile, str) and job.schedule is None else "")
            if not job.unknown and job.left_alone_until_s <= now_s:
                routes[name] = self.scope.network.route(name)
        for job in self.seen.values():
            if job.group is not None and job.group.jobs.isdisjoint(routes):
                job.group = None
        return that_meet(routes)

    def _note_unknown(self, job: Seen, why: str) -> None:
        before, job.unknown = job.unknown, why
        if why and why.partition(" ")[0] != before.partition(" ")[0]:  # a number that grows is no news
            self._tell(NotHeld(job.name, why))

    def _is_settled(self) -> bool:
        """Whether all that is to be waited for at the beginning is there."""
        since_s = time.monotonic() - self._begun_s
        if since_s > SETTLE_S:
            return since_s > 6 * SETTLE_S or not any(job.unknown.startswith(ONLY) for job in self.seen.values())
        known = {name for name, job in self.seen.items() if not job.unknown}
        return self.scope.wanted is not None and self.scope.wanted <= known and self._heard >= self.scope.hosts.keys()

    def _is_done(self, jobs: frozenset[str]) -> bool:
        """Whether these very jobs are arranged, and not only parted."""
        group = self.seen.group(jobs)
        return not (group is None or group.pending or any(self.seen[job].is_parted for job in jobs))

    # --- what is to be done -------------------------------------------------------------------------------------------

    async def _attend(self, jobs: frozenset[str]) -> None:
        now_s = time.monotonic()
        group = self.seen.group(jobs)
        if not self.seen.may_be_arranged(jobs, now_s):
            return
        if group is None:
            if self._is_settled() and not self._goes_on(jobs) and (len(jobs) > 1 or self._is_left_over(*jobs)):
                await self._arrange(jobs, self.seen.what_is_new(jobs), {})
        elif len(jobs) > 1:
            members = [self.seen[job] for job in sorted(jobs)]
            why, profiles = (group.pending, {}) if group.pending else changes(members)
            if why := why or self._why_lost(members):
                await self._arrange(jobs, why, profiles)

    def _is_left_over(self, job: str) -> bool:
        """Whether a job that meets nobody has a schedule still, and whom it was held with will not turn up any more."""
        is_long = has_left(DISCONNECTED, round((time.monotonic() - self._begun_s) * SECOND_NS))
        return is_long and self._heard >= self.scope.hosts.keys() and self.seen[job].schedule is not None

    def _why_lost(self, members: Iterable[Seen]) -> str:
        """Who should be held, is there, and is let go of by the coordinator; empty if nobody is."""
        kept = self.holding.kept()
        lost = [job.name for job in members if job.component is not None and job.name not in kept]
        if not lost or any(job.absent for job in members):
            return ""
        return f"{', '.join(lost)} not held any more"

    def _goes_on(self, jobs: frozenset[str]) -> bool:
        """Adopt what the daemons have, if nothing was arranged since, and the jobs are what that was made for."""
        if len(jobs) < 2 or self.seen.groups_with(jobs):
            return False
        members = [self.seen[job] for job in sorted(jobs)]
        profiles = as_scheduled(members)
        if profiles is None:
            return False
        self.seen.begin(jobs, "", time.monotonic())
        for job in members:
            job.plan(profiles[job.name])
            job.answer = Acknowledgement(job.name, True, job.status.connected, 0, "", job.schedule)
        self.holding.keep([job.answer for job in members if job.answer is not None], self._host_of(jobs))
        self._tell(GoesOn(members[0].component or "", tuple(sorted(jobs))))
        return True

    async def _arrange(self, jobs: frozenset[str], because: str, changed: Mapping[str, Profile]) -> None:
        members = [self.seen[job] for job in sorted(jobs)]
        profiles, left_out = {}, {}
        for job in members:
            profile = changed.get(job.name) or job.parting()
            if isinstance(profile, Profile):
                profiles[job.name] = profile
            elif profile.startswith(ONLY):
                return  # it has a schedule, and will be known in a moment
            else:
                left_out[job.name] = profile
        group = self.seen.begin(jobs, because, time.monotonic())
        # One that is out of its place is no reason to keep another in what was to be its own.
        held = {job.name: job.schedule for job in members if job.schedule is not None and job.status.state == "held"}
        plan, score = await asyncio.to_thread(planned, self.scope.network, profiles, held)
        plan = replace(plan, free={**plan.free, **left_out}).with_secrets(self.scope.secrets)
        answers = await self.holding.send(plan, self._host_of(jobs), self._silent())
        group.pending = ""
        paces_ns = {one.job: one.schedule.pace_ns for one in answers if one.schedule is not None}
        self._tell(Arranged(because, paces_ns, score))
        for job, answer in zip(members, answers, strict=True):
            before, job.answer = job.answer, answer
            job.unknown = left_out.get(job.name, "")
            job.plan(profiles.get(job.name))
            is_news = before is None or answer.reason != before.reason
            if answer.reason and is_news and (len(jobs) > 1 or not answer.accepted):
                self._tell(NotHeld(job.name, answer.reason))

    async def _set_free(
        self, host_of: Mapping[str, str], why: str, silent: Collection[str] = ()
    ) -> list[Acknowledgement]:
        return await self.holding.send(dispatch.Plan((), dict.fromkeys(host_of, why)), host_of, silent)

    def _host_of(self, jobs: Iterable[str]) -> dict[str, str]:
        return {job: self.seen[job].host for job in jobs}

    def _hear(self, event: of_coordinator.Event) -> None:
        self._tell(event)
        self.seen.hear(event, time.monotonic())
