"""Auctions against brute force: the product is the largest there is, and payments are what their definition says."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.schedulers.themis.auction import Bid, payments, rounded, winners

RHO = st.floats(0.01, 100.0)


@st.composite
def auctions(draw: st.DrawFn) -> tuple[list[Bid], int]:
    bids = []
    for number in range(draw(st.integers(1, 4))):
        of_use = draw(st.sets(st.integers(1, 5), max_size=4))
        rhos = {count: draw(RHO) for count in sorted(of_use)}
        bids.append(Bid(f"t{number}", draw(st.integers(1, 2)), {0: draw(RHO), **rhos}))
    return bids, draw(st.integers(0, 8))


def product(bids: Sequence[Bid], won: Sequence[int]) -> float:
    return math.prod(1.0 / bid.rhos[workers] for bid, workers in zip(bids, won, strict=True))


def possible(bids: Sequence[Bid], gpus: int) -> list[tuple[int, ...]]:
    return [
        won
        for won in itertools.product(*(bid.rhos for bid in bids))
        if sum(count * bid.gpus_per_worker for count, bid in zip(won, bids, strict=True)) <= gpus
    ]


@given(auctions())
def test_winners_have_the_largest_product(auction: tuple[list[Bid], int]) -> None:
    bids, gpus = auction
    won = tuple(winners(bids, gpus))
    assert won in possible(bids, gpus)
    assert product(bids, won) == pytest.approx(max(product(bids, one) for one in possible(bids, gpus)))


@given(auctions())
def test_payments_are_what_bidders_take_from_the_others(auction: tuple[list[Bid], int]) -> None:
    bids, gpus = auction
    won = winners(bids, gpus)
    for index, part in enumerate(payments(bids, gpus, won)):
        others = bids[:index] + bids[index + 1 :]
        with_it = product(others, won[:index] + won[index + 1 :])
        without = max(product(others, one) for one in possible(others, gpus))
        assert 0.0 < part <= 1.0
        assert part == pytest.approx(with_it / without)


def test_a_bidder_alone_and_one_that_takes_from_nobody_pay_nothing() -> None:
    alone = Bid("a", 1, {0: 9.0, 4: 1.0})
    assert payments([alone], 4, winners([alone], 4)) == [1.0]
    pair = [alone, Bid("b", 1, {0: 9.0, 4: 1.0})]
    assert payments(pair, 8, winners(pair, 8)) == [1.0, 1.0]


def test_two_of_whom_one_can_win_pay_the_others_loss() -> None:
    bids = [Bid("a", 1, {0: 10.0, 4: 1.0}), Bid("b", 1, {0: 2.0, 4: 1.0})]
    assert winners(bids, 4) == [4, 0]
    assert payments(bids, 4, [4, 0]) == pytest.approx([0.5, 1.0])


@given(st.sets(st.integers(1, 12)), st.floats(0.0, 1.0), st.data())
def test_rounding_is_of_use_and_right_on_average(of_use: set[int], part: float, data: st.DataObject) -> None:
    counts = sorted({0, *of_use})
    bid = Bid("a", 1, dict.fromkeys(counts, 1.0))
    won = data.draw(st.sampled_from(counts))
    rng = random.Random(1)
    drawn = [rounded(bid, won, part, rng) for _ in range(300)]
    assert set(drawn) <= {count for count in counts if count <= won}
    assert sum(drawn) / len(drawn) == pytest.approx(part * won, abs=0.1 * max(1, won))
    assert rounded(bid, won, 1.0, rng) == won


def test_of_equal_products_the_one_with_fewer_gpus_wins() -> None:
    assert winners([Bid("a", 1, {0: 2.0, 1: 1.0, 2: 1.0})], 4) == [1]
