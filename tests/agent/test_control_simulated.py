"""Simulated pairs and components stay interleaved, at the cost that is promised, through all that the study has."""

from __future__ import annotations

import functools
from dataclasses import replace
from statistics import fmean

import pytest
from bench.control import scenarios
from bench.control.job import JobModel
from bench.control.rules import NextPoint
from bench.control.scenario import Outcome, Scenario
from bench.control.scenario import run as simulated
from bench.control.scenarios import PAIR, jittered, skewed
from bench.control.simulator import Simulator

from cassini_core.simulation.jitter import KINDS, factors


@functools.cache
def run(scenario: Scenario, seed: int) -> Outcome:
    """The outcome, of which several tests ask something: the same whenever it is simulated."""
    return simulated(scenario, seed)


def test_without_jitter_nothing_is_paid_and_nothing_adjusted_after_the_first() -> None:
    outcome = run(Scenario("none", PAIR, minutes=2), seed=1)
    assert max(outcome.slower) < 0.0005
    assert sum(outcome.delay_share) < 0.005
    assert max(outcome.adjustments_per_minute) == 0
    assert outcome.events == []


@pytest.mark.parametrize(
    "models",
    [PAIR, skewed(PAIR, 5.0, 50.0), tuple(replace(model, ranks=8) for model in PAIR)],
    ids=["true clocks", "5 ms, 50 ppm", "several ranks"],
)
def test_with_3_percent_jitter_a_pair_stays_within_2_percent_of_alone(models: tuple[JobModel, ...]) -> None:
    outcomes = [run(Scenario("", jittered(models, 0.03), minutes=2), seed) for seed in (1, 2, 3)]
    assert max(max(one.slower) for one in outcomes) < 0.0165
    assert fmean(max(one.adjustments_per_minute) for one in outcomes) < 2
    assert min(min(one.held_share) for one in outcomes) > 0.95


def test_rank_0_of_several_costs_no_more_by_waiting_than_a_job_of_one_rank() -> None:
    alone = [max(run(Scenario("", jittered(PAIR, 0.03), minutes=2), seed).slower) for seed in (1, 2, 3)]
    models = jittered(tuple(replace(model, ranks=8) for model in PAIR), 0.03)
    first = [max(run(Scenario("", models, minutes=2), seed).slower) for seed in (1, 2, 3)]
    assert fmean(first) < fmean(alone) + 0.002


@pytest.mark.parametrize("differ", [{"skew_ms": 1.0}, {"own_share": 0.03}, {"first_factor": 0.97}], ids=str)
def test_ranks_that_come_apart_or_compute_for_different_times_cost_no_collision(differ: dict[str, float]) -> None:
    models = tuple(replace(model, ranks=4, **differ) for model in jittered(PAIR, 0.03))
    outcomes = [run(Scenario("", models, minutes=2), seed) for seed in (1, 2)]
    assert max(slower for one in outcomes for slower in one.slower) < 0.03
    assert fmean(often for one in outcomes for often in one.adjustments_per_minute) < 1.5
    assert min(share for one in outcomes for share in one.held_share) > 0.95


@pytest.mark.parametrize("scenario", scenarios.more_jobs(2), ids=lambda scenario: scenario.name)
def test_three_jobs_and_other_paces_are_held(scenario: Scenario) -> None:
    outcome = run(scenario, seed=1)
    assert max(outcome.slower) < 0.03
    assert max(outcome.adjustments_per_minute) <= 5
    assert min(outcome.held_share) > 0.95


@pytest.mark.parametrize("kind", [*KINDS])
def test_other_jitter_is_held_too(kind: str) -> None:
    outcome = run(Scenario(kind, jittered(PAIR, 0.02, kind), minutes=2), seed=1)
    assert max(outcome.slower) < 0.03
    assert max(outcome.adjustments_per_minute) <= 4


OF_A_KIND = ("longer by 20 ms", "longer by 110 ms", "applied again")
"""Others of their kind are quick ones."""


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(one, id=one.name, marks=pytest.mark.slow if any(name in one.name for name in OF_A_KIND) else ())
        for one in scenarios.disturbed(2)
    ],
)
def test_stalls_and_a_coordinator_that_is_gone_cost_a_few_adjustments(scenario: Scenario) -> None:
    outcome = run(scenario, seed=1)
    assert outcome.slower[1] < 0.02  # the job that did not stall
    assert max(outcome.adjustments_per_minute) <= 3
    assert min(outcome.held_share) > 0.9


