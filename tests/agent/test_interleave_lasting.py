"""What was arranged stays so, or is arranged again: jobs restart, fall silent, leave; daemons and schedulers too."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from played_daemons import PlayedDaemons, PlayedJob
from played_interleaving import ONE, Played, two

import cassini_core as cc
from cassini_agent.coordinator import events as of_coordinator
from cassini_agent.coordinator import presence
from cassini_agent.coordinator.events import Failed
from cassini_agent.endpoint import Endpoint
from cassini_agent.interleave import Network, engine, jobs
from cassini_agent.interleave.events import Found, GoesOn, Gone, NotHeld
from cassini_agent.interleave.scope import Scope
from cassini_agent.requests import Reply


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "EVERY_S", -1.0)
    monkeypatch.setattr(engine, "SETTLE_S", -1.0)


def gone_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for name in ("GONE_NS", "LOST_NS"):
        monkeypatch.setattr(presence, name, round(seconds * 1e9))


def held() -> Played:
    played = Played(two())
    played.look(32)
    played.settle()
    assert sorted(played.daemons.schedules) == ["a", "b"]
    return played


def test_a_job_that_restarts_from_a_checkpoint_is_held_again(monkeypatch: pytest.MonkeyPatch) -> None:
    played = held()
    played.daemons.job("b").connected = False
    gone_after(monkeypatch, 0)
    for _ in range(3):
        played.look(4, coordinate=True)
    assert played.daemons.schedules == {}
    gone_after(monkeypatch, 100)
    played.daemons.job("b").connected = True
    played.daemons.job("b").begin_again()
    for _ in range(8):
        played.look(4, coordinate=True)
    assert sorted(played.daemons.schedules) == ["a", "b"]


def test_a_job_that_was_silent_for_long_is_held_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was stopped, or that took minutes for an evaluation."""
    played = held()
    played.daemons.job("b").state = "silent"
    gone_after(monkeypatch, 0)
    for _ in range(3):
        played.look(coordinate=True)
    assert played.daemons.schedules == {}
    gone_after(monkeypatch, 100)
    played.daemons.job("b").state = "waiting"
    for _ in range(8):
        played.look(4, coordinate=True)
    assert sorted(played.daemons.schedules) == ["a", "b"]


def test_jobs_that_the_coordinator_let_go_of_are_held_again() -> None:
    played = held()
    for component in played.coordinator.components():
        played.coordinator.forget(component.name)
    played.daemons.schedules.clear()
    for _ in range(8):
        played.look(4, coordinate=True)
    assert sorted(played.daemons.schedules) == ["a", "b"]
    arranged = len(played.arranged())
    for _ in range(20):
        played.look(4, coordinate=True)
    assert len(played.arranged()) <= arranged + 1


def test_who_has_a_newer_command_of_somebody_else_is_left_to_them() -> None:
    played = held()
    arranged = played.arranged()
    for job in "ab":
        played.daemons.versions[job] += 1
        played.daemons.schedules.pop(job)
        played.daemons.job(job).state = "free"
    for _ in range(20):
        played.look(4, coordinate=True)
    assert any(isinstance(event, of_coordinator.Superseded) for event in played.told)
    assert played.arranged() == arranged


