"""How much of a link jobs fill that cannot all send at once: by their rates and paces, whatever else they send."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_agent.interleave import Network
from cassini_agent.interleave.crowding import filled
from cassini_agent.interleave.planning import ROOM, planned
from cassini_agent.interleave.profile import Profile

MS = 1_000_000


def met(iteration_ms: float, sending_ms: float) -> Profile:
    """A job to be parted, as short as it was ever seen."""
    rest = (iteration_ms - sending_ms) * MS
    return Profile(rest, rest, sending_ms * MS, 0.0, iteration_ms * MS, iteration_ms * MS)


def paces_ms(network: Network, profiles: dict[str, Profile]) -> dict[str, float]:
    plan, _ = planned(network, profiles, {})
    return {one.job: one.pace_ns / MS for one in plan.schedules}


def test_who_leaves_room_for_all_slows_nobody_however_long_it_sends() -> None:
    """Two that share a link part; what quiet jobs send all the time on another link is in nobody's way."""
    network = Network(
        {"x": 50.0, "y": 100.0},
        {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 1.0}, "c": {"y": 1.0}, "d": {"y": 1.0}},
        profiles={job: cc.Job(job, 400, [cc.Phase(0, 320, gbps)]) for job, gbps in (("c", 5.0), ("d", 20.0))},
    )
    profiles = {"a": met(400, 100), "b": met(400, 100), "c": met(400, 320), "d": met(400, 320)}
    paces = paces_ms(network, profiles)
    assert paces["a"] == paces["b"] == pytest.approx(400 * (1 + ROOM))


def test_what_quiet_jobs_were_seen_to_send_is_believed() -> None:
    """Two that never fill the link together cannot have held each other up: nothing of it is cut."""
    problem = Network({"up": 50.0}, gbps={"a": 20.0, "b": 30.0}).problem({"a": met(400, 300), "b": met(400, 350)})
    assert [job.phases[0].duration_ms for job in problem.jobs] == [300, 350]


def test_jobs_of_which_one_sends_twice_as_often_get_room_at_their_ratio() -> None:
    paces = paces_ms(Network.one_link("up", 50.0), {"a": met(200, 100), "b": met(400, 80)})
    assert paces == {"a": pytest.approx(225), "b": pytest.approx(450)}
    # Two that take turns between the bursts of a third: each meets it in a pattern of its own.
    paces = paces_ms(Network.one_link("up", 50.0), {"a": met(200, 80), "b": met(400, 70), "c": met(400, 70)})
    assert paces == {"a": pytest.approx(208), "b": pytest.approx(416), "c": pytest.approx(416)}


def test_no_room_is_made_where_no_pace_makes_any() -> None:
    """Bursts that come more often than another one lasts."""
    paces = paces_ms(Network.one_link("up", 50.0), {"a": met(400, 150), "b": met(400, 150), "c": met(97, 2)})
    assert paces["a"] == paces["b"] < 417


SENDING = st.tuples(
    st.sampled_from([0.2, 0.34, 0.5, 0.6, 0.8, 1.0]), st.integers(5, 100), st.sampled_from([100.0, 200.0])
)
"""A share of the link's rate, for so many ms, out of so many."""


def on_one_link(sending: list[tuple[float, int, float]]) -> cc.Problem:
    jobs = [
        cc.Job(str(at), pace_ms, [cc.Phase(0, lasts_ms, 100 * share)])
        for at, (share, lasts_ms, pace_ms) in enumerate(sending)
    ]
    return cc.Problem(jobs, [cc.Link("x", 100.0)], [cc.Candidate("c", {job.id: ["x"] for job in jobs})])


def score_of(problem: cc.Problem) -> float:
    return cc.solve_link(problem.jobs, 100.0, resolution_ms=0.001).score


def fills(problem: cc.Problem) -> float:
    (link,) = problem.links
    return filled(problem, link)


@settings(max_examples=80, deadline=None)
@given(st.lists(SENDING, min_size=1, max_size=4).map(on_one_link))
def test_jobs_that_fill_more_than_all_of_a_link_fit_at_no_shifts(problem: cc.Problem) -> None:
    """The link solver is the judge."""
    if fills(problem) > 1 + 1e-6:
        assert score_of(problem) < 1 - 1e-9


@settings(max_examples=40, deadline=None)
@given(st.lists(SENDING, min_size=2, max_size=2).map(on_one_link))
def test_two_jobs_fit_where_they_fill_no_more_than_the_link(problem: cc.Problem) -> None:
    if fills(problem) <= 1:
        assert score_of(problem) == pytest.approx(1.0, abs=1e-9)


def test_of_equal_jobs_at_full_rate_it_is_the_share_of_time_and_alone_nothing() -> None:
    for many, sending_ms in product((2, 3, 5), (10, 30)):
        assert fills(on_one_link([(1.0, sending_ms, 100.0)] * many)) == pytest.approx(many * sending_ms / 100)
    assert fills(on_one_link([(1.0, 90, 100.0)])) == 0.0
