"""Times are taken in turns, and said with three digits; figures are written as JSON that every reader takes."""

from __future__ import annotations

import json
import time

import pytest
from bench.measuring import reports, tables, timing
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=40), st.floats(1, 100))
def test_a_percentile_is_a_value_that_enough_do_not_exceed(values: list[float], percent: float) -> None:
    found = timing.percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100 - 1e-9


def test_calls_are_timed_in_turns_and_slow_ones_once() -> None:
    order: list[str] = []

    def slow() -> None:
        order.append("slow")
        time.sleep(0.02)

    def fast() -> None:
        order.append("fast")

    slow_times, fast_times = timing.in_turns([slow, fast], rounds=3, limit_s=0.01)
    assert len(slow_times.samples) == 1
    assert len(fast_times.samples) == 3
    assert order.count("slow") == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [(3.4249e-6, "3.42 µs"), (0.0123, "12.3 ms"), (0.99996, "1.00 s"), (123.4, "123 s"), (5e-10, "0 ns")],
)
def test_times_are_said_with_three_digits(value: float, said: str) -> None:
    assert tables.seconds(value) == said


def test_ratios_say_when_they_are_a_lower_bound() -> None:
    assert tables.ratio(12345.6, at_least=True) == "≥ 12,346×"
    assert tables.ratio(1.2) == "1.20×"


def test_figures_are_written_as_json_with_null_for_nan() -> None:
    figures = {"a": float("nan"), "rows": [{"b": 1 / 3, "c": (1, None)}, {"b": 2.0}], "deep": {"x": {"y": {"z": True}}}}
    text = reports.to_json(figures)
    assert json.loads(text) == {
        "a": None,
        "rows": [{"b": 0.3333333333, "c": [1, None]}, {"b": 2.0}],
        "deep": {"x": {"y": {"z": True}}},
    }
    assert sum(line.lstrip(" [").startswith('{"b"') for line in text.splitlines()) == 2
