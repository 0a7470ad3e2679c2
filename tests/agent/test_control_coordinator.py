"""The coordinator: decides for a component as a whole, in one ratio, and gets its decisions to every daemon."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_members import PACE, Played, PlayedHosts, pair, run, schedule

from cassini_agent.control.change import Change
from cassini_agent.control.phase import wrap
from cassini_agent.coordinator import events
from cassini_agent.coordinator.component import Component
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.lease import LEASE_NS
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.paces import common_paces, ratio_of
from cassini_agent.coordinator.status import CountersSay, JobStatus
from cassini_agent.schedule import MAX_ITERATION_NS, MAX_VERSION, MS_NS, SECOND_NS, Schedule


@given(st.integers(-90, 100), st.integers(-90, 100))
def test_jobs_that_strayed_get_one_epoch_and_are_held(error_a: int, error_b: int) -> None:
    played = pair(error_a * MS_NS, error_b * MS_NS)
    told = run(played, 12)
    assert {played.status(job).state for job in "ab"} == {"held"}
    assert len({one.epoch_ns for one in played.has.values()}) == 1
    assert len({one.version for one in played.has.values()}) == 1
    strayed = max(abs(error_a), abs(error_b)) > 7
    assert len([event for event in told if isinstance(event, events.Rephased)]) == strayed
    assert len([event for event in told if isinstance(event, events.Settled)]) == strayed
    together = wrap((played.has["b"].shift_ns - played.has["a"].shift_ns), PACE)
    assert together in (PACE // 2, -PACE // 2)


def test_jobs_that_hold_each_other_up_are_met_where_they_will_be() -> None:
    """At the next start both are later by what they lose per iteration."""
    component = Component([Member(schedule(job), host=job) for job in "ab"])
    moved = []
    for second in range(12):
        errors = {"a": 20 * MS_NS, "b": 30 * MS_NS}
        statuses = {
            job: JobStatus(
                job,
                "adjusting",
                1,
                1,
                schedule(job),
                iterations=5 * second,
                errors_ns=tuple(last + 8 * MS_NS * (i - 64) for i in range(64)),
                place_ns=last,
            )
            for job, last in errors.items()
        }
        told = component.decide(statuses, second * SECOND_NS, second * SECOND_NS).events
        moved += [event for event in told if isinstance(event, events.Rephased)]
    (only,) = moved  # while it is not followed, no other is decided
    assert only.epoch_shift_ns >= (30 + 8 - 4) * MS_NS


def test_what_is_within_the_band_is_left_alone() -> None:
    assert run(pair(6 * MS_NS, -6 * MS_NS), 30) == []


@pytest.mark.parametrize("state", ["unlocked", "free"])
@pytest.mark.parametrize("error_a", [-60, 40, 90])
def test_no_epoch_moves_for_a_job_that_follows_no_grid(state: str, error_a: int) -> None:
    played = pair(error_a * MS_NS)
    played.says["b"] = state
    assert run(played, 12) == []
    members = {
        job: Member(schedule(job, shift_ns=shift * MS_NS), host=job)
        for job, shift in zip("abc", (0, 70, 140), strict=True)
    }
    three = Played(members, {"a": error_a * MS_NS, "b": 0, "c": 0}, says={"b": state})
    assert [type(event) for event in run(three, 12)] == [events.Rephased, events.Settled]
    del three.says["b"]
    assert {three.status(job).state for job in "ac"} == {"held"}


@pytest.mark.parametrize("state", ["unlocked", "free"])
@pytest.mark.parametrize("jobs", ["ab", "abc"])
def test_a_job_that_follows_no_grid_for_long_is_let_go_of_and_who_is_left_alone_too(jobs: str, state: str) -> None:
    """Else the others would pace themselves for a job that comes when it likes."""
    played = Played({job: Member(schedule(job), host=job) for job in jobs}, dict.fromkeys(jobs, 0))
    played.says["b"] = state
    assert run(played, 15) == []
    played.says["b"] = "held"  # for a moment
    assert run(played, 2, begin=15) == []
    played.says["b"] = state
    assert run(played, 19, begin=17) == []
    told = run(played, 5, begin=36)
    assert (type(told[0]), told[0].job) == (events.MemberFreed, "b")
    assert [type(event) for event in told[1:]] == ([events.Dissolved] if len(jobs) == 2 else [])
    assert sorted(played.component.members) == (["a", "c"] if len(jobs) == 3 else [])


@pytest.mark.parametrize("jobs", ["ab", "abc"])
def test_where_all_stay_unlocked_all_are_let_go_of(jobs: str) -> None:
    played = Played({job: Member(schedule(job), host=job) for job in jobs}, dict.fromkeys(jobs, 0))
    played.says = dict.fromkeys(jobs, "unlocked")
    outcomes = [played.poll(second) for second in range(30)]
    released = [member.schedule.job for outcome in outcomes for member in outcome.released]
    assert sorted(released) == sorted(jobs)
    assert played.component.members == {}


def test_no_epoch_moves_while_a_daemon_is_silent_and_then_all_get_it() -> None:
    played = pair(60 * MS_NS)
    for second in range(10):
        outcome = played.poll(second, without=["b"])
        assert not outcome.send
    run(played, 5, begin=10)
    (version,) = {one.version for one in played.has.values()}
    assert version > 1


def test_a_daemon_that_missed_a_version_gets_it_again() -> None:
    played = pair(60 * MS_NS)
    sent: list[Schedule] = []
    for second in range(10):
        outcome = played.component.decide(
            {job: played.status(job) for job in "ab"}, second * SECOND_NS, second * SECOND_NS
        )
        played.iterations += 5
        sent += outcome.send  # and nobody takes it
    assert len(sent) == 20
    assert len(set(sent)) == 2


def test_a_component_that_does_not_get_steady_waits_no_more_than_its_budget_has() -> None:
    """Two paces at once, a hundredth of the time, and a quarter of what the jobs lose to each other; here nothing."""
    played, told = pair(60 * MS_NS), list[events.Event]()
    for second in range(300):
        played.errors_ns = {"a": 60 * MS_NS, "b": 0}
        told += played.poll(second).events
        waits_ns = [event.wait_ns / 2 for event in told if isinstance(event, events.Rephased)]
        assert sum(waits_ns) <= 2 * PACE + second * SECOND_NS // 100 + len(waits_ns)
    assert len(waits_ns) > 10
    assert any(isinstance(event, events.Unsteady) for event in told)


@pytest.mark.parametrize(
    "paces",
    [(PACE, PACE), (PACE, PACE // 2), (7 * 11 * 13 * 17 * 2_000_003, 19 * 23 * 29 * 31 * 2_000_003)],
    ids=["alike", "half", "together again after years"],
)
def test_schedules_are_renewed_for_days_and_no_grid_moves(paces: tuple[int, int]) -> None:
    members = {
        job: Member(schedule(job, pace_ns=pace, iteration_ns=pace, shift_ns=pace // 3), host=job)
        for job, pace in zip("ab", paces, strict=True)
    }
    played = Played(members, {"a": 0, "b": 0})
    for second in range(0, 3 * 86_400, 600):
        for sent in played.poll(second).send:
            sent.check_near(second * SECOND_NS)  # or its daemon would not take it
        for job, one in played.has.items():
            first = members[job].ranked
            assert one.expires_ns > (second + 600) * SECOND_NS
            assert one.pace_ns == first.pace_ns
            assert (one.epoch_ns + one.shift_ns - first.epoch_ns - first.shift_ns) % one.pace_ns == 0
    assert len({one.epoch_ns for one in played.has.values()}) == 1


def test_what_expired_by_a_clock_of_its_host_is_renewed_once() -> None:
    played = pair()
    run(played, 10)
    report = played.status
    played.status = lambda job: replace(report(job), state="expired")  # type: ignore[method-assign]
    sent = [len(played.poll(second).send) for second in range(10, 15)]
    assert sent == [2, 0, 0, 0, 0]
    assert all(one.expires_ns >= LEASE_NS + 10 * SECOND_NS for one in played.has.values())


def test_a_clock_that_is_set_back_does_not_put_off_what_is_to_be_done() -> None:
    played = pair(60 * MS_NS)
    played.clock_ahead_s = 1000.0
    assert run(played, 10) != []
    played.errors_ns, played.clock_ahead_s = {"a": 0, "b": 60 * MS_NS}, 0.0
    told = run(played, 20, begin=10)
    assert [type(event) for event in told] == [events.Rephased, events.Settled]
    assert {played.status(job).state for job in "ab"} == {"held"}


@pytest.mark.parametrize("told_ns", [-(2**42), 0, 1, MS_NS - 1, MAX_ITERATION_NS + 1, 2**62])
def test_iteration_times_that_cannot_be_change_nothing(told_ns: int) -> None:
    """A job reports what it likes; the coordinator serves others too."""
    played = pair()
    run(played, 10)
    played.changed = {job: Change(told_ns, 197 * MS_NS) for job in "ab"}
    assert run(played, 20, begin=10) == []


def test_after_the_last_version_there_is_none() -> None:
    played = pair(60 * MS_NS, version=MAX_VERSION)
    for second in range(20):
        assert not played.poll(second).send


def test_a_changed_iteration_time_is_told_once_and_paces_keep_their_ratio() -> None:
    wide = {"hold_ns": 24 * MS_NS, "slack_ns": 24 * MS_NS}
    members = {
        "a": Member(schedule("a", pace_ns=PACE // 2, iteration_ns=98 * MS_NS, shift_ns=0, **wide), host="a"),
        "b": Member(schedule("b", **wide), host="b"),
    }
    played = Played(members, {"a": 0, "b": 0})
    run(played, 20)
    played.changed = {"a": Change(104 * MS_NS, 98 * MS_NS)}
    told = run(played, 30, begin=20)
    assert [type(event) for event in told].count(events.IterationChanged) == 1
    paces = [played.has[job].pace_ns for job in "ab"]
    assert ratio_of(paces) == [1, 2]
    assert paces[0] >= 104 * MS_NS
    assert played.has["a"].iteration_ns == 104 * MS_NS
    assert played.has["b"].hold_ns < 24 * MS_NS  # edges of jobs with different paces moved against each other


def test_paces_of_a_ratio_never_grow_so_far_that_nothing_is_held_any_more() -> None:
    """Edges of jobs of different paces move against each other as these grow: the scheduler has to rank again."""
    members = {
        "a": Member(schedule("a", pace_ns=PACE // 2, iteration_ns=98 * MS_NS, shift_ns=0), host="a"),
        "b": Member(schedule("b"), host="b"),
    }
    played = Played(members, {"a": 0, "b": 0})
    run(played, 20)
    told = []
    for step, slower in enumerate(range(99, 107)):
        played.changed = {"a": Change(slower * MS_NS, 98 * MS_NS)}
        told += run(played, 10, begin=20 + 10 * step)
        assert all(2 * one.hold_ns >= members[job].ranked.hold_ns for job, one in played.has.items())
    assert any(isinstance(event, events.PacesChanged) for event in told)
    assert any(isinstance(event, events.RatioBroken) for event in told)


@pytest.mark.parametrize("how", ["other component", "cleared"])
def test_newer_commands_of_the_scheduler_end_a_component_and_it_is_said(how: str) -> None:
    played = pair(60 * MS_NS)
    played.has["a"] = replace(played.has["a"], version=9, component="new")
    played.cleared = {"a"} if how == "cleared" else set()
    outcomes = [played.poll(second) for second in range(20)]
    assert [event for outcome in outcomes for event in outcome.events] == [events.Superseded("c", ("a",))]
    assert not any(outcome.send or outcome.released for outcome in outcomes)


@given(
    epoch_ns=st.integers(1, 10**9),
    pace_ns=st.integers(197 * MS_NS, 250 * MS_NS),
    newest_at=st.sampled_from(["a", "b", "ab"]),
)
def test_a_coordinator_that_was_restarted_goes_on_where_its_predecessor_was(
    epoch_ns: int, pace_ns: int, newest_at: str
) -> None:
    """Also where the predecessor had got its last version to one daemon only."""
    played = pair()
    for job in newest_at:
        played.has[job] = replace(
            played.has[job], version=7, epoch_ns=epoch_ns, pace_ns=pace_ns, shift_ns=played.has[job].shift_ns % pace_ns
        )
    kept = {job: played.has[job] for job in newest_at}
    outcomes = [played.poll(second) for second in range(3)]
    told = [event for outcome in outcomes for event in outcome.events]
    assert [type(event) for event in told] == [events.Adopted]
    for job, one in kept.items():
        now = played.has[job]
        assert (now.epoch_ns + now.shift_ns - one.epoch_ns - one.shift_ns) % pace_ns == 0
        assert now.pace_ns == pace_ns
    assert len({one.version for one in played.has.values()}) == 1
    assert len({one.epoch_ns for one in played.has.values()}) == 1
    # What is decided from now on reaches the daemons.
    played.errors_ns = {"a": 60 * MS_NS, "b": 0}
    assert events.Rephased in {type(event) for event in run(played, 5, begin=3)}
    assert {played.status(job).state for job in "ab"} == {"held"}


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 16)), min_size=1, max_size=6))
def test_common_paces_carry_all_jobs_in_their_ratio(jobs: list[tuple[int, int]]) -> None:
    needed, counts = [n for n, _ in jobs], [c for _, c in jobs]
    paces = common_paces(needed, counts)
    assert all(pace >= need for pace, need in zip(paces, needed, strict=True))
    assert len({pace * counts[0] - paces[0] * count for pace, count in zip(paces, counts, strict=True)}) == 1
    assert any(pace - need < count for pace, need, count in zip(paces, needed, counts, strict=True))


def test_members_of_two_components_are_refused() -> None:
    with pytest.raises(ValueError, match="one component"):
        Component([Member(schedule("a"), "a"), Member(schedule("b", component="d"), "b")])


@pytest.mark.parametrize("missing", ["silent", "disconnected", "unreachable"])
def test_a_member_that_is_missing_is_told_of_then_left_behind_and_the_last_one_is_set_free(missing: str) -> None:
    members = {job: Member(schedule(job, shift_ns=i * PACE // 3), host=job) for i, job in enumerate("abc")}
    played = Played(members, dict.fromkeys("abc", 0))
    report = played.status

    def absent(*jobs: str) -> None:
        def status(job: str) -> JobStatus:
            known = report(job)
            if job not in jobs or missing == "unreachable":
                return known
            return replace(known, state="silent") if missing == "silent" else replace(known, connected=False)

        played.status = status  # type: ignore[method-assign]

    def seconds(begin: int, end: int, *jobs: str) -> list[events.Event]:
        absent(*jobs)
        told = []
        for second in range(begin, end):
            outcome = played.poll(second, without=jobs if missing == "unreachable" else ())
            told += outcome.events
            played.cleared |= {member.schedule.job for member in outcome.released}
        return told

    why = {"silent": "silent", "disconnected": "not connected", "unreachable": "its daemon does not answer"}[missing]
    assert seconds(0, 15, "c") == [events.MemberMissing("c", "c", why)]
    assert seconds(15, 20) == [events.MemberBack("c", "c")]
    assert seconds(20, 160, "c") == [events.MemberMissing("c", "c", why), events.MemberLeft("c", "c", why)]
    assert played.cleared == {"c"}
    # The others go on without it, and are brought together as ever.
    played.errors_ns = {"a": 60 * MS_NS, "b": 0, "c": 0}
    assert [type(event) for event in seconds(160, 170, "c")] == [events.Rephased, events.Settled]
    assert "c" not in played.component.members
    # It stays let go of when it is back; and one that is alone has nobody to keep clear of.
    assert seconds(170, 180) == []
    told = seconds(180, 320, "b")
    assert [type(event) for event in told] == [events.MemberMissing, events.MemberLeft, events.Dissolved]
    assert "a" in played.cleared
    assert played.component.over


def test_while_a_daemon_is_away_a_job_that_is_out_of_place_stays_there_but_a_silent_job_holds_up_nobody() -> None:
    """The job of a daemon that is away runs on, on the grid it has: nobody else's may move against it."""
    played = pair(60 * MS_NS)
    report = played.status
    played.status = lambda job: replace(report(job), state="silent") if job == "b" else report(job)  # type: ignore[method-assign]
    assert events.Rephased in {type(event) for event in run(played, 3)}
    assert played.has["a"].epoch_ns == played.has["b"].epoch_ns


