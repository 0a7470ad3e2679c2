"""What the scheduler is told of once, it is told of again when it comes back."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from played_members import PACE, Played, pair, run, schedule

from cassini_agent.control.change import Change
from cassini_agent.coordinator import events
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.paces import shift_at
from cassini_agent.coordinator.status import CountersSay
from cassini_agent.schedule import MS_NS


def test_a_change_is_told_each_time_it_comes_and_once_while_it_lasts() -> None:
    played = pair()
    run(played, 10)
    told = []
    for step, (value, was) in enumerate([(204, 197), (197, 204), (204, 197)]):
        played.changed = {"a": Change(value * MS_NS, was * MS_NS, certain=True)}
        told += run(played, 10, begin=10 * (step + 1))
        played.changed = {}  # a schedule with another iteration time has come
        told += run(played, 10, begin=10 * (step + 1) + 5)
    changes = [event.iteration_ns // MS_NS for event in told if isinstance(event, events.IterationChanged)]
    assert changes == [204, 197, 204]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(190, 212)), max_size=6))
def test_paces_follow_the_iteration_times_with_the_headroom_of_the_ranking(changes: list[tuple[str, int]]) -> None:
    """However they came to be what they are; and no pace is below the ranked one."""
    played = pair(gain_ns=60 * MS_NS)
    played.sends_ns = {"a": 120 * MS_NS, "b": 120 * MS_NS}
    takes_ms = dict.fromkeys("ab", 197)
    for step, (job, now_ms) in enumerate(changes):
        was_ms, takes_ms[job] = takes_ms[job], now_ms
        played.changed = {job: Change(now_ms * MS_NS, was_ms * MS_NS)} if now_ms != was_ms else {}
        run(played, 2, begin=10 * step)
        played.changed = {}
        run(played, 2, begin=10 * step + 5)
        pace = max(200, 3 + max(takes_ms.values())) * MS_NS
        assert {one.pace_ns for one in played.has.values()} == {pace}
        assert {name: one.iteration_ns // MS_NS for name, one in played.has.items()} == takes_ms


def test_a_ratio_that_is_broken_again_is_told_again() -> None:
    wide = {"hold_ns": 24 * MS_NS, "slack_ns": 24 * MS_NS}
    members = {
        "a": Member(schedule("a", pace_ns=PACE // 2, iteration_ns=98 * MS_NS, shift_ns=0, **wide), host="a"),
        "b": Member(schedule("b", **wide), host="b"),
    }
    played = Played(members, {"a": 0, "b": 0})
    run(played, 10)
    broken = []
    for step, slower in enumerate((103, 103, 98, 103)):
        played.changed = {"a": Change(slower * MS_NS, 98 * MS_NS, certain=True)}
        told = run(played, 70, begin=10 + 70 * step)
        broken.append(len([event for event in told if isinstance(event, events.RatioBroken)]))
    assert broken == [1, 0, 0, 1]


def test_a_contradiction_is_not_told_again_because_a_daemon_missed_a_round() -> None:
    played = pair()
    report = played.status
    say = {"counters_say": CountersSay("contradict", "bursts elsewhere", 12 * MS_NS, 0)}
    played.status = lambda job: replace(report(job), **say) if job == "a" else report(job)  # type: ignore[method-assign]
    told = [event for second in range(30) for event in played.poll(second, without=["a"] * (second % 7 == 3)).events]
    assert [event for event in told if isinstance(event, events.Contradicted)] == [
        events.Contradicted("c", "a", "bursts elsewhere")
    ]


@given(
    cuts=st.lists(st.integers(0, PACE - 1), min_size=4, max_size=8, unique=True).map(sorted),
    at=st.lists(st.floats(0, 1), min_size=4, max_size=4),
    longer_ns=st.integers(0, 20 * MS_NS),
)
def test_no_two_bursts_come_nearer_when_all_paces_get_longer(cuts: list[int], at: list[float], longer_ns: int) -> None:
    """Jobs that send one after the other, each somewhere in its own iteration."""
    bursts = list(pairwise(cuts))[::2]
    sends = [int(share * (PACE - (end - begin))) for (begin, end), share in zip(bursts, at, strict=False)]
    begun = []
    for (begin, _), sends_ns in zip(bursts, sends, strict=True):
        one = schedule("a", shift_ns=(begin - sends_ns) % PACE)
        begun.append((shift_at(PACE + longer_ns, one, PACE, sends_ns) + sends_ns) % (PACE + longer_ns))
    for i, (begin, end) in enumerate(bursts):
        for j, (other, _) in enumerate(bursts):
            if i != j:
                before = (other - end) % PACE
                after = (begun[j] - begun[i] - (end - begin)) % (PACE + longer_ns)
                assert before <= after <= before + longer_ns
