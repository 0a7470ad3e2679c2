"""Schedules that nobody keeps any more are withdrawn, whatever became of their component; no others are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from played_members import PACE, Played, PlayedHosts, schedule

from cassini_agent.coordinator import events
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.lease import LEASE_NS
from cassini_agent.coordinator.member import Member
from cassini_agent.schedule import MS_NS, SECOND_NS


class Rounds:
    """Three jobs of one component, each on a host of its own, and their coordinator."""

    def __init__(self) -> None:
        members = {job: Member(schedule(job, shift_ns=i * PACE // 3), host=job) for i, job in enumerate("abc")}
        self.played = Played(members, dict.fromkeys("abc", 0))
        self.hosts, self.told = PlayedHosts(self.played), list[events.Event]()
        self.coordinator = Coordinator(self.hosts, self.told.append, self.hosts.now, self.hosts.now)
        self.coordinator.keep(members.values())

    def seconds(self, begin: int, end: int, step: int = 1) -> None:
        for second in range(begin, end, step):
            self.hosts.now_ns = second * SECOND_NS
            asyncio.run(self.coordinator.poll())

    def planned_anew(self, jobs: Sequence[str], component: str = "d", *, keep: bool = True) -> None:
        """The scheduler has sent these jobs another component."""
        for job in jobs:
            self.played.has[job] = replace(self.played.has[job], component=component, version=9)
            self.played.cleared.discard(job)
        if keep:
            self.coordinator.keep([Member(self.played.has[job], host=job) for job in jobs])


def test_who_is_in_no_component_any_more_is_set_free_when_its_daemon_is_back() -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.hosts.silent = {"c"}
    rounds.planned_anew("ab")
    rounds.seconds(3, 90)
    assert rounds.hosts.cleared == []
    rounds.hosts.silent = set()
    rounds.seconds(90, 95)
    assert rounds.hosts.cleared == [("c", 1)]
    assert {one.component for one in rounds.played.has.values()} == {"c", "d"}


@pytest.mark.parametrize("newer", ["a", "ab"])
def test_who_has_nothing_newer_a_while_after_the_others_were_planned_anew_is_set_free(newer: str) -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.planned_anew(newer, keep=False)
    rounds.seconds(3, 30)
    assert [type(event) for event in rounds.told] == [events.Superseded]
    assert rounds.hosts.cleared == []  # the scheduler may still be sending
    rounds.seconds(30, 90)
    assert dict(rounds.hosts.cleared) == dict.fromkeys(set("abc") - set(newer), 1)


def test_who_is_planned_anew_in_two_components_keeps_both() -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.planned_anew("ab")
    rounds.planned_anew("c", "e")
    rounds.seconds(3, 120)
    assert rounds.hosts.cleared == []
    assert {component.name for component in rounds.coordinator.components()} == {"d", "e"}


def test_who_was_let_go_of_is_set_free_also_where_its_component_is_forgotten_meanwhile() -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.hosts.silent = {"c"}
    rounds.seconds(3, 130)
    assert events.MemberLeft("c", "c", "its daemon does not answer") in rounds.told
    rounds.coordinator.forget("c")
    rounds.planned_anew("ab")
    rounds.seconds(130, 140)
    rounds.hosts.silent = set()
    rounds.seconds(140, 143)
    assert rounds.hosts.cleared == [("c", 1)]


def test_who_is_left_out_when_its_component_makes_way_is_set_free() -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.coordinator.make_way("ab")
    assert rounds.coordinator.components() == []
    rounds.seconds(3, 20)
    rounds.planned_anew("ab")
    rounds.seconds(20, 100)
    assert dict(rounds.hosts.cleared) == {"c": 1}
    assert rounds.told == []


def test_a_component_that_is_forgotten_keeps_its_schedules() -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.coordinator.forget("c")
    rounds.seconds(3, 120)
    assert rounds.hosts.cleared == []


def test_nobody_is_asked_for_ever_for_the_sake_of_a_schedule_that_has_run_out() -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.hosts.silent = {"c"}
    rounds.planned_anew("ab")
    rounds.seconds(3, 60)
    assert "c" in rounds.coordinator.hosts()
    rounds.seconds(60, LEASE_NS // SECOND_NS + 200, step=100)
    assert "c" not in rounds.coordinator.hosts()
    assert rounds.hosts.cleared == []


def test_a_refusal_to_withdraw_what_has_become_newer_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule may have come after the daemon was asked."""
    from cassini_agent.coordinator.http import RefusedError

    rounds = Rounds()

    async def clear(host: str, job: str, version: int) -> None:
        raise RefusedError("409 an older version")

    monkeypatch.setattr(rounds.hosts, "clear", clear)
    rounds.seconds(0, 3)
    report = rounds.played.status
    rounds.played.status = lambda job: replace(report(job), connected=job != "c")  # type: ignore[method-assign]
    rounds.seconds(3, 40)
    assert [type(event) for event in rounds.told] == [events.MemberMissing, events.MemberLeft]


def test_jobs_that_are_kept_again_are_not_set_free() -> None:
    rounds = Rounds()
    rounds.seconds(0, 3)
    rounds.hosts.silent = {"c"}
    rounds.seconds(3, 130)
    rounds.coordinator.keep([Member(replace(rounds.played.has[job], version=9), host=job) for job in "abc"])
    rounds.hosts.silent = set()
    rounds.seconds(130, 240)
    assert rounds.hosts.cleared == []
    assert PACE == rounds.played.has["c"].pace_ns > 100 * MS_NS