@pytest.mark.parametrize(("offset_ms", "is_told"), [(12.0, True), (3.0, False)])
def test_a_job_whose_bursts_are_elsewhere_than_it_says_moves_nobody_and_it_is_said(
    offset_ms: float, is_told: bool
) -> None:
    played = pair(60 * MS_NS)
    report = played.status
    offset_ns = round(offset_ms * MS_NS)
    say = {"counters_say": CountersSay("contradict", "bursts elsewhere", -offset_ns - 5, 5)}
    played.status = lambda job: replace(report(job), **say) if job == "a" else report(job)  # type: ignore[method-assign]
    told = run(played, 20)
    assert ([event for event in told if isinstance(event, events.Contradicted)] != []) == is_told
    assert any(isinstance(event, events.Rephased) for event in told) != is_told
    if is_told:
        assert told == [events.Contradicted("c", "a", "bursts elsewhere")]


def test_a_job_that_follows_nothing_is_not_waited_for_long() -> None:
    """Also where nothing was decided before."""
    members = {job: Member(schedule(job), host=job) for job in "abc"}
    played = Played(members, {"a": 60 * MS_NS, "b": 0, "c": 0})
    report = played.status
    deaf = {"state": "free", "followed": 0, "place_ns": None, "errors_ns": ()}
    played.status = lambda job: replace(report(job), **deaf) if job == "b" else report(job)  # type: ignore[method-assign]
    moved = [isinstance(e, events.Rephased) for second in range(12) for e in played.poll(second).events]
    assert any(moved)


