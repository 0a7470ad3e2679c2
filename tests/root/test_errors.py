"""Whatever is wrong with an argument of a public function: one line that says where, what was expected, what came."""

from __future__ import annotations

import decimal
import fractions
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core.errors import InputError
from cassini_core.kernel import _kernel

A, B = cc.Job("a", 40, [cc.Phase(0, 20, 50)]), cc.Job("b", 40, [cc.Phase(0, 20, 50)])
LINK = cc.Link("up", 50)
PROBLEM = cc.Problem([A, B], [LINK], [cc.Candidate("c", {"a": ["up"], "b": ["up"]})])

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "solve_link": (
        cc.solve_link,
        {"jobs": [A, B], "capacity_gbps": 50},
        ("method", "angles", "resolution_ms", "slack_tolerance", "node_limit", "deadline_s", "multipliers"),
    ),
    "score_link": (
        cc.score_link,
        {"jobs": [A, B], "capacity_gbps": 50, "shifts_ms": {}},
        ("resolution_ms", "multipliers"),
    ),
    "score_bounds": (cc.score_bounds, {"jobs": [A, B], "capacity_gbps": 50, "shifts_ms": {}}, ("resolution_ms",)),
    "harmonize": (cc.harmonize, {"jobs": [A, B], "tolerance": 0.01}, ("capacity_gbps",)),
    "rank": (
        cc.rank,
        {"problem": PROBLEM},
        (
            *("loops", "aggregate", "top", "exhaustive", "period_tolerance", "threads", "deadline_s", "node_limit"),
            *("block_node_limit", "resolution_ms", "slack_tolerance", "executor", "progress"),
        ),
    ),
    "Ranker": (cc.Ranker, {}, ("max_links",)),
    "Phase": (cc.Phase, {"start_ms": 0, "duration_ms": 1, "gbps": 1}, ()),
    "Job": (cc.Job, {"id": "a", "iteration_ms": 1}, ("phases",)),
    "Link": (cc.Link, {"id": "a", "capacity_gbps": 1}, ()),
    "Candidate": (cc.Candidate, {"id": "c", "routes": {}}, ()),
    "Problem": (cc.Problem, {"jobs": [A], "links": [], "candidates": []}, ()),
}
ARGUMENTS = [(call, name) for call, (_, given, more) in CALLS.items() for name in (*given, *more)]

HOSTILE_NAMES = ["b", "x", "", "a: expected b, got c", "line\nend", "y" * 500, "\ud800"]
NUMBERS = [0, -1, 2**63, 10**400, 0.5, 1e300, -1e-9, math.nan, math.inf, -math.inf, True, False, 1j]
OTHERS = [None, b"a", object(), decimal.Decimal("NaN"), np.array([1.0, 2.0]), np.float32("nan"), np.int64(0), A, print]
names = st.sampled_from(HOSTILE_NAMES) | st.text(max_size=5)
plain = st.sampled_from([*NUMBERS, *OTHERS]) | names
junk = (
    plain
    | st.lists(plain, max_size=2)
    | st.sets(names, max_size=2)
    | st.dictionaries(names, plain, max_size=2)
    | st.dictionaries(names, st.lists(plain, max_size=2), max_size=2)
)


@pytest.mark.parametrize(("call", "argument"), ARGUMENTS, ids=["-".join(pair) for pair in ARGUMENTS])
@given(value=junk)
@example(value={"a: expected b, got c": 1.0})
@example(value={"b": "y" * 500})
@example(value=["line\nend"])
def test_a_wrong_argument_is_refused_in_one_line_by_its_place(call: str, argument: str, value: Any) -> None:
    function, given, _ = CALLS[call]
    try:
        function(**{**given, argument: value})
    except InputError as caught:
        error = caught
    else:
        return  # not wrong
    message = str(error)
    assert message.isprintable()
    assert len(message) < 400
    assert re.fullmatch("expected .+, got .+", error.reason), message
    assert error.place.startswith(argument)
    assert message.endswith(f"{error.place}: {error.reason}")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.place, again.reason) == (message, error.place, error.reason)


WHOLE = {"angles": 8, "node_limit": 3, "block_node_limit": 3, "top": 2, "threads": 1, "max_links": 3}
REAL = {
    "resolution_ms": 0.5,
    "slack_tolerance": 0.25,
    "deadline_s": 8,
    "period_tolerance": 0.5,
    "tolerance": 0.25,
    "capacity_gbps": 50,
    "multipliers": {"a": 0.5},
    "shifts_ms": {"a": 4},
}
NUMERIC = [(call, name) for call, name in ARGUMENTS if call.islower() and name in {**WHOLE, **REAL}]


@pytest.mark.parametrize(("call", "argument"), [*NUMERIC, ("Ranker", "max_links")])
def test_a_number_may_be_of_any_type(call: str, argument: str) -> None:
    function, given, _ = CALLS[call]
    plain: Any = {**WHOLE, **REAL}[argument]
    expected = function(**{**given, argument: plain})
    kinds: list[Any] = [np.int64, np.uint8] if argument in WHOLE else [np.float32, np.float64, fractions.Fraction]
    for kind in kinds:
        value = {job: kind(one) for job, one in plain.items()} if isinstance(plain, dict) else kind(plain)
        found = function(**{**given, argument: value})
        assert found == expected or call == "Ranker"


def test_an_error_of_the_kernel_has_a_place_and_a_reason() -> None:
    with pytest.raises(InputError) as caught:
        _kernel.Link(*[np.zeros(n, np.int64) for n in (1, 5, 0, 0, 0)], 1)
    assert (caught.value.place, caught.value.reason) == ("phase_offset", "expected shape (2,), got (5,)")


def test_a_place_stands_between_who_refuses_and_what_was_expected() -> None:
    error = InputError("solve_link: phase_start[3]: expected 0 to 254, got 255")
    assert (error.place, error.reason) == ("phase_start[3]", "expected 0 to 254, got 255")


def test_a_message_of_another_form_is_all_reason() -> None:
    error = InputError("trace.json: no steps found")
    assert (error.place, error.reason) == ("", "trace.json: no steps found")
