"""A profile is what an iteration is like when nobody is in the way, whoever was; too little is said to be so."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_agent.interleave import Network
from cassini_agent.interleave.groups import groups
from cassini_agent.interleave.profile import History, Profile

MS = 1_000_000


def recent(rows: list[tuple[Any, Any, Any]]) -> dict[str, list[Any]]:
    natural, start, end = zip(*rows[-32:], strict=True) if rows else ((), (), ())
    return {"natural_ns": list(natural), "communication_start_ns": list(start), "communication_end_ns": list(end)}


def row(rest_ms: float, sending_ms: float) -> tuple[int, int, int]:
    return round((rest_ms + sending_ms) * MS), round(rest_ms * MS), round((rest_ms + sending_ms) * MS)


def told(history: History, rows: list[tuple[Any, Any, Any]], each: int = 7) -> None:
    """As a daemon that is asked now and then."""
    for end in [*range(each, len(rows), each), len(rows)]:
        history.add(end, recent(rows[:end]))


def profile(rows: list[tuple[Any, Any, Any]]) -> Profile:
    history = History()
    told(history, rows)
    found = history.profile()
    assert isinstance(found, Profile), found
    return found


@settings(max_examples=60)
@given(
    rest=st.floats(20, 400),
    sending=st.floats(10, 300),
    free=st.floats(0.45, 1.0),
    stretch=st.floats(1.0, 2.0),
    jitter=st.floats(0, 0.03),
    seed=st.integers(0, 99),
)
def test_contention_shows_neither_in_the_profile_nor_in_its_jitter(
    rest: float, sending: float, free: float, stretch: float, jitter: float, seed: float
) -> None:
    """As long as nearly half of the iterations met nobody."""
    rng = random.Random(seed)
    rows = []
    for k in range(64):
        met = (k * 7 % 20) / 20 >= free
        rows.append(row(rest * (1 + jitter * rng.gauss(0, 1)), sending * (rng.uniform(1, stretch) if met else 1.0)))
    found = profile(rows)
    assert found.iteration_ns == pytest.approx((rest + sending) * MS, rel=0.005 + 1.5 * jitter)
    assert found.duration_ns == pytest.approx(sending * MS, rel=1e-4)
    assert found.start_ns == pytest.approx(rest * MS, rel=0.001 + 1.5 * jitter)
    assert max(found.times_ns) - min(found.times_ns) <= rest * MS * 8 * jitter + 2


@given(each=st.integers(1, 31), many=st.integers(16, 100))
def test_each_iteration_counts_once_however_often_a_daemon_is_asked(each: int, many: int) -> None:
    rows = [row(100 + k, 50) for k in range(many)]
    history = History()
    told(history, rows, each)
    told(history, rows, each) if many <= each else history.add(many, recent(rows))
    assert history.count == many


def test_what_was_missed_is_missing_and_nothing_counts_twice() -> None:
    rows = [row(100, 50)] * 200
    history = History()
    history.add(10, recent(rows[:10]))
    history.add(200, recent(rows))
    assert history.count == 42


def test_a_changed_job_is_known_by_its_newest_iterations() -> None:
    slower = profile([row(100, 50)] * 48 + [row(115, 50)] * 20)
    assert slower.iteration_ns == pytest.approx(165 * MS)
    quicker = profile([row(100, 90)] * 40 + [row(100, 50)] * 24)
    assert quicker.iteration_ns == pytest.approx(150 * MS)


def test_stalls_show_nothing() -> None:
    rows = [row(100 + k % 3, 50) for k in range(40)]
    rows[20] = row(700, 50)
    assert profile(rows).iteration_ns == pytest.approx(151 * MS, rel=0.005)


def test_what_counters_show_serves_a_job_that_marks_nothing() -> None:
    history = History()
    history.add(30, recent([(150 * MS, None, None)] * 30), (100 * MS, 149 * MS))
    found = history.profile()
    assert isinstance(found, Profile)
    assert (found.iteration_ns, found.start_ns, found.duration_ns) == (150 * MS, 100 * MS, 49 * MS)


def test_a_job_that_began_again_is_another_one() -> None:
    history = History()
    told(history, [row(100, 50)] * 40)
    assert not history.add(3, recent([row(200, 50)] * 3))
    assert history.profile() == "only 3 usual iterations are known, expected 16 or more"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([row(100, 50)] * 15, "only 15 usual iterations"),
        ([row(100, 50)] * 15 + [row(900, 50)], "only 15 usual iterations"),
        ([(150 * MS, None, None)] * 30, "none of its last 30 iterations says when it communicated"),
        ([(150 * MS, 100 * MS, None)] * 30, "none of its last 30"),
        ([(150 * MS, 120 * MS, 110 * MS)] * 30, "none of its last 30"),
        ([(150 * MS, 100 * MS, 400 * MS)] * 30, "none of its last 30"),
        ([(None, None, None)] * 30, "only 0 usual iterations"),
    ],
)
def test_what_cannot_be_known_is_said(rows: list[tuple[Any, Any, Any]], why: str) -> None:
    history = History()
    told(history, rows)
    found = history.profile()
    assert isinstance(found, str)
    assert why in found


@pytest.mark.parametrize("strange", [{}, {"natural_ns": 5}, {"natural_ns": ["x"] * 3}, {"natural_ns": None}])
def test_a_daemon_that_says_nothing_of_use_is_no_error(strange: dict[str, Any]) -> None:
    history = History()
    history.add(30, strange)
    assert isinstance(history.profile(), str)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("xyzuvw"), max_size=3), min_size=1))
def test_groups_are_who_meets_directly_or_through_others(routes: dict[str, list[str]]) -> None:
    found = groups(routes)
    assert sorted(job for group in found for job in group) == sorted(routes)
    of_job = {job: group for group in found for job in group}
    for one, its in routes.items():
        for other, theirs in routes.items():
            if set(its) & set(theirs):
                assert of_job[one] == of_job[other]
    for group in found:  # nobody is in a group without a way to all others in it
        reached = {min(group)}
        while more := {job for job in group - reached if any(set(routes[job]) & set(routes[one]) for one in reached)}:
            reached |= more
        assert reached == group


# --- the network ------------------------------------------------------------------------------------------------------

KNOWN = Profile(413e6, 240e6, 173e6, (413e6,) * 16, 0.0)


def test_a_job_sends_at_most_what_its_narrowest_link_carries() -> None:
    network = Network({"x": 100.0, "y": 40.0}, {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 4.0}}, gbps={"c": 7.0})
    problem = network.problem({"a": KNOWN, "b": KNOWN})
    assert {job.id: job.phases for job in problem.jobs} == {
        "a": (cc.Phase(240, 173, 40.0),),
        "b": (cc.Phase(240, 173, 25.0),),
    }
    assert Network.one_link("up", 50.0, {"a": 20.0}).problem({"a": KNOWN}).jobs[0].phases[0].gbps == 20.0


def file(tmp_path: Path, **changes: Any) -> Path:
    content = {
        "format": "cassini-problem/1",
        "links": [{"id": "up", "capacity_gbps": 50}],
        "candidates": [{"id": "here", "routes": {"a": ["up"], "b": ["up"]}}],
        **changes,
    }
    path = tmp_path / "network.json"
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))
    return path


def test_a_problem_file_may_leave_out_the_jobs_that_are_to_be_measured(tmp_path: Path) -> None:
    network = Network.from_file(file(tmp_path))
    assert network.links == {"up": 50.0}
    assert dict(network.route("a")) == {"up": 1.0}
    assert network.profiles == {}
    assert dict(network.route("z")) == {}
    known = {"id": "a", "iteration_ms": 400, "phases": [{"start_ms": 1, "duration_ms": 100, "gbps": 9}]}
    network = Network.from_file(file(tmp_path, jobs=[known]))
    assert list(network.profiles) == ["a"]
    jobs = {job.id: job for job in network.problem({"a": KNOWN, "b": KNOWN}).jobs}
    assert (jobs["a"].iteration_ms, jobs["b"].iteration_ms) == (400, 413)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": "cassini-problem/9"}, "format"),
        ({"links": []}, "up"),
        ({"extra": 1}, "extra"),
        ({"candidates": 5}, "candidates"),
        ({"candidates": [{"id": "x", "routes": {"a": []}}, {"id": "y", "routes": {}}]}, "one of 'x', 'y', got None"),
        ({"jobs": 5}, "jobs"),
        ({"candidates": None, "jobs": []}, "."),
        ({"jobs": [{"id": "a"}]}, "iteration_ms"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Network.from_file(file(tmp_path, **changes))


@pytest.mark.parametrize("text", ["", "{", '{"format": 1, "format": 2}', "[1]", "\x00", "[" * 100_000])
def test_what_is_no_such_file_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "network.json"
    path.write_text(text)
    with pytest.raises(cc.InputError):
        Network.from_file(path)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Network({"up": 0.0}), "capacity"),
        (lambda: Network({"up": 1.0}, {"a": {"down": 1.0}}), "ids of links, got 'down'"),
        (lambda: Network({"up": 1.0}, gbps={"a": 0.0}), "a rate above 0"),
    ],
)
def test_what_is_no_network_is_said(make: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make()
