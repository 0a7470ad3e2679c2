"""Problem files of differences, and rankings with and without their problem: what is written reads back equal."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from bench.ranking.rounds import Settings, generate
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
import strategies
import wild_strategies as wild
from cassini_core import Candidate, InputError, Job, Link, Phase, Problem
from cassini_core.problem_file import answer_from_json, answer_to_json, problem_from_json, problem_to_json
from told_rankings import as_whole

WORKERS = st.dictionaries(wild.ids, st.integers(1, 9), max_size=3)


@st.composite
def with_hosts(draw: st.DrawFn) -> Problem:
    """Any problem, in which some candidates know where workers run, and some differ little from the first."""
    problem = draw(wild.problems())
    first, *others = problem.candidates
    known = draw(st.lists(st.sampled_from(sorted(first.routes)), unique=True)) if first.routes else []
    first = Candidate(first.id, first.routes, {job: draw(WORKERS) for job in known})
    made = [first]
    for one in others:
        moves: dict[str, Any] = (
            {job: one.routes.get(job) for job in draw(st.sets(st.sampled_from(sorted(first.routes))))}
            if first.routes
            else {}
        )
        made.append(Candidate.moved(one.id, first, moves, {job: {"h": 1} for job, route in moves.items() if route}))
    run = draw(st.lists(st.sampled_from([job.id for job in problem.jobs]), unique=True, max_size=2))
    shifts = {job: draw(st.floats(0, 1e6)) for job in run}
    return Problem(problem.jobs, problem.links, made, shifts)


@given(with_hosts())
def test_a_problem_of_differences_reads_back_equal(problem):
    content = problem_to_json(problem, differences=True)
    again = problem_from_json(content)
    assert again == problem
    assert problem_to_json(again, differences=True) == content
    assert pickle.loads(pickle.dumps(again)) == problem


@given(with_hosts())
def test_nothing_is_lost_where_differences_are_not_asked_for(problem):
    content = problem_to_json(problem)
    assert problem_from_json(content) == problem
    hosts = any(candidate.hosts for candidate in problem.candidates) or problem.running_shifts_ms
    assert json.loads(content)["format"] == f"cassini-problem/{2 if hosts else 1}"


@given(strategies.problems(loops=True, max_candidates=3))
def test_what_a_candidate_shares_with_the_base_is_not_written_again(problem):
    first = problem.candidates[0]
    some = next(iter(first.routes))
    moved = Candidate.moved("moved", first, {some: None})
    same = Candidate("same", {job: dict(route) for job, route in first.routes.items()})
    content = json.loads(problem_to_json(Problem(problem.jobs, problem.links, [first, moved, same]), differences=True))
    assert [one["moves"] for one in content["candidates"]] == [{}, {some: None}, {}]


@given(strategies.problems(loops=True, max_candidates=3), st.sampled_from(["per_job", "mean", "p10"]))
def test_an_answer_reads_back_equal(problem, aggregate):
    ranking = cc.rank(problem, aggregate=aggregate, node_limit=20, block_node_limit=20, slack_tolerance=0.02)
    assert answer_from_json(ranking.to_json()) == (ranking, None)
    assert answer_from_json(answer_to_json(ranking, problem)) == (ranking, problem)
    told = answer_to_json(ranking, problem, differences=True)
    assert as_whole(json.loads(told)) == json.loads(answer_to_json(ranking, problem))
    again, of = answer_from_json(told)
    assert of == problem
    assert answer_to_json(again, problem, differences=True) == told
    assert again.to_json() == ranking.to_json()
    assert again == pickle.loads(pickle.dumps(again)) == ranking


def test_an_answer_of_differences_is_as_long_as_what_differs() -> None:
    """Candidates that were not solved have a base of their own; what has nothing in common is told from nothing."""
    round_of = Settings(racks=8, gpus_per_rack=32, uplinks=2, jobs=60, candidates=6, moves=1)
    problem = generate(round_of)
    more = [Candidate.moved(f"again {k}", one, {}) for k, one in enumerate([problem.candidates[3]] * 15)]
    nowhere = Candidate("nowhere", {job: [] for job in problem.candidates[0].routes})
    problem = Problem(problem.jobs, problem.links, [*problem.candidates, *more, nowhere])
    for ranking in (
        cc.rank(problem, exhaustive=True, node_limit=20, block_node_limit=20),
        cc.rank(problem, top=1, loops="discard"),
    ):
        whole, told = json.loads(ranking.to_json()), json.loads(ranking.to_json(differences=True))
        assert as_whole(told) == whole
        sizes = {one["id"]: len(json.dumps(one)) for one in told["candidates"]}
        full = {one["id"]: len(json.dumps(one)) for one in whole["candidates"]}
        assert all(sizes[one] < full[one] for one in sizes.keys() - {"nowhere"})
        assert all(sizes[one.id] < 600 < full[one.id] for one in more)  # which most candidates are like
        assert told["candidates"][[one["id"] for one in told["candidates"]].index("nowhere")]["base"] is None


# --- wrong files ---


def phases(start: int) -> list[Phase]:
    return [Phase(start, 20, 40)]


JOBS = [Job("a", 40, phases(0)), Job("b", 40, phases(10)), Job("d", 40, [Phase(0, 40, 60)])]
BASE = Candidate("c0", {"a": ["up"], "b": {"up": 1.0, "down": 0.5}}, {"a": {"h1": 2}, "b": {"h1": 1, "h2": 1}})
CANDIDATES = [BASE, Candidate.moved("c1", BASE, {"a": {"down": 2.5}, "d": ["down"], "b": None}, {"a": {"h3": 2}})]
PROBLEM = Problem(JOBS, [Link("up", 50), Link("down", 50)], CANDIDATES)
ANSWER = cc.rank(PROBLEM, exhaustive=True)
SAME = cc.rank(Problem(JOBS, [Link("up", 50), Link("down", 50)], [BASE]))
FILES: dict[str, dict[str, Any]] = {
    "differences": json.loads(problem_to_json(PROBLEM, differences=True)),
    "answer": json.loads(answer_to_json(ANSWER, PROBLEM)),
    "answer of differences": json.loads(answer_to_json(ANSWER, PROBLEM, differences=True)),
}


def read(content: bytes) -> Any:
    """A file of either kind; a refusal must be one line that names a place and says what was expected."""
    try:
        return answer_from_json(content, "in") if b"cassini-ranking/" in content else problem_from_json(content, "in")
    except InputError as caught:
        error = caught
    assert str(error).isprintable()
    assert str(error).startswith("in: ")
    assert error.reason.startswith("expected "), error
    assert "the error" not in error.reason, "a fault that was not explained"
    return error


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in decoded JSON."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        content = content[step]
    return content


PLACES = [(name, path) for name, content in FILES.items() for path in places(content) if path]


@given(st.sampled_from(PLACES), st.sampled_from([None, True, -1, 0, 3, 1.5, "x", "a", [], ["up"], {}, {"x": 1}, 1e300]))
def test_any_value_anywhere_is_read_or_refused_in_one_line(place, value):
    name, path = place
    content = copy.deepcopy(FILES[name])
    at(content, path[:-1])[path[-1]] = value
    read(json.dumps(content).encode())


@pytest.mark.parametrize("name", FILES)
def test_a_key_that_is_missing_unknown_or_there_twice_is_refused(name):
    objects = [path for path in places(FILES[name]) if isinstance(at(FILES[name], path), dict)]
    for path in objects:
        keys = list(at(FILES[name], path))
        content = copy.deepcopy(FILES[name])
        at(content, path)["@here@"] = at(content, path)[keys[0]] if keys else 1
        if keys:
            twice = json.dumps(content).replace("@here@", keys[0]).encode()
            assert "once" in str(read(twice)), path
        # Where workers run is told by names that nothing else has.
        any_key = path[-2:-1] == ("hosts",)
        assert isinstance(read(json.dumps(content).encode()), InputError) != any_key, path


REFUSED = {
    "base-link": (("base", "routes", "a"), ["left"], "$.base.routes['a']: expected ids of links of the problem"),
    "base-job": (("base", "routes", "x"), [], "$.base.routes: expected ids of jobs of the problem, got 'x'"),
    "move-link": (("candidates", 1, "moves", "a"), ["left"], "$.candidates[1].moves['a']: expected ids of links"),
    "move-twice": (("candidates", 1, "moves", "a"), ["up", "up"], "$.candidates[1].moves['a'][1]: expected each link"),
    "move-number": (("candidates", 1, "moves", "a"), 1, "moves['a']: expected an array or an object or null, got 1"),
    "nobody-to-take-away": (("candidates", 0, "moves", "d"), None, "$.candidates[0].moves: expected jobs that base"),
    "no-workers": (("base", "hosts", "a", "h1"), 0, "$.base.hosts['a']['h1']: expected a whole number of at least 1"),
    "part-of-a-worker": (
        ("base", "hosts", "a", "h1"),
        1.5,
        "$.base.hosts['a']['h1']: expected a whole number, got 1.5",
    ),
    "hosts-of-nobody": (("base", "hosts", "d"), {"h": 1}, "$.base.hosts: expected jobs that have a route, got 'd'"),
    "hosts-unmoved": (("candidates", 0, "hosts"), {"a": {"h": 1}}, "$.candidates[0].hosts: expected jobs that have"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_place_of_a_fault_is_one_of_the_file(case):
    path, value, expected = REFUSED[case]
    content = copy.deepcopy(FILES["differences"])
    at(content, path[:-1])[path[-1]] = value
    assert expected in str(read(json.dumps(content).encode()))


WRONG_ANSWERS = {
    "best": (("best",), "c9", "$.best: expected the id of a candidate, got 'c9'"),
    "candidate": (("candidates", 1, "id"), "c9", "$.candidates: expected the candidates of the problem, got 'c9'"),
    "pace": (("paces_ms", "a"), 39.9, "$.paces_ms['a']: expected at least the iteration time, 40.0 ms, got 39.9"),
    "no-pace": (
        ("paces_ms",),
        {"a": 40, "b": 40},
        "$.paces_ms: expected all of the jobs of the problem, got none named",
    ),
    "late": (
        ("candidates", 0, "shifts_ms", "b"),
        41,
        "$.candidates[0].shifts_ms['b']: expected from 0 to the pace, 40.0",
    ),
    "shift": (("candidates", 0, "shifts_ms", "x"), 1, "expected jobs that this candidate places, got 'x'"),
    "problem": (("problem", "jobs", 0, "id"), "", "$.problem: $.jobs[0].id: expected a non-empty string"),
    "status": (("candidates", 0, "status"), "good", "$.candidates[0].status: expected"),
}


@pytest.mark.parametrize("case", WRONG_ANSWERS)
def test_a_ranking_that_cannot_answer_its_problem_is_refused(case):
    path, value, expected = WRONG_ANSWERS[case]
    content = copy.deepcopy(FILES["answer"])
    at(content, path[:-1])[path[-1]] = value
    assert expected in str(read(json.dumps(content).encode()))


TOLD = {
    "base": (("base",), 2, "$.candidates[0].base: expected null or the number of one of 1 base, got 2"),
    "before": (("base",), -1, "$.candidates[0].base: expected null or the number of one of 1 base, got -1"),
    "no-base": (("base",), None, "$.candidates[0].links[0]: expected two numbers, from 0 to 0 and ascending"),
    "nothing": (("shifts_ms", "x"), None, "$.candidates[0].shifts_ms['x']: expected a number, got null"),
    "beyond": (("links",), [[0, 9]], "$.candidates[0].links[0]: expected two numbers, from 0 to 1 and ascending"),
    "empty": (("links",), [[1, 1]], "$.candidates[0].links[0]: expected two numbers, from 0 to 1"),
    "again": (("links",), [[0, 1], [0, 1]], "$.candidates[0].links[1]: expected two numbers, from 1 to 1"),
    "one": (("links",), [[0]], "$.candidates[0].links[0]: expected two numbers, from 0 to 1"),
    "part": (("links",), [[0, 1.5]], "$.candidates[0].links[0][1]: expected a whole number, got 1.5"),
    "neither": (("free_jobs",), [1], "$.candidates[0].free_jobs[0]: expected a string or an array, got 1"),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_a_base_does_not_have_is_refused(case):
    path, value, expected = TOLD[case]
    content = json.loads(answer_to_json(SAME, PROBLEM, differences=True))
    at(content["candidates"][0], path[:-1])[path[-1]] = value
    assert expected in str(read(json.dumps(content).encode()))


def test_hosts_are_checked_where_a_candidate_is_made():
    for hosts, expected in (
        ([], "candidate 'c' hosts: expected a mapping of job ids, got []"),
        ({"a": 1}, "candidate 'c' hosts['a']: expected a mapping of host ids to numbers of workers, got 1"),
        ({"a": {"h": True}}, "candidate 'c' hosts['a']['h']: expected a whole number of at least 1, got True"),
        ({"a": {"": 1}}, "candidate 'c' hosts['a']: expected a non-empty string, got ''"),
        ({"b": {"h": 1}}, "candidate 'c' hosts: expected jobs that have a route, got 'b'"),
    ):
        with pytest.raises(InputError) as caught:
            Candidate("c", {"a": []}, hosts)  # type: ignore[arg-type]
        assert str(caught.value) == expected
