"""When ranks begin: no rank holds the others longer than rank 0 meant to, whatever its clock, its sleep or its host."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.control.release import COMPARED, Follower, Release
from cassini_agent.schedule import MS_NS, SECOND_NS

PACE = 200 * MS_NS
NATURAL = 190 * MS_NS

times = st.integers(-(10**18), 10**18)


def release(reached_ns: int, until_ns: int) -> Release:
    return Release(reached_ns, until_ns, until_ns - PACE // 4, until_ns + PACE)


@given(times, times, st.integers(0, PACE), st.integers(-PACE, PACE))
def test_a_wait_ends_at_its_time_and_is_never_longer_than_its_window(
    now: int, until: int, before: int, after: int
) -> None:
    one = Release(until - PACE, until, until - before, until + after)
    for at in (now, until - now % (2 * PACE), until - before, until + after):
        wait = one.wait_ns(at)
        assert 0 <= wait <= before
        assert wait == 0 or at + wait == until
        if at < one.earliest_ns or at > one.latest_ns:
            assert wait == 0


@given(st.integers(0, PACE), st.integers(0, 2 * PACE))
def test_for_a_host_that_runs_ahead_no_wait_gets_as_long_as_a_pace(before: int, ahead: int) -> None:
    one = Release(0, PACE, PACE - min(before, PACE - 1), 2 * PACE)
    wider = one.ahead(ahead, PACE)
    assert wider.earliest_ns <= one.earliest_ns
    assert wider.until_ns - wider.earliest_ns < PACE
    assert wider.ahead(0, PACE) == wider


@given(times, st.integers(-100, 100), st.lists(st.integers(0, 300_000), min_size=20, max_size=60))
def test_ranks_with_different_clocks_begin_together(offset: int, ppm: int, skews_ns: list[int]) -> None:
    zero, other = Follower(decides=True), Follower()
    next_: Release | None = None
    end = 0
    for k, skew in enumerate(skews_ns):
        theirs = end + skew
        clock = theirs + offset + theirs * ppm // 1_000_000
        begins = end + zero.wait_ns(k, next_, end), theirs + other.wait_ns(k, next_, clock)
        if k > 1:
            drift = COMPARED * PACE * abs(ppm) // 1_000_000
            assert abs(begins[0] - begins[1]) <= max(skews_ns) + drift
        next_ = release(end, (k + 1) * PACE)
        end = max(begins) + NATURAL


def test_a_rank_that_oversleeps_every_time_gets_no_later_by_that() -> None:
    """Counted from its own start each time, it would be later by 0.2 ms with every iteration."""
    zero, other = Follower(decides=True), Follower()
    next_: Release | None = None
    end, late = 0, []
    for k in range(3000):
        waits = zero.wait_ns(k, next_, end), other.wait_ns(k, next_, end + 7 * SECOND_NS)
        begins = end + waits[0], end + waits[1] + (200_000 if waits[1] else 0)
        late.append(begins[1] - begins[0])
        next_ = release(end, (k + 1) * PACE)
        end = max(begins) + NATURAL
    assert max(late) == 200_000


@pytest.mark.parametrize("late_ms", [1, 5, 50])
def test_who_came_late_once_does_not_wait_longer_after_it(late_ms: int) -> None:
    zero, other = Follower(decides=True), Follower()
    next_: Release | None = None
    end = 0
    for k in range(60):
        theirs = end + (late_ms * MS_NS if k % 10 == 9 else 0)
        begins = end + zero.wait_ns(k, next_, end), theirs + other.wait_ns(k, next_, theirs)
        if k > 0:
            assert max(begins) <= max(k * PACE, theirs)
        next_ = release(end, (k + 1) * PACE)
        end = max(begins) + NATURAL


@given(st.integers(0, 2**32), st.integers(1, 180))
def test_a_host_ahead_of_its_gpu_waits_less_and_never_more(seed: int, ahead_ms: int) -> None:
    """It comes before the collective ends, and not always by as much."""
    rng = random.Random(seed)
    other = Follower()
    next_: Release | None = None
    for k in range(50):
        end = k * PACE - 10 * MS_NS
        comes = end - rng.randrange(ahead_ms * MS_NS)
        wait = other.wait_ns(k, next_, comes)
        assert comes + wait <= max(comes, k * PACE)
        next_ = release(end, (k + 1) * PACE)


def test_nothing_is_waited_without_a_decision_nor_after_a_pause_nor_twice() -> None:
    rank = Follower()
    comes = [k * PACE - 10 * MS_NS for k in range(8)]
    decided = [release(comes[k - 1], k * PACE) for k in range(8)]
    assert rank.wait_ns(0, None, comes[0]) == 0
    assert rank.wait_ns(1, decided[1], comes[1]) == 10 * MS_NS
    assert rank.wait_ns(2, None, comes[2]) == 0
    rank.interrupted()
    assert rank.wait_ns(3, decided[3], comes[3]) == 0
    assert rank.wait_ns(4, decided[4], comes[4]) == 10 * MS_NS
    assert rank.wait_ns(6, decided[6], comes[6]) == 0  # it did not come to the fifth


def test_everybody_begins_at_once_where_nothing_is_to_be_waited_for() -> None:
    assert [Release.at_once(7).wait_ns(at) for at in (-PACE, 0, 7, PACE)] == [0] * 4
