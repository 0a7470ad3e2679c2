"""A profile is what an iteration is like when nobody is in the way, whoever was; too little is said to be so."""

from __future__ import annotations

import json
import random
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_agent.dispatch.meeting import that_meet
from cassini_agent.interleave import Network
from cassini_agent.interleave.network import _longest
from cassini_agent.interleave.planning import planned
from cassini_agent.interleave.profile import History, Profile, _mean_up_to

MS = 1_000_000


def recent(rows: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any, Any]]:
    return rows[-32:]


def row(rest_ms: float, sending_ms: float) -> tuple[int, int, int]:
    return round((rest_ms + sending_ms) * MS), round(rest_ms * MS), round((rest_ms + sending_ms) * MS)


def told(history: History, rows: list[tuple[Any, Any, Any]], each: int = 7) -> None:
    """As a daemon that is asked now and then."""
    for end in [*range(each, len(rows), each), len(rows)]:
        history.add(end, recent(rows[:end]))


def parting(rows: list[tuple[Any, Any, Any]]) -> Profile:
    history = History()
    told(history, rows)
    found = history.parting()
    assert isinstance(found, Profile), found
    return found


def apart(rows: list[tuple[Any, Any, Any]]) -> Profile:
    history = History()
    told(history, rows)
    found = history.apart()
    assert isinstance(found, Profile), found
    return found


@settings(max_examples=60)
@given(
    rest=st.floats(20, 400),
    sending=st.floats(10, 300),
    free=st.floats(0.1, 1.0),
    stretch=st.floats(1.0, 2.0),
    jitter=st.floats(0, 0.03),
    seed=st.integers(0, 99),
)
def test_parting_keeps_the_pace_that_jobs_have_and_takes_communication_as_short_as_it_was_seen(
    rest: float, sending: float, free: float, stretch: float, jitter: float, seed: int
) -> None:
    rng = random.Random(seed)
    rows = []
    for k in range(64):
        met = (k * 7 % 20) / 20 >= free
        rows.append(row(rest * (1 + jitter * rng.gauss(0, 1)), sending * (rng.uniform(1, stretch) if met else 1.0)))
    found = parting(rows)
    mean = sum(natural for natural, *_ in rows) / len(rows)
    assert found.duration_ns == pytest.approx(sending * MS, rel=1e-4)
    assert found.rest_ns == pytest.approx(rest * MS, rel=0.001 + 1.5 * jitter)
    assert found.start_ns == pytest.approx(rest * MS, rel=0.001 + 1.5 * jitter)
    assert found.takes_ns is not None
    assert 0.99 * mean < found.takes_ns < 1.05 * mean


def test_jobs_that_are_apart_are_known_by_whole_iterations() -> None:
    rows = [row(100 + k % 5, 50 + k % 3) for k in range(60)]
    found = apart(rows)
    assert found.takes_ns is None
    assert sorted(found.times_ns) == sorted(natural for natural, *_ in rows)
    assert found.iteration_ns == pytest.approx(153 * MS, rel=0.001)
    assert found.duration_ns == 51 * MS


@settings(max_examples=60)
@given(
    rest=st.floats(100, 400),
    jitter=st.floats(0.002, 0.05),
    together=st.floats(0, 1),
    waits=st.floats(0, 4),
    turn=st.sampled_from([(0.0,), (0.05, -0.05), (0.1, 0.0, -0.1)]),
    seed=st.integers(0, 999),
)
def test_what_waits_of_rank_0_hide_is_allowed_for(
    rest: float, jitter: float, together: float, waits: float, turn: tuple[float, ...], seed: int
) -> None:
    """Of two ranks that vary together, each by itself, or both; what differs in turn differs alike in both."""
    rng = random.Random(seed)
    spread = jitter * rest
    wrong, hidden = [], []
    for _ in range(8):
        rows, both = [], []
        for k in range(64):
            shared = sqrt(together) * rng.gauss(0, 1)
            first, other = (
                rest * (1 + turn[k % len(turn)]) + spread * (shared + sqrt(1 - together) * rng.gauss(0, 1))
                for _ in range(2)
            )
            rows.append(row(max(first, other - waits * spread), 100))
            both.append(max(first, other) + 100)
        seen = apart(rows)
        found = seen.of_several_ranks((seen.iteration_ns / MS + waits * spread) * MS)
        assert found.iteration_ns - seen.iteration_ns == pytest.approx(found.times_ns[0] - seen.times_ns[0])
        assert (found.duration_ns, found.start_ns) == (seen.duration_ns, seen.start_ns)
        wrong.append(found.iteration_ns / MS - fmean(both))
        hidden.append(fmean(both) - seen.iteration_ns / MS)
    # What each of two that vary independently hides is at most 0.56 deviations: half as wrong as to add nothing.
    most = _mean_up_to(waits * spread, sqrt(2) * spread)
    assert fmean(hidden) < 1.25 * most + 1e-3
    assert abs(fmean(wrong)) < 0.75 * most + 1e-3