def test_a_daemon_that_was_away_for_long_costs_no_job_its_place_before_it_has_connected_again() -> None:
    played = pair()
    report = played.status
    for second in range(41):
        played.poll(second, without=["b"])
    played.status = lambda job: replace(report(job), connected=job != "b")  # type: ignore[method-assign]
    told = [event for second in range(41, 60) for event in played.poll(second).events]
    assert not [event for event in told if isinstance(event, events.MemberLeft)]


def test_a_job_that_would_cost_the_others_more_than_they_win_is_set_free_and_it_is_said() -> None:
    played = pair(gain_ns=20 * MS_NS)
    run(played, 20)
    played.changed = {"a": Change(217 * MS_NS, 197 * MS_NS)}  # the other would lose 10 %
    told = run(played, 10, begin=20)
    (freed,) = [event for event in told if isinstance(event, events.MemberFreed)]
    assert freed.job == "a"
    assert "lose" in freed.reason
    assert played.component.over

    played = pair(gain_ns=40 * MS_NS)
    played.sends_ns = {"a": 120 * MS_NS, "b": 120 * MS_NS}
    run(played, 20)
    played.changed = {"a": Change(207 * MS_NS, 197 * MS_NS)}  # 5 % to win 20 %
    told = run(played, 10, begin=20)
    assert events.MemberFreed not in {type(event) for event in told}
    assert played.has["b"].pace_ns >= 207 * MS_NS


