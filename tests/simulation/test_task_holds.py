"""How tasks of a decision are held: patterns stay what was ranked, and who need not move does not."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc

pytest.importorskip("numba")

from cassini_core.ranking.holding import HeldComponent
from cassini_core.schedulers.augmented import Decision
from cassini_core.simulation.holding import AgentHold
from cassini_core.simulation.task_holds import LEAST_MARGIN, Held, holds_of

NO_JITTER: dict[str, Any] = {"holding": "grid", "margin": None, "jitter": "normal", "jitter_share": 0.0}
BASE_MS = 100.0


def job(name: str, laps: int) -> cc.Job:
    return cc.Job(name, laps * BASE_MS, [cc.Phase(50, 40, 50)])


def decision(
    shifts_ms: dict[str, float],
    paces_ms: dict[str, float],
    *,
    hold_ms: float = 5.0,
    gain_ms: float = 20.0,
    why_not: str | None = None,
) -> Decision:
    gains = dict.fromkeys(shifts_ms, gain_ms)
    component = HeldComponent(tuple(sorted(shifts_ms)), hold_ms, 1.0, gains, why_not)
    return Decision({}, shifts_ms, paces_ms, dict.fromkeys(shifts_ms, hold_ms), (component,))


LAPS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4), min_size=2)


def apart(one: float, other: float, modulo: float) -> float:
    return abs(math.remainder(one - other, modulo))


@given(LAPS, st.data(), st.floats(0.0, 1e8), st.sampled_from([1.0, 1.002, 1.01]))
def test_the_pattern_is_the_one_ranked_and_goes_on_where_the_slowest_is(
    laps: dict[str, int], data: st.DataObject, now_ms: float, longer: float
) -> None:
    """Two decisions one after the other, the second with other paces: of grids only differences count."""
    profiles = {name: job(name, count) for name, count in laps.items()}
    shifts = {name: data.draw(st.floats(0.0, count * BASE_MS - 1.0)) for name, count in laps.items()}
    paces = {name: one.iteration_ms for name, one in profiles.items()}
    first = holds_of(decision(shifts, paces), profiles, {}, 0.0, **NO_JITTER)
    told = {name: one.shift_ms for name, one in first.items()}
    assert told == pytest.approx(shifts, abs=1e-6)

    again = holds_of(decision(told, paces), profiles, first, now_ms, **NO_JITTER)
    assert all(again[name] is first[name] for name in first)

    paces = {name: pace * longer for name, pace in paces.items()}
    after = holds_of(decision(told, paces), profiles, first, now_ms, **NO_JITTER)
    scale = 1.0 + LEAST_MARGIN
    for name, one in after.items():
        assert one.grid.pace_ms == pytest.approx(paces[name] * scale)
        for other, two in after.items():
            # What counts of two jobs' shifts is their difference modulo what their paces have in common (F1).
            common = math.gcd(laps[name], laps[other]) * BASE_MS * longer
            assert apart((one.grid.at_ms - two.grid.at_ms) / scale, told[name] - told[other], common) < 1e-3
            assert apart(one.shift_ms - two.shift_ms, told[name] - told[other], common) < 1e-3
    slowest = max(first, key=lambda name: (first[name].grid.pace_ms, name))
    before, grid = first[slowest].grid, after[slowest].grid
    next_ms = before.at_ms + math.ceil((now_ms - before.at_ms) / before.pace_ms) * before.pace_ms
    assert apart(grid.at_ms, next_ms, grid.pace_ms) < 1e-3


def held(**changed: Any) -> dict[str, Held]:
    profiles = {name: job(name, 2) for name in "ab"}
    options = {name: changed.pop(name) for name in tuple(changed) if name in NO_JITTER}
    said = decision({"a": 0.0, "b": 100.0}, {}, **changed)
    return holds_of(said, profiles, {}, 0.0, **(NO_JITTER | options))


def test_tasks_run_free_where_holding_wins_nothing_or_costs_more_than_it_wins() -> None:
    assert held().keys() == {"a", "b"}
    assert held(why_not="it wins nothing") == {}
    assert held(holding="none") == {}
    assert held(margin=0.01, gain_ms=1.9) == {}  # a pace that is 2 ms longer
    assert held(margin=0.01, gain_ms=2.1).keys() == {"a", "b"}


def test_margins_are_those_of_the_jitter_and_of_the_room_for_it() -> None:
    def margin(**options: Any) -> float:
        (share,) = {round(one.grid.pace_ms / 200.0 - 1.0, 9) for one in held(**options).values()}
        return share

    assert margin() == LEAST_MARGIN
    assert margin(margin=0.0) == 0.0
    assert LEAST_MARGIN < margin(jitter_share=0.03) < margin(jitter_share=0.05) < 0.1
    assert margin(jitter_share=0.03, hold_ms=10.0) < margin(jitter_share=0.03)
    # Gaussian jitter of 160 ms of computing within twice the hold: sigma^2 * ln(1/p) / (2 * x).
    sigma, reach = 0.03 * 160.0, 10.0
    implied = margin(jitter_share=0.03) * 200.0 * 2 * reach / sigma**2
    assert math.log(4) < implied < math.log(1e4)


def test_an_agent_knows_the_hold_and_the_gain_of_its_own_component() -> None:
    one = held(holding="agent", hold_ms=7.0, gain_ms=30.0)["a"].hold
    assert isinstance(one, AgentHold)
    assert (one.hold_ms, one.slack_ms, one.gain_ms, one.iteration_ms) == (7.0, 7.0, 30.0, 200.0)


def test_an_agent_hears_of_another_hold_though_its_grid_stays() -> None:
    """A job that comes may narrow the component: who is in it already must keep closer to the grid that it has."""
    profiles = {name: job(name, 2) for name in "ab"}
    options = NO_JITTER | {"holding": "agent"}
    before = holds_of(decision({"a": 0.0, "b": 100.0}, {}, hold_ms=20.0), profiles, {}, 0.0, **options)
    same = holds_of(decision({"a": 0.0, "b": 100.0}, {}, hold_ms=20.0), profiles, before, 5000.0, **options)
    closer = holds_of(decision({"a": 0.0, "b": 100.0}, {}, hold_ms=3.0), profiles, before, 5000.0, **options)
    for name in "ab":
        assert same[name] is before[name]
        assert closer[name].grid is before[name].grid
        assert isinstance(closer[name].hold, AgentHold)
        assert (closer[name].hold.hold_ms, closer[name].hold.slack_ms) == (3.0, 3.0)


@pytest.mark.parametrize("longer", [1.0, 1.002])
def test_who_is_not_to_move_does_not_where_the_slowest_is(longer: float) -> None:
    """The ranking moves one running job, the slowest; the others stay, whether paces change or not."""
    profiles = {"a": job("a", 4), "b": job("b", 2), "c": job("c", 2)}
    paces = {name: one.iteration_ms for name, one in profiles.items()}
    before = holds_of(decision({"a": 0.0, "b": 70.0, "c": 150.0}, paces), profiles, {}, 0.0, **NO_JITTER)
    paces = {name: pace * longer for name, pace in paces.items()}
    now_ms = 12_345.0
    after = holds_of(decision({"a": 30.0, "b": 70.0, "c": 150.0}, paces), profiles, before, now_ms, **NO_JITTER)

    def next_ms(held: Held) -> float:
        return held.grid.at_ms + math.ceil((now_ms - held.grid.at_ms) / held.grid.pace_ms) * held.grid.pace_ms

    for name in "bc":
        assert apart(next_ms(after[name]), next_ms(before[name]), after[name].grid.pace_ms) < 1.0
        assert longer > 1.0 or after[name] is before[name]


@given(st.floats(0.0, 4e-4), st.floats(0.0, 4e-4), st.floats(0.0, 1e8))
def test_who_stays_about_where_the_iteration_ends_has_not_moved(
    before_ms: float, after_ms: float, now_ms: float
) -> None:
    """Shifts of schedulers are told modulo paces without margin: just before the end is just after the beginning."""
    profiles = {"a": job("a", 2), "b": job("b", 2)}
    paces = {name: one.iteration_ms for name, one in profiles.items()}
    options = NO_JITTER | {"margin": 0.01}
    first = holds_of(decision({"a": 200.0 - before_ms, "b": 100.0}, paces), profiles, {}, 0.0, **options)
    # Another pace, so that the pattern is begun anew where the one who stays has come to: a, as b moves.
    paces = {name: pace * 1.02 for name, pace in paces.items()}
    after = holds_of(decision({"a": after_ms, "b": 60.0}, paces), profiles, first, now_ms, **options)
    grid, other = first["a"].grid, after["a"].grid
    next_ms = grid.at_ms + math.ceil((now_ms - grid.at_ms) / grid.pace_ms) * grid.pace_ms
    assert apart(next_ms, other.at_ms, other.pace_ms) < 0.01