def test_the_mean_of_what_a_wait_hides_is_that_of_draws() -> None:
    rng = random.Random(0)
    for most in (0.0, 0.3, 1.0, 5.0):
        drawn = fmean(min(max(0.0, rng.gauss(0, 2)), most) for _ in range(20_000))
        assert _mean_up_to(most, 2.0) == pytest.approx(drawn, abs=0.03)


def test_what_communication_takes_is_not_forgotten_while_others_are_in_the_way() -> None:
    history = History()
    told(history, [row(100, 90)] * 40)
    found = history.parting(shortest_ns=50 * MS)
    assert isinstance(found, Profile)
    assert (found.duration_ns, found.iteration_ns) == (50 * MS, 150 * MS)


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
    for profile in (parting, apart):
        assert profile([row(100, 50)] * 48 + [row(115, 50)] * 20).iteration_ns == pytest.approx(165 * MS)


def test_stalls_show_nothing() -> None:
    rows = [row(100 + k % 3, 50) for k in range(40)]
    rows[20] = row(700, 50)
    for profile in (parting, apart):
        assert profile(rows).iteration_ns == pytest.approx(151 * MS, rel=0.005)


def test_what_counters_show_serves_a_job_that_marks_nothing() -> None:
    history = History()
    history.add(30, recent([(150 * MS, None, None)] * 30), (100 * MS, 149 * MS))
    found = history.parting()
    assert isinstance(found, Profile)
    assert (found.iteration_ns, found.start_ns, found.duration_ns) == (150 * MS, 100 * MS, 49 * MS)


def test_a_job_that_began_again_is_another_one() -> None:
    history = History()
    told(history, [row(100, 50)] * 40)
    assert not history.add(3, recent([row(200, 50)] * 3))
    assert history.parting() == "only 3 usual iterations are known, expected 8 or more"
    assert history.apart() == "only 3 usual iterations are known, expected 16 or more"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([row(100, 50)] * 7, "only 7 usual iterations"),
        ([row(100, 50)] * 7 + [row(900, 50)], "only 7 usual iterations"),
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
    for found in (history.parting(), history.apart()):
        assert isinstance(found, str)
        assert why in found


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("xyzuvw"), max_size=3), min_size=1))
def test_groups_are_who_meets_directly_or_through_others(routes: dict[str, list[str]]) -> None:
    found = that_meet(routes)
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

KNOWN = Profile(240e6, 240e6, 173e6, 0.0, 413e6, None, (413e6,) * 16)
MET = Profile(240e6, 240e6, 300e6, 0.0, 540e6, 550e6)


def test_a_job_sends_at_most_what_its_narrowest_link_carries() -> None:
    network = Network({"x": 100.0, "y": 40.0}, {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 4.0}}, gbps={"c": 7.0})
    problem = network.problem({"a": KNOWN, "b": KNOWN})
    assert {job.id: job.phases for job in problem.jobs} == {
        "a": (cc.Phase(240, 173, 40.0),),
        "b": (cc.Phase(240, 173, 25.0),),
    }
    assert Network.one_link("up", 50.0, {"a": 20.0}).problem({"a": KNOWN}).jobs[0].phases[0].gbps == 20.0