@given(st.dictionaries(st.sampled_from("ab"), st.integers(-(2**42), 2**42)))
def test_no_change_that_jobs_report_ends_a_decision(changed: dict[str, int]) -> None:
    played = pair()
    played.changed = {job: Change(iteration_ns, 197 * MS_NS) for job, iteration_ns in changed.items()}
    run(played, 10)


def test_rounds_map_clocks_tell_who_is_silent_and_bring_all_together() -> None:
    played = pair(60 * MS_NS)
    daemons, told = PlayedHosts(played), []
    coordinator = Coordinator(daemons, told.append, daemons.now, daemons.now)
    coordinator.keep(played.members.values())
    daemons.silent = {"b"}
    for second in range(12):
        daemons.now_ns = second * SECOND_NS
        if second == 4:
            daemons.silent = set()
        asyncio.run(coordinator.poll())
    assert [event.host for event in told if isinstance(event, events.Unreachable)] == ["b"]
    assert [event.host for event in told if isinstance(event, events.Reachable)] == ["b"]
    assert {played.status(job).state for job in "ab"} == {"held"}
    assert abs((daemons.offsets_ns["b"] or 0) - 5 * MS_NS) <= 200_000
    coordinator.forget("c")
    with pytest.raises(KeyError):
        coordinator.component("c")


