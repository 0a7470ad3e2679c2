"""Looks at jobs once a second, finds who meets, has each group arranged and sent, and goes on while things change."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .. import dispatch
from ..coordinator import events as of_coordinator
from ..coordinator.coordinator import Coordinator
from ..coordinator.http import HttpDaemons
from ..coordinator.member import Member
from ..coordinator.presence import GONE_NS
from ..dispatch.arrange import LARGEST_MARGIN, NaturalTimes, arrange
from ..dispatch.send import Acknowledgement, Endpoint, Requests
from ..schedule import MS_NS, SECOND_NS, Schedule
from .events import Arranged, Event, Failed, GoesOn, LeftFree, NotKnown, NotSent
from .groups import groups
from .jobs import Seen, SeenJobs
from .network import Network
from .profile import LEAST_APART, ONLY, Profile

if TYPE_CHECKING:
    import cassini_core as cc

__all__ = ["Engine", "Group"]

_NOTHING: Mapping[str, Profile] = MappingProxyType({})

log = logging.getLogger("cassini_agent")

LOOK_S = 1.0
ANSWER_S = 2.0
"""A daemon that takes longer did not answer in this round."""

SETTLE_S = 5.0
"""Jobs that are there at the beginning are waited for so long, so that they are arranged together."""

EVERY_S, SELDOM_S = 10.0, 300.0
"""Between two arrangements of the same jobs; doubled each time, up to the other, while one follows the other."""

CALM_S = 120.0
"""After so long without a new arrangement the next comes soon again."""

CHANGED = 0.04
"""Share of its iteration time by which a job is another one, if nobody has said so."""

TOLD_CHANGED = 0.015
"""The same where the job has reported a change, or where all are held and could be held at a shorter pace."""

ERRORS = 5.0
"""So many standard errors a change must be in any case."""

UNDER_WAY, NEWEST = 4, 24
"""Iterations after an arrangement that may still be on what was before; and those by which jobs are judged then."""

ROOM = 0.04
"""Margin of jobs that are parted: it brings them to their places, and a little more than was seen may be needed."""

FILLED = 0.8
"""So much of a link's time their communication is to fill at most: else they have no room to be late in."""

LATER = 1.004
"""A job that usually takes so many times its pace cannot keep it."""

EXCLUDED_S = 300.0
"""A job that cost the others too much, and a group that is not worth it, are left alone so long, or until they change.
"""


@dataclass(slots=True)
class Group:
    """Jobs that meet, as they were arranged last."""

    jobs: frozenset[str]
    at_s: float
    pause_s: float = EVERY_S
    left_alone_until_s: float = 0.0
    changed: set[str] = field(default_factory=set)
    free: dict[str, str] = field(default_factory=dict)
    components: set[str] = field(default_factory=set)
    pending: str = ""
    is_parting: bool = False


