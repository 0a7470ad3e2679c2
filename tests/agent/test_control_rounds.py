"""The coordinator's rounds: what one host or one component does costs no other anything, and a stop is a stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping

import pytest
from played_members import Played, PlayedHosts, pair, schedule

from cassini_agent import event_loop_thread
from cassini_agent.control.clock_sync import ClockSample
from cassini_agent.coordinator import background, events
from cassini_agent.coordinator.component import Component, Outcome
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.endpoint import Endpoint
from cassini_agent.schedule import MS_NS, SECOND_NS


def test_after_a_stop_nothing_is_decided_or_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a look that was put off is under way."""
    played = pair()
    hosts = PlayedHosts(played)
    decided: list[None] = []
    asking = asyncio.Event()

    def decide(*_: object) -> Outcome:
        decided.append(None)
        return Outcome(send=[member.schedule for member in played.members.values()])

    async def jobs(host: str, _: Collection[str]) -> list[JobStatus]:
        if decided:
            asking.set()
            await asyncio.sleep(0.1)
        return [played.status(host)]

    monkeypatch.setattr(Component, "decide", decide)
    monkeypatch.setattr(Component, "look_again", property(lambda _: True))
    monkeypatch.setattr(hosts, "jobs", jobs)
    coordinator = Coordinator(hosts, lambda _: None)
    coordinator.keep(played.members.values())

    async def stopped() -> None:
        task = asyncio.create_task(coordinator.run(poll_s=600.0))
        await asyncio.wait_for(asking.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        before = len(decided)
        await asyncio.sleep(0.2)
        assert len(decided) == before
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(stopped())


@pytest.mark.parametrize("fails", ["clock", "jobs", "sample"])
def test_a_host_that_fails_in_any_way_costs_itself_alone(fails: str) -> None:
    played, told = pair(60 * MS_NS), list[events.Event]()
    other = Played({"x": Member(schedule("x", component="d"), "x")}, {"x": 0})
    hosts = PlayedHosts(played)
    clock, ask = hosts.clock, hosts.jobs

    async def clocks(host: str, offset_ns: int | None) -> ClockSample:
        if host == "x" and fails == "clock":
            raise ArithmeticError("of ours")
        if host == "x" and fails == "sample":
            return ClockSample(hosts.now_ns + 1, hosts.now_ns, hosts.now_ns)  # back before it was sent
        return await clock(host, offset_ns)

    async def jobs(host: str, _: Collection[str]) -> list[JobStatus]:
        if host == "x" and fails == "jobs":
            raise ArithmeticError("of ours")
        return [other.status("x")] if host == "x" else await ask(host, _)

    hosts.clock, hosts.jobs = clocks, jobs  # type: ignore[method-assign]
    coordinator = Coordinator(hosts, told.append, hosts.now, hosts.now)
    coordinator.keep(other.members.values())
    coordinator.keep(played.members.values())
    for second in range(10):
        hosts.now_ns = second * SECOND_NS
        asyncio.run(coordinator.poll())
    assert {played.status(job).state for job in "ab"} == {"held"}
    assert [event.host for event in told if isinstance(event, events.Unreachable)] == ["x"]


def test_who_has_answered_is_decided_about_before_another_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a job is old soon: a host that is silent may not keep it from being decided about."""
    played, told = pair(60 * MS_NS), list[events.Event]()
    hosts = PlayedHosts(played)
    ask, order = hosts.jobs, list[str]()

    async def jobs(host: str, _: Collection[str]) -> list[JobStatus]:
        if host == "x":
            try:
                await asyncio.sleep(60)
            finally:
                order.append("the silent host is given up")
        return await ask(host, _)

    hosts.jobs = jobs  # type: ignore[method-assign]
    decide = Component.decide

    def noted(component: Component, statuses: Mapping[str, JobStatus], now_ns: int, monotonic_ns: int) -> Outcome:
        order.append(component.name)
        return decide(component, statuses, now_ns, monotonic_ns)

    monkeypatch.setattr(Component, "decide", noted)
    coordinator = Coordinator(hosts, told.append, hosts.now, hosts.now)
    coordinator.keep([Member(schedule("x", component="d"), "x")])
    coordinator.keep(played.members.values())
    asyncio.run(coordinator.poll())
    assert order == ["c", "the silent host is given up", "d"]


def test_a_block_is_left_also_where_the_callback_waits_for_that(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(event_loop_thread, "STOP_S", 0.1)
    is_told, may_go_on = threading.Event(), threading.Event()

    def tell(_: events.Event) -> None:
        is_told.set()
        may_go_on.wait(10)

    with background.coordinating([Member(schedule("a"), "h")], {"h": Endpoint("http://127.0.0.1:9")}, tell):
        assert is_told.wait(10)
    assert "has not ended" in caplog.text
    may_go_on.set()
    for thread in threading.enumerate():
        if thread.name == "cassini-coordinator":
            thread.join(10)
    assert "cassini-coordinator" not in [thread.name for thread in threading.enumerate()]
