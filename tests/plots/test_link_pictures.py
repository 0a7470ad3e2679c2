"""The numbers of the pictures of one link: they carry the bytes, their excess is the score, corners are all."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core import InputError, Job, Phase
from cassini_core.plots.circles import circles_plot_data
from cassini_core.plots.demand import demand_plot_data
from cassini_core.plots.landscape import landscape_plot_data
from cassini_core.profiles.phases import volume_mbit
from strategies import LinkCase, jobs, link_cases, shifts_ms

TWINS = [Job(name, 255, [Phase(141, 114, 45)]) for name in "ab"]
INCOMMENSURATE = [Job(name, at, [Phase(0, at / 2, 40)]) for name, at in (("a", 255.0), ("b", 246.999999), ("c", 331.0))]


def shifted_cases(min_jobs: int = 1, max_jobs: int = 3) -> st.SearchStrategy[tuple[LinkCase, dict[str, float]]]:
    return link_cases(min_jobs, max_jobs).flatmap(lambda case: st.tuples(st.just(case), shifts_ms(case.jobs)))


def area(side: dict[str, Any], levels: list[float]) -> float:
    return float(np.diff(side["time_ms"]) @ np.array(levels))


@settings(max_examples=25)
@given(shifted_cases())
def test_demand_carries_the_bytes_and_its_excess_is_the_score(drawn: tuple[LinkCase, dict[str, float]]) -> None:
    case, shifts = drawn
    data = demand_plot_data(case.jobs, case.capacity_gbps, shifts, resolution_ms=0)
    assert data["is_whole"] == (data["perimeter_ms"] <= 8 * max(job.iteration_ms for job in case.jobs))
    for name, side in (("before", data["before"]), ("after", data["after"])):
        assert side["time_ms"][0] == 0
        assert side["time_ms"][-1] == data["window_ms"]
        assert np.allclose(np.sum(list(side["gbps"].values()), axis=0), side["total_gbps"])
        if not data["is_whole"]:
            continue
        for job in case.jobs:
            carried = volume_mbit(job.phases) * data["window_ms"] / job.iteration_ms
            assert area(side, side["gbps"][job.id]) == pytest.approx(carried, abs=1e-9)
        mean_excess = area(side, side["excess_gbps"]) / data["window_ms"]
        assert mean_excess == pytest.approx((1 - side["score"]) * case.capacity_gbps, abs=1e-7)
        at = shifts if name == "after" else {}
        assert side["score"] == cc.score_link(case.jobs, case.capacity_gbps, at, resolution_ms=0)


@settings(max_examples=25)
@given(shifted_cases())
def test_demand_at_any_time_is_that_of_the_phases(drawn: tuple[LinkCase, dict[str, float]]) -> None:
    case, shifts = drawn
    data = demand_plot_data(case.jobs, case.capacity_gbps, shifts)["after"]
    edges = np.array(data["time_ms"])
    for job in case.jobs:
        for time, level in zip((edges[1:] + edges[:-1]) / 2, data["gbps"][job.id], strict=True):
            into = (time - shifts[job.id]) % job.iteration_ms
            there = sum(p.gbps for p in job.phases if (into - p.start_ms) % job.iteration_ms < p.duration_ms)
            assert level == pytest.approx(there)


@settings(max_examples=25)
@given(shifted_cases())
def test_circles_turn_the_same_volume_within_a_turn(drawn: tuple[LinkCase, dict[str, float]]) -> None:
    case, shifts = drawn
    data = circles_plot_data(case.jobs, case.capacity_gbps, shifts, resolution_ms=0)
    turn = 360 if data["is_whole"] else 330

    def volume(arcs: list[dict[str, float]]) -> float:
        assert all(0 <= arc["from_degrees"] < arc["to_degrees"] <= turn + 1e-9 for arc in arcs)
        assert all(one["to_degrees"] <= two["from_degrees"] for one, two in itertools.pairwise(arcs))
        return math.fsum((arc["to_degrees"] - arc["from_degrees"]) * arc["gbps"] for arc in arcs)

    for side in (data["before"], data["after"]):
        of_jobs = [volume(arcs) for arcs in side["jobs"].values()]
        assert math.fsum(of_jobs) == pytest.approx(volume(side["total"]))
        excess = volume(side["excess"]) / turn
        if data["is_whole"]:
            assert excess == pytest.approx((1 - side["score"]) * case.capacity_gbps, abs=1e-7)
    if data["is_whole"]:
        assert volume(data["before"]["total"]) == pytest.approx(volume(data["after"]["total"]))


def test_a_perimeter_beyond_reading_is_shown_in_part() -> None:
    data = circles_plot_data(INCOMMENSURATE, 50, {})
    assert not data["is_whole"]
    assert data["window_ms"] == 4 * 331
    assert data["perimeter_ms"] > 1e9
    assert data["before"]["jobs"]["c"][-1]["to_degrees"] <= 330


def test_many_edges_shorten_the_window() -> None:
    busy = Job("busy", 1000, [Phase(at, 0.1, 10) for at in range(999)])
    tiny = Job("tiny", 0.001, [Phase(0, 0.0005, 10)])
    for on_link in ([busy], [busy, tiny], [tiny, Job("long", 1_000_000, [Phase(0, 5, 1)])]):
        data = demand_plot_data(on_link, 50, {})
        assert len(data["before"]["time_ms"]) <= 2100
        assert 0 < data["window_ms"] <= 2000


@settings(max_examples=25)
@given(shifted_cases(2, 3), st.data())
def test_the_landscape_is_a_line_between_its_corners(
    drawn: tuple[LinkCase, dict[str, float]], data: st.DataObject
) -> None:
    case, shifts = drawn
    resolution_ms = data.draw(st.sampled_from([0.0, 0.5]))
    held, moved = data.draw(st.permutations([job.id for job in case.jobs]))[:2]
    found = landscape_plot_data(case.jobs, case.capacity_gbps, shifts, (held, moved), resolution_ms=resolution_ms)

    def score(later_ms: float) -> float:
        at = {**shifts, moved: shifts[held] + later_ms}
        return cc.score_link(case.jobs, case.capacity_gbps, at, resolution_ms=resolution_ms)

    assert found["is_exact"]
    assert found["chosen_score"] == pytest.approx(score(shifts[moved] - shifts[held]), abs=1e-9)
    for share in data.draw(st.lists(st.floats(0, 1), min_size=3, max_size=3)):
        later = round(share * found["repeats_ms"], 6)
        between = np.interp(later, found["shift_ms"], found["score"])
        assert between == pytest.approx(score(later), abs=1e-9)
        assert score(later + found["repeats_ms"]) == pytest.approx(score(later), abs=1e-9)


@given(link_cases(2, 2))
def test_of_two_jobs_the_highest_point_is_the_best_score(case: LinkCase) -> None:
    solution = cc.solve_link(case.jobs, case.capacity_gbps)
    found = landscape_plot_data(case.jobs, case.capacity_gbps, solution.shifts_ms)
    assert max(found["score"]) == pytest.approx(solution.score, abs=1e-9)
    assert found["chosen_score"] == pytest.approx(solution.score, abs=1e-9)
    early, late = found["plateau_ms"]
    reach = min(found["chosen_ms"] - early, late - found["chosen_ms"])
    if late - early < found["repeats_ms"]:
        moved = found["moved"]
        assert reach == pytest.approx(solution.slack_ms[moved], abs=2e-6)


@given(shifted_cases(2, 3))
def test_on_the_plateau_and_only_there_the_score_is_kept(drawn: tuple[LinkCase, dict[str, float]]) -> None:
    case, shifts = drawn
    found = landscape_plot_data(case.jobs, case.capacity_gbps, shifts)
    early, late = found["plateau_ms"]
    least, repeats = found["chosen_score"] - found["slack_tolerance"], found["repeats_ms"]
    assert early <= found["chosen_ms"] <= late
    assert late - early <= repeats + 1e-9
    for at, score in zip(found["shift_ms"], found["score"], strict=True):
        if any(early + 1e-6 < at + turn < late - 1e-6 for turn in (-repeats, 0, repeats)):
            assert score >= least - 1e-9
    if late - early < repeats:
        for end in (early, late):
            there = np.interp(end % repeats, found["shift_ms"], found["score"])
            assert there == pytest.approx(least, abs=1e-6)


def test_a_free_job_has_a_flat_landscape() -> None:
    pair = [Job("a", 100, [Phase(0, 50, 40)]), Job("b", 100.0001, [Phase(0, 50, 40)])]
    found = landscape_plot_data(pair, 50, {})
    assert found["moved_is_free"]
    assert max(found["score"]) == pytest.approx(min(found["score"]))


def test_too_many_corners_are_thinned_and_it_is_said() -> None:
    pair = [Job(name, 1000, [Phase(at + at * at / 9e5, 0.2, 10) for at in range(200)]) for name in "ab"]
    found = landscape_plot_data(pair, 15, {})
    assert not found["is_exact"]
    assert len(found["score"]) <= 2**13 + 3


@pytest.mark.parametrize(
    ("moved", "message"),
    [
        (("a", "x"), r"jobs: expected two jobs of the link \('a', 'b'\), got 'x'"),
        (("a", "a"), "jobs: expected two different jobs, got 'a' twice"),
    ],
)
def test_wrong_pairs_are_refused(moved: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        landscape_plot_data(TWINS, 50, {}, moved)


def test_one_job_has_no_landscape() -> None:
    with pytest.raises(InputError, match="expected a link of at least two jobs, got 1"):
        landscape_plot_data(TWINS[:1], 50, {})


@settings(max_examples=10)
@given(jobs(20))
def test_a_job_alone_can_be_shown(job: Job) -> None:
    assert demand_plot_data([job], 50, {})["before"] == demand_plot_data([job], 50, {})["after"]