def test_a_job_whose_daemon_begins_again_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the daemon was away, its jobs need a moment to come back to it."""
    played = held()
    gone_after(monkeypatch, 0.2)
    monkeypatch.setattr(presence, "LOST_NS", 10**12)
    played.daemons.silent = {"http://other:1"}
    played.look(4)
    time.sleep(0.25)
    played.look(4)
    played.daemons.silent = set()
    played.daemons.job("b").connected = False
    played.look(4)
    played.daemons.job("b").connected = True
    played.look(4)
    assert not [event for event in played.told if isinstance(event, Gone)]


def test_a_job_that_begins_again_as_another_one_is_arranged_anew() -> None:
    """With another batch size, say, and so soon that it was never missed; the old schedule is not for it."""
    played = held()
    job = played.daemons.job("b")
    job.begin_again()
    job.rest_ms, job.state = 400.0, "free"
    for _ in range(15):
        played.look(4)
    assert played.paces()["b"] > 570


def test_a_job_that_begins_again_as_it_was_is_given_time_to_come_back() -> None:
    played = held()
    before = dict(played.daemons.schedules)
    job = played.daemons.job("b")
    job.begin_again()
    job.state = "adjusting"
    for _ in range(4):
        played.look(4)
    assert played.daemons.schedules == before


def test_a_profile_that_is_given_need_not_be_measured() -> None:
    known = {job: cc.Job(job, 413.0, [cc.Phase(240.0, 173.0, 50.0)]) for job in "ab"}
    daemons = PlayedDaemons(one={job: PlayedJob(240, 173, jitter=0.004, marks=False) for job in "ab"})
    played = Played(daemons, Network({"up": 50.0}, profiles=known))
    for _ in range(10):
        played.look(4)
    assert not [event for event in played.told if isinstance(event, NotHeld) and "communicated" in event.reason]
    assert sorted(daemons.schedules) == ["a", "b"]


def test_one_that_is_restarted_while_jobs_are_parted_finishes_what_was_begun() -> None:
    daemons = two()
    Played(daemons).look(32)
    parted = daemons.schedules["a"].pace_ns
    again = Played(daemons)
    for job in "ab":
        daemons.job(job).state = "held"
    again.look(4)
    assert any(isinstance(event, GoesOn) for event in again.told)
    assert not again.engine.is_arranged
    for _ in range(10):
        again.look(4)
    assert daemons.schedules["a"].pace_ns < parted
    assert daemons.schedules["a"].gain_ns > 0
    assert again.engine.is_arranged


def test_who_takes_part_no_more_is_set_free() -> None:
    daemons = PlayedDaemons(one={job: PlayedJob(300, 90) for job in "abc"})
    played = Played(daemons)
    played.look(32)
    assert sorted(daemons.schedules) == ["a", "b", "c"]
    played.update(wanted=frozenset({"a", "b"}))
    for _ in range(3):
        played.look(4)
    assert sorted(daemons.schedules) == ["a", "b"]
    played.update(wanted=frozenset())
    for _ in range(3):
        played.look(4)
    assert daemons.schedules == {}
    assert not [one for one in played.coordinator.components() if one.members]


def test_a_daemon_that_is_not_looked_at_any_more_is_not_asked() -> None:
    played = held()
    one = {"one": played.daemons.endpoints()["one"]}
    played.update(hosts=one)
    for _ in range(3):
        played.look(4, coordinate=True)
    assert not [event for event in played.told if isinstance(event, of_coordinator.Unreachable)]
    assert not [one for one in played.coordinator.components() if "b" in one.members]


def test_a_daemon_that_never_answered_is_told_of_once() -> None:
    played = Played(two())
    played.daemons.silent = {"http://other:1"}
    for _ in range(5):
        played.look(4, coordinate=True)
    told = [event for event in played.told if isinstance(event, of_coordinator.Unreachable)]
    assert [event.host for event in told] == ["other"]
    played.daemons.silent = set()
    for _ in range(5):
        played.look(4, coordinate=True)
    assert of_coordinator.Reachable("other") in played.told


def test_who_is_released_while_it_is_being_arranged_stays_free(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(two())
    played.daemons.run(32)

    async def both() -> None:
        looking = asyncio.create_task(played.engine.look())
        while not played.engine.seen.groups_with(played.engine.seen) and not looking.done():
            await asyncio.sleep(0.001)
        await played.engine.release()
        await looking

    asyncio.run(both())
    assert played.daemons.schedules == {}
    assert not played.coordinator.components()


def test_a_scheduler_that_fails_on_an_event_costs_nobody_anything() -> None:
    played = Played(two())

    def fails(event: Any) -> None:
        played.told.append(event)
        raise ZeroDivisionError("by a fault of the scheduler")

    again = engine.Engine(Scope(ONE, played.daemons.endpoints()), fails, played.daemons)
    played.daemons.run(32)
    for _ in range(2):
        asyncio.run(again.look())
    assert sorted(played.daemons.schedules) == ["a", "b"]
    assert not [event for event in played.told if isinstance(event, Failed)]


def test_one_that_is_held_and_not_known_yet_is_waited_for_when_another_comes() -> None:
    daemons = two()
    Played(daemons).look(32)
    daemons.job("a").begin_again()
    daemons.job("a").run(3)
    daemons.hosts["http://other:1"]["c"] = PlayedJob(363, 50)
    again = Played(daemons)
    before = daemons.schedules["a"]
    daemons.job("c").run(32)
    again.look()
    assert daemons.schedules["a"] == before
    assert "c" not in daemons.schedules
    again.look(12)
    assert len({one.component for one in daemons.schedules.values()}) == 1


def test_one_that_is_held_and_will_not_be_known_is_set_free_when_another_comes() -> None:
    daemons = two()
    Played(daemons).look(32)
    daemons.job("a").marks = False
    daemons.hosts["http://other:1"]["c"] = PlayedJob(363, 50)
    again = Played(daemons)
    again.look(32)
    assert sorted(daemons.schedules) == ["b", "c"]
    assert any(isinstance(event, NotHeld) and event.job == "a" for event in again.told)


def test_what_is_not_worth_it_is_tried_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    played = held()
    monkeypatch.setattr(jobs, "LEFT_ALONE_S", 0.3)
    component = played.daemons.schedules["a"].component
    played.engine._hear(of_coordinator.IterationChanged(component, "a", 413_100_000, 413_000_000))
    for job in "ab":
        played.engine._hear(of_coordinator.MemberFreed(component, job, "waits 3 ms per iteration to win 1 ms"))
    played.coordinator.forget(component)
    played.daemons.schedules.clear()
    arranged = len(played.arranged())
    for _ in range(3):
        played.look(4, coordinate=True)
    assert len(played.arranged()) == arranged
    assert played.daemons.schedules == {}
    time.sleep(0.35)
    for _ in range(3):
        played.look(4, coordinate=True)
    assert sorted(played.daemons.schedules) == ["a", "b"]


def test_one_that_runs_free_beside_others_does_not_keep_them_at_the_pace_that_parts_them() -> None:
    played = Played(two(c=PlayedJob(97, 2)))
    played.look(32)
    parted = played.paces()
    assert sorted(parted) == ["a", "b"]
    for job in "ab":
        played.daemons.job(job).state = "held"
    for _ in range(6):
        played.look(6)
    assert played.paces()["a"] < parted["a"]
    assert played.engine.is_arranged
    arranged = len(played.arranged())
    for _ in range(10):
        played.look(6)
    assert len(played.arranged()) == arranged


def test_the_last_one_of_a_group_is_set_free(monkeypatch: pytest.MonkeyPatch) -> None:
    played = held()
    played.daemons.job("b").connected = False
    monkeypatch.setattr(presence, "GONE_NS", 0)
    played.look(4)
    assert "a" not in played.daemons.schedules
    assert played.arranged()[-1] == "b left"


def test_one_that_is_silent_from_the_beginning_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(two())
    played.daemons.job("b").state = "silent"
    gone_after(monkeypatch, 0)
    for _ in range(3):
        played.look(32)
    assert [event for event in played.told if isinstance(event, Found)] == [Found("a", "one")]


def test_beside_a_job_that_follows_no_grid_nobody_is_planned_anew_for_being_late() -> None:
    """As one that evaluates every fourth iteration: whatever is planned, it is not kept."""
    played = held()
    arranged = len(played.arranged())
    for job, state in (("a", "adjusting"), ("b", "unlocked")):
        played.daemons.job(job).rest_ms += 6
        played.daemons.job(job).state = state
    for _ in range(12):
        played.look(5)
    assert len(played.arranged()) == arranged
    played.daemons.job("b").state = "adjusting"
    played.look(5)
    assert "cannot keep its pace" in played.arranged()[-1]


def test_a_daemon_that_did_not_answer_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt may take seconds, and all other groups would wait."""
    played = held()
    played.daemons.silent = {"http://other:1"}
    asked: list[str] = []
    request = PlayedDaemons.request

    async def counted(
        self: PlayedDaemons, method: str, endpoint: Endpoint, path: str, *body: Any, **more: Any
    ) -> Reply:
        asked.append(endpoint.url)
        return await request(self, method, endpoint, path, *body, **more)

    monkeypatch.setattr(PlayedDaemons, "request", counted)
    played.daemons.hosts["http://one:1"]["c"] = PlayedJob(363, 50)
    played.look(32)
    assert asked.count("http://other:1") == 1
    assert NotHeld("b", presence.UNREACHABLE) in played.told
    played.daemons.silent = set()
    played.look(4, coordinate=True)
    assert len({one.component for one in played.daemons.schedules.values()}) == 1