class Engine:
    """Interleaves the jobs of some daemons, in one event loop.

    Parameters
    ----------
    network : Network
    hosts : mapping of str to Endpoint
        Daemons by the names of their hosts.
    wanted : collection of str, or None
        Jobs that take part; None: all that the daemons have and the network knows.
    tell : callable
        Called with each event, in the event loop.
    daemons : Requests
        How they are reached.
    """

    def __init__(
        self,
        network: Network,
        hosts: Mapping[str, Endpoint],
        wanted: Collection[str] | None,
        tell: Callable[[Event], None],
        daemons: Requests,
    ) -> None:
        self.network = network
        self.hosts = dict(hosts)
        self.wanted = None if wanted is None else set(wanted)
        self._tell = tell
        self._daemons = daemons
        self._begun_s = time.monotonic()
        self._heard: set[str] = set()
        self.seen = SeenJobs(self._is_wanted, tell)
        self.coordinator = self._new_coordinator()
        self.groups: dict[frozenset[str], Group] = {}
        self.excluded: dict[str, float] = {}
        self.failures: Counter[str] = Counter()
        self.acknowledged: dict[str, Acknowledgement] = {}
        self.is_arranged = False
        self.is_paused = False
        self._adopts = True
        _check(network, self.wanted)

    def update(
        self,
        network: Network | None = None,
        hosts: Mapping[str, Endpoint] | None = None,
        wanted: Collection[str] | None = None,
    ) -> None:
        """From now on another network, other daemons, or other jobs; None for what stays. The same again is no change.

        Raises
        ------
        ValueError
            The network does not know a job; then nothing changes.
        """
        network = self.network if network is None else network
        hosts = self.hosts if hosts is None else dict(hosts)
        wanted = self.wanted if wanted is None else set(wanted)
        _check(network, wanted)
        if (network, hosts, wanted) == (self.network, self.hosts, self.wanted) and not self.is_paused:
            return
        if network != self.network:
            self.groups.clear()
            self._adopts = False
        self.network, self.wanted, self.is_paused = network, wanted, False
        if hosts is not self.hosts:
            self.hosts.clear()
            self.hosts.update(hosts)
        self.seen.keep_only(self.hosts)
        self._begun_s = time.monotonic()

    async def run(self) -> None:
        """Go on until cancelled."""
        coordinating = asyncio.create_task(self._coordinate())
        try:
            while True:
                begun = time.monotonic()
                try:
                    await self.look()
                except Exception as error:  # whatever a daemon says
                    self._note_failure("a look at the jobs", error)
                await asyncio.sleep(max(0.0, LOOK_S - (time.monotonic() - begun)))
        finally:
            coordinating.cancel()
            await asyncio.gather(coordinating, return_exceptions=True)

    async def look(self) -> None:
        """One round: see what there is, and arrange the groups for which something is new."""
        answers = dict(zip(self.hosts, await asyncio.gather(*map(self._ask, self.hosts)), strict=True))
        self._heard |= {host for host, answer in answers.items() if answer is not None}
        self.seen.look(answers, time.monotonic())
        found = self._groups()
        for jobs in [] if self.is_paused else found:
            try:
                await self._attend(jobs)
            except Exception as error:  # costs this group alone
                self._note_failure(", ".join(sorted(jobs)), error)
        self.is_arranged = self._is_settled() and all(len(jobs) == 1 or self._is_done(jobs) for jobs in found)

    def _is_done(self, jobs: frozenset[str]) -> bool:
        group = self.groups.get(jobs)
        return group is not None and not (group.pending or group.is_parting)

    async def release(self) -> list[Acknowledgement]:
        """Withdraw the schedules of all jobs, and arrange none until the next update."""
        self.is_paused = True
        for component in self.coordinator.components():
            self.coordinator.forget(component.name)
        free = dict.fromkeys(self.seen.jobs, "interleaving ends")
        plan = dispatch.Plan((), free)
        self.groups.clear()
        return await dispatch.send_plan(plan, dispatch.new_version(), self._where(free), self._daemons)

    # --- what there is ------------------------------------------------------------------------------------------------

    def _is_wanted(self, job: str) -> bool:
        return bool(self.network.route(job)) and (self.wanted is None or job in self.wanted)

    async def _ask(self, host: str) -> list[Mapping[str, Any]] | None:
        try:
            async with asyncio.timeout(ANSWER_S):
                reply = await self._daemons.request("GET", self.hosts[host], "/v1/jobs")
        except (OSError, TimeoutError):
            return None  # the coordinator tells of it
        jobs = reply.body.get("jobs")
        return [job for job in jobs if isinstance(job, Mapping)] if isinstance(jobs, list) else None

    def _groups(self) -> list[frozenset[str]]:
        """Who meets, of the jobs that take part now."""
        now_s = time.monotonic()
        self.excluded = {job: until for job, until in self.excluded.items() if until > now_s}
        routes = {}
        for name, job in sorted(self.seen.jobs.items()):
            profile = job.parting()
            is_held = job.schedule is not None and job.schedule.expires_ns > time.time_ns()
            why = profile if isinstance(profile, str) and not is_held else ""
            kind = why.partition(" ")[0]
            if why and job.told != kind:  # a number that grows is no news
                self._tell(NotKnown(name, why))
                job.told = kind
            job.unknown = why
            if not why and name not in self.excluded:
                routes[name] = list(self.network.route(name))
        found = groups(routes)
        for jobs in self.groups.keys() - set(found):
            if not any(jobs & other for other in found):
                del self.groups[jobs]
        return found

    def _is_settled(self) -> bool:
        """Whether all that is to be waited for at the beginning is there."""
        if time.monotonic() - self._begun_s > SETTLE_S:
            waiting = [job for job in self.seen.jobs.values() if job.unknown.startswith(ONLY)]
            return not waiting or time.monotonic() - self._begun_s > 6 * SETTLE_S
        known = {name for name, job in self.seen.jobs.items() if not job.unknown}
        return self.wanted is not None and set(self.wanted) <= known and self._heard >= set(self.hosts)

    # --- what is to be done -------------------------------------------------------------------------------------------

    async def _attend(self, jobs: frozenset[str]) -> None:
        if jobs not in self.groups:
            if not self._is_settled() or self._was_just_arranged(jobs) or self._goes_on(jobs):
                return
            if len(jobs) > 1 or self._is_left_over(*jobs):
                await self._arrange(jobs, self._what_is_new(jobs))
            return
        group = self.groups[jobs]
        now_s = time.monotonic()
        # To part jobs is half of an arrangement: the other half comes as soon as they are known apart.
        pause_s = EVERY_S if group.is_parting else group.pause_s
        if now_s - group.at_s < pause_s or len(jobs) < 2:
            return
        if group.pending:
            await self._arrange(jobs, group.pending)
            return
        if group.changed or now_s >= group.left_alone_until_s:
            changed = self._changed(jobs, group)
            if changed is not None:
                await self._arrange(jobs, *changed)

    def _was_just_arranged(self, jobs: frozenset[str]) -> bool:
        now_s = time.monotonic()
        return any(jobs & other and now_s - group.at_s < EVERY_S for other, group in self.groups.items())

    def _is_left_over(self, job: str) -> bool:
        """Whether a job that meets nobody has a schedule still, and whom it was held with will not turn up any more."""
        is_long = (time.monotonic() - self._begun_s) * SECOND_NS > GONE_NS and self._heard >= set(self.hosts)
        return is_long and self.seen.jobs[job].schedule is not None

    def _what_is_new(self, jobs: frozenset[str]) -> str:
        before = frozenset().union(*(other for other in self.groups if other & jobs))
        if not before:
            return "new"
        told = [f"{job} joined" for job in sorted(jobs - before)] + [f"{job} left" for job in sorted(before - jobs)]
        return ", ".join(told) or "others meet"

    def _goes_on(self, jobs: frozenset[str]) -> bool:
        """Adopt what the daemons have, if it is one component of these very jobs, and they are what they were."""
        found: dict[str, Schedule] = {}
        for job in jobs:
            schedule = self.seen.jobs[job].schedule
            if schedule is None or schedule.expires_ns <= time.time_ns():
                return False
            found[job] = schedule
        if not self._adopts or len(jobs) < 2 or len({(one.component, one.version) for one in found.values()}) > 1:
            return False
        if any(other & jobs for other in self.groups):  # there was another arrangement: that of these jobs is not it
            return False
        for job, schedule in found.items():
            profile = self._now(job)
            if isinstance(profile, str):
                continue
            off = profile.iteration_ns - schedule.iteration_ns
            if abs(off) > max(CHANGED * schedule.iteration_ns, ERRORS * profile.error_ns):
                return False
        component = next(iter(found.values())).component
        self.groups[jobs] = Group(jobs, time.monotonic(), components={component})
        for job in jobs:
            self._note_planned(self.seen.jobs[job], self._now(job))
        self._keep(found, found)
        self._tell(GoesOn(component, tuple(sorted(jobs))))
        return True

    def _now(self, job: str) -> Profile | str:
        """What a job that has a schedule is now."""
        seen = self.seen.jobs[job]
        return seen.history.apart() if seen.status.get("state") == "held" else seen.parting()

    def _changed(self, jobs: frozenset[str], group: Group) -> tuple[str, dict[str, Profile]] | None:
        """What to say of jobs that are others than they were when they were arranged, and new profiles of all."""
        members = {name: self.seen.jobs[name] for name in sorted(jobs)}
        calm = min(job.history.count - job.calm_count for job in members.values()) - UNDER_WAY
        if calm >= LEAST_APART:
            found = {name: job.history.apart(min(calm, NEWEST)) for name, job in members.items()}
            said = [self._is_another(job, found[name], name in group.changed) for name, job in members.items()]
        elif min(job.history.count - job.count for job in members.values()) - UNDER_WAY >= NEWEST:
            found = {name: job.parting(NEWEST) for name, job in members.items()}
            said = [self._strays(job, found[name], name in group.changed) for name, job in members.items()]
        else:
            return None
        known = {name: profile for name, profile in found.items() if not isinstance(profile, str)}
        return (", ".join(filter(None, said)), known) if any(said) and len(known) == len(members) else None

    @staticmethod
    def _is_another(job: Seen, fresh: Profile | str, is_told: bool) -> str:
        """What a job has become that is where nobody is in its way; empty if it is what it was."""
        if isinstance(fresh, str):
            return ""
        if job.planned is None:
            return f"{job.name} is known now"
        if job.planned.is_for_parting:
            return f"{job.name} is apart: {fresh.iteration_ns / MS_NS:.1f} ms"
        is_shorter = fresh.iteration_ns < job.planned.iteration_ns
        least = TOLD_CHANGED if is_told or is_shorter or _is_late(fresh.iteration_ns, job.schedule) else CHANGED
        chance = ERRORS * (fresh.error_ns + job.planned.error_ns) / job.planned.iteration_ns
        return _said(job, fresh) if fresh.differs_from(job.planned) > max(least, chance) else ""

    @staticmethod
    def _strays(job: Seen, fresh: Profile | str, is_told: bool) -> str:
        """Why a job, or one that it meets, does not come to its place; empty if it may."""
        if isinstance(fresh, str) or job.planned is None:
            return ""
        if _is_late(fresh.usual_ns, job.schedule):
            return f"{job.name} cannot keep its pace"
        least = (TOLD_CHANGED if is_told else CHANGED) * job.planned.iteration_ns
        least = max(least, ERRORS * (fresh.error_ns + job.planned.error_ns))
        return _said(job, fresh) if abs(fresh.rest_ns - job.planned.rest_ns) > least else ""

    async def _arrange(self, jobs: frozenset[str], because: str, changed: Mapping[str, Profile] = _NOTHING) -> None:
        profiles: dict[str, Profile] = {}
        for job in sorted(jobs):
            profile = changed.get(job) or self.seen.jobs[job].parting()
            if not isinstance(profile, str):
                profiles[job] = profile
        group = self._regroup(jobs)
        group.pending = because  # until it has succeeded
        version = dispatch.new_version()
        arranged, plan = await self._planned(profiles, version)
        if not plan.schedules and len(profiles) > 1 and any(one.is_for_parting for one in profiles.values()):
            # They were seen to send for so long that no shift parts them. At the pace they have there is room.
            arranged, plan = await self._planned(profiles, version, slowly=True)
        if any(profile.is_for_parting for profile in profiles.values()):
            # Such a pace is too long for jobs that are apart, on purpose: nobody is to judge what it wins.
            plan = replace(plan, schedules=tuple(replace(one, gain_ns=0) for one in plan.schedules))
        # Until it knows the new ones, the coordinator would take them for somebody else's.
        for component in self.coordinator.components():
            if component.members.keys() & jobs:
                self.coordinator.forget(component.name)
        answers = await dispatch.send_plan(plan, version, self._where(profiles), self._daemons)
        for job, profile in profiles.items():
            if job in self.seen.jobs:
                self._note_planned(self.seen.jobs[job], profile)
        sent = {one.job: one.schedule for one in answers if one.schedule is not None}
        planned = {one.job: one.planned for one in answers if one.planned is not None}
        by_component: dict[str, dict[str, Schedule]] = {}
        for job, schedule in sent.items():
            by_component.setdefault(schedule.component, {})[job] = schedule
        group.components, group.pending = set(by_component), ""
        group.is_parting = bool(sent) and any(profile.is_for_parting for profile in profiles.values())
        for members in by_component.values():
            self._keep(members, {job: planned.get(job, one) for job, one in members.items()})
        self.acknowledged |= {one.job: one for one in answers}
        best = arranged.ranking.best
        self._tell(Arranged(because, {job: one.pace_ns for job, one in sent.items()}, best.score if best else None))
        for one in answers:
            if not one.accepted:
                self._tell(NotSent(one.job, one.reason))
            elif one.free and len(jobs) > 1 and group.free.get(one.job) != one.reason:
                self._tell(LeftFree(one.job, one.reason))
        group.free = {one.job: one.reason for one in answers if one.free}

    async def _planned(
        self, profiles: Mapping[str, Profile], version: int, *, slowly: bool = False
    ) -> tuple[dispatch.Arrangement, dispatch.Plan]:
        problem = self.network.problem(profiles, slowly=slowly)
        margins, measured = _paces(problem, profiles)
        arranged = await asyncio.to_thread(arrange, problem, margins=margins, measured=measured)
        epoch_ns = time.time_ns() + round(dispatch.LEAD_S * 1e9)
        return arranged, arranged.plan(epoch_ns=epoch_ns, version=version, lease_ns=round(dispatch.LEASE_S * 1e9))

    def _regroup(self, jobs: frozenset[str]) -> Group:
        """Note that these jobs are being arranged; sooner and sooner is not allowed."""
        now_s = time.monotonic()
        before = self.groups.get(jobs)
        pause_s = EVERY_S
        if before is not None and now_s - before.at_s < CALM_S + before.pause_s:
            pause_s = before.pause_s if before.is_parting else min(2 * before.pause_s, SELDOM_S)
        for other in [other for other in self.groups if other & jobs]:
            del self.groups[other]
        group = self.groups[jobs] = Group(jobs, now_s, pause_s)
        if before is not None:
            group.free = before.free
        return group

    @staticmethod
    def _note_planned(job: Seen, profile: Profile | str) -> None:
        job.planned = None if isinstance(profile, str) else profile
        if job.planned is not None and not job.planned.is_for_parting:
            job.sending_ns = job.planned.duration_ns
        job.count = job.calm_count = job.history.count

    # --- coordinating -------------------------------------------------------------------------------------------------

    def _keep(self, members: Mapping[str, Schedule], ranked: Mapping[str, Schedule]) -> None:
        kept = []
        for job, schedule in sorted(members.items()):
            if job not in self.seen.jobs:
                continue
            member = Member(schedule, self.seen.jobs[job].host)
            member.ranked = ranked[job]
            kept.append(member)
        if kept:
            self.coordinator.keep(kept)

    def _where(self, jobs: Collection[str]) -> dict[str, Endpoint]:
        return {job: self.hosts[self.seen.jobs[job].host] for job in jobs if job in self.seen.jobs}

    def _new_coordinator(self) -> Coordinator:
        return Coordinator(HttpDaemons(self._daemons, self.hosts), self._hear, hosts=self.hosts.keys())

    async def _coordinate(self) -> None:
        while True:
            try:
                await self.coordinator.run()
            except Exception as error:
                self._note_failure("the coordinator", error)
            await asyncio.sleep(LOOK_S)

    def _hear(self, event: of_coordinator.Event) -> None:
        self._tell(event)
        match event:
            case of_coordinator.IterationChanged(_, job):
                for group in self.groups.values():
                    if job in group.jobs:
                        group.changed.add(job)
            case of_coordinator.RatioBroken(component):
                for group in self.groups.values():
                    if component in group.components:
                        group.changed |= group.jobs
            case of_coordinator.MemberFreed(_, job, _):
                self.excluded[job] = time.monotonic() + EXCLUDED_S
            case of_coordinator.NotWorth(component):
                for group in self.groups.values():
                    if component in group.components:
                        group.left_alone_until_s = time.monotonic() + EXCLUDED_S
            case _:
                pass

    def _note_failure(self, what: str, error: Exception) -> None:
        self.failures[what] += 1
        count = self.failures[what]
        if count & (count - 1) == 0:  # a fault that stays is told of, but not for ever
            log.exception("%s failed (%d times)", what, count, exc_info=error)
            self._tell(Failed(what, f"{type(error).__name__}: {error}", count))