@given(
    rest=st.floats(1e6, 1e9),
    later=st.floats(-1e5, 1e5),
    duration=st.floats(1e6, 1e9),
    takes=st.none() | st.floats(1e9, 2e9),
)
def test_a_burst_at_the_end_stays_there_whatever_is_a_mean_and_what_a_median(
    rest: float, later: float, duration: float, takes: float | None
) -> None:
    """A nanosecond of it at the beginning of the next iteration would halve the hold."""
    found = Profile(rest, max(0.0, rest + later), duration, 0.0, rest + duration, takes)
    for job in Network.one_link("up", 50.0).problem({"a": found, "b": found}).jobs:
        start, lasts, whole = (
            round(ms * MS) for ms in (job.phases[0].start_ms, job.phases[0].duration_ms, job.iteration_ms)
        )
        assert start + lasts <= whole
        assert whole == pytest.approx(rest + lasts, abs=2)


def test_jobs_that_are_to_be_parted_are_given_room() -> None:
    """Two whose communication took 300 of 540 ms while they met: it cannot have, when they are apart."""
    jobs = Network.one_link("up", 50.0).problem({"a": MET, "b": MET}).jobs
    assert [job.phases[0].duration_ms for job in jobs] == [pytest.approx(181.5), pytest.approx(181.5)]
    assert [job.iteration_ms for job in jobs] == [pytest.approx(421.5), pytest.approx(421.5)]
    alone = Network.one_link("up", 50.0).problem({"a": MET}).jobs[0]
    assert alone.phases[0].duration_ms == 300
    known = Network.one_link("up", 50.0).problem({"a": MET, "b": KNOWN}).jobs[1]
    assert known.phases[0].duration_ms == 173


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
        ({"jobs": [{"id": []}]}, "id"),
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


SEEN = st.tuples(st.floats(150, 345), st.floats(0, 60))
"""For how long a job was seen to send while another was in its way, and by how much its iterations took longer."""


@given(SEEN, SEEN)
def test_two_jobs_that_fill_a_link_where_they_meet_are_always_parted(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    """Whatever they were seen to send: of iterations that others stretched, no two are alike."""
    profiles = {
        name: Profile(230 * MS, 230 * MS, sending * MS, MS, 568 * MS, (230 + sending + longer) * MS)
        for name, (sending, longer) in (("a", one), ("b", other))
    }
    plan, score = planned(Network.one_link("link", 0.4), profiles, 1, {})
    assert len(plan.schedules) == 2
    assert score == 1.0


@given(st.lists(st.tuples(st.floats(1.0, 1e9), st.floats(5e-10, 1e-8)), min_size=1, max_size=6), st.floats(0.1, 1.0))
def test_the_longest_are_cut_first_and_what_is_left_of_all_is_the_share(
    sending: list[tuple[float, float]], share: float
) -> None:
    longest = _longest(sending, share)
    left = sum(min(duration, longest) * per_ns for duration, per_ns in sending)
    assert left == pytest.approx(share * sum(duration * per_ns for duration, per_ns in sending), rel=1e-6)
    assert 0 < longest <= max(duration for duration, _ in sending) * (1 + 1e-9)


SEEN_OF_THREE = st.tuples(st.floats(110, 330), st.floats(0, 60))


@given(st.lists(SEEN_OF_THREE, min_size=3, max_size=3))
@settings(max_examples=50)
def test_so_are_three_each_of_which_needs_a_quarter_of_the_link(seen: list[tuple[float, float]]) -> None:
    profiles = {
        name: Profile(300 * MS, 300 * MS, sending * MS, MS, 630 * MS, (300 + sending + longer) * MS)
        for name, (sending, longer) in zip("abc", seen, strict=True)
    }
    plan, score = planned(Network.one_link("link", 0.4), profiles, 1, {})
    assert len(plan.schedules) == 3
    assert len({one.pace_ns for one in plan.schedules}) == 1
    assert score == 1.0
