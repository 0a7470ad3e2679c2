"""Who is missing, for how long: by what was seen, whatever the coordinator's clock does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.coordinator import events
from cassini_agent.coordinator.presence import GONE_NS, LOST_NS, Presence
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.schedule import SECOND_NS

HOUR_NS = 3600 * SECOND_NS

SEEN = {
    "here": JobStatus("a", "held"),
    "not connected": JobStatus("a", "waiting", connected=False),
    "silent": JobStatus("a", "silent"),
    "its daemon does not answer": None,
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
    """A look each second; each setting of the clock may count as two seconds more, or one less."""
    presence, clock_ns, was_set = Presence("c"), 10 * HOUR_NS, 0
    absent_s, why, told_missing = 0, "here", False
    for second, now in enumerate(state for state, seconds in looks for _ in range(seconds)):
        clock_ns += SECOND_NS + sets.get(second, 0)
        was_set += second in sets
        absent_s, why = (absent_s + 1 if now == why != "here" else 0), now
        known = {} if SEEN[now] is None else {"a": SEEN[now]}
        left, told = presence.look(["a"], known, clock_ns)
        needs_s = (GONE_NS if why == "not connected" else LOST_NS) // SECOND_NS
        if left:
            assert left == {"a": why}
            assert absent_s >= needs_s - 2 * was_set
            return
        assert why == "here" or absent_s <= needs_s + was_set
        for event in told:
            assert isinstance(event, events.MemberBack if told_missing else events.MemberMissing)
            told_missing = not told_missing
        assert not (why == "here" and told_missing)
