"""Who is missing, for how long: by what was seen, whatever the coordinator's clock does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from played_members import schedule

from cassini_agent.coordinator import events
from cassini_agent.coordinator.component import NO_GRID_NS, Component
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.presence import GONE_NS, LOST_NS, MISSING_NS
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.schedule import SECOND_NS

HOUR_NS = 3600 * SECOND_NS


def status(job: str, state: str, connected: bool = True) -> JobStatus:
    return JobStatus(job, state, 1, 1, schedule=schedule(job), connected=connected, errors_ns=(0,), place_ns=0)


SEEN = {
    "here": status("a", "held"),
    "unlocked": status("a", "unlocked"),
    "not connected": status("a", "waiting", connected=False),
    "silent": status("a", "silent"),
    "its daemon does not answer": None,
}
LEAVES_NS = {
    "unlocked": NO_GRID_NS,
    "not connected": GONE_NS,
    "silent": LOST_NS,
    "its daemon does not answer": LOST_NS,
}


@given(
    looks=st.lists(
        st.tuples(st.sampled_from([*SEEN, "not connected", "not connected"]), st.integers(1, 40)),
        min_size=1,
        max_size=8,
    ),
    sets=st.dictionaries(st.integers(0, 120), st.integers(-HOUR_NS, HOUR_NS), max_size=3),
)
def test_a_clock_that_is_set_makes_nobody_leave_or_be_told_of_again(
    looks: list[tuple[str, int]], sets: dict[int, int]
) -> None:
    """A look each second."""
    component = Component(Member(schedule(job), host=job) for job in "abc")
    clock_ns = 10 * HOUR_NS
    begun_s, why, told_missing = 0, "here", False
    for second, now in enumerate(state for state, seconds in looks for _ in range(seconds)):
        clock_ns += SECOND_NS + sets.get(second, 0)
        if now != why:
            begun_s, why = second, now
        lasts_ns = (second - begun_s) * SECOND_NS
        known = {job: status(job, "held") for job in "bc"} | ({} if (seen := SEEN[now]) is None else {"a": seen})
        outcome = component.decide(known, clock_ns, second * SECOND_NS)
        told = [event for event in outcome.events if isinstance(event, events.MemberMissing | events.MemberBack)]
        leaves = now != "here" and lasts_ns >= LEAVES_NS[now] + (now == "unlocked")
        assert ("a" not in component.members) == leaves
        if leaves:
            return
        is_missing = now not in ("here", "unlocked") and lasts_ns >= MISSING_NS
        was_told, told_missing = told_missing, is_missing or (told_missing and now not in ("here", "unlocked"))
        assert [type(event) for event in told] == [
            [events.MemberBack, events.MemberMissing][told_missing] for _ in range(told_missing != was_told)
        ]