def test_a_host_that_hangs_does_not_hold_up_the_others() -> None:
    played = pair(60 * MS_NS)
    daemons, told = PlayedHosts(played), []
    other = Played({"x": Member(schedule("x", component="d"), "x")}, {"x": 0})

    async def jobs(host: str, _: Collection[str]) -> list[JobStatus]:
        if host == "b":
            await asyncio.sleep(60)
        return [other.status("x") if host == "x" else played.status(host)]

    async def put(host: str, sent: Schedule) -> None:
        assert host != "b"

    daemons.jobs, daemons.put = jobs, put  # type: ignore[method-assign]
    coordinator = Coordinator(daemons, told.append, lambda: LEASE_NS, lambda: LEASE_NS)
    coordinator.keep(played.members.values())
    coordinator.keep(other.members.values())
    begun = time.monotonic()
    asyncio.run(coordinator.poll())
    assert time.monotonic() - begun < 30  # the host that hangs takes 60 s
    assert [(event.host, event.reason) for event in told] == [("b", "no answer within 0.8 s")]
    assert coordinator.component("d").members["x"].schedule.version > 1  # renewed, as it was about to expire


def test_components_come_and_go_while_daemons_are_asked() -> None:
    played, told = pair(60 * MS_NS), list[events.Event]()
    other = Played({"x": Member(schedule("x", component="d"), "x")}, {"x": 0})
    daemons = PlayedHosts(played)
    coordinator = Coordinator(daemons, told.append, daemons.now, daemons.now)
    coordinator.keep(played.members.values())
    asked = daemons.jobs

    async def jobs(host: str, _: Collection[str]) -> list[JobStatus]:
        coordinator.forget("c")
        coordinator.keep(other.members.values())
        return [other.status("x")] if host == "x" else await asked(host, _)

    daemons.jobs = jobs  # type: ignore[method-assign]
    for _ in range(3):
        asyncio.run(coordinator.poll())
    assert told == []
    assert daemons.offsets_ns["x"] is not None


