"""What the page computes is what the kernel computes, for any link; what it draws has that mean."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core.formats import magnitude_text, score_text
from cassini_core.plots.placed_links import PlacedLink
from cassini_core.report.timeline import timeline_data
from chromium import Browser
from strategies import LinkCase, link_cases, shifts_ms


@pytest.fixture(scope="module")
def script(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """A page with ``demand.js`` and nothing else."""
    page = tmp_path_factory.mktemp("demand") / "page.html"
    source = files("cassini_core.report").joinpath("demand.js").read_text("utf-8")
    page.write_text(f"<!doctype html><meta charset=utf-8><script>{source}</script>", encoding="utf-8")
    chromium.open(page)
    return chromium


Placed = tuple[LinkCase, dict[str, float]]


@st.composite
def placed(draw: st.DrawFn) -> Placed:
    """Jobs on a link with shifts: of many periods, so that some jobs are free and others fold."""
    unit_ms = draw(st.sampled_from([0.4, 1.0, 7.3]))
    case = draw(link_cases(1, 4, unit_ms=unit_ms))
    return case, draw(shifts_ms(case.jobs, unit_ms))


def link_data(case: LinkCase, shifts: dict[str, float]) -> dict[str, Any]:
    """As the page has it, with the jobs in its place."""
    free = cc.solve_link(case.jobs, case.capacity_gbps, node_limit=1).free_jobs
    link = PlacedLink("l", case.capacity_gbps, tuple(case.jobs), shifts, free, None, 1.0)
    data = timeline_data([link], len(case.jobs))
    (found,) = data["links"]
    jobs = []
    for job, demand, repeat in zip(found["jobs"], found["demands"], found["repeats"], strict=True):
        flat = data["demands"][demand]
        phases = [flat[at : at + 3] for at in range(0, len(flat), 3)]
        jobs.append({"period": data["jobs"][job]["period"], "repeat": repeat, "phases": phases})
    return found | {"on_link": jobs, "shifts": [job["shift"] for job in data["jobs"]]}


def call(script: Browser, expression: str, *values: Any) -> Any:
    """An expression of JavaScript in which ``v`` are the values."""
    return script.evaluate(f"(v => {expression})({json.dumps(values)})")


@given(placed())
def test_the_score_in_the_page_is_exact(script: Browser, placed: Placed) -> None:
    case, shifts = placed
    link = link_data(case, shifts)
    assert link["turn"] is not None
    excess = call(script, "meanExcess(v[0].on_link, v[0].capacity, v[0].turn, v[0].shifts)", link)
    exact = cc.score_link(case.jobs, case.capacity_gbps, shifts)
    assert 1 - excess / link["capacity"] == pytest.approx(exact, abs=1e-9)


@given(placed())
def test_the_mean_of_what_is_drawn_over_a_perimeter_is_the_score_at_full_precision(
    script: Browser, placed: Placed
) -> None:
    """With no resolution no job is free, and the score is the mean over the perimeter, which is drawn."""
    case, shifts = placed
    link = link_data(case, shifts)
    perimeter = math.lcm(*(job["period"] for job in link["on_link"]))
    expression = "meanExcessOver(demandOver(v[0].on_link, v[0].shifts, v[1]), v[0].capacity)"
    excess = call(script, expression, link, perimeter)
    exact = cc.score_link(case.jobs, case.capacity_gbps, shifts, resolution_ms=0)
    assert 1 - excess / link["capacity"] == pytest.approx(exact, abs=1e-9)


@given(placed(), st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_any_shift_counts_modulo_the_iteration_time(script: Browser, placed: Placed, turns: list[float]) -> None:
    case, _ = placed
    shifts = {job.id: turn * job.iteration_ms for job, turn in zip(case.jobs, turns, strict=False)}
    link = link_data(case, shifts)
    link["shifts"] = [round(shifts[job.id] * 1e6) for job in case.jobs]
    excess = call(script, "meanExcess(v[0].on_link, v[0].capacity, v[0].turn, v[0].shifts)", link)
    exact = cc.score_link(case.jobs, case.capacity_gbps, shifts)
    assert 1 - excess / link["capacity"] == pytest.approx(exact, abs=1e-9)


ROUND = st.integers(-64, 31).map(lambda k: k / 32) | st.integers(-(2**10), 2**10).map(lambda k: k / 2**10)
"""Numbers of which many lie in the middle between two texts."""


@given(st.lists(ROUND | st.floats(-1e3, 1) | st.floats(1 - 1e-3, 1), min_size=1))
def test_numbers_are_written_as_everywhere(script: Browser, values: list[float]) -> None:
    assert call(script, "v[0].map(scoreText)", values) == [score_text(value) for value in values]
    sizes = [abs(value) for value in values]
    assert call(script, "v[0].map(magnitudeText)", sizes) == [magnitude_text(size) for size in sizes]


def test_a_link_that_repeats_after_too_long_is_drawn_and_not_computed() -> None:
    periods = [113.1121, 124.4017, 142.5829, 153.5557]
    jobs = [cc.Job(f"j{k}", period, [cc.Phase(0, 30, 40)]) for k, period in enumerate(periods)]
    link = PlacedLink("l", 50, tuple(jobs), {}, (), None, 1.0)
    (found,) = timeline_data([link], 4)["links"]
    assert found["turn"] is None
    assert found["window"] == round(4 * 153.5557e6)


def test_much_that_happens_shortens_what_is_drawn() -> None:
    busy = cc.Job("busy", 10, [cc.Phase(k / 100, 0.005, 40) for k in range(1000)])
    slow = cc.Job("slow", 40, [cc.Phase(0, 10, 40)])
    (found,) = timeline_data([PlacedLink("l", 50, (busy, slow), {}, (), None, 1.0)], 2)["links"]
    assert found["window"] == 40e6
    assert found["turn"] == 10e6  # the slow one repeats its part on this link with the busy one
