"""Intervals over seeds: how often they hold the median is counted, over all ways in which values can lie around it."""

from __future__ import annotations

from itertools import product
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core.simulation.estimate import CONFIDENCE, confidence_of, estimate_of

values = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


def held(count: int) -> float:
    """Share of all equally likely patterns of values below (-1) and above (1) a median of 0 whose interval holds it."""
    made = [estimate_of(signs) for signs in product((-1.0, 1.0), repeat=count)]
    return sum(one.low <= 0 <= one.high for one in made) / len(made)


@pytest.mark.parametrize("seeds", range(1, 13))
def test_the_confidence_is_how_often_the_interval_holds_the_median(seeds: int) -> None:
    assert held(seeds) == pytest.approx(confidence_of(seeds))
    assert confidence_of(seeds) >= CONFIDENCE or seeds < 6


def test_no_narrower_interval_is_confident_enough() -> None:
    for seeds in range(6, 13):
        inner = [sorted(signs) for signs in product((-1.0, 1.0), repeat=seeds)]
        outside = int(estimate_of(list(map(float, range(seeds)))).low)
        share = sum(one[outside + 1] <= 0 <= one[-2 - outside] for one in inner) / len(inner)
        assert share < CONFIDENCE


@given(values, st.randoms(use_true_random=False))
def test_the_median_lies_inside_and_the_order_does_not_matter(values: list[float], rng) -> None:  # type: ignore[no-untyped-def]
    found = estimate_of(values)
    assert found.median == median(values)
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
    assert estimate_of(rng.sample(values, len(values))) == found
    if len(values) < 6:
        assert (found.low, found.high) == (min(values), max(values))


@pytest.mark.parametrize("wrong", [[], [1.0, float("nan")], [float("inf")]])
def test_what_is_no_number_is_refused(wrong: list[float]) -> None:
    with pytest.raises(cc.InputError, match="values: expected finite numbers"):
        estimate_of(wrong)