@pytest.mark.parametrize(("scenario", "most"), list(zip(scenarios.crowded(2), (0.03, 0.12), strict=True)))
def test_jobs_with_little_room_get_back_to_their_places_however_often_they_stall(
    scenario: Scenario, most: float
) -> None:
    """Once their allowances were spent they held each other up for ever, by a fifth of their time."""
    outcome = run(scenario, seed=1)
    assert max(outcome.slower) < most
    assert min(outcome.held_share) > 0.7


@pytest.mark.parametrize("every_s", [1.0, 7.3, 60.0])
def test_applying_again_changes_nothing(every_s: float) -> None:
    """Also while the coordinator moves epochs, which it does here; but that clocks are looked at at other times."""
    models = jittered(PAIR, 0.05)
    once = run(Scenario("", models, minutes=2), seed=1)
    again = run(Scenario("", models, minutes=2, applied_every_s=every_s), seed=1)
    assert any("Rephased" in event for event in once.events)
    assert again.events == once.events
    assert again.slower == pytest.approx(once.slower, abs=2e-4)


@pytest.mark.parametrize("scenario", scenarios.patterned(2), ids=lambda scenario: scenario.name)
def test_jobs_whose_iterations_differ_in_turn_are_held_or_say_that_they_are_not(scenario: Scenario) -> None:
    """No grid fits iterations of which every fourth takes half as long again, each with jitter of its own."""
    outcome = run(scenario, seed=1)
    if "±5 %" in scenario.name:  # what is late in turn makes itself good
        assert max(outcome.slower) < 0.01
        assert min(outcome.held_share) > 0.98
    assert max(outcome.slower) < (0.05 if min(outcome.held_share) > 0.5 else 0.23)  # as much as without any control


@pytest.mark.parametrize("scenario", scenarios.coming_and_going(2), ids=lambda scenario: scenario.name)
def test_jobs_that_come_and_go_cost_the_others_nothing(scenario: Scenario) -> None:
    outcome = run(scenario, seed=1)
    assert max(outcome.slower) < 0.01
    assert any("MemberLeft" in event for event in outcome.events) == (" ends" in scenario.name)
    if scenario.name == "of two jobs one ends":
        assert outcome.traces["a"].state[-1] == "waiting"  # it is free
    else:
        assert outcome.traces["a"].state[-100:].count("held") > 95


@pytest.mark.parametrize("scenario", scenarios.changed(2), ids=lambda scenario: scenario.name)
def test_a_changed_iteration_time_is_told_and_then_held(scenario: Scenario) -> None:
    outcome = run(scenario, seed=1)
    assert any("IterationChanged" in event for event in outcome.events)
    states = outcome.traces["a"].state
    assert states[-200:].count("held") > 190


def test_the_rules_it_is_compared_with_do_what_is_known_of_them() -> None:
    models = jittered(PAIR, 0.03)
    agent = run(Scenario("", models, minutes=2), 1)
    free = run(Scenario("", models, "first shift only", minutes=2), 1)
    naive = run(Scenario("", models, "next grid point", headroom=False, minutes=2), 1)
    assert min(free.slower) > 0.08  # drifts into phase
    assert min(naive.slower) > 0.15  # waits whole periods
    assert max(agent.slower) < min(free.slower + naive.slower) / 4


def test_fair_sharing_makes_a_pair_in_phase_as_slow_as_it_must_be() -> None:
    models = (PAIR[0], replace(PAIR[1], start_ms=0.0))
    traces = Simulator(models, [NextPoint(0.0), NextPoint(0.0)], 1).run(60e3)
    for trace in traces.values():
        assert trace.iteration_ms() == pytest.approx(110 + 2 * 87)


@pytest.mark.parametrize("kind", [*KINDS])
def test_jitter_has_the_mean_and_deviation_it_says(kind: str) -> None:
    source = factors(kind, 0.1, seed=3)
    drawn = [next(source) for _ in range(40_000)]
    mean = sum(drawn) / len(drawn)
    deviation = (sum((f - mean) ** 2 for f in drawn) / len(drawn)) ** 0.5
    assert mean == pytest.approx(1, abs=0.004)
    assert deviation == pytest.approx(0.1, rel=0.05)
