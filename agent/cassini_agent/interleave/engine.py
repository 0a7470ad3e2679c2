"""Looks at jobs once a second, finds who meets, and has each group arranged and sent again where something is new."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from .. import dispatch
from ..coordinator import events as of_coordinator
from ..coordinator.presence import DISCONNECTED, has_left
from ..coordinator.telling import Telling
from ..dispatch.meeting import that_meet
from ..dispatch.send import Acknowledgement
from ..endpoint import Endpoint
from ..job_secret import JobSecret
from ..requests import Transport
from ..schedule import SECOND_NS
from .changes import as_scheduled, changes
from .events import Arranged, Event, GoesOn, LeftFree, NotKnown, NotSent
from .groups import Group, Groups
from .holding import Holding
from .jobs import Seen, SeenJobs
from .network import Network
from .planning import planned
from .profile import ONLY, Profile
from .scope import Scope

__all__ = ["Engine"]

LOOK_S = 1.0

SETTLE_S = 5.0
"""Jobs that are there at the beginning are waited for so long, so that they are arranged together."""

EXCLUDED_S = 300.0
"""A job that cost the others too much, or follows no grid, is left alone so long."""


class Engine:
    """Interleaves the jobs of some daemons, in one event loop.

    Parameters
    ----------
    scope : Scope
    tell : callable
        Called with each event, in the event loop. What it raises is logged, and costs nobody anything.
    daemons : Transport
        How they are reached.
    """

    def __init__(self, scope: Scope, tell: Callable[[Event], None], daemons: Transport) -> None:
        self.scope = scope
        self._next_scope = scope
        self._tell = Telling(tell)
        self._round = asyncio.Lock()
        self._begun_s = time.monotonic()
        self._heard: set[str] = set()
        self.seen = SeenJobs(self._tell)
        self.groups = Groups()
        self.excluded: dict[str, float] = {}
        self.acknowledged: dict[str, Acknowledgement] = {}
        self.is_arranged = False
        self.is_paused = False
        self.holding = Holding(daemons, scope.hosts, self._hear, self._tell)

    def update(
        self,
        network: Network | None = None,
        hosts: Mapping[str, Endpoint] | None = None,
        wanted: Collection[str] | None = None,
        secrets: Mapping[str, JobSecret] | None = None,
    ) -> None:
        """From the next round on another network, other daemons, jobs or secrets of jobs; None for what stays.

        Raises
        ------
        ValueError
            The network does not know a job; then nothing changes.
        """
        last = self._next_scope
        self._next_scope = Scope(
            last.network if network is None else network,
            last.hosts if hosts is None else dict(hosts),
            last.wanted if wanted is None else frozenset(wanted),
            last.secrets if secrets is None else dict(secrets),
        )
        self.is_paused = False

    async def run(self) -> None:
        """Go on until cancelled."""
        coordinating = asyncio.create_task(self.holding.run())
        try:
            while True:
                begun = time.monotonic()
                try:
                    await self.look()
                except Exception as error:  # whatever a daemon says
                    self._tell.failed("a look at the jobs", error)
                await asyncio.sleep(max(0.0, LOOK_S - (time.monotonic() - begun)))
        finally:
            coordinating.cancel()
            await asyncio.gather(coordinating, return_exceptions=True)

    async def look(self) -> None:
        """One round: see what there is, and arrange the groups for which something is new."""
        async with self._round:
            await self._take_up_scope()
            answers = await self.holding.ask(self.scope.takes_part)
            self._heard |= answers.keys()
            self.seen.look(answers, self.scope, time.monotonic_ns())
            found = self._find_groups()
            if not self.is_paused:
                for jobs in found:
                    try:
                        await self._attend(jobs)
                    except Exception as error:  # costs this group alone
                        self._tell.failed(", ".join(sorted(jobs)), error)
            self.is_arranged = self._is_settled() and all(len(jobs) == 1 or self.groups.is_done(jobs) for jobs in found)

    async def release(self) -> list[Acknowledgement]:
        """Withdraw the schedules of all jobs, and arrange none until the next update."""
        async with self._round:
            await self._take_up_scope()
            self.is_paused = True
            self.groups.clear()
            self.holding.forget(self.holding.kept())
            free = dict.fromkeys(self.seen.jobs, "interleaving ends")
            # Nobody tries again later: also those that were silent a moment ago are told.
            return await self.holding.withdraw(free, self._host_of(free), to_silent=True)

    # --- what there is ------------------------------------------------------------------------------------------------

    async def _take_up_scope(self) -> None:
        """Go over to what was said last; who takes part no more is set free. The same again changes nothing."""
        old, self.scope = self.scope, self._next_scope
        if self.scope == old:
            return
        self._begun_s = time.monotonic()
        if self.scope.network != old.network:
            self.groups.ask_for_all("another network")
        self.seen.keep_only(self.scope)
        self.holding.move(self.scope.hosts)
        kept = self.holding.kept()
        free = {job: "it takes part no more" for job in kept if not self.scope.takes_part(job)}
        await self.holding.withdraw(free, kept)

    def _find_groups(self) -> list[frozenset[str]]:
        """Who meets, of the jobs that take part now."""
        now_s = time.monotonic()
        self.excluded = {job: until for job, until in self.excluded.items() if until > now_s}
        routes = {}
        for name, job in sorted(self.seen.jobs.items()):
            profile = job.parting()
            self._note_unknown(job, profile if isinstance(profile, str) and job.schedule is None else "")
            if not job.unknown and name not in self.excluded:
                routes[name] = self.scope.network.route(name)
        self.groups.keep_only(routes)
        return that_meet(routes)

    def _note_unknown(self, job: Seen, why: str) -> None:
        if job.leave_out(why):
            self._tell(NotKnown(job.name, why))

    def _is_settled(self) -> bool:
        """Whether all that is to be waited for at the beginning is there."""
        since_s = time.monotonic() - self._begun_s
        if since_s > SETTLE_S:
            return since_s > 6 * SETTLE_S or not any(job.unknown.startswith(ONLY) for job in self.seen.jobs.values())
        known = {name for name, job in self.seen.jobs.items() if not job.unknown}
        return self.scope.wanted is not None and self.scope.wanted <= known and self._heard >= self.scope.hosts.keys()

    # --- what is to be done -------------------------------------------------------------------------------------------

    async def _attend(self, jobs: frozenset[str]) -> None:
        now_s = time.monotonic()
        group = self.groups.get(jobs)
        if group is None:
            if not self._is_settled() or self.groups.were_just_arranged(jobs, now_s) or self._goes_on(jobs):
                return
            if len(jobs) > 1 or self._is_left_over(*jobs):
                await self._arrange(jobs, self.groups.what_is_new(jobs))
        elif len(jobs) > 1 and group.is_due(now_s):
            if group.pending:
                await self._arrange(jobs, group.pending)
            else:
                why, profiles = changes((self.seen.jobs[job] for job in jobs), group.held, group.changed)
                if why := why or self._why_lost(group):
                    await self._arrange(jobs, why, profiles)

    def _is_left_over(self, job: str) -> bool:
        """Whether a job that meets nobody has a schedule still, and whom it was held with will not turn up any more."""
        is_long = has_left(DISCONNECTED, round((time.monotonic() - self._begun_s) * SECOND_NS))
        return is_long and self._heard >= self.scope.hosts.keys() and self.seen.jobs[job].schedule is not None

    def _why_lost(self, group: Group) -> str:
        """Who should be held, is there, and is let go of by the coordinator; empty if nobody is."""
        lost = sorted(group.held.keys() - self.holding.kept().keys())
        if not lost or any(self.seen.jobs[job].absent for job in group.jobs):
            return ""
        return f"{', '.join(lost)} not held any more"

    def _goes_on(self, jobs: frozenset[str]) -> bool:
        """Adopt what the daemons have, if nothing was arranged since, and the jobs are what that was made for."""
        if len(jobs) < 2 or self.groups.overlapping(jobs):
            return False
        members = [self.seen.jobs[job] for job in sorted(jobs)]
        profiles = as_scheduled(members)
        if profiles is None:
            return False
        held = {job.name: job.schedule for job in members if job.schedule is not None}
        for job in members:
            job.plan(profiles[job.name])
        component = next(iter(held.values())).component
        group = self.groups.begin(jobs, "", time.monotonic())
        group.held = dict.fromkeys(held, component)
        group.is_parting = any(one.gain_ns == 0 for one in held.values())
        self.holding.keep(held, self._host_of(held))
        self._tell(GoesOn(component, tuple(held)))
        return True

    async def _arrange(self, jobs: frozenset[str], because: str, changed: Mapping[str, Profile] | None = None) -> None:
        profiles, left_out = {}, {}
        for job in sorted(jobs):
            profile = (changed or {}).get(job) or self.seen.jobs[job].parting()
            if isinstance(profile, Profile):
                profiles[job] = profile
            elif profile.startswith(ONLY):
                return  # it has a schedule, and will be known in a moment
            else:
                left_out[job] = profile
        group = self.groups.begin(jobs, because, time.monotonic())
        version = dispatch.new_version()
        # One that is out of its place is no reason to keep another in what was to be its own.
        seen = [self.seen.jobs[job] for job in sorted(jobs)]
        held = {job.name: job.schedule for job in seen if job.schedule is not None and job.status.state == "held"}
        plan, score = await asyncio.to_thread(planned, self.scope.network, profiles, version, held)
        plan = replace(plan, free={**plan.free, **left_out}).with_secrets(self.scope.secrets)
        answers = await self.holding.send(plan, version, self._host_of(jobs))
        for job in jobs:
            self.seen.jobs[job].plan(profiles.get(job))
            self._note_unknown(self.seen.jobs[job], left_out.get(job, ""))
        sent = {one.job: one.schedule for one in answers if one.schedule is not None}
        self.acknowledged |= {one.job: one for one in answers}
        group.held = {job: one.component for job, one in sent.items()}
        group.is_parting = any(profiles[job].is_for_parting for job in sent if job in profiles)
        group.pending = ""
        self._tell(Arranged(because, {job: one.pace_ns for job, one in sent.items()}, score))
        for one in answers:
            if not one.accepted:
                self._tell(NotSent(one.job, one.reason))
            elif one.free and len(jobs) > 1 and group.free.get(one.job) != one.reason:
                self._tell(LeftFree(one.job, one.reason))
        group.free = {one.job: one.reason for one in answers if one.free}

    def _host_of(self, jobs: Iterable[str]) -> dict[str, str]:
        return {job: self.seen.jobs[job].host for job in jobs}

    def _hear(self, event: of_coordinator.Event) -> None:
        self._tell(event)
        self.groups.hear(event)
        if isinstance(event, of_coordinator.MemberFreed):
            self.excluded[event.job] = time.monotonic() + EXCLUDED_S
