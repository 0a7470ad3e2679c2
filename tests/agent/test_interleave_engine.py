"""Jobs that run are interleaved from what they report; nothing is done twice, and one group's trouble is its own."""

from __future__ import annotations

import asyncio

import pytest
from played_daemons import MS, PlayedDaemons, PlayedJob
from played_interleaving import ONE, Played, two

from cassini_agent.control.phase import wrap
from cassini_agent.coordinator import events as of_coordinator
from cassini_agent.coordinator import presence
from cassini_agent.coordinator.events import Failed
from cassini_agent.dispatch import JobSecret
from cassini_agent.interleave import Network, describe, engine, groups, planning
from cassini_agent.interleave.events import Arranged, Found, GoesOn, Gone, LeftFree, NotKnown, NotSent
from cassini_agent.schedule import Schedule


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "EVERY_S", -1.0)
    monkeypatch.setattr(engine, "SETTLE_S", -1.0)


def test_jobs_are_arranged_once_from_what_they_report() -> None:
    played = Played(two())
    played.look(6)
    assert played.arranged() == []
    assert any(isinstance(event, NotKnown) and "only 6" in event.why for event in played.told)
    played.look(10)
    assert played.arranged() == ["new"]
    played.settle()
    assert played.arranged() == ["new", "a is apart: 413.1 ms, b is apart: 413.1 ms"]
    schedules = played.daemons.schedules
    assert sorted(schedules) == ["a", "b"]
    assert len({one.pace_ns for one in schedules.values()}) == 1
    assert 413 <= played.paces()["a"] <= 413 * 1.04
    before, requests = dict(schedules), played.daemons.requests.copy()
    for _ in range(40):
        assert played.look(6) == []
    assert (dict(schedules), played.daemons.requests) == (before, requests)
    component = next(iter(schedules.values())).component
    assert set(played.coordinator.component(component).members) == {"a", "b"}
    assert played.engine.is_arranged


def test_jobs_keep_their_secrets_however_often_they_are_arranged() -> None:
    played, secret = Played(two()), JobSecret()
    played.engine.update(secrets={"a": secret})
    played.look(32)
    played.engine.update(secrets={})
    played.settle()  # they were parted, and are arranged again
    assert len(played.arranged()) == 2
    assert [played.daemons.schedules[job].secret_sha256 for job in "ab"] == [secret.sha256, None]


def test_a_restarted_one_goes_on_with_the_same_grids() -> None:
    daemons = two()
    Played(daemons).look(32)
    before, requests = dict(daemons.schedules), daemons.requests.copy()
    again = Played(daemons)
    again.look(1)
    assert [type(event) for event in again.told] == [Found, Found, GoesOn]
    again.look(30)
    assert (dict(daemons.schedules), daemons.requests) == (before, requests)
    members = again.coordinator.components()[0].members
    assert {job: member.schedule for job, member in members.items()} == before


def test_a_restarted_one_does_not_go_on_with_what_the_jobs_are_no_more() -> None:
    daemons = two()
    Played(daemons).look(32)
    daemons.job("a").rest_ms += 40
    daemons.run(40)
    again = Played(daemons)
    again.look()
    assert again.arranged() == ["new"]
    assert again.paces()["a"] > 445


def test_who_joins_and_who_leaves_is_arranged_and_others_need_not_move(monkeypatch: pytest.MonkeyPatch) -> None:
    daemons = PlayedDaemons(one={"a": PlayedJob(300, 90)}, other={"b": PlayedJob(300, 90)})
    played = Played(daemons)
    played.look(32)
    before = dict(daemons.schedules)
    daemons.hosts["http://other:1"]["c"] = PlayedJob(300, 90)
    played.look(5)
    assert dict(daemons.schedules) == before
    played.look(20)
    assert played.arranged() == ["new", "c joined"]
    assert sorted(daemons.schedules) == ["a", "b", "c"]
    assert min(_moved(before[job], daemons.schedules[job]) for job in "ab") <= before["a"].dead_band_ns // 2
    daemons.job("c").connected = False
    played.look(5)
    assert played.arranged() == ["new", "c joined"]
    monkeypatch.setattr(presence, "GONE_NS", 0)
    assert [type(event) for event in played.look(5)] == [Gone, Arranged]
    assert played.arranged()[-1] == "c left"
    assert {job for job, one in daemons.schedules.items() if one.component == daemons.schedules["a"].component} == {
        "a",
        "b",
    }


