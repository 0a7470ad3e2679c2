"""Daemons and coordinator around the simulated jobs: messages take time, clocks differ, the coordinator may be gone."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from cassini_agent.control.change import Change
from cassini_agent.control.clock_sync import ClockMapping, ClockSample
from cassini_agent.control.controller import Controller, Decision
from cassini_agent.control.pattern import pattern
from cassini_agent.coordinator import events
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.coordinator.transport import TransportError
from cassini_agent.daemon import clocks
from cassini_agent.daemon.host_schedule import on_host
from cassini_agent.dispatch import SETTLE_S, Plan, look
from cassini_agent.dispatch.difference import difference, is_torn
from cassini_agent.dispatch.send import Endpoint, Reply, send
from cassini_agent.schedule import SECOND_NS, Schedule

from .job import JobModel
from .simulator import Simulator

__all__ = ["Cluster", "Daemon", "Observed"]

FIRST_MS = 100.0
REPORT_MS, POLL_MS, AGAIN_MS = 200.0, 1000.0, 30.0
LEASE_NS = 3600 * SECOND_NS
PATTERN_EVERY = 32
NATURAL_WINDOW, ERROR_WINDOW, RECENT_WINDOW, QUANTILES = 256, 64, 32, 64


class Observed:
    """A controller whose decisions are kept, as the loop would report them."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.lag = controller.lag
        self.natural_ns: list[tuple[int, int]] = []
        self.error_ns: list[int] = []
        self.rests_ns: deque[tuple[int, int]] = deque(maxlen=RECENT_WINDOW)
        self.iterations = 0
        self.followed = self.delay_total_ns = 0
        self.state = "waiting"
        self.changed: Change | None = None
        self.place_at_ns: int | None = None
        self.report: Callable[[bool], None] = lambda is_news: None
        self._reported_ns = -(2**62)
        self._is_calm = True  # the iteration that has just ended was not one in which the grid changed

    def set_schedule(self, schedule: Schedule, now_ns: int) -> None:
        self.controller.set_schedule(schedule, now_ns)

    def clear(self) -> None:
        self.controller.clear()

    def step(self, now_ns: int, applied_ns: int = 0, compute_ns: int | None = None) -> Decision:
        decision = self.controller.step(now_ns, applied_ns, compute_ns)
        if decision.natural_ns is not None and compute_ns is not None:
            self.rests_ns.append((compute_ns, decision.natural_ns - compute_ns))
        said = self.state, self.followed
        if decision.natural_ns is not None and self._is_calm:
            self.natural_ns.append((self.iterations, decision.natural_ns))
        self._is_calm = True
        self._follow(decision)
        is_news = decision.strayed or (self.state, self.followed) != said
        self.iterations += 1
        self.delay_total_ns = self.controller.delay_total_ns
        self.changed = decision.changed or self.changed
        is_news = is_news or decision.changed is not None
        self.place_at_ns = now_ns + (decision.delay_ns if self.lag == 0 else 0)
        if is_news or now_ns - self._reported_ns >= REPORT_MS * 1e6:
            self._reported_ns = now_ns
            self.report(is_news)
        return decision

    def revise(self) -> Decision | None:
        decision = self.controller.revise()
        if decision is not None:
            self._follow(decision)
            self.report(True)
        return decision

    def _follow(self, decision: Decision) -> None:
        followed = self.controller.schedule.version if self.controller.schedule is not None else 0
        if followed != self.followed:
            self.error_ns.clear()
        if followed != self.followed or (self.state, decision.state) == ("adjusting", "held"):
            self.natural_ns.clear()
            self._is_calm = False
        self.state, self.followed = decision.state, followed
        if decision.error_ns is not None:
            self.error_ns.append(decision.error_ns)


