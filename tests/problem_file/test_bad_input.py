"""Wrong content of problem, link and job files: one line that names file, place, what was expected and what came.

The table is made from one valid file by changing its text in one place, so that only that place can be at fault.
What is not JSON at all is in ``test_bad_files``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bad_input import (
    ARRAYS,
    MAPPINGS,
    NUMBERS,
    OBJECTS,
    STRINGS,
    VALID,
    VALID_JOB,
    VALID_LINK,
    at,
    outcome,
    refusal,
    with_key,
    with_text,
    without,
)
from cassini_core import InputError
from cassini_core.problem_file import load_job, load_link, load_problem, load_profile, problem_from_json


def test_the_file_the_table_is_made_from_is_valid():
    problem = problem_from_json(json.dumps(VALID).encode())
    assert [len(job.phases) for job in problem.jobs] == [1, 2]


# --- one field wrong ---

NOT_NUMBERS = {
    "string": ('"255"', "a number, got '255'"),
    "true": ("true", "a number, got true"),
    "null": ("null", "a number, got null"),
    "array": ("[255]", "a number, got an array"),
    "object": ('{"ms": 255}', "a number, got an object"),
    "NaN": ("NaN", "a finite number, got NaN"),
    "Infinity": ("Infinity", "a finite number, got Infinity"),
    "minus-Infinity": ("-Infinity", "a finite number, got -Infinity"),
    "1e400": ("1e400", "a finite number, got 1e400"),
    "minus-1e400": ("-1e400", "a finite number, got -1e400"),
    "10**400": ("1" + "0" * 400, "a finite number, got 1000"),
    "10**100000": ("1" + "0" * 100_000, "a finite number, got 1000"),
    "10**310": ("1" + "0" * 310, "a finite number, got 1000"),
    "10**300": ("1" + "0" * 300, "got 1e+300"),
    "1e300": ("1e300", "got 1e+300"),
    "negative": ("-1", "got -1.0"),
    "negative-fraction": ("-1e-9", "got -1e-09"),
}


@pytest.mark.parametrize("bad", NOT_NUMBERS)
@pytest.mark.parametrize("place", NUMBERS)
def test_a_bad_number(tmp_path, place, bad):
    text, reason = NOT_NUMBERS[bad]
    message = refusal(tmp_path, with_text(NUMBERS[place], text))
    assert message.startswith(f"{place}: expected ")
    assert reason in message


@pytest.mark.parametrize("place", [place for place in NUMBERS if "phases" not in place])
@pytest.mark.parametrize("zero", ["0", "-0", "0.0", "-0.0", "1e-400"])
def test_zero_where_it_makes_no_sense(tmp_path, place, zero):
    message = refusal(tmp_path, with_text(NUMBERS[place], zero))
    assert message.startswith(f"{place}: expected ")
    assert message.endswith("got 0.0")


NOT_STRINGS = {
    "number": ("7", "7"),
    "null": ("null", "null"),
    "false": ("false", "false"),
    "array": ('["a"]', "an array"),
    "object": ("{}", "an object"),
    "empty": ('""', "''"),
    "half-character": ('"x\\ud800"', "'x\\ud800'"),
    "half-character-inside": ('"\\udc00xxxxxxxxx"', "'\\udc00xxxxxxxxx'"),
}


@pytest.mark.parametrize("bad", NOT_STRINGS)
@pytest.mark.parametrize("place", STRINGS)
def test_a_bad_string(tmp_path, place, bad):
    text, got = NOT_STRINGS[bad]
    message = refusal(tmp_path, with_text(STRINGS[place], text))
    assert message.startswith(f"{place}: expected ")
    assert message.endswith(f", got {got}")


NOT_CONTAINERS = {"number": ("1", "1"), "null": ("null", "null"), "string": ('"x"', "'x'"), "true": ("true", "true")}


@pytest.mark.parametrize("bad", NOT_CONTAINERS)
@pytest.mark.parametrize("place", ARRAYS | OBJECTS | MAPPINGS)
def test_a_bad_container(tmp_path, place, bad):
    text, got = NOT_CONTAINERS[bad]
    message = refusal(tmp_path, with_text((ARRAYS | OBJECTS | MAPPINGS)[place], text))
    assert message.startswith(f"{place}: expected ")
    assert message.endswith(f", got {got}")


@pytest.mark.parametrize("place", ARRAYS)
def test_an_object_for_an_array(tmp_path, place):
    assert refusal(tmp_path, with_text(ARRAYS[place], "{}")) == f"{place}: expected an array, got an object"


@pytest.mark.parametrize("place", [*OBJECTS, "$.candidates[1].routes"])
def test_an_array_for_an_object(tmp_path, place):
    message = refusal(tmp_path, with_text((OBJECTS | MAPPINGS)[place], "[]"))
    assert message == f"{place}: expected an object, got an array"


def keys_of_objects() -> list[Any]:
    found = [(place, key) for place, path in OBJECTS.items() for key in at(VALID, path)]
    return [pytest.param(place, key, id=f"{place}-{key}") for place, key in found]


@pytest.mark.parametrize(("place", "key"), keys_of_objects())
def test_a_missing_key(tmp_path, place, key):
    message = refusal(tmp_path, without(OBJECTS[place], key))
    assert message.startswith(f"{place}.{key}: expected ")
    assert message.endswith("got nothing: the key is missing")


@pytest.mark.parametrize("key", ["colour", "Id", "", "id ", "a\nb", "x" * 10**6])
@pytest.mark.parametrize("place", OBJECTS)
def test_an_unknown_key(tmp_path, place, key):
    message = refusal(tmp_path, with_key(OBJECTS[place], key))
    known = ", ".join(map(repr, at(VALID, OBJECTS[place])))
    assert message.startswith(f"{place}: expected no keys but {known}, got ")
    assert message.endswith(repr(key)) or len(key) > 100


@pytest.mark.parametrize(("place", "key"), keys_of_objects())
def test_a_repeated_key(tmp_path, place, key):
    value = at(VALID, OBJECTS[place])[key]
    message = refusal(tmp_path, with_key(OBJECTS[place], key, value))
    assert message == f"{place}: expected each key once, got {key!r} twice"


@pytest.mark.parametrize(("place", "key"), [("$.candidates[1].routes", "b"), ("$.candidates[1].routes['a']", "down")])
@pytest.mark.parametrize("space", ["", " ", "\n", "\r\n\t "])
def test_a_repeated_key_in_a_mapping(tmp_path, place, key, space):
    value = at(VALID, MAPPINGS[place])[key]
    content = with_key(MAPPINGS[place], key, value).replace(b":", f"{space}:".encode())
    assert refusal(tmp_path, content) == f"{place}: expected each key once, got {key!r} twice"


@pytest.mark.parametrize("space", ["\t", "\n", "\r"])
def test_a_repeated_key_beside_an_oddly_spaced_one(tmp_path, space):
    content = with_key(("jobs", 0), "id", "a").replace(b'"format":', f'"format"{space}:'.encode())
    assert refusal(tmp_path, content) == "$.jobs[0]: expected each key once, got 'id' twice"


# --- what does not fit together ---

TOGETHER = {
    "phase-starts-at-the-end": (
        with_text(("jobs", 0, "phases", 0, "start_ms"), "255"),
        "$.jobs[0].phases[0].start_ms: expected less than iteration_ms 255.0, got 255.0",
    ),
    "phase-longer-than-its-iteration": (
        with_text(("jobs", 1, "phases", 1, "duration_ms"), "200.6"),
        "$.jobs[1].phases[1].duration_ms: expected at most iteration_ms 200.5, got 200.6",
    ),
    "iteration-too-long": (
        with_text(("jobs", 0, "iteration_ms"), "1099511.627777"),
        "$.jobs[0].iteration_ms: expected 1e-06 to 1099511.627776, got 1099511.627777",
    ),
    "iteration-too-short": (
        with_text(("jobs", 0, "iteration_ms"), "1e-7"),
        "$.jobs[0].iteration_ms: expected 1e-06 to 1099511.627776, got 1e-07",
    ),
    "capacity-too-small": (
        with_text(("links", 0, "capacity_gbps"), "1e-7"),
        "$.links[0].capacity_gbps: expected 1e-06 to 1099511.627776, got 1e-07",
    ),
    "multiplier-too-large": (
        with_text(("candidates", 1, "routes", "a", "up"), "1e9"),
        "$.candidates[1].routes['a']['up']: expected a multiplier that keeps the demand within 1099511.627776 Gbit/s, "
        "got 1000000000.0",
    ),
    "same-job": (with_text(("jobs", 1, "id"), '"a"'), "$.jobs[1].id: expected an id of its own, got 'a' again"),
    "same-link": (with_text(("links", 1, "id"), '"up"'), "$.links[1].id: expected an id of its own, got 'up' again"),
    "same-candidate": (
        with_text(("candidates", 1, "id"), '"c0"'),
        "$.candidates[1].id: expected an id of its own, got 'c0' again",
    ),
    "same-link-in-a-route": (
        with_text(("candidates", 0, "routes", "b"), '["up", "down", "up"]'),
        "$.candidates[0].routes['b'][2]: expected each link once, got 'up' again",
    ),
    "array-in-a-route": (
        with_text(("candidates", 0, "routes", "b"), '["up", ["down"]]'),
        "$.candidates[0].routes['b'][1]: expected a string, got an array",
    ),
    "unknown-job": (
        with_key(("candidates", 1, "routes"), "z", []),
        "$.candidates[1].routes: expected ids of jobs of the problem, got 'z'",
    ),
    "unknown-link": (
        with_text(("candidates", 0, "routes", "b"), '["up", "sideways"]'),
        "$.candidates[0].routes['b']: expected ids of links of the problem, got 'sideways'",
    ),
    "unknown-link-with-multiplier": (
        with_key(("candidates", 1, "routes", "a"), "sideways"),
        "$.candidates[1].routes['a']: expected ids of links of the problem, got 'sideways'",
    ),
    "no-links": (
        with_text(("links",), "[]"),
        "$.candidates[0].routes['a']: expected ids of links of the problem, got 'up'",
    ),
    "no-jobs": (with_text(("jobs",), "[]"), "$.jobs: expected at least one job, got an empty array"),
    "no-candidates": (
        with_text(("candidates",), "[]"),
        "$.candidates: expected at least one candidate, got an empty array",
    ),
    "empty-job-id-in-routes": (
        with_key(("candidates", 1, "routes"), "", []),
        "$.candidates[1].routes: expected a non-empty string, got ''",
    ),
    "empty-link-id-in-routes": (
        with_key(("candidates", 1, "routes", "a"), ""),
        "$.candidates[1].routes['a']: expected a non-empty string, got ''",
    ),
    "another-version": (
        with_text(("format",), '"cassini-problem/3"'),
        "$.format: expected 'cassini-problem/1', got 'cassini-problem/3'",
    ),
    "a-job-file": (json.dumps(VALID_JOB).encode(), "$.format: expected 'cassini-problem/1', got 'cassini-job/1'"),
    "a-link-file": (
        json.dumps(VALID_LINK).encode(),
        "$: expected no keys but 'format', 'jobs', 'links', 'candidates', got 'capacity_gbps'",
    ),
    "id-with-control-characters": (
        with_text(("links", 0, "id"), '"\\n\\u001b[2J\\u2028"').replace(b'"up"', b'"x"'),
        "$.candidates[0].routes['a']: expected ids of links of the problem, got 'x'",
    ),
    "route-key-with-control-characters": (
        with_key(("candidates", 1, "routes"), "a\n\x1b[2J\u2028", None),
        "$.candidates[1].routes['a\\n\\x1b[2J\\u2028']: expected an array or an object, got null",
    ),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_what_does_not_fit_together(tmp_path, case):
    content, expected = TOGETHER[case]
    assert refusal(tmp_path, content) == expected


@pytest.mark.parametrize("load", [load_problem, load_link, load_job, load_profile])
@pytest.mark.parametrize("path", [3, None, ["a.json"], {}])
def test_what_is_no_path_is_refused(load, path):
    with pytest.raises(InputError, match=r"^path: expected a str or path-like, got"):
        load(path)


def test_the_first_fault_in_the_file_order_of_fields_is_told(tmp_path):
    content = b'{"format": "cassini-problem/1", "jobs": [{"id": 1}, {"id": 2}], "links": 3, "candidates": 4}'
    assert refusal(tmp_path, content) == "$.jobs[0].id: expected a string, got 1"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PLACES = [*NUMBERS.values(), *STRINGS.values(), *ARRAYS.values(), *OBJECTS.values(), *MAPPINGS.values()]


@given(st.sampled_from(PLACES), JSON_VALUES)
def test_any_value_anywhere_is_a_problem_or_one_line(path, value):
    problem = outcome(with_text(path, json.dumps(value)))
    assert problem is None or isinstance(value, (int, float, str, list, dict))


# --- link and job files ---

OTHER_FILES = {
    "link-empty-object": (load_link, b"{}", "$.capacity_gbps: expected a number, got nothing: the key is missing"),
    "link-no-jobs": (load_link, b'{"capacity_gbps": 1, "jobs": []}', "$.jobs: expected at least one job, got an empty"),
    "link-zero": (load_link, b'{"capacity_gbps": 0, "jobs": []}', "$.capacity_gbps: expected 1e-06 to 1099511.627776"),
    "link-same-job": (
        load_link,
        with_text(("jobs", 1, "id"), '"a"', VALID_LINK),
        "$.jobs[1].id: expected an id of its own, got 'a' again",
    ),
    "link-phase": (
        load_link,
        with_text(("jobs", 1, "phases", 1, "duration_ms"), "1000", VALID_LINK),
        "$.jobs[1].phases[1].duration_ms: expected at most iteration_ms 200.5, got 1000.0",
    ),
    "link-repeated": (
        load_link,
        with_text(("capacity_gbps",), '50, "capacity_gbps": 50', VALID_LINK),
        "$: expected each key once, got 'capacity_gbps' twice",
    ),
    "link-format": (
        load_link,
        json.dumps({"format": "cassini-link/2"} | VALID_LINK).encode(),
        "$.format: expected 'cassini-link/1', got 'cassini-link/2'",
    ),
    "link-null-format": (
        load_link,
        json.dumps({"format": None} | VALID_LINK).encode(),
        "$.format: expected 'cassini-link/1', got null",
    ),
    "link-is-a-problem": (
        load_link,
        json.dumps(VALID).encode(),
        "$.format: expected 'cassini-link/1', got 'cassini-problem/1'",
    ),
    "job-empty-object": (load_job, b"{}", "$.format: expected 'cassini-job/1', got nothing: the key is missing"),
    "job-phase": (
        load_job,
        with_text(("phases", 1, "gbps"), "-1", VALID_JOB),
        "$.phases[1].gbps: expected 0.0 to 1099511.627776, got -1.0",
    ),
    "job-id": (load_job, with_text(("id",), '""', VALID_JOB), "$.id: expected a non-empty string, got ''"),
    "job-start": (
        load_job,
        with_text(("iteration_ms",), "141", VALID_JOB),
        "$.phases[1].start_ms: expected less than iteration_ms 141.0, got 141.0",
    ),
    "job-about": (load_job, with_text(("about",), "[]", VALID_JOB), "$.about: expected an object, got an array"),
    "job-repeated-about": (
        load_job,
        with_text(("about", "steps"), '3, "steps": 4', VALID_JOB),
        "$.about: expected each key once, got 'steps' twice",
    ),
    "job-nested-about": (load_job, with_text(("about", "steps"), "[" * 100_000, VALID_JOB), "nested too deep"),
    "job-huge-about": (
        load_job,
        with_text(("about", "steps"), "1e400", VALID_JOB),
        "$.about['steps']: expected a finite",
    ),
}


@pytest.mark.parametrize("case", OTHER_FILES)
def test_a_bad_link_or_job_file(tmp_path, case):
    load, content, expected = OTHER_FILES[case]
    assert expected in refusal(tmp_path, content, load)
