"""Wrong and unusual arguments of ``rank``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cassini_core import InputError
from cassini_core.ranking.rank_problem import rank
from placements import mixed_scores, problem_of, up


@pytest.mark.parametrize(
    ("argument", "value", "expected"),
    [
        ("loops", "other", "loops: expected 'joint' or 'merge' or 'discard', got 'other'"),
        ("loops", None, "loops: expected"),
        ("aggregate", "median", "aggregate: expected 'per_job', 'mean', 'min' or a percentile"),
        ("aggregate", "p101", "aggregate: expected"),
        ("aggregate", "p-1", "aggregate: expected"),
        ("aggregate", "p", "aggregate: expected"),
        ("aggregate", 3, "aggregate: expected"),
        ("period_tolerance", -0.01, "period_tolerance: expected"),
        ("period_tolerance", math.nan, "period_tolerance: expected"),
        ("period_tolerance", "0.01", "period_tolerance: expected"),
        ("period_tolerance", True, "period_tolerance: expected"),
        ("threads", 0, "threads: expected None or a whole number"),
        ("threads", 1.5, "threads: expected None or a whole number"),
        ("threads", True, "threads: expected None or a whole number"),
        ("deadline_s", -1, "deadline_s: expected None or a finite number"),
        ("deadline_s", math.inf, "deadline_s: expected None or a finite number"),
        ("node_limit", 0, "node_limit: expected 'auto', None or a whole number"),
        ("node_limit", 10**30, "node_limit: expected 'auto', None or a whole number"),
        ("node_limit", "many", "node_limit: expected 'auto', None or a whole number"),
        ("block_node_limit", 0, "block_node_limit: expected 'auto', None or a whole number"),
        ("resolution_ms", -1, "resolution_ms: expected 0 to 1099511.627776"),
        ("resolution_ms", 1e12, "resolution_ms: expected 0 to 1099511.627776"),
        ("slack_tolerance", -1e-9, "slack_tolerance: expected"),
        ("slack_tolerance", 10**400, "slack_tolerance: expected"),
        ("progress", 5, "progress: expected None or a callable"),
    ],
)
def test_wrong_arguments(argument: str, value: Any, expected: str) -> None:
    with pytest.raises(InputError) as error:
        rank(mixed_scores(), **{argument: value})
    assert expected in str(error.value)


def test_something_else_than_a_problem() -> None:
    with pytest.raises(InputError, match="problem: expected a Problem, got"):
        rank({"jobs": []})  # type: ignore[arg-type]


def test_numpy_numbers_are_numbers() -> None:
    problem = mixed_scores()
    plain = rank(problem, threads=2, node_limit=1000, period_tolerance=0.5, slack_tolerance=0.25)
    numpy = rank(
        problem,
        threads=np.int64(2),  # type: ignore[arg-type]
        node_limit=np.int32(1000),  # type: ignore[arg-type]
        period_tolerance=np.float32(0.5),  # type: ignore[arg-type]
        slack_tolerance=np.float64(0.25),
    )
    assert plain == numpy


def test_too_many_jobs_on_a_link_names_the_link() -> None:
    jobs = [up(f"j{k}", 100, 0, 1, 1) for k in range(1025)]
    with pytest.raises(InputError, match="link 'x': expected at most 1024 jobs, got 1025"):
        rank(problem_of(jobs, {"x": 50}, c={job.id: ["x"] for job in jobs}))
