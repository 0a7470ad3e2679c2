"""How a link is given to the public functions, and what its answer says of itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_link_input import hard_jobs

import cassini_core as cc

A, B = cc.Job("a", 40, [cc.Phase(0, 20, 50)]), cc.Job("b", 40, [cc.Phase(0, 20, 50)])


@given(st.floats(1, 200))
def test_a_link_stands_for_its_capacity(gbps: float) -> None:
    link = cc.Link("up", gbps)
    assert cc.solve_link([A, B], link) == cc.solve_link([A, B], gbps) == cc.solve_link([A, B], capacity_gbps=gbps)
    assert cc.score_link([A, B], link, {"b": 7.0}) == cc.score_link([A, B], capacity_gbps=gbps, shifts_ms={"b": 7.0})
    assert cc.score_bounds([A, B], link, {}) == cc.score_bounds([A, B], gbps, {})
    assert cc.harmonize([A, B], capacity_gbps=link) == cc.harmonize([A, B], capacity_gbps=gbps)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"node_limit": 10}, "nodes"), ({"node_limit": None, "deadline_s": 0.05}, "deadline")],
)
def test_a_search_that_was_cut_short_says_by_what(options: dict[str, float | None], reason: str) -> None:
    solution = cc.solve_link(hard_jobs(), 50, **options)  # type: ignore[arg-type]
    assert not solution.optimal
    assert solution.stopped_by == reason


def test_a_search_that_ended_by_itself_says_so() -> None:
    assert cc.solve_link([A, B], 50).stopped_by == "complete"


def test_a_link_beyond_the_limits_of_folding_says_so() -> None:
    jobs = [
        cc.Job(f"j{k}", ms, [cc.Phase(0, ms / 3, 50)]) for k, ms in enumerate((1.113121, 1.244017, 1.425829, 1.535557))
    ]
    solution = cc.solve_link(jobs, 50, resolution_ms=0)
    assert (solution.score_is_exact, solution.stopped_by) == (False, "limits")
