"""The frozen types: what they keep, what they refuse, and that a refusal names the field."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from collections import UserDict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wild_strategies as wild
from cassini_core.errors import InputError, LimitError, shown
from cassini_core.model import Candidate, Job, Link, Phase, Problem, checked_capacity_gbps
from cassini_core.results import Harmonized, LinkScore, LinkSolution, RankedCandidate, Ranking
from cassini_core.units import ticks_from_ms

PHASE = Phase(141, 114, 45)
JOB = Job("a", 255, [PHASE])
LINK = Link("l", 50)
CANDIDATE = Candidate("c", {"a": ["l"]})
PROBLEM = Problem([JOB], [LINK], [CANDIDATE])
SOLUTION = LinkSolution(1.0, True, 1.0, True, 1.0, {"a": 0.0}, {"a": 5.0}, 2.5, (), 255.0, 3)
RANKED = RankedCandidate(
    "c", 1.0, 1.0, True, "tree", {"a": 0.0}, {"a": 5.0}, 2.5, (), "l", 0.0, (LinkScore("l", 1, 1),)
)
RANKING = Ranking(RANKED, True, {"a": 255.0}, (RANKED,))
EVERYTHING = [PHASE, JOB, LINK, CANDIDATE, PROBLEM, SOLUTION, RANKED, RANKING, Harmonized((JOB,), {"a": 0.0}, 1.0)]

every_type = pytest.mark.parametrize("value", EVERYTHING, ids=lambda value: type(value).__name__)


def refusal(make, *args) -> str:
    """The one line with which ``make(*args)`` is refused."""
    with pytest.raises(InputError) as caught:
        make(*args)
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 400
    assert "expected " in text
    assert ", got " in text
    return text


@given(wild.problems())
def test_a_problem_survives_pickling_and_copying(problem):
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert copy.deepcopy(problem) == problem
    assert hash(pickle.loads(pickle.dumps(problem))) == hash(problem)


@given(wild.problems())
def test_a_problem_made_of_its_own_parts_is_equal(problem):
    jobs = [
        Job(j.id, j.iteration_ms, [Phase(p.start_ms, p.duration_ms, p.gbps) for p in j.phases]) for j in problem.jobs
    ]
    links = [Link(link.id, link.capacity_gbps) for link in problem.links]
    candidates = [Candidate(c.id, UserDict({job: dict(r) for job, r in c.routes.items()})) for c in problem.candidates]
    assert Problem(iter(jobs), iter(links), iter(candidates)) == problem


@every_type
def test_every_type_can_be_pickled_and_hashed(value):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(value, protocol))
        assert again == value
        assert hash(again) == hash(value)


@every_type
def test_every_type_is_frozen(value):
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
    assert not hasattr(value, "__dict__")


def test_routes_are_read_only_and_do_not_follow_what_they_were_made_from():
    given = {"a": {"l": 2.0}}
    candidate = Candidate("c", given)
    given["a"]["l"] = 3.0
    given["b"] = {}
    assert candidate.routes == {"a": {"l": 2.0}}
    with pytest.raises(TypeError):
        candidate.routes["b"] = {}
    with pytest.raises(TypeError):
        candidate.routes["a"]["l"] = 1.0


NUMBERS = [3, 3.0, np.float64(3), np.float32(3), np.float16(3), np.int64(3), np.uint8(3), Fraction(3)]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
def test_every_kind_of_real_number_becomes_a_plain_float(number):
    phase = Phase(number, number, number)
    job = Job("a", number * 2, [phase])
    link = Link("l", number)
    candidate = Candidate("c", {"a": {"l": number}})
    kept = [phase.start_ms, phase.duration_ms, phase.gbps, job.iteration_ms, link.capacity_gbps]
    kept.append(candidate.routes["a"]["l"])
    assert {type(value) for value in kept} == {float}
    assert kept == [3.0, 3.0, 3.0, 6.0, 3.0, 3.0]


def test_numpy_strings_become_plain_strings():
    name = np.str_("a")
    made = [Job(name, 1).id, Link(name, 1).id, Candidate(name, {}).id]
    made += [*Candidate("c", {name: [name]}).routes, *Candidate("c", {name: [name]}).routes["a"]]
    assert {type(value) for value in made} == {str}
    assert set(made) == {"a"}


def test_negative_zero_is_zero():
    phase = Phase(-0.0, -0.0, -0.0)
    assert [math.copysign(1, value) for value in (phase.start_ms, phase.duration_ms, phase.gbps)] == [1, 1, 1]


def test_a_list_of_links_means_multiplier_one():
    assert Candidate("c", {"a": ["x", "y"]}) == Candidate("c", {"a": {"x": 1, "y": 1}})


def test_a_set_of_links_is_sorted():
    names = {f"link{k}" for k in range(50)}
    assert list(Candidate("c", {"a": names}).routes["a"]) == sorted(names)


def test_the_order_of_lists_and_mappings_is_kept():
    candidate = Candidate("c", {"b": ["z", "y"], "a": {"x": 1, "w": 2}})
    assert [list(route) for route in candidate.routes.values()] == [["z", "y"], ["x", "w"]]
    assert list(candidate.routes) == ["b", "a"]


def test_what_is_empty_is_allowed():
    assert Problem([], [], []) == Problem((), (), ())
    assert Candidate("c", {}).routes == {}
    assert Candidate("c", {"a": [], "b": {}}).routes == {"a": {}, "b": {}}
    assert Job("a", 1).phases == ()


def test_the_limits_themselves_are_allowed():
    job = Job("a", wild.MAX_ITERATION_MS, [Phase(0, wild.MAX_ITERATION_MS, wild.MAX_GBPS)])
    assert ticks_from_ms(job.iteration_ms) == 2**40
    assert ticks_from_ms(Job("a", 1e-6, [Phase(0, 1e-6, 0)]).iteration_ms) == 1
    assert Link("l", wild.MAX_GBPS).capacity_gbps == wild.MAX_GBPS
    assert Link("l", 1e-6).capacity_gbps == 1e-6


# What no quantity may be, and what a message about it must say.
NOT_NUMBERS = {
    "nan": (math.nan, "got nan"),
    "numpy-nan": (np.float32("nan"), "nan"),
    "inf": (math.inf, "got inf"),
    "minus-inf": (-math.inf, "got -inf"),
    "negative": (-1, "got -1.0"),
    "least-negative": (-5e-324, "got -5e-324"),
    "huge-int": (10**400, "got an integer of 1329 bits"),
    "huge-float": (1e308, "got 1e+308"),
    "true": (True, "got True"),
    "numpy-true": (np.True_, "True"),
    "string": ("255", "got '255'"),
    "long-string": ("9" * 10**6, "..."),
    "none": (None, "got None"),
    "complex": (1j, "got 1j"),
    "list": ([1.0], "got [1.0]"),
    "array": (np.ones(1000), "got array("),
}
QUANTITIES = {
    "start_ms": lambda value: Phase(value, 1, 1),
    "duration_ms": lambda value: Phase(0, value, 1),
    "gbps": lambda value: Phase(0, 1, value),
    "iteration_ms": lambda value: Job("a", value),
    "capacity_gbps": lambda value: Link("l", value),
    "routes['a']['l']": lambda value: Problem([JOB], [LINK], [Candidate("c", {"a": {"l": value}})]),
    "the capacity": lambda value: checked_capacity_gbps(value, "", "the capacity"),
}


@pytest.mark.parametrize("bad", NOT_NUMBERS)
@pytest.mark.parametrize("field", QUANTITIES)
def test_a_bad_number_is_refused_with_its_field_and_value(field, bad):
    value, got = NOT_NUMBERS[bad]
    text = refusal(QUANTITIES[field], value)
    assert field in text
    assert got in text


@pytest.mark.parametrize("field", ["iteration_ms", "capacity_gbps", "routes['a']['l']", "the capacity"])
def test_zero_is_refused_where_something_is_divided_by_it(field):
    assert "got 0.0" in refusal(QUANTITIES[field], 0)


IDS = {
    "job id": lambda value: Job(value, 1),
    "link id": lambda value: Link(value, 1),
    "candidate id": lambda value: Candidate(value, {}),
    "candidate 'c' routes": lambda value: Candidate("c", {value: []}),
    "candidate 'c' routes['a']": lambda value: Candidate("c", {"a": {value: 1}}),
    "candidate 'c' routes['a'][1]": lambda value: Candidate("c", {"a": ["l", value]}),
}
NOT_IDS = {"empty": "", "none": None, "int": 7, "bytes": b"a", "half-character": "a\ud800"}


@pytest.mark.parametrize("bad", NOT_IDS)
@pytest.mark.parametrize("field", IDS)
def test_a_bad_id_is_refused_with_its_field_and_value(field, bad):
    text = refusal(IDS[field], NOT_IDS[bad])
    assert text.startswith(f"{field}: ")
    assert text.endswith(f"got {NOT_IDS[bad]!r}")


REFUSED = {
    "start-at-end": (Job, "a", 255, [Phase(255, 1, 1)], "job 'a' phases[0].start_ms: expected less than"),
    "phase-too-long": (Job, "a", 255, [PHASE, Phase(0, 256, 1)], "job 'a' phases[1].duration_ms: expected at most"),
    "phases-number": (Job, "a", 255, 3, "job 'a' phases: expected a list of Phase, got 3"),
    "phases-string": (Job, "a", 255, "", "job 'a' phases: expected a list of Phase, got ''"),
    "phases-one-phase": (Job, "a", 255, PHASE, "job 'a' phases: expected a list of Phase, got Phase("),
    "phases-tuples": (Job, "a", 255, [(0, 1, 1)], "job 'a' phases[0]: expected a Phase, got (0, 1, 1)"),
    "routes-list": (Candidate, "c", ["a"], "candidate 'c' routes: expected a mapping"),
    "routes-none": (Candidate, "c", None, "candidate 'c' routes: expected a mapping"),
    "route-none": (Candidate, "c", {"a": None}, "candidate 'c' routes['a']: expected a list of link ids"),
    "route-string": (Candidate, "c", {"a": "l"}, "candidate 'c' routes['a']: expected a list of link ids"),
    "route-empty-string": (Candidate, "c", {"a": ""}, "candidate 'c' routes['a']: expected a list of link ids"),
    "route-repeats": (Candidate, "c", {"a": ["x", "y", "x"]}, "routes['a'][2]: expected each link once, got 'x' again"),
    "jobs-none": (Problem, None, [], [], "problem jobs: expected a list of Job, got None"),
    "jobs-mapping": (Problem, {"a": JOB}, [], [], "problem jobs: expected a list of Job"),
    "jobs-of-links": (Problem, [LINK], [], [], "problem jobs[0]: expected a Job, got Link("),
    "same-job": (Problem, [JOB, JOB], [], [], "problem jobs[1].id: expected an id of its own, got 'a' again"),
    "same-link": (Problem, [], [LINK, LINK], [], "problem links[1].id: expected an id of its own, got 'l' again"),
    "same-candidate": (Problem, [JOB], [LINK], [CANDIDATE] * 2, "problem candidates[1].id: expected an id of its own"),
    "unknown-job": (
        Problem,
        [],
        [LINK],
        [CANDIDATE],
        "candidates[0].routes: expected ids of jobs of the problem, got 'a'",
    ),
    "unknown-job-without-links": (Problem, [], [], [Candidate("c", {"z": []})], "jobs of the problem, got 'z'"),
    "unknown-link": (
        Problem,
        [JOB],
        [],
        [CANDIDATE],
        "candidates[0].routes['a']: expected ids of links of the problem",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_together_is_refused_with_its_place(case):
    make, *args, expected = REFUSED[case]
    assert expected in refusal(make, *args)


def test_a_refusal_carries_its_place_and_reason():
    with pytest.raises(InputError) as caught:
        Job("a", 255, [PHASE, Phase(0, 256, 1)])
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.place == "phases[1].duration_ms"
    assert error.reason == "expected at most iteration_ms 255.0, got 256.0"
    assert str(error) == f"job 'a' {error.place}: {error.reason}"
    assert isinstance(error, ValueError)


def test_a_repetition_in_a_long_route_is_found_quickly():
    links = [f"l{k}" for k in range(200_000)]
    assert "[200000]" in refusal(Candidate, "c", {"a": [*links, links[-1]]})


@pytest.mark.parametrize("bad", ["x" * 10**6, "a\nb\x1b[31m\u2028"], ids=["long", "lines"])
def test_ids_cannot_break_the_message(bad):
    refusal(Job, bad, -1)
    refusal(Candidate, bad, {bad: {bad: -1}})
    refusal(Problem, [Job(bad, 1)] * 2, [], [])
    refusal(Problem, [], [], [Candidate("c", {bad: []})])
    refusal(Problem, [JOB], [], [Candidate("c", {"a": [bad]})])


def test_a_limit_error_survives_pickling():
    error = pickle.loads(pickle.dumps(LimitError("too many levels", lower=0.25, upper=0.5)))
    assert (str(error), error.lower, error.upper) == ("too many levels", 0.25, 0.5)


class Noisy:
    def __repr__(self) -> str:
        return "a\nb" * 1000


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


@given(st.recursive(st.none() | st.text() | st.floats() | st.integers() | st.binary(), st.lists, max_leaves=20))
def test_shown_is_one_short_line(value):
    assert shown(value).isprintable()
    assert len(shown(value)) <= 80


ODD = {
    "lines": Noisy(),
    "broken": Broken(),
    "huge-int": 10**10_000,
    "long": "x" * 10**7,
    "array": np.zeros((50, 50)),
    "nested": {"a": {"b": [1] * 99}},
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_shown_is_one_short_line_for_odd_objects_too(value):
    assert shown(value).isprintable()
    assert 0 < len(shown(value)) <= 80


@given(st.text(max_size=20))
def test_shown_tells_short_strings_apart(text):
    assert shown(text) == repr(text) or len(repr(text)) > 80
