"""A ranking becomes schedules that keep what the ranking promised, and every job's daemon is asked until it answers."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping

import pytest
from fake_daemons import FakeDaemons
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.dispatch import send
from cassini_agent.dispatch.plan import ALONE
from cassini_agent.schedule import MS_NS, Schedule
from cassini_core.periods.harmonize_jobs import lengthen

HOUR_NS = 3600 * 10**9


def burst(job: str, iteration_ms: float, start_ms: float, duration_ms: float, gbps: float = 45) -> cc.Job:
    return cc.Job(job, iteration_ms, [cc.Phase(start_ms, duration_ms, gbps)])


def one_link(jobs: list[cc.Job], capacity_gbps: float = 50) -> cc.Problem:
    routes = {job.id: ["up"] for job in jobs}
    return cc.Problem(jobs, [cc.Link("up", capacity_gbps)], [cc.Candidate("c", routes)])


def planned(problem: cc.Problem, headroom: Mapping[str, float] | None = None) -> tuple[dispatch.Plan, cc.Ranking]:
    longer = dispatch.with_headroom(problem, headroom or {})
    ranking = cc.rank(longer)
    return dispatch.plan(ranking, longer, epoch_ns=10**18, uncontrolled=problem), ranking


TWO = one_link([burst("a", 255, 141, 114), burst("b", 255, 141, 114)])
OTHER = one_link([burst("a", 255, 141, 114), burst("b", 255, 141, 90)])
WHERE = {job: dispatch.Endpoint("http://here") for job in "abc"}


def test_two_jobs_get_the_shifts_of_the_ranking() -> None:
    plan, ranking = planned(TWO)
    assert [one.job for one in plan.schedules] == ["a", "b"]
    assert [one.shift_ns for one in plan.schedules] == [0, 127_500_000]
    for one in plan.schedules:
        assert one.pace_ns == one.iteration_ns == 255 * MS_NS
        assert one.hold_ns == round(ranking.best.hold_ms * MS_NS)
        assert one.component == plan.schedules[0].component
        assert one.component.startswith("a#")
        assert one.epoch_ns == 10**18


def test_the_gain_is_what_random_phases_lose_on_average() -> None:
    plan, _ = planned(TWO)
    at_random = [1 - cc.score_link(TWO.jobs, 50, {"a": 0, "b": 255 * (k + 0.5) / 2000}) for k in range(2000)]
    for one in plan.schedules:
        assert one.gain_ns == pytest.approx(255 * MS_NS * sum(at_random) / 2000, rel=1e-3)


def test_headroom_comes_after_what_is_left_of_a_burst_at_the_end_of_an_iteration() -> None:
    (longer,) = dispatch.with_headroom(one_link([burst("a", 160, 140, 50)]), {"a": 0.25}).jobs
    assert longer.iteration_ms == 200
    assert longer.phases == (cc.Phase(0, 30, 45), cc.Phase(140, 20, 45))


times = st.integers(20, 400)


@st.composite
def problems(draw: st.DrawFn) -> cc.Problem:
    """Two to four jobs of commensurable iteration times on up to three links."""
    unit = draw(st.integers(30, 120))
    jobs = []
    for name in "abcd"[: draw(st.integers(2, 4))]:
        iteration = unit * draw(st.sampled_from([1, 1, 2, 3]))
        jobs.append(
            burst(name, iteration, draw(st.integers(0, iteration - 1)), draw(st.integers(1, iteration // 2)), 30)
        )
    links = [cc.Link(name, 50) for name in ("x", "y", "z")]
    routes = {job.id: draw(st.lists(st.sampled_from(["x", "y", "z"]), max_size=2, unique=True)) for job in jobs}
    return cc.Problem(jobs, links, [cc.Candidate("c", routes)])


@settings(max_examples=60)
@given(problem=problems(), headroom=st.floats(0, 0.4), data=st.data())
def test_paced_jobs_score_on_every_link_what_was_promised(
    problem: cc.Problem, headroom: float, data: st.DataObject
) -> None:
    """With the bursts where they are in an iteration, and whatever is added to it as a wait at its end."""
    jitter = data.draw(st.sampled_from([job.id for job in problem.jobs]))
    plan, ranking = planned(problem, {jitter: headroom})
    schedules = {one.job: one for one in plan.schedules}
    (candidate,) = problem.candidates
    uncontrolled = {job.id: job for job in problem.jobs}
    assert {*schedules, *plan.free} == set(candidate.routes)
    assert {job for job, why in plan.free.items() if why == ALONE} == candidate.routes.keys() - ranking.best.shifts_ms
    for link in ranking.best.links:
        members = [job for job, route in candidate.routes.items() if link.id in route]
        if not all(job in schedules for job in members):
            continue
        assert len({schedules[job].component for job in members}) == 1
        paced = [lengthen(uncontrolled[job], schedules[job].pace_ns) for job in members]
        shifts = {job: schedules[job].shift_ns / MS_NS for job in members}
        assert cc.score_link(paced, 50, shifts) == pytest.approx(link.score, abs=1e-6)
        for job in members:
            assert schedules[job].iteration_ns == round(uncontrolled[job].iteration_ms * MS_NS)


def test_jobs_of_a_component_keep_one_exact_ratio_and_others_need_no_headroom() -> None:
    jobs = [burst("a", 100, 0, 40), burst("b", 200, 0, 60), burst("c", 100, 0, 40), burst("d", 100, 0, 40)]
    routes = {"a": ["x"], "b": ["x"], "c": ["y"], "d": ["y"]}
    problem = cc.Problem(jobs, [cc.Link("x", 50), cc.Link("y", 50)], [cc.Candidate("c", routes)])
    plan, _ = planned(problem, {"a": 0.02, "b": 0.018})
    paces = {one.job: one.pace_ns for one in plan.schedules}
    assert paces == {"a": 102 * MS_NS, "b": 204 * MS_NS, "c": 100 * MS_NS, "d": 100 * MS_NS}
    names = {one.job: one.component.partition("#")[0] for one in plan.schedules}
    assert names == {"a": "a", "b": "a", "c": "c", "d": "c"}


def test_jobs_that_win_nothing_run_free() -> None:
    always = [burst("a", 100, 0, 100), burst("b", 100, 0, 100)]
    plan, _ = planned(one_link(always))
    assert plan.schedules == ()
    assert list(plan.free) == ["a", "b"]
    assert plan.warnings == ("not held: 'a', 'b': interleaving wins nothing: at random phases its links score as much",)
    roomy, _ = planned(one_link([burst("a", 100, 0, 40), burst("b", 100, 0, 40)], capacity_gbps=100))
    assert roomy.schedules == ()


@given(st.sampled_from([200.0, 227.4, 113.7, 181.3]), st.permutations("abc"), st.booleans())
def test_each_job_is_either_held_or_free_and_told_so_once(odd_ms: float, order: list[str], is_apart: bool) -> None:
    """A job that keeps no ratio with the others shares their link: no schedule of theirs may name it."""
    even, other, odd = order
    jobs = [burst(even, 200, 0, 90), burst(other, 200, 50, 90), burst(odd, odd_ms, 0, 4)]
    routes = {even: ["x"], other: ["x"], odd: ["x", "y"] if is_apart else ["x"]}
    links = [cc.Link("x", 50), cc.Link("y", 50)]
    plan, ranking = planned(cc.Problem(jobs, links, [cc.Candidate("c", routes)]))
    named = [one.job for one in plan.schedules] + list(plan.free)
    assert sorted(named) == ["a", "b", "c"]
    assert set(ranking.best.free_jobs) <= set(plan.free)
    assert {even, other} <= {one.job for one in plan.schedules}
    told = asyncio.run(dispatch.send_plan(plan, WHERE, FakeDaemons()))
    assert sorted(one.job for one in told) == ["a", "b", "c"]
    assert all(one.accepted for one in told)
    assert {one.job: one.reason for one in told if one.free} == plan.free


def test_what_cannot_be_planned_is_said() -> None:
    for call in (
        lambda: dispatch.plan(cc.rank(TWO), cc.Problem(TWO.jobs, TWO.links, [cc.Candidate("z", {})]), epoch_ns=0),
        lambda: dispatch.with_headroom(TWO, {"a": 0.5}),
        lambda: dispatch.with_headroom(TWO, {"x": 0.1}),
        lambda: dispatch.with_headroom(TWO, {"a": math.nan}),
    ):
        with pytest.raises(ValueError, match=r"expected .*, got"):
            call()


# --- sending ----------------------------------------------------------------------------------------------------------


def apply(daemons: FakeDaemons, where: Mapping[str, dispatch.Endpoint] = WHERE) -> list[dispatch.Acknowledgement]:
    return dispatch.apply(cc.rank(TWO), TWO, where, transport=daemons)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send, "FIRST_WAIT_S", 0.0)


def test_each_job_is_acknowledged() -> None:
    daemons = FakeDaemons(versions={"a": 0})  # b has not connected yet
    before_ns = time.time_ns()
    answers = apply(daemons)
    assert [(one.job, one.accepted, one.connected, one.attempts) for one in answers] == [
        ("a", True, True, 1),
        ("b", True, False, 1),
    ]
    epochs = {one.epoch_ns for one in daemons.schedules.values()}
    assert len(epochs) == 1
    assert before_ns <= epochs.pop() <= time.time_ns() + 10**9
    assert all(before_ns <= one.expires_ns - HOUR_NS <= time.time_ns() for one in daemons.schedules.values())


def test_a_newer_ranking_replaces_an_older_one() -> None:
    daemons = FakeDaemons()
    apply(daemons)
    first = dict(daemons.schedules)
    dispatch.apply(cc.rank(OTHER), OTHER, WHERE, transport=daemons)
    assert all(daemons.schedules[job].version > first[job].version for job in first)


@given(
    faults=st.lists(st.sampled_from([None, 429, 500, 503, 200]), max_size=8),
    lost=st.lists(st.booleans(), max_size=4),
)
def test_an_answer_means_that_the_daemon_has_it(faults: list[int | None], lost: list[bool]) -> None:
    daemons = FakeDaemons(faults=list(faults), lost=list(lost))
    for answer in apply(daemons):
        if answer.accepted:
            assert daemons.schedules[answer.job] == answer.schedule
            assert answer.reason == ""
        else:
            assert answer.attempts == send.ATTEMPTS
            assert answer.reason
        assert daemons.requests[answer.job] == answer.attempts <= send.ATTEMPTS


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409])
def test_what_trying_again_cannot_mend_is_not_tried_again(status: int) -> None:
    daemons = FakeDaemons(faults=[status, status])
    assert [(one.accepted, one.attempts) for one in apply(daemons)] == [(False, 1), (False, 1)]


def test_a_job_without_a_daemon_does_not_keep_the_others() -> None:
    answers = apply(FakeDaemons(), {"a": WHERE["a"]})
    assert [(one.job, one.accepted) for one in answers] == [("a", True), ("b", False)]
    assert answers[1].reason == "no daemon is known for this job"


def test_jobs_that_are_to_run_free_are_told() -> None:
    daemons = FakeDaemons()
    apply(daemons)
    always = one_link([burst("a", 100, 0, 100), burst("b", 100, 0, 100)])
    answers = dispatch.apply(cc.rank(always), always, WHERE, transport=daemons)
    assert all(one.accepted for one in answers)
    assert daemons.schedules == {}


def test_it_may_be_called_where_an_event_loop_runs() -> None:
    async def scheduler() -> list[dispatch.Acknowledgement]:
        return apply(FakeDaemons())

    assert all(one.accepted for one in asyncio.run(scheduler()))


def test_schedules_are_what_the_daemon_reads() -> None:
    plan, _ = planned(TWO)
    assert [Schedule.from_json(one.to_json()) for one in plan.schedules] == list(plan.schedules)