def test_a_job_that_fits_beside_the_others_moves_none_of_them() -> None:
    daemons = PlayedDaemons(one={"a": PlayedJob(300, 90)}, other={"b": PlayedJob(300, 90)})
    played = Played(daemons)
    played.look(32)
    played.settle()
    before = dict(daemons.schedules)
    daemons.hosts["http://other:1"]["c"] = PlayedJob(370, 20)
    played.look(20)
    assert played.arranged()[-1] == "c joined"
    after = daemons.schedules
    assert len(after) == 3
    longer = after["a"].pace_ns - before["a"].pace_ns
    assert longer > 0  # all are parted at one longer pace
    # Each starts next when it would have anyway: b after a, or a after b.
    changed = _apart(after) - _apart(before)
    assert min(abs(changed), abs(changed - longer)) < MS // 1000


def _apart(schedules: dict[str, Schedule]) -> int:
    a, b = schedules["a"], schedules["b"]
    return (b.epoch_ns + b.shift_ns - a.epoch_ns - a.shift_ns) % a.pace_ns


def _moved(old: Schedule, new: Schedule) -> int:
    return abs(wrap(new.epoch_ns + new.shift_ns - old.epoch_ns - old.shift_ns, new.pace_ns))


def test_a_daemon_that_is_away_is_no_reason_to_move_anybody() -> None:
    played = Played(two())
    played.look(32)
    before = dict(played.daemons.schedules)
    played.daemons.silent = {"http://other:1"}
    for _ in range(5):
        played.look(5)
    played.daemons.silent = set()
    played.look(5)
    assert played.daemons.schedules == before


@pytest.mark.parametrize("rest_ms", [280.0, 200.0], ids=["slower", "faster"])
def test_a_job_that_became_another_is_arranged_anew(rest_ms: float) -> None:
    played = Played(two())
    played.look(32)
    played.settle()
    for name in "ab":
        played.daemons.job(name).rest_ms = rest_ms
    for _ in range(16):
        played.look(5)
    assert len(played.arranged()) > 2
    assert played.paces()["a"] == pytest.approx(rest_ms + 174, rel=0.02)


def test_what_is_shorter_than_was_known_is_true_however_uncertain_that_was() -> None:
    """Jobs that were arranged before they were quite apart are not kept at the long pace for ever."""
    played = Played(two())
    for name in "ab":
        job = played.daemons.job(name)
        job.jitter, job.rest_ms = 0.15, job.rest_ms + 30
    played.look(32)
    played.settle()
    assert played.paces()["a"] > 440
    for name in "ab":
        job = played.daemons.job(name)
        job.jitter, job.rest_ms = 0.004, job.rest_ms - 30
    for _ in range(8):
        played.look(8)
    assert played.paces()["a"] < 425


def test_jobs_that_met_in_every_iteration_get_shorter_paces_once_they_are_apart() -> None:
    """Contention stretched their communication, and nothing they reported could tell."""
    played = Played(two())
    for name in "ab":
        played.daemons.job(name).sending_ms = 309
    played.look(32)
    assert 425 < played.paces()["a"] < 470
    for one in played.daemons.schedules.values():
        assert one.gain_ns == 0  # nobody is to judge what so long a pace wins
        assert one.iteration_ns < 430 * MS  # a job that is suddenly early knows why, and waits
        assert one.hold_ns > 15 * MS
    assert len(played.daemons.schedules) == 2
    for name in "ab":
        played.daemons.job(name).sending_ms = 173
    played.settle()
    assert played.paces()["a"] < 425
    assert all(one.gain_ns > 40 * MS for one in played.daemons.schedules.values())


def test_jobs_of_several_ranks_get_longer_paces_where_all_that_was_seen_is_rank_0() -> None:
    """It waited in each iteration since they were parted, so how late the others are did not show."""
    paces = {}
    for ranks in (1, 8):
        played = Played(two())
        for name in "ab":
            job = played.daemons.job(name)
            job.world_size, job.jitter = ranks, 0.03
        played.look(32)
        played.settle()
        paces[ranks] = played.paces()["a"]
    assert paces[1] + 1 < paces[8] < paces[1] + 4  # of a standard deviation of 7 ms


