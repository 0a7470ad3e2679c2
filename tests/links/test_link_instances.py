"""The 98 links with proven optima: exact, with proof, and honest when cut short."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from cassini_core import Job, Phase, _reference, solve_link
from cassini_core.kernel.prepared_link import PreparedLink

CLOSE = 1e-9
INSTANCES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "links.json").read_text())[
    "instances"
]


def jobs_of(instance: dict[str, Any]) -> list[Job]:
    return [
        Job(job["id"], job["iteration_ms"], [Phase(**phase) for phase in job["phases"]]) for job in instance["jobs"]
    ]


@functools.cache
def rescored(name: str, shifts: tuple[float, ...]) -> float:
    instance = next(one for one in INSTANCES if one["name"] == name)
    jobs = jobs_of(instance)
    return _reference.score(jobs, instance["capacity_gbps"], dict(zip((j.id for j in jobs), shifts, strict=True)))


def test_all_instances_are_there() -> None:
    assert len(INSTANCES) == 98
    assert len({instance["name"] for instance in INSTANCES}) == 98


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance["name"])
def test_proven_optimum_is_reached_with_proof(instance: dict[str, Any]) -> None:
    solution = solve_link(jobs_of(instance), instance["capacity_gbps"], node_limit=None)
    assert solution.score == pytest.approx(instance["optimal_score"], abs=CLOSE)
    assert solution.optimal
    assert solution.score_is_exact
    # The score is what its shifts score, by code that shares nothing with the kernel.
    shifts = tuple(solution.shifts_ms[job["id"]] for job in instance["jobs"])
    assert rescored(instance["name"], shifts) == pytest.approx(solution.score, abs=CLOSE)


@pytest.mark.parametrize("node_limit", [1, 10, 100])
@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance["name"])
def test_a_search_cut_short_claims_no_more_than_it_knows(instance: dict[str, Any], node_limit: int) -> None:
    solution = solve_link(jobs_of(instance), instance["capacity_gbps"], node_limit=node_limit)
    assert solution.score <= instance["optimal_score"] + CLOSE
    assert solution.upper_bound >= instance["optimal_score"] - CLOSE
    assert not solution.optimal or solution.score == pytest.approx(instance["optimal_score"], abs=CLOSE)


@pytest.mark.parametrize("instance", INSTANCES[::7], ids=lambda instance: instance["name"])
def test_microseconds_instead_of_milliseconds_give_the_same_answer(instance: dict[str, Any]) -> None:
    """The cost depends on the edges, not on the resolution: the same nodes, and the scores agree."""
    jobs = jobs_of(instance)
    thousandth = [
        Job(j.id, j.iteration_ms / 1e3, [Phase(p.start_ms / 1e3, p.duration_ms / 1e3, p.gbps) for p in j.phases])
        for j in jobs
    ]
    coarse = solve_link(jobs, instance["capacity_gbps"], resolution_ms=0)
    fine = solve_link(thousandth, instance["capacity_gbps"], resolution_ms=0)
    assert coarse.score == pytest.approx(fine.score, abs=CLOSE)
    assert coarse.nodes == pytest.approx(fine.nodes, rel=0.2, abs=10)


def test_a_prepared_link_gives_the_same_answer_again() -> None:
    instance = next(one for one in INSTANCES if one["name"].startswith("equal-4"))
    problem = PreparedLink.from_jobs(jobs_of(instance), instance["capacity_gbps"])
    first, second = problem.solve(), problem.solve()
    assert first.shift.tolist() == second.shift.tolist()
    assert (first.score_lower, first.hold, first.nodes) == (second.score_lower, second.hold, second.nodes)