def test_a_decision_that_fails_costs_its_component_alone_and_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    played, told = pair(60 * MS_NS), list[events.Event]()
    other = Played({"x": Member(schedule("x", component="d"), "x")}, {"x": 0})
    daemons = PlayedHosts(played)
    asked = daemons.jobs

    async def jobs(host: str, _: Collection[str]) -> list[JobStatus]:
        return [other.status("x")] if host == "x" else await asked(host, _)

    daemons.jobs = jobs  # type: ignore[method-assign]

    def tell(event: events.Event) -> None:
        told.append(event)
        raise RuntimeError("of the scheduler's own")

    coordinator = Coordinator(daemons, tell, daemons.now, daemons.now)
    coordinator.keep(other.members.values())
    coordinator.keep(played.members.values())

    def broken(*_: object) -> None:
        raise ArithmeticError("of ours")

    monkeypatch.setattr(coordinator.component("d"), "decide", broken)
    for second in range(10):
        daemons.now_ns = second * SECOND_NS
        asyncio.run(coordinator.poll())
    assert {played.status(job).state for job in "ab"} == {"held"}
    assert coordinator.failures == {"d": 10}
    failed = [event.count for event in told if isinstance(event, events.Failed)]
    assert failed == [1, 2, 4, 8]


def test_a_component_under_another_name_takes_the_place_of_the_old_one() -> None:
    coordinator = Coordinator(PlayedHosts(pair()), lambda _: None)
    coordinator.keep([Member(schedule(job), job) for job in "ab"])
    coordinator.keep([Member(schedule(job, component="d", version=2), job) for job in "bz"])
    assert [component.name for component in coordinator.components()] == ["d"]


def test_news_of_a_job_are_decided_about_before_the_next_round() -> None:
    played, told = pair(), list[events.Event]()
    daemons = PlayedHosts(played)
    change = asyncio.Event()

    async def news(host: str, known: int | None, wait_s: float) -> int:
        if known is None:
            return 0
        if host == "a" and known == 0:
            await change.wait()
            return 1
        await asyncio.sleep(wait_s)
        return known

    daemons.news = news  # type: ignore[method-assign]
    coordinator = Coordinator(daemons, told.append, daemons.now, daemons.now)
    coordinator.keep(played.members.values())

    async def briefly() -> None:
        task = asyncio.create_task(coordinator.run(poll_s=600.0))
        await asyncio.sleep(0.1)
        played.errors_ns["a"] = 60 * MS_NS
        change.set()
        for _ in range(100):
            await asyncio.sleep(0.05)
            if told:
                break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(briefly())
    assert isinstance(told[0], events.Rephased)


def test_run_ends_when_it_is_cancelled() -> None:
    async def briefly() -> None:
        task = asyncio.create_task(Coordinator(PlayedHosts(pair()), lambda _: None).run(0.01))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(briefly())


@pytest.mark.parametrize(
    "wrong", [{"job": 3}, {"state": None}, {"version": "1"}, {"errors_ns": [1.5]}, {"changed": 3}, {"iterations": True}]
)
def test_a_status_of_other_types_is_refused(wrong: dict[str, Any]) -> None:
    right = {"job": "a", "state": "held", "version": 1, "errors_ns": [1], "changed": None, "iterations": 4}
    assert msgspec.convert(right, JobStatus).errors_ns == (1,)
    with pytest.raises(msgspec.ValidationError, match=rf"\$\.{next(iter(wrong))}"):
        msgspec.convert({**right, **wrong}, JobStatus)