def _check(network: Network, wanted: Collection[str] | None) -> None:
    if unknown := sorted(job for job in wanted or () if not network.route(job)):
        raise ValueError(f"jobs: expected jobs that cross a link of the network, got {unknown[0]!r}")


def _is_late(iteration_ns: float, schedule: Schedule | None) -> bool:
    return schedule is not None and iteration_ns > LATER * schedule.pace_ns


def _said(job: Seen, fresh: Profile) -> str:
    assert job.planned is not None
    return f"{job.name} {job.planned.iteration_ns / MS_NS:.1f} to {fresh.iteration_ns / MS_NS:.1f} ms"


def _paces(problem: cc.Problem, profiles: Mapping[str, Profile]) -> tuple[dict[str, float], dict[str, NaturalTimes]]:
    """Margins of the jobs that are to be parted, and natural times of the others, about what the problem has."""
    margins, measured = {}, {}
    route = problem.candidates[0].routes
    sending_ns = {
        link.id: sum(
            phase.duration_ms * MS_NS for job in problem.jobs if link.id in route[job.id] for phase in job.phases
        )
        for link in problem.links
    }
    for job in problem.jobs:
        known_ns, profile = job.iteration_ms * MS_NS, profiles[job.id]
        if profile.is_for_parting:
            needed_ns = max((1 + ROOM) * known_ns, *(sending_ns[link] / FILLED for link in route[job.id]))
            margins[job.id] = min(LARGEST_MARGIN, needed_ns / known_ns - 1)
        else:
            measured[job.id] = NaturalTimes([time - profile.iteration_ns + known_ns for time in profile.times_ns])
    return margins, measured
