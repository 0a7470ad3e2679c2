"""The study of predictions: its statistics by hand, its predictions against ``rank``, the same whoever runs it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core import rank

pytest.importorskip("matplotlib")
pytest.importorskip("numba")
pytest.importorskip("scipy")

from bench.ranking.prediction import agreement, study, trial
from bench.ranking.prediction.trial import PREDICTORS, Trial, TrialOptions, run_trial
from bench.ranking.rounds import Settings, generate

SMALL = Settings(racks=8, gpus_per_rack=32, uplinks=2, jobs=50, candidates=6, moves=4)
QUICK = TrialOptions(node_limit=300, warm_up=3, iterations=5, random_starts=2)


def made_up(predicted: list[float], measured: list[float]) -> Trial:
    picked = max(range(len(predicted)), key=lambda place: predicted[place])
    return Trial(
        name="made up",
        family="none",
        racks=2,
        routed_jobs=2,
        status=("joint",) * len(predicted),
        predicted=dict.fromkeys(PREDICTORS, tuple(predicted)),
        picked=dict.fromkeys(PREDICTORS, picked),
        measured={"shifts": tuple(measured)},
    )


slowdowns = st.lists(st.integers(100, 300).map(lambda percent: percent / 100), min_size=2, max_size=8)


@given(slowdowns.filter(lambda drawn: len(set(drawn)) == len(drawn)))
def test_a_prediction_in_the_right_order_agrees_fully(measured: list[float]) -> None:
    right, wrong = made_up([-one for one in measured], measured), made_up(measured, measured)
    found = agreement.agreement([right], "mean", "shifts")
    assert found.spearman.mean == pytest.approx(1)
    assert found.kendall.mean == pytest.approx(1)
    assert (found.mean_regret, found.p95_regret, found.found_best) == (0, 0, 1)
    found = agreement.agreement([wrong], "mean", "shifts")
    assert found.spearman.mean == pytest.approx(-1)
    assert found.mean_regret == pytest.approx(max(measured) / min(measured) - 1)
    assert found.found_best == 0


@given(st.data(), slowdowns)
def test_correlations_are_those_of_the_definitions(data: st.DataObject, measured: list[float]) -> None:
    predicted = data.draw(st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=len(measured), max_size=len(measured)))
    if len(set(measured)) == 1 or len(set(predicted)) == 1:
        assert agreement.correlations(predicted, measured) == (0, 0)
        return

    def ranks(values: list[float]) -> list[float]:
        return [sum(other < one for other in values) + (values.count(one) + 1) / 2 for one in values]

    x, y = ranks(predicted), ranks([-one for one in measured])
    mean = (len(x) + 1) / 2
    spread = math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y))
    spearman = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True)) / spread
    pairs = [(i, j) for i in range(len(x)) for j in range(i)]
    signs = [((x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j])) for i, j in pairs]
    untied = math.sqrt(sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs))
    kendall = sum(a * b for a, b in signs) / untied
    assert agreement.correlations(predicted, measured) == pytest.approx((spearman, kendall))


def test_rounds_without_a_difference_count_for_regret_only() -> None:
    told, same = made_up([0.9, 0.8], [1.0, 1.2]), made_up([0.9, 0.8], [1.1, 1.1])
    found = agreement.agreement([told, same, same], "mean", "shifts")
    assert (found.rounds, found.found_best, found.mean_regret) == (1, 1, 0)
    assert found.spearman.mean == pytest.approx(1)
    assert agreement.blind_regrets([told, same], "shifts") == pytest.approx([0.1, 0.0])
    assert math.isnan(agreement.agreement([same], "mean", "shifts").spearman.mean)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
@settings(max_examples=25)
def test_a_bootstrap_interval_lies_round_the_mean_and_is_always_the_same(values: list[float]) -> None:
    one = agreement.bootstrap(values)
    assert one == agreement.bootstrap(values)
    assert min(values) - 1e-9 <= one.low <= one.high <= max(values) + 1e-9
    assert one.mean == pytest.approx(sum(values) / len(values), abs=1e-9)


def test_a_bootstrap_interval_is_as_wide_as_the_central_limit_says() -> None:
    values = [0.0, 1.0] * 200
    one = agreement.bootstrap(values)
    half = 1.96 * 0.5 / math.sqrt(len(values))
    assert one.low == pytest.approx(0.5 - half, abs=0.2 * half)
    assert one.high == pytest.approx(0.5 + half, abs=0.2 * half)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("spanning", [1 / 3, 1 / 10])
def test_predictions_and_picks_are_those_of_the_ranking(seed: int, spanning: float) -> None:
    """The study ranks once and aggregates by itself: each aggregate must come out as if asked for."""
    given_settings = replace(SMALL, seed=seed, spanning=spanning)
    problem, found = generate(given_settings), run_trial(given_settings, "", QUICK)
    for aggregate in trial.AGGREGATES:
        ranking = rank(
            problem, loops=QUICK.loops, aggregate=aggregate, node_limit=QUICK.node_limit, period_tolerance=0.0
        )
        said = {one.id: one.score for one in ranking.candidates}
        for candidate, predicted in zip(problem.candidates, found.predicted[aggregate], strict=True):
            assert said[candidate.id] is None or said[candidate.id] == pytest.approx(predicted, abs=1e-9)
        assert ranking.best is not None
        assert ranking.best.id == problem.candidates[found.picked[aggregate]].id
    excess = {one.id: one.total_excess_gbps for one in ranking.candidates}
    for candidate, predicted in zip(problem.candidates, found.predicted[trial.TOTAL_EXCESS], strict=True):
        assert excess[candidate.id] is None or excess[candidate.id] == pytest.approx(-predicted, abs=1e-6)


def test_candidates_given_up_count_with_their_bounds_and_start_at_random() -> None:
    found = run_trial(SMALL, "", replace(QUICK, loops="discard", random_starts=1))
    assert set(found.status) == {"discarded"}
    problem = generate(SMALL)
    ranking = rank(problem, loops="discard", aggregate="mean", node_limit=QUICK.node_limit, period_tolerance=0.0)
    bounds = {one.id: one.upper_bound for one in ranking.candidates}
    assert found.predicted["mean"] == pytest.approx([bounds[candidate.id] for candidate in problem.candidates])
    for way in trial.ways(QUICK):
        assert found.measured[way] == found.measured[trial.RANDOM]


def test_a_trial_is_deterministic_and_slowdowns_are_at_least_one() -> None:
    one, other = run_trial(SMALL, "x", QUICK), run_trial(SMALL, "x", QUICK)
    assert one == other
    assert all(slowdown >= 1 - 1e-9 for measured in one.measured.values() for slowdown in measured)
    assert one.routed_jobs == 16


def test_shifts_help_where_the_jobs_can_interleave() -> None:
    """Light rounds of one period: what the ranking promises, no excess, is what the simulation shows."""
    light = replace(SMALL, spanning=0.1, periods_ms=(300,))
    trials = [run_trial(replace(light, seed=seed), "", replace(QUICK, margins=(0.0,))) for seed in range(8)]
    shifted = [one for found in trials for one in found.measured[trial.SHIFTED]]
    at_random = [one for found in trials for one in found.measured[trial.RANDOM]]
    assert sum(shifted) < sum(at_random)
    for found in trials:
        for score, slowdown in zip(found.predicted["min"], found.measured[trial.SHIFTED], strict=True):
            assert (score < 1 - 1e-9) or slowdown == pytest.approx(1.0, abs=1e-6)


def test_the_study_has_at_least_a_hundred_rounds_of_the_sizes_it_says() -> None:
    rounds = list(study.study_rounds(20, 10))
    assert len(rounds) >= 100
    assert len({settings.seed for _, settings in rounds}) == len(rounds)
    servers = [settings.racks * study.SERVERS_PER_RACK for _, settings in rounds]
    assert (min(servers), max(servers)) == (24, 200)
    assert rounds == list(study.study_rounds(20, 10))


@pytest.mark.slow
def test_the_command_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--rounds-per-family", "1", "--candidates", "3", "--processes", "1", "--out", str(tmp_path)]
    assert study.main(asked) == 0
    text = (tmp_path / "ranking-prediction.md").read_text()
    document = json.loads((tmp_path / "ranking-prediction.json").read_text())
    assert str(tmp_path / "ranking-prediction.md") in capsys.readouterr().out
    assert len(document["trials"]) == 6
    for way in trial.ways(TrialOptions()):
        assert f"## Run with {way}" in text
    assert text.count("\n| per_job |") == 3
    families = {one["family"] for one in document["trials"]}
    assert all(f"| {family} |" in text for family in families)


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    from bench.measuring.progress import Progress

    rounds = [("x", replace(SMALL, seed=seed)) for seed in range(4)]
    assert study.run(rounds, QUICK, 2, Progress()) == study.run(rounds, QUICK, 1, Progress())
