"""Components that need nothing are rarely asked about; whatever happens to one, it is asked about again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection

import pytest
from played_members import Played, PlayedHosts, pair, schedule

from cassini_agent.control.change import Change
from cassini_agent.control.clock_sync import ClockSample
from cassini_agent.coordinator import coordinator as the_coordinator
from cassini_agent.coordinator import events
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.http import TransportError
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.schedule import MS_NS, SECOND_NS

ROUNDS = 40


class CountedHosts(PlayedHosts):
    """Counts how often each host is asked, and has news when the test says so.

    Besides the component that is played there is job ``x``, which follows no grid, and so is asked about in each round.
    """

    def __init__(self, played: Played) -> None:
        super().__init__(played)
        self.asked: Counter[str] = Counter()
        self.change = 1
        self.has_news = asyncio.Event()
        self.restless = Member(schedule("x", component="d"), "x")
        played.has["x"], played.errors_ns["x"], played.says["x"] = self.restless.schedule, 0, "unlocked"
        self.drift, self.looked = 0.0, 0

    async def clock(self, host: str, offset_ns: int | None) -> ClockSample:
        """Ten seconds later each time, so that it shows soon how far apart the clocks run."""
        self._reach(host)
        self.looked += 1
        at_ns = self.looked * 10 * SECOND_NS
        return ClockSample(at_ns - 200_000, at_ns + round(at_ns * self.drift), at_ns)

    async def rounds(self, count: int) -> None:
        """Until there were so many."""
        end = self.asked["x"] + count
        while self.asked["x"] < end:
            await asyncio.sleep(0.001)

    async def jobs(self, host: str, jobs: Collection[str] = ()) -> list[JobStatus]:
        self.asked[host] += 1
        return await super().jobs(host, jobs)

    async def news(self, host: str, known: int | None, wait_s: float) -> int:
        self._reach(host)
        if known == self.change:
            await self.has_news.wait()
            self._reach(host)
        return self.change

    def tell(self) -> None:
        self.change += 1
        self.has_news.set()


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_coordinator, "REST_S", 600.0)


def asked_in_the_end(
    played: Played, then: Callable[[CountedHosts], object] = lambda _: None, drift: float = 0.0
) -> tuple[int, list[events.Event]]:
    """How often host a is asked after something happens to a component that rests, if nothing had before."""
    told: list[events.Event] = []

    async def run() -> int:
        hosts = CountedHosts(played)
        hosts.drift = drift
        coordinator = Coordinator(hosts, told.append, hosts.now)
        coordinator.keep(played.members.values())
        coordinator.keep([hosts.restless])
        task = asyncio.create_task(coordinator.run(poll_s=0.001))
        await hosts.rounds(ROUNDS)
        hosts.asked["a"] = 0
        then(hosts)
        await hosts.rounds(ROUNDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return hosts.asked["a"]

    return asyncio.run(run()), told


def test_a_calm_component_is_let_rest_whatever_another_does() -> None:
    count, told = asked_in_the_end(pair())
    assert (count, told) == (0, [])


def test_a_calm_component_is_looked_at_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_coordinator, "REST_S", 0.005)
    count, _ = asked_in_the_end(pair())
    assert 0 < count < ROUNDS


@pytest.mark.parametrize(("drift", "rests"), [(1e-10, True), (-2e-4, False)])
def test_a_component_rests_while_its_clocks_do_not_run_away(
    drift: float, rests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(the_coordinator, "MOST_APART_S", 1e-7)  # rounds are a thousand times quicker here, too
    count, _ = asked_in_the_end(pair(), drift=drift)
    assert (count == 0) is rests


def test_without_rests_every_component_is_looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_coordinator, "REST_S", 0.0)
    count, told = asked_in_the_end(pair())
    assert count > ROUNDS // 2
    assert told == []


def say(state: str) -> Callable[[CountedHosts], None]:
    def then(hosts: CountedHosts) -> None:
        hosts.played.says["b"] = state
        hosts.tell()

    return then


def stop_answering(hosts: CountedHosts) -> None:
    hosts.silent = {"b"}
    hosts.has_news.set()


def change(hosts: CountedHosts) -> None:
    hosts.played.changed["b"] = Change(210 * MS_NS, 197 * MS_NS, False)
    hosts.tell()


@pytest.mark.parametrize(
    "happens", [say("unlocked"), say("waiting"), say("silent"), say("free"), change, stop_answering]
)
def test_what_happens_to_a_job_ends_the_rest_of_all_that_it_is_held_with(
    happens: Callable[[CountedHosts], object],
) -> None:
    count, _ = asked_in_the_end(pair(), happens)
    assert count > ROUNDS // 2


def test_news_that_are_dealt_with_at_once_end_it_for_a_while_only() -> None:
    """The job is out of its place, and the answer brings it back."""

    def stray(hosts: CountedHosts) -> None:
        hosts.played.errors_ns["b"] = 60 * MS_NS
        hosts.tell()

    played = pair()
    count, told = asked_in_the_end(played, stray)
    assert [type(event) for event in told] == [events.Rephased, events.Settled]
    assert 3 <= count <= 8
    assert played.status("b").state == "held"


def test_a_host_that_hangs_holds_up_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are asked at once: they cost the others one round."""
    monkeypatch.setattr(the_coordinator, "ASKED_AT_ONCE", 2)
    monkeypatch.setattr(the_coordinator, "ANSWER_S", 0.05)

    async def run() -> Counter[str]:
        hosts = CountedHosts(pair())
        ask = hosts.jobs

        async def jobs(host: str, some: Collection[str] = ()) -> list[JobStatus]:
            if host in ("x", "y"):
                await asyncio.sleep(60)
            return await ask(host, some)

        async def news(host: str, known: int | None, wait_s: float) -> int:
            raise TransportError("an old daemon")

        hosts.jobs, hosts.news = jobs, news  # type: ignore[method-assign]
        coordinator = Coordinator(hosts, lambda _: None, hosts.now)
        coordinator.keep([Member(schedule(job, component="d"), job) for job in "xy"])
        coordinator.keep(hosts.played.members.values())
        for _ in range(2):
            await coordinator.poll()
        began = asyncio.get_running_loop().time()
        decided = asyncio.create_task(coordinator.poll())
        while hosts.asked["a"] < 3:
            await asyncio.sleep(0.001)
        took_s = asyncio.get_running_loop().time() - began
        await decided
        assert took_s < the_coordinator.ANSWER_S
        return hosts.asked

    assert asyncio.run(run())["b"] == 3
