"""Candidates made from others, and problems put together piece by piece."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
import wild_strategies as wild

A = cc.Job("a", 40, [cc.Phase(0, 20, 50)])
UP = cc.Link("up", 50)
BASE = cc.Candidate("c0", {"a": ["up"], "b": {"up": 2.0}})


@given(wild.problems(), st.data())
def test_a_moved_candidate_is_the_one_with_those_routes(problem: cc.Problem, data: st.DataObject) -> None:
    base, other = (data.draw(st.sampled_from(problem.candidates)) for _ in range(2))
    gone = set(data.draw(st.lists(st.sampled_from(list(base.routes))))) if base.routes else set()
    moves: dict[str, Any] = {**other.routes, **dict.fromkeys(gone)}
    moved = cc.Candidate.moved("new", base, moves)
    routes = {job: route for job, route in {**base.routes, **moves}.items() if route is not None}
    assert moved == cc.Candidate("new", routes)
    assert list(moved.routes) == list(routes)
    assert pickle.loads(pickle.dumps(moved)) == copy.deepcopy(moved) == moved
    assert all(moved.routes[job] is base.routes[job] for job in base.routes.keys() - moves.keys())
    with pytest.raises(TypeError):
        moved.routes["x"] = {}  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", BASE, {}), "candidate id: expected a non-empty string, got ''"),
        (("c", None, {}), "candidate 'c' base: expected a Candidate, got None"),
        (("c", BASE, ["a"]), "candidate 'c' routes: expected a mapping of job ids, got ['a']"),
        (("c", BASE, {"a": ["up", "up"]}), "candidate 'c' routes['a'][1]: expected each link once, got 'up' again"),
        (("c", BASE, {"a": {"up": 0}}), "candidate 'c' routes['a']['up']: expected a multiplier above 0, got 0.0"),
        (("c", BASE, {"x": None}), "candidate 'c' routes: expected jobs that base places, got 'x'"),
        (("c", BASE, {"a": None}, {"a": {"h": 1}}), "candidate 'c' hosts: expected jobs that have a route, got 'a'"),
    ],
)
def test_a_wrong_move_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(cc.InputError) as caught:
        cc.Candidate.moved(*arguments)
    assert str(caught.value) == message


@given(wild.problems())
def test_a_problem_built_piece_by_piece_is_equal(problem: cc.Problem) -> None:
    builder = cc.ProblemBuilder()
    for link in problem.links:
        builder.add_link(link)
    for job in problem.jobs:
        builder.add_job(job)
    for candidate in problem.candidates:
        assert builder.add_candidate(candidate) is builder
    assert builder.build() == problem


def outcome(make: Callable[[], cc.Problem]) -> cc.Problem | str:
    """The problem, or why there is none."""
    try:
        return make()
    except cc.InputError as error:
        return error.reason


@given(wild.problems(), wild.problems())
def test_the_builder_takes_exactly_what_makes_a_problem(problem: cc.Problem, other: cc.Problem) -> None:
    """Whatever the builder refuses would have been refused at the end, and nothing else."""
    builder, candidate = cc.ProblemBuilder(), other.candidates[0]
    for job in problem.jobs:
        builder.add_job(job)
    for link in problem.links:
        builder.add_link(link)
    at_the_end = outcome(lambda: cc.Problem(problem.jobs, problem.links, [candidate]))
    at_once = outcome(lambda: builder.add_candidate(candidate).build())
    assert at_once == at_the_end
    assert builder.build().candidates == (() if isinstance(at_once, str) else (candidate,))


@pytest.mark.parametrize(
    ("add", "item", "message"),
    [
        ("add_job", UP, "job: expected a Job, got Link(id='up', capacity_gbps=50.0)"),
        ("add_job", A, "job id: expected an id of its own, got 'a' again"),
        ("add_link", UP, "link id: expected an id of its own, got 'up' again"),
        ("add_candidate", {"a": ["up"]}, "candidate: expected a Candidate, got {'a': ['up']}"),
        ("add_candidate", BASE, "candidate 'c0' routes: expected ids of jobs of the problem, got 'b'"),
        (
            "add_candidate",
            cc.Candidate("c", {"a": {"up": 1e9}}),
            "candidate 'c' routes['a']['up']: expected a multiplier that keeps the demand within 1099511.627776 "
            "Gbit/s, got 1000000000.0",
        ),
    ],
)
def test_a_mistake_is_refused_where_it_is_made(add: str, item: Any, message: str) -> None:
    builder = cc.ProblemBuilder().add_job(A).add_link(UP)
    before = builder.build()
    with pytest.raises(cc.InputError) as caught:
        getattr(builder, add)(item)
    assert str(caught.value) == message
    assert caught.value.place
    assert builder.build() == before
