"""Merging intervals on the circle, and the robust statistics of the importers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cassini_core.errors import InputError
from cassini_core.model import Job, Phase
from cassini_core.profiles.phases import (
    Spread,
    align_rows,
    compact,
    drop_negligible,
    round_phases,
    simplify,
    superpose,
    volume_mbit,
)

PERIOD = 100.0


def phase_lists(longest: float = PERIOD) -> st.SearchStrategy[list[Phase]]:
    phase = st.builds(
        Phase,
        st.integers(0, 999).map(lambda x: x / 10),
        st.integers(1, round(10 * longest)).map(lambda x: x / 10),
        st.integers(1, 50).map(float),
    )
    return st.lists(phase, min_size=1, max_size=12)


def level(phases: list[Phase], at: float) -> float:
    """Demand at a time on the circle, straight from the definition; arcs may be longer than a turn."""
    total = 0.0
    for phase in phases:
        turns, rest = divmod(phase.duration_ms, PERIOD)
        total += phase.gbps * (turns + ((at - phase.start_ms) % PERIOD < rest))
    return total


# Off every edge: edges are multiples of 0.1.
PROBES = [k / 10 + 0.05 for k in range(0, 1000, 7)]


def assert_disjoint(phases: list[Phase]) -> None:
    for one, two in itertools.pairwise(phases):
        assert one.start_ms + one.duration_ms <= two.start_ms + 1e-9
    assert all(0 <= p.start_ms < PERIOD and p.duration_ms > 0 for p in phases)
    if phases:
        assert phases[-1].start_ms + phases[-1].duration_ms <= phases[0].start_ms + PERIOD + 1e-9


def neighbours(phases: list[Phase]) -> list[tuple[Phase, Phase]]:
    """Each phase and the next one on the circle."""
    return list(zip(phases, phases[1:] + phases[:1], strict=True))


@given(phase_lists(longest=2.5 * PERIOD))
def test_superposed_demand_is_the_sum_everywhere(phases: list[Phase]) -> None:
    disjoint = superpose(phases, PERIOD)
    assert_disjoint(disjoint)
    assert [level(disjoint, t) for t in PROBES] == pytest.approx([level(phases, t) for t in PROBES])


@given(phase_lists(), st.integers(1, 50))
def test_superposed_by_maximum_is_one_rate_wherever_anything_is_on(phases: list[Phase], rate: int) -> None:
    alike = [Phase(p.start_ms, p.duration_ms, rate) for p in phases]
    disjoint = superpose(alike, PERIOD, combine="max")
    assert [level(disjoint, t) for t in PROBES] == [rate if level(alike, t) else 0 for t in PROBES]


@given(phase_lists(), st.integers(0, 300).map(lambda x: x / 10))
def test_compact_keeps_bytes_and_leaves_no_narrow_gap(phases: list[Phase], gap: float) -> None:
    disjoint = superpose(phases, PERIOD)
    joined = compact(disjoint, PERIOD, gap)
    assert_disjoint(joined)
    assert volume_mbit(joined) == pytest.approx(volume_mbit(phases))
    assert len(joined) <= len(disjoint)
    for phase, following in neighbours(joined):
        width = (following.start_ms - phase.start_ms - phase.duration_ms) % PERIOD
        always_on = phase.duration_ms == pytest.approx(PERIOD)
        assert always_on or min(width, PERIOD - width) < 1e-6 or width > gap - 1e-6


# Gaps and lengths are multiples of 0.1: no length of a gap lies on the edge of a decision.
@given(phase_lists(), st.integers(0, 300).map(lambda x: x / 10 + 0.037), st.integers(1, 999).map(lambda x: x / 10))
def test_compact_does_not_depend_on_where_the_circle_is_cut(phases: list[Phase], gap: float, turn: float) -> None:
    turned = [Phase((p.start_ms + turn) % PERIOD, p.duration_ms, p.gbps) for p in phases]
    here, there = (superpose(p, PERIOD) for p in (phases, turned))
    gaps = sorted((two.start_ms - one.start_ms - one.duration_ms) % PERIOD for one, two in neighbours(here))
    assume(len(gaps) < 2 or gaps[-1] - gaps[-2] > 1e-6)  # of two widest gaps either may be the end of the circle
    joined, other = compact(here, PERIOD, gap), compact(there, PERIOD, gap)
    assert [level(other, (t + turn) % PERIOD) for t in PROBES] == pytest.approx([level(joined, t) for t in PROBES])


def test_compact_joins_over_the_end_of_the_circle() -> None:
    joined = compact([Phase(0, 10, 5), Phase(40, 10, 8), Phase(90, 10, 5)], PERIOD, 0.0)
    assert joined == [Phase(40, 10, 8), Phase(90, 20, 5)]


def test_alike_neighbours_become_one_from_start_to_end() -> None:
    assert compact([Phase(10, 5, 10), Phase(16, 4, 10)], PERIOD, 2.0) == [Phase(10, 10, 9)]


def test_neighbours_of_different_rate_stay_two_phases_without_a_gap() -> None:
    assert compact([Phase(10, 9, 10), Phase(20, 10, 40)], PERIOD, 1.0) == [Phase(10, 10, 9), Phase(20, 10, 40)]


@given(phase_lists(), st.floats(0, 0.9))
def test_dropping_stays_within_its_share(phases: list[Phase], share: float) -> None:
    kept = drop_negligible(phases, share)
    assert volume_mbit(kept) >= (1 - share) * volume_mbit(phases) * (1 - 1e-12)
    remaining = iter(phases)
    assert all(phase in remaining for phase in kept), "order changed, or a phase was made up"
    left_out = sorted(p.duration_ms * p.gbps for p in phases if p not in kept)
    assert not left_out or left_out[-1] <= min(p.duration_ms * p.gbps for p in kept)


def test_many_small_phases_are_not_negligible_together() -> None:
    many = [Phase(k / 2, 0.1, 10) for k in range(200)]
    assert len(drop_negligible(many, 0.005)) == 199


@given(phase_lists(), st.integers(1, 6), st.integers(0, 10).map(float))
def test_simplify_keeps_to_the_number_of_phases(phases: list[Phase], most: int, gap: float) -> None:
    few, used = simplify(phases, PERIOD, gap_ms=gap, negligible=0.0, max_phases=most)
    assert 1 <= len(few) <= most
    assert used >= gap
    assert volume_mbit(few) == pytest.approx(volume_mbit(phases))
    assert_disjoint(few)


@given(phase_lists(longest=PERIOD / 3), st.integers(3, 9))
def test_rounding_makes_a_valid_job_and_no_overlap(phases: list[Phase], odd: int) -> None:
    period = 100.3333
    scaled = [Phase(p.start_ms * period / PERIOD, p.duration_ms / odd, p.gbps / 7) for p in phases]
    rounded = round_phases(superpose(scaled, period), period)
    Job("a", period, tuple(rounded))
    for one, two in itertools.pairwise(rounded):
        assert one.start_ms + one.duration_ms <= two.start_ms + 1e-9
    for phase in rounded:
        assert (phase.start_ms, phase.duration_ms) == (round(phase.start_ms, 4), round(phase.duration_ms, 4))


@given(
    st.lists(st.integers(-1000, 1000), min_size=3, max_size=9), st.lists(st.integers(0, 500), min_size=3, max_size=9)
)
def test_late_rows_do_not_move_columns(late: list[int], columns: list[int]) -> None:
    table = np.array(columns, dtype=float)[None, :] + np.array(late, dtype=float)[:, None]
    found, shifts = align_rows(table)
    assert found[:, None] - found[None, :] == pytest.approx(np.subtract.outer(columns, columns), abs=1e-9)
    assert shifts[:, None] - shifts[None, :] == pytest.approx(np.subtract.outer(late, late), abs=1e-9)
    assert np.median(shifts) == 0


def test_single_entries_far_out_move_neither_rows_nor_columns() -> None:
    table = np.tile([10.0, 20, 30, 40, 50], (5, 1))
    table[1, 2] += 1000
    table[3, 0] -= 500
    found, shifts = align_rows(table)
    assert found.tolist() == [10, 20, 30, 40, 50]
    assert shifts.tolist() == [0] * 5


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_typical_value_was_measured(values: list[float]) -> None:
    spread = Spread.of(values)
    assert spread.typical in values
    assert spread.least <= spread.typical <= spread.most
    assert sum(v <= spread.typical for v in values) * 2 >= len(values)


def test_of_two_values_the_smaller_is_typical() -> None:
    assert Spread.of([400.0, 220.0]) == Spread(220.0, 220.0, 400.0, 2)


def test_spread_of_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="at least one value"):
        Spread.of([])
