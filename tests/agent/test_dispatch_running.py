"""Jobs that run are told of to the ranking, and those that it leaves where they are keep their grids."""

from __future__ import annotations

import dataclasses

from fake_daemons import FakeDaemons
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.control.phase import wrap
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule

WHERE = {job: dispatch.Endpoint("http://here") for job in "abcd"}


def burst(job: str, iteration_ms: float, duration_ms: float, start_ms: float = 0) -> cc.Job:
    return cc.Job(job, iteration_ms, [cc.Phase(start_ms, duration_ms, 45)])


def one_link(*jobs: cc.Job) -> cc.Problem:
    return cc.Problem(jobs, [cc.Link("up", 50)], [cc.Candidate("c", {job.id: ["up"] for job in jobs})])


def grid(one: Schedule) -> tuple[int, int]:
    return (one.epoch_ns + one.shift_ns) % one.pace_ns, one.pace_ns


def apply(daemons: FakeDaemons, problem: cc.Problem) -> dict[str, dispatch.Acknowledgement]:
    running = dispatch.running(problem, WHERE, transport=daemons)
    ranking = cc.rank(running.problem)
    answers = dispatch.apply(ranking, running.problem, WHERE, since_ns=running.since_ns, transport=daemons)
    return {one.job: one for one in answers}


PAIR = (burst("a", 200, 50), burst("b", 200, 50))


def test_where_nothing_runs_the_problem_is_as_it_was() -> None:
    running = dispatch.running(one_link(*PAIR), WHERE, transport=FakeDaemons())
    assert running.problem == one_link(*PAIR)


def test_who_joins_moves_nobody() -> None:
    daemons = FakeDaemons()
    apply(daemons, one_link(*PAIR))
    before = dict(daemons.schedules)
    answers = apply(daemons, one_link(*PAIR, burst("c", 200, 30)))
    assert all(one.accepted and not one.free for one in answers.values())
    for job in "ab":
        assert grid(daemons.schedules[job]) == grid(before[job])
        assert daemons.schedules[job].version > before[job].version
    assert len({one.component for one in daemons.schedules.values()}) == 1
    assert len({one.epoch_ns for one in daemons.schedules.values()}) == 1
    requests = daemons.requests.copy()
    apply(daemons, one_link(*PAIR, burst("c", 200, 30)))  # all run as planned: nothing is sent
    assert daemons.requests == requests


def test_who_does_not_fit_beside_them_moves_one() -> None:
    daemons = FakeDaemons()
    problem = one_link(burst("a", 200, 60), burst("b", 200, 60))
    apply(daemons, problem)  # half an iteration apart: a gap of 40 ms on either side is too short for the third
    before = dict(daemons.schedules)
    apply(daemons, one_link(*problem.jobs, burst("c", 200, 60)))
    assert sum(grid(daemons.schedules[job]) == grid(before[job]) for job in "ab") == 1


@settings(max_examples=25)
@given(
    shifts=st.tuples(st.integers(0, 199), st.integers(0, 99)),
    since_ns=st.integers(10**18, 10**18 + 10**12),
    later_ms=st.integers(-50, 5000),
)
def test_a_kept_job_has_the_same_grid_wherever_the_plan_counts_from(
    shifts: tuple[int, int], since_ns: int, later_ms: int
) -> None:
    problem = one_link(burst("a", 200, 50), burst("b", 100, 20))
    had = {
        job: Schedule(job, "x", 1, 10**18, pace, shift * MS_NS, pace, MS_NS, MS_NS, 0, since_ns + SECOND_NS)
        for job, shift, pace in zip("ab", shifts, (200 * MS_NS, 100 * MS_NS), strict=True)
    }
    running = dispatch.with_running_shifts(problem, had, since_ns)
    ranking = cc.rank(running.problem, running_tolerance=0.5)
    assert ranking.best is not None
    assert ranking.best.disturbance is not None
    epoch_ns = since_ns + later_ms * MS_NS
    plan = dispatch.plan(ranking, running.problem, epoch_ns=epoch_ns, since_ns=since_ns)
    for one in plan.schedules:
        apart = one.epoch_ns + one.shift_ns - had[one.job].epoch_ns - had[one.job].shift_ns
        moved_ns = round(ranking.best.disturbance.moves_ms.get(one.job, 0.0) * MS_NS)
        assert wrap(apart - moved_ns, one.pace_ns) == 0


def test_what_has_expired_does_not_run() -> None:
    old = Schedule("a", "x", 1, 0, 200 * MS_NS, 0, 200 * MS_NS, MS_NS, MS_NS, 0, 10)
    assert dispatch.with_running_shifts(one_link(*PAIR), {"a": old}, 10).problem.running_shifts_ms == {}
    assert dispatch.with_running_shifts(one_link(*PAIR), {"a": old}, 9).problem.running_shifts_ms.keys() == {"a"}


def test_an_arrangement_keeps_who_runs_unless_that_leaves_little_room() -> None:
    three = one_link(*PAIR, burst("c", 200, 20))
    kept = dispatch.arrange(dataclasses.replace(three, running_shifts_ms={"a": 0.0, "b": 100.0}))
    assert kept.ranking.best is not None
    assert kept.ranking.best.disturbance == cc.Disturbance({}, 1.0, 1.0)
    assert [kept.ranking.best.shifts_ms[job] for job in "ab"] == [0.0, 100.0]
    # b follows a at once: the score is as good, but nobody may be late.
    tight = dispatch.arrange(dataclasses.replace(three, running_shifts_ms={"a": 0.0, "b": 50.5}))
    assert tight.ranking.best is not None
    assert tight.ranking.best.disturbance is None
    assert tight.ranking.best.hold_ms == dispatch.arrange(three).ranking.best.hold_ms  # type: ignore[union-attr]


def trio(link: str, jobs: str, apart_ms: float, joins_ms: float) -> cc.Problem:
    """Two jobs that run so far apart, and a third one that joins them."""
    a, b, c = jobs
    problem = cc.Problem(
        [burst(a, 200, 50), burst(b, 200, 50), burst(c, 200, joins_ms)],
        [cc.Link(link, 50)],
        [cc.Candidate("c", {job: [link] for job in jobs})],
    )
    return dataclasses.replace(problem, running_shifts_ms={a: 0.0, b: apart_ms})


def beside(one: cc.Problem, other: cc.Problem) -> cc.Problem:
    """Both in one problem: no job of one meets any of the other."""
    routes = {**one.candidates[0].routes, **other.candidates[0].routes}
    return cc.Problem(
        [*one.jobs, *other.jobs],
        [*one.links, *other.links],
        [cc.Candidate("c", routes)],
        {**one.running_shifts_ms, **other.running_shifts_ms},
    )


def told(problem: cc.Problem) -> dict[str, Schedule]:
    """What each job gets; a component's name says what is planned for it, and the shift whether it stays."""
    plan = dispatch.arrange(problem).plan(epoch_ns=0)
    return {one.job: one for one in plan.schedules}


@settings(max_examples=15, deadline=None)
@given(apart=st.tuples(*[st.floats(51, 149)] * 2), joins=st.tuples(*[st.floats(1, 70)] * 2))
def test_who_stays_does_not_depend_on_jobs_that_one_never_meets(
    apart: tuple[float, float], joins: tuple[float, float]
) -> None:
    """A hold, and what it loses by keeping jobs where they are, is of a component: not of all that are arranged."""
    one, other = trio("x", "abc", apart[0], joins[0]), trio("y", "def", apart[1], joins[1])
    assert told(beside(one, other)) == told(one) | told(other)
