"""Iterations that differ in turn are known by that, and jitter is not taken for it."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.control.pattern import LONGEST, WINDOW, pattern
from cassini_agent.schedule import MS_NS


def times(turns_ms: list[float], jitter_ms: float = 0.0, seed: int = 0, first: int = 0) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [
        (k, round((turns_ms[k % len(turns_ms)] + rng.gauss(0, jitter_ms)) * MS_NS))
        for k in range(first, first + WINDOW)
    ]


@given(st.lists(st.integers(190, 260), min_size=2, max_size=LONGEST), st.integers(0, 10**6))
def test_without_jitter_any_pattern_is_found_where_it_lies(turns_ms: list[float], first: int) -> None:
    found = pattern(times(turns_ms, first=first))
    mean = sum(turns_ms) / len(turns_ms)
    if not found:
        # Then it is none, but for a few iterations that stand out.
        assert sum(abs(each - sorted(turns_ms)[len(turns_ms) // 2]) for each in turns_ms) < 70 * len(turns_ms)
        return
    assert len(found) <= LONGEST
    if len(turns_ms) % len(found) == 0 and len(set(turns_ms)) == len(turns_ms):
        assert found == tuple(round((each - mean) * MS_NS) for each in turns_ms)


@pytest.mark.parametrize("jitter_ms", [0.0, 1.1, 3.3])
@pytest.mark.parametrize(
    "turns_ms", [[187, 207], [197, 197, 197, 307], [190, 200, 201], [180] * 7 + [300], [190, 200, 210, 200, 195]]
)
@pytest.mark.parametrize("seed", range(5))
def test_with_jitter_it_is_found_too(turns_ms: list[float], jitter_ms: float, seed: int) -> None:
    found = pattern(times(turns_ms, jitter_ms, seed))
    assert len(found) == len(turns_ms)
    mean = sum(turns_ms) / len(turns_ms)
    for deviation, turn in zip(found, turns_ms, strict=True):
        assert abs(deviation - (turn - mean) * MS_NS) <= 4 * jitter_ms * MS_NS / math.sqrt(WINDOW / len(turns_ms)) + 1


@pytest.mark.parametrize("seed", range(200))
def test_jitter_is_no_pattern(seed: int) -> None:
    assert pattern(times([197], 3.3, seed)) == ()


def test_equal_times_few_times_and_stalls_are_none() -> None:
    assert pattern(times([197])) == ()
    assert pattern(times([187, 207])[:40]) == ()
    alternating = times([187, 207], 1.0)
    stalled = [(k, 17_000 * MS_NS if k in (9, 60) else natural) for k, natural in alternating]
    assert len(pattern(stalled)) == 2
