"""The picture of iteration times: its numbers are those of the runs, and it is there whatever they are."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba")
pytest.importorskip("matplotlib")

from cassini_core.plots.figures import DARK, LIGHT, figure_bytes
from cassini_core.plots.iteration_times import iteration_times_figure, iteration_times_plot_data
from cassini_core.simulation.comparison import Compared, Comparison
from cassini_core.simulation.run_figures import FIGURES, SHARES

NAMES = ("first-fit", "packed", "random", "themis", "pollux")


def run_of(times_ms: list[float]) -> dict[str, Any]:
    """A run with these percentiles."""
    mean = sum(times_ms) / len(times_ms) if times_ms else None
    return {"figures": dict.fromkeys(FIGURES) | {"mean_ms": mean}, "percentiles_ms": times_ms, "rounds": 1}


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    compared = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        for cassini in (False, True):
            least, step = draw(st.floats(1e-3, 1e6)), draw(st.floats(0, 1e6))
            runs = {seed: run_of([least + step * at for at in range(len(SHARES))]) for seed in range(2)}
            if draw(st.booleans()):
                runs[1] = run_of([])
            if draw(st.booleans()):
                runs[0] = run_of([])
            compared.append(Compared(name, cassini, runs))  # type: ignore[arg-type]
    return Comparison(draw(st.integers(1, 9)), tuple(compared))


@settings(max_examples=5, deadline=None)
@given(comparisons(), st.sampled_from([LIGHT, DARK]))
def test_it_is_drawn_whatever_was_simulated(comparison: Comparison, theme: Any) -> None:
    data = iteration_times_plot_data(comparison)
    texts = re.findall(
        "<text[^>]*>([^<]*)</text>", figure_bytes(iteration_times_figure(data, theme=theme), "svg").decode()
    )
    for one in comparison.compared:
        assert any(text.startswith(f"{one.name}: ") for text in texts)


@given(comparisons())
def test_the_numbers_are_how_many_take_longer(comparison: Comparison) -> None:
    for one, curve in zip(comparison.compared, iteration_times_plot_data(comparison)["curves"], strict=True):
        whole = one.percentiles_ms()
        assert curve["time_ms"] == whole[:-1]
        assert curve["longer_percent"] == ([100 - share for share in SHARES[:-1]] if whole else [])
        assert (curve["mean_ms"] is None) == (one.estimate("mean_ms") is None)