def test_a_pace_that_turns_out_too_short_is_made_longer() -> None:
    """By less than what makes a job another one."""
    played = Played(two())
    played.look(32)
    played.settle()
    before = played.paces()["a"]
    for name in "ab":
        job = played.daemons.job(name)
        job.rest_ms, job.state = job.rest_ms + 6, "adjusting"
    for _ in range(8):
        played.look(5)
    assert "cannot keep its pace" in played.arranged()[-1]
    played.settle()
    assert before + 4 < played.paces()["a"] < before + 12


def test_jobs_that_hold_each_other_up_for_long_are_parted_again() -> None:
    """What communication takes is known by then, and whatever is in the way, it is not forgotten."""
    played = Played(two())
    played.look(32)
    played.settle()
    before = played.paces()["a"]
    for name in "ab":
        job = played.daemons.job(name)
        job.sending_ms, job.state = 260, "adjusting"
    for _ in range(6):
        played.look(5)
    assert played.arranged()[-1] == "a cannot keep its pace, b cannot keep its pace"
    assert played.paces()["a"] > 425
    hold_ms = {one.hold_ns / MS for one in played.daemons.schedules.values()}
    assert min(hold_ms) > 20
    for name in "ab":
        played.daemons.job(name).sending_ms = 173
    played.settle()
    assert played.paces()["a"] == pytest.approx(before, rel=0.005)


def test_a_job_that_is_out_of_its_place_for_a_moment_is_nobody_else() -> None:
    played = Played(two())
    played.look(32)
    played.settle()
    told = len(played.told)
    for k in range(12):
        for name in "ab":
            job = played.daemons.job(name)
            job.state = "adjusting" if k % 3 == 0 else "held"
            job.sending_ms = 250 if k % 3 == 0 else 173
        played.look(4)
    assert len(played.told) == told


def test_a_job_without_marks_is_left_out_and_the_others_are_not() -> None:
    played = Played(two(c=PlayedJob(240, 100, marks=False)))
    for _ in range(5):
        played.look(32)
    assert [event for event in played.told if isinstance(event, NotKnown)] == [
        NotKnown("c", "none of its last 32 iterations says when it communicated")
    ]
    assert sorted(played.daemons.schedules) == ["a", "b"]


def test_only_rank_0_of_a_job_counts_and_only_jobs_that_cross_a_link() -> None:
    daemons = two()
    rank_1 = PlayedJob(1, 1)
    daemons.hosts["http://other:1"]["a"] = rank_1
    daemons.hosts["http://other:1"]["z"] = PlayedJob(200, 100)
    rank_1.run = lambda many: None  # type: ignore[method-assign]
    played = Played(daemons, Network({"up": 50.0}, {"a": {"up": 1.0}, "b": {"up": 1.0}}))
    played.look(32)
    assert {(event.job, event.host) for event in played.told if isinstance(event, Found)} == {
        ("a", "one"),
        ("b", "other"),
    }


def test_jobs_on_different_links_are_different_groups_and_one_that_fails_costs_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = {job: PlayedJob(240, 173) for job in "abcd"}
    daemons = PlayedDaemons(one=pairs)
    routes = {"a": {"x": 1.0}, "b": {"x": 1.0}, "c": {"y": 1.0}, "d": {"y": 1.0}}
    played = Played(daemons, Network({"x": 50.0, "y": 50.0}, routes))
    arrange = planning.arrange

    def failing(problem: object, **options: object) -> object:
        if any(job.id == "a" for job in problem.jobs):  # type: ignore[attr-defined]
            raise ZeroDivisionError("by a fault of ours")
        return arrange(problem, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "arrange", failing)
    daemons.run(32)
    for _ in range(5):
        asyncio.run(played.engine.look())
    told = [event for event in played.told if isinstance(event, Failed)]
    assert [event.count for event in told] == [1, 2, 4]
    assert "ZeroDivisionError: by a fault of ours" in describe(told[0])
    assert sorted(daemons.schedules) == ["c", "d"]
    monkeypatch.setattr(planning, "arrange", arrange)
    asyncio.run(played.engine.look())
    assert played.arranged() == ["new", "new"]


def test_who_costs_the_others_too_much_is_left_out_for_a_while() -> None:
    played = Played(two(c=PlayedJob(300, 60)))
    played.look(32)
    component = played.daemons.schedules["a"].component
    played.engine._hear(of_coordinator.MemberFreed(component, "c", 0.2))
    played.look(5)
    assert played.arranged() == ["new", "c left"]
    assert played.daemons.schedules["a"].component == played.daemons.schedules["b"].component != component