class Daemon:
    """Serves one job, and knows what the job told it last."""

    def __init__(self, model: JobModel, observed: Observed, is_connected: Callable[[], bool] = lambda: True) -> None:
        self.model = model
        self.is_connected = is_connected
        self.observed = observed
        self.schedule: Schedule | None = None
        self.mapping: ClockMapping | None = None
        self._report = JobStatus(model.name, "waiting")
        self._looked = 0
        self._in_turn: tuple[int, ...] = ()

    def reported(self) -> None:
        """A report of the job comes in."""
        seen = self.observed
        numbered = seen.natural_ns[-NATURAL_WINDOW:]
        if seen.iterations >= self._looked + PATTERN_EVERY:
            self._looked, self._in_turn = seen.iterations, pattern(numbered)
        turn = self._in_turn or (0,)
        natural = sorted(time - turn[number % len(turn)] for number, time in numbered)
        middle = median_low(natural) if natural else None
        step = max(1, len(natural) - 1)
        count = min(QUANTILES, len(natural))
        quantiles = [natural[i * step // max(1, count - 1)] for i in range(count)]
        self._report = JobStatus(
            self.model.name,
            seen.state,
            followed=seen.followed,
            iterations=seen.iterations,
            delay_total_ns=seen.delay_total_ns,
            iteration_ns=middle,
            jitter_ns=tuple(q - (middle or 0) for q in quantiles),
            errors_ns=tuple(seen.error_ns[-ERROR_WINDOW:]),
            place_at_ns=seen.place_at_ns,
            lag=seen.lag,
            pattern_ns=self._in_turn,
            rests_ns=tuple(seen.rests_ns),
            changed=seen.changed,
        )

    def status(self) -> JobStatus:
        version = self.schedule.version if self.schedule else 0
        return replace(self._report, version=version, schedule=self.schedule, connected=self.is_connected())

    def follow(self, schedule: Schedule, true_ms: float) -> None:
        """A schedule on the coordinator's clock, which is true time."""
        self.schedule = schedule
        self._tell(true_ms)

    def map_clock(self, mapping: ClockMapping, true_ms: float) -> None:
        self.mapping = mapping
        if self.schedule is not None:
            self._tell(true_ms)

    def clear(self) -> None:
        self.schedule = None
        self.observed.clear()

    def _tell(self, true_ms: float) -> None:
        assert self.schedule is not None
        now = self.model.host_ns(true_ms)
        # Until the coordinator maps it, the host's own idea of the coordinator's clock is its wall clock: as far off.
        known = self.mapping or ClockMapping(0, 0, 0)
        mapping = clocks.ClockMapping(known.offset_ns, known.rate_ppb, known.reference_ns)
        self.observed.set_schedule(on_host(self.schedule, mapping, now), now)


@dataclass(slots=True)
class _Daemons:
    """Transport of the simulation: requests are answered at once, what is sent takes its time."""

    simulator: Simulator
    daemons: dict[str, Daemon]
    way_ms: Callable[[str], float]
    gone: Callable[[str], bool]

    def _reach(self, host: str) -> Daemon:
        if self.gone(host):
            raise TransportError(f"{host}: no answer")
        return self.daemons[host]

    async def clock(self, host: str, mapping: ClockMapping | None) -> ClockSample:
        daemon, now = self._reach(host), self.simulator.now_ms
        there, back = self.way_ms(host) / 10, self.way_ms(host) / 10
        if mapping is not None:
            daemon.map_clock(mapping, now)
        sample = round((now - there - back) * 1e6), daemon.model.host_ns(now - back), round(now * 1e6)
        return ClockSample(*sample)

    async def jobs(self, host: str, jobs: Collection[str] | None) -> list[JobStatus]:
        return [self._reach(host).status()]

    async def news(self, host: str, known: int | None, wait_s: float) -> int:
        raise NotImplementedError  # the simulation itself calls for a round where a job has news

    async def put(self, host: str, schedule: Schedule) -> None:
        daemon, simulator = self._reach(host), self.simulator
        simulator.at(simulator.now_ms + self.way_ms(host), lambda: daemon.follow(schedule, simulator.now_ms))

    async def clear(self, host: str, job: str, version: int) -> None:
        daemon = self._reach(host)
        self.simulator.at(self.simulator.now_ms + self.way_ms(host), daemon.clear)


@dataclass(slots=True)
class _Dispatched:
    """The same daemons, for ``dispatch``; ``sent`` counts requests that change something."""

    daemons: _Daemons
    sent: int = 0

    async def get_job(self, endpoint: Endpoint, job: str) -> Reply:
        (status,) = await self.daemons.jobs(job, [job])
        schedule = None if status.schedule is None else status.schedule.to_mapping()
        return Reply(200, {"version": status.version, "schedule": schedule, "connected": status.connected})

    async def put_schedule(self, endpoint: Endpoint, schedule: Schedule) -> Reply:
        self.sent += 1
        await self.daemons.put(schedule.job, schedule)
        return Reply(200, {"connected": True})

    async def delete_schedule(self, endpoint: Endpoint, job: str, version: int) -> Reply:
        self.sent += 1
        await self.daemons.clear(job, job, version)
        return Reply(200, {"connected": True})


class Cluster:
    """Daemons and a coordinator around the jobs of a simulator.

    Parameters
    ----------
    simulator : Simulator
        Whose controls are ``Observed``.
    schedules : sequence of Schedule
        One per job, sent at the beginning, each a few messages' time apart.
    tell : callable
        Hears what the scheduler is told.
    delay_ms : float
        Of a message, on average; clock requests take a tenth.
    present, reachable : callable
        Whether there is a coordinator at a time (ms), and whether a job's daemon answers.
    """

    def __init__(
        self,
        simulator: Simulator,
        schedules: Sequence[Schedule],
        *,
        seed: int,
        tell: Callable[[events.Event], None] = lambda _: None,
        delay_ms: float = 10.0,
        present: Callable[[float], bool] = lambda _: True,
        reachable: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._simulator = simulator
        self._present = present
        # One for each host: in which order the coordinator asks them differs from process to process.
        self._rngs = {job.model.name: random.Random(f"{seed} {job.model.name}") for job in simulator.jobs}
        self._delay_ms = delay_ms
        self._loop = asyncio.new_event_loop()
        self._models = {job.model.name: job.model for job in simulator.jobs}
        self.daemons = {
            job.model.name: Daemon(job.model, job.control, lambda job=job: job.is_running)
            for job in simulator.jobs
            if isinstance(job.control, Observed)
        }
        self._transport = _Daemons(simulator, self.daemons, self._way_ms, lambda host: not reachable(host))
        self.dispatched = _Dispatched(self._transport)
        self._tell = tell
        self.coordinator = self._begun()
        self._send(schedules)
        for daemon in self.daemons.values():
            daemon.observed.report = lambda is_news, d=daemon: self._hear(d, is_news)
        simulator.at(FIRST_MS, self._poll)

    def replan(self, schedules: Sequence[Schedule]) -> None:
        """The scheduler sends other schedules: newer versions than all before, from now on."""
        version = 1 + max((daemon.schedule.version for daemon in self.daemons.values() if daemon.schedule), default=0)
        epoch = round(self._simulator.now_ms * 1e6)
        self._send([replace(schedule, version=version + 1, epoch_ns=epoch) for schedule in schedules])

    def apply(self, schedules: Sequence[Schedule]) -> None:
        """The scheduler has these held, as ``dispatch.apply`` does: what is there already is not sent again."""
        where = {schedule.job: Endpoint(f"http://{schedule.job}:1") for schedule in schedules}
        planned = Plan(tuple(schedules), {})
        known = self._loop.run_until_complete(look(where, where, self.dispatched))
        now_ms = self._simulator.now_ms
        if is_torn(planned, known):  # a coordinator is just sending
            self._simulator.at(now_ms + 1e3 * SETTLE_S, lambda: self.apply(schedules))
            return
        wanted = difference(planned, known, version=1, now_ns=round(now_ms * 1e6), lease_ns=LEASE_NS)
        self._loop.run_until_complete(send(wanted.send, wanted.clear, where, self.dispatched))

    def restart(self, schedules: Sequence[Schedule]) -> None:
        """Another coordinator, that knows no more than what the scheduler had sent."""
        self.coordinator = self._begun()
        self._keep(schedules)

    def close(self) -> None:
        """Let go of the event loop."""
        self._loop.close()

    def _send(self, schedules: Sequence[Schedule]) -> None:
        now = max(FIRST_MS, self._simulator.now_ms)
        for schedule in schedules:
            when, daemon = now + self._rngs[schedule.job].random() * self._delay_ms, self.daemons[schedule.job]
            self._simulator.at(when, lambda d=daemon, s=schedule: d.follow(s, self._simulator.now_ms))
        self._keep(schedules)

    def _way_ms(self, host: str) -> float:
        return self._delay_ms * (0.5 + self._rngs[host].expovariate(2.0))

    def _begun(self) -> Coordinator:
        return Coordinator(self._transport, self._tell, lambda: round(self._simulator.now_ms * 1e6))

    def _keep(self, schedules: Sequence[Schedule]) -> None:
        self.coordinator.keep(Member(each, each.job, self._models[each.job].weight) for each in schedules)

    def _hear(self, daemon: Daemon, is_news: bool) -> None:
        """A job reports; for news the coordinator looks as soon as it has come."""
        way_ms = self._way_ms(daemon.model.name)
        self._simulator.at(self._simulator.now_ms + way_ms / 2, daemon.reported)
        if is_news:
            self._simulator.at(self._simulator.now_ms + way_ms, self._look)

    def _look(self) -> None:
        if self._present(self._simulator.now_ms):
            self._loop.run_until_complete(self.coordinator.poll())  # nothing in it waits for anything but itself
            if any(component.look_again for component in self.coordinator.components()):
                self._simulator.at(self._simulator.now_ms + AGAIN_MS, self._look)

    def _poll(self) -> None:
        self._look()
        self._simulator.at(self._simulator.now_ms + POLL_MS, self._poll)
