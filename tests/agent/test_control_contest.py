"""Two coordinators at once: whatever each decides, and whoever is first where, both come to know one and the same."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from played_members import PACE, Played, schedule

from cassini_agent.coordinator import events
from cassini_agent.coordinator.component import Component
from cassini_agent.coordinator.member import Member
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule


def three() -> list[Member]:
    return [Member(schedule(job, shift_ns=i * PACE // 3), host=job) for i, job in enumerate("abc")]


class Contest:
    """Daemons that take what is newer, and refuse another content of a version that they have."""

    def __init__(self) -> None:
        self.coordinators = [Component(three()), Component(three())]
        self.played = Played({member.schedule.job: member for member in three()}, dict.fromkeys("abc", 0))
        self.told: list[list[events.Event]] = [[], []]
        self.refused = 0

    def look(self, now_ns: int, apart_ns: int, order: random.Random) -> None:
        """Both ask, both decide, and what they send arrives in any order. Their clocks are so far apart."""
        statuses = {job: self.played.status(job) for job in "abc"}
        sent: list[Schedule] = []
        for index, coordinator in enumerate(self.coordinators):
            outcome = coordinator.decide(statuses, now_ns + index * apart_ns, now_ns + index * apart_ns)
            self.told[index] += outcome.events
            sent += outcome.send
        order.shuffle(sent)
        for one in sent:
            self._put(one, now_ns)
        self.played.iterations += 5

    def _put(self, one: Schedule, now_ns: int) -> None:
        has = self.played.has[one.job]
        if one.version > has.version:
            self.played._take(one, now_ns)
        elif one != has:
            self.refused += 1

    def known(self) -> Iterable[Mapping[str, Schedule]]:
        return [{job: member.schedule for job, member in one.members.items()} for one in self.coordinators]


@settings(deadline=None, max_examples=60)
@given(
    late=st.lists(st.tuples(st.sampled_from("abc"), st.integers(8, 90)), min_size=1, max_size=4),
    apart_ms=st.integers(1, 60),
    seed=st.integers(0, 2**32),
)
def test_both_end_with_what_the_daemons_have_which_is_one_pattern(
    late: list[tuple[str, int]], apart_ms: int, seed: int
) -> None:
    order = random.Random(seed)
    contest = Contest()
    second = 0
    for job, late_ms in late:
        contest.played.errors_ns[job] = late_ms * MS_NS
        for _ in range(order.randint(1, 4)):
            contest.look(second * SECOND_NS, apart_ms * MS_NS, order)
            second += 1
    for _ in range(40):
        contest.look(second * SECOND_NS, apart_ms * MS_NS, order)
        second += 1
    has = contest.played.has
    assert len({(one.version, one.epoch_ns) for one in has.values()}) == 1
    for known in contest.known():
        assert known == has


def test_of_two_contents_of_one_version_both_are_told_and_one_is_left() -> None:
    """Each was first at one of the daemons."""
    contest = Contest()
    contest.look(0, 0, random.Random(0))
    for index, coordinator in enumerate(contest.coordinators):
        for job, member in coordinator.members.items():
            member.schedule = replace(member.schedule, version=2, epoch_ns=(10 + 20 * index) * MS_NS)
            if job != "ab"[1 - index]:
                contest._put(member.schedule, SECOND_NS)
    assert {one.version for one in contest.played.has.values()} == {2}
    assert len({one.epoch_ns for one in contest.played.has.values()}) == 2
    for second in range(2, 12):
        contest.look(second * SECOND_NS, 0, random.Random(second))
    assert len({(one.version, one.epoch_ns) for one in contest.played.has.values()}) == 1
    for known, told in zip(contest.known(), contest.told, strict=True):
        assert known == contest.played.has
        assert any(isinstance(event, events.Adopted) for event in told)


def test_what_is_withdrawn_at_the_version_that_is_held_is_noticed() -> None:
    contest = Contest()
    contest.played.cleared.add("b")
    contest.look(0, 0, random.Random(0))
    assert contest.told == [[events.Superseded("c", ("b",))]] * 2
