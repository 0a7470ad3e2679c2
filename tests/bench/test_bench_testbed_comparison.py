"""The arithmetic of comparisons over seeds, and what a record of a simulation says."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from bench.testbed.cases import QUANTILES, Case, distribution
from bench.testbed.comparison import median_of, ratio_of, summary, total_ratio
from hypothesis import given
from hypothesis import strategies as st

values = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40)


@given(values)
def test_the_median_lies_in_its_interval_and_the_interval_in_the_values(given_values: list[float]) -> None:
    middle, low, high = median_of(given_values)
    assert min(given_values) <= low <= middle <= high <= max(given_values)


@pytest.mark.parametrize(("count", "left_out"), [(5, 0), (6, 0), (9, 1), (10, 1), (20, 5)])
def test_intervals_leave_out_as_many_as_tables_of_the_sign_test_say(count: int, left_out: int) -> None:
    assert median_of(list(range(count)))[1:] == (left_out, count - 1 - left_out)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    rng = random.Random(1)
    hits = 0
    for _ in range(2000):
        _, low, high = median_of([rng.expovariate(1.0) for _ in range(10)])
        hits += low <= math.log(2) <= high
    assert 0.96 < hits / 2000 < 0.99  # 97.9 %


@given(values, st.floats(0.5, 2.0))
def test_ratios_are_by_seed(ones: list[float], factor: float) -> None:
    assert ratio_of([factor * one for one in ones], ones) == pytest.approx((factor,) * 3)
    assert ratio_of(ones, ones)[0] == pytest.approx(1.0)


def test_seeds_that_lack_a_figure_are_left_out() -> None:
    assert ratio_of([2.0, None, 3.0, 5.0], [1.0, 1.0, None, 0.0]) == (2.0, 2.0, 2.0)
    assert math.isnan(median_of([])[0])


def test_totals_count_seeds_without() -> None:
    assert total_ratio([2.0, 4.0, None], [0.0, 3.0, None]) == 2.0
    assert math.isnan(total_ratio([2.0], [0.0]))


def test_distributions_keep_mean_and_percentiles() -> None:
    found = distribution([np.arange(50.0), np.arange(50.0, 101.0)])
    assert (found["n"], found["mean"]) == (101, 50.0)
    assert found["quantiles"] == pytest.approx(list(QUANTILES))
    assert distribution([]) == {"n": 0}


def test_cases_are_what_json_and_other_processes_take() -> None:
    import json
    import pickle
    from dataclasses import asdict
    from types import MappingProxyType

    case = Case("Themis", options=MappingProxyType({"restart_s": 1.0}))
    assert pickle.loads(pickle.dumps(case)) == case
    assert json.loads(json.dumps(asdict(case)))["options"] == {"restart_s": 1.0}


def record(mean: float, marked: float | None) -> dict[str, Any]:
    one = distribution([np.full(4, mean)])
    models = {} if marked is None else {
        "DLRM": {"iteration_ms": one, "slowdown": one, "marked": distribution([np.full(4, marked)])}
    }  # fmt: skip
    keys = ("iteration_ms", "slowdown", "completion_s", "waited_s")
    counts = dict.fromkeys(("tasks", "ended", "restarts", "adjusted", "rounds", "now_s", "took_s"), 1)
    return {**dict.fromkeys(keys, one), "models": models, **counts, "ranked": [], "bidders": [0, 0]}


def test_a_summary_has_every_seed_in_its_place() -> None:
    found = summary([record(100.0, 3.0), record(300.0, None)])
    assert found["iteration_ms"]["mean"] == [100.0, 300.0]
    assert found["iteration_ms"]["curve"] == [200.0] * len(QUANTILES)
    assert found["models"]["DLRM"]["marked"]["mean"] == [3.0, None]
    assert found["marked"] == [3.0, None]