def test_what_is_not_worth_it_is_left_alone_until_somebody_comes() -> None:
    played = Played(two())
    played.look(32)
    played.engine._hear(of_coordinator.OverBudget(played.daemons.schedules["a"].component, 0.2, 0.1))
    for name in "ab":
        played.daemons.job(name).rest_ms = 300
    for _ in range(8):
        played.look(5)
    assert played.arranged() == ["new"]
    played.daemons.hosts["http://one:1"]["c"] = PlayedJob(300, 60)
    played.look(20)
    assert played.arranged() == ["new", "c joined"]


def test_who_cannot_be_held_is_named_with_the_reason_once() -> None:
    daemons = PlayedDaemons(one={"a": PlayedJob(1, 412)}, other={"b": PlayedJob(1, 412)})
    played = Played(daemons)
    played.look(20)
    for _ in range(3):
        played.settle()
    told = [event for event in played.told if isinstance(event, LeftFree)]
    assert sorted(event.job for event in told) == ["a", "b"]
    assert all("interleaving wins" in event.why for event in told)
    assert daemons.schedules == {}


def test_a_daemon_that_refuses_is_told_of() -> None:
    daemons = two()
    daemons.faults = [400]
    played = Played(daemons)
    played.look(32)
    assert [type(event) for event in played.told if isinstance(event, NotSent)] == [NotSent]


def test_released_jobs_run_free_and_stay_so_until_the_next_update() -> None:
    played = Played(two())
    played.look(32)
    answers = asyncio.run(played.engine.release())
    assert [(one.job, one.accepted, one.reason) for one in answers] == [
        ("a", True, "interleaving ends"),
        ("b", True, "interleaving ends"),
    ]
    played.look(20)
    assert played.daemons.schedules == {}
    played.engine.update(network=ONE)
    played.look(20)
    assert sorted(played.daemons.schedules) == ["a", "b"]


def test_to_be_told_the_same_again_changes_nothing() -> None:
    """As by a scheduler that tells all that it knows in each round."""
    played = Played(two(), wanted={"a", "b"})
    played.look(32)
    before, told = dict(played.daemons.schedules), len(played.told)
    for _ in range(5):
        played.engine.update(Network.one_link("up", 50.0), played.daemons.endpoints(), ["b", "a"])
        played.look(20)
    assert (dict(played.daemons.schedules), len(played.told)) == (before, told)


def test_another_network_is_arranged_for() -> None:
    played = Played(two())
    played.look(32)
    played.engine.update(Network.one_link("up", 25.0))
    played.look(5)
    assert played.arranged() == ["new", "another network"]
    with pytest.raises(ValueError, match="cross a link"):
        played.engine.update(Network({}), wanted={"a"})
    assert played.engine.scope.network == Network.one_link("up", 25.0)


def test_jobs_by_name_must_cross_a_link() -> None:
    with pytest.raises(ValueError, match="cross a link of the network, got 'z'"):
        Played(two(), Network({"up": 1.0}, {"a": {"up": 1.0}}), wanted={"a", "z"})


def test_of_jobs_by_name_only_these_take_part() -> None:
    played = Played(two(c=PlayedJob(363, 50)), wanted={"a", "b"})
    played.look(32)
    assert sorted(played.daemons.schedules) == ["a", "b"]
    played.engine.update(wanted={"a", "b", "c"})
    played.look(20)
    assert sorted(played.daemons.schedules) == ["a", "b", "c"]


def test_every_event_can_be_told_in_a_line() -> None:
    from typing import get_args

    made = []
    for kind in (*get_args(of_coordinator.Event), Found, Gone, NotKnown, LeftFree, NotSent, GoesOn, Failed):
        values: dict[str, object] = {}
        for name, annotation in kind.__annotations__.items():
            values[name] = {
                "int": 5_000_000,
                "float": 0.5,
                "str": name,
                "tuple[str, ...]": ("a", "b"),
                "dict[str, int]": {"a": 5_000_000},
            }[annotation]
        made.append(describe(kind(**values)))
    assert all(line and "\n" not in line for line in made)
    assert describe(of_coordinator.Rephased("c", 5_000_000, 7_000_000)) == (
        "c: rephased: epoch shift 5.0 ms, wait 7.0 ms"
    )
