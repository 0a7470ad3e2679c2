"""Totals of counters that wrap, are reset, stick at their top or go away."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cassini_agent.counters.unwrap import BREAK, Unwrapper

MS = 1_000_000
PER_SECOND = 12_500_000_000  # 100 Gbit/s, bytes
PER_MS = PER_SECOND // 1000

steps = st.lists(st.tuples(st.integers(MS // 2, 20 * MS), st.floats(0, 1)), min_size=1, max_size=60)


def unwrapper(scale: int, width: int | None) -> Unwrapper:
    return Unwrapper(scale, wide=width == 64, per_second=PER_SECOND)


@given(steps=steps, start=st.integers(0, 2**64 - 1), width=st.sampled_from([32, 64]), told=st.booleans())
def test_a_counter_that_wraps_counts_on(steps: list[tuple[int, float]], start: int, width: int, told: bool) -> None:
    made = unwrapper(4, width if told else None)
    words = start % 2**width
    # A counter of unknown width that was never above 2^32 - 1 cannot be told from a narrow one; start where it can.
    words = words | 2**33 if width == 64 and not told else words
    assume(width == 64 or words % 2**32 != 2**32 - 1)  # There it would have stopped.
    now = true = 0
    assert made.advance(words % 2**width, now) == 0
    for span, share in steps:
        now += span
        counted = int(share * PER_SECOND * span / 1e9) // 4
        words += counted
        true += 4 * counted
        total = made.advance(words % 2**width, now)
        if width == 32 and words % 2**32 == 2**32 - 1:
            return
        assert total == true


@given(steps=steps, at=st.integers(0, 59), start=st.integers(2**33, 2**63), after=st.integers(0, 2**32))
def test_a_reset_of_a_wide_counter_is_a_break_and_never_traffic(
    steps: list[tuple[int, float]], at: int, start: int, after: int
) -> None:
    made = unwrapper(4, None)
    words, now, true = start, 0, 0
    made.advance(words, now)
    for number, (span, share) in enumerate(steps):
        now += span
        counted = int(share * PER_SECOND * span / 1e9) // 4
        if number == at:
            words = after
            assert made.advance(words, now) == BREAK
        else:
            words += counted
            true += 4 * counted
            assert made.advance(words, now) == true


@given(before=st.integers(1, 2**32 - 2), after=st.integers(0, 2**32 - 2), span=st.integers(MS // 10, 300 * MS))
def test_a_narrow_counter_never_claims_more_than_the_link_carries(before: int, after: int, span: int) -> None:
    made = unwrapper(4, 32)
    made.advance(before, 0)
    total = made.advance(after, span)
    if after >= before:
        most = 1.25 * 100e9 * (span + 20 * MS) / 1e9
        assert total == (4 * (after - before) if 4 * (after - before) <= most else BREAK)
    else:
        assert total == BREAK or total <= 1.25 * PER_SECOND * (span + 20 * MS) / 1e9


def test_a_narrow_counter_at_its_top_has_stopped_counting() -> None:
    made = unwrapper(4, 32)
    top = 2**32 - 1
    assert made.advance(top - 1000, 0) == 0
    assert [made.advance(top, n * MS) for n in (1, 2, 3)] == [BREAK] * 3
    assert made.advance(500, 4 * MS) == BREAK  # Somebody cleared it.
    assert made.advance(600, 5 * MS) == 400


def test_a_narrow_counter_not_read_for_long_is_ambiguous() -> None:
    made = unwrapper(4, None)
    made.advance(1000, 0)
    assert made.advance(2000, 700 * MS) == BREAK
    assert made.advance(3000, 701 * MS) == 4000


@given(
    width=st.sampled_from([32, 64]),
    scale=st.sampled_from([1, 4]),
    per_second=st.sampled_from([10**8, 10**9, 5 * 10**10]),
    start=st.integers(0, 2**64 - 1),
    steps=st.lists(
        st.tuples(st.sampled_from([MS, 10 * MS, 100 * MS, 1000 * MS, 30_000 * MS]), st.floats(0, 1)), max_size=40
    ),
)
def test_however_seldom_it_is_read_what_it_says_was_counted_was(
    width: int, scale: int, per_second: int, start: int, steps: list[tuple[int, float]]
) -> None:
    made = Unwrapper(scale, wide=width == 64, per_second=per_second)
    now, true = 0, start % 2**width
    before: tuple[int, int] | None = (made.advance(true, now), true)
    for span, share in steps:
        now += span
        true += int(share * per_second * span / 1e9) // scale
        total = made.advance(true % 2**width, now)
        if total != BREAK and before is not None:
            assert total - before[0] == scale * (true - before[1])
        before = None if total == BREAK else (total, true)


@given(st.integers(1, 2**40), st.integers(MS // 2, 10_000 * MS), st.sampled_from([1, 4]), st.booleans())
def test_a_gain_beyond_all_links_was_not_there(before: int, span: int, scale: int, wide: bool) -> None:
    """All ones, as a device shows that is gone, or a driver that counted below zero."""
    made = Unwrapper(scale, wide=wide)
    made.advance(before, 0)
    assert made.advance(2**64 - before, span) == BREAK
    assert made.advance(2**64 - before + 1, span + MS) == scale


def test_width_known_nothing_is_ambiguous() -> None:
    made = unwrapper(4, 64)
    made.advance(1000, 0)
    assert made.advance(2000, 3600_000 * MS) == 4000


def test_what_comes_back_after_it_was_gone_is_another_counter() -> None:
    made = unwrapper(1, 64)
    made.advance(5000, 0)
    assert made.advance(6000, MS) == 1000
    made.lost()
    assert made.advance(7000, 2 * MS) == BREAK
    assert made.advance(7500, 3 * MS) == 1500


@pytest.mark.parametrize(("per_second", "expected"), [(PER_SECOND, 800_000), (PER_SECOND / 1000, BREAK)])
def test_the_speed_of_the_link_tells_a_wrap_from_a_reset(per_second: float, expected: int) -> None:
    made = Unwrapper(4, per_second=per_second)
    made.advance(2**32 - 100_000, 0)
    assert made.advance(100_000, MS) == expected


@pytest.mark.parametrize("refresh_ms", [10, 100, 1000])
def test_a_counter_that_is_rarely_refreshed_gains_much_at_once(refresh_ms: int) -> None:
    """A port of 400 Gbit/s, read every ms, whose driver shows new totals ten times a second or once."""
    made = Unwrapper(wide=True)
    for tick in range(5000):
        shown = tick // refresh_ms * refresh_ms * 50_000_000
        assert made.advance(2**40 + shown, tick * MS) == shown
