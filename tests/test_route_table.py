"""Reading many candidates at once: as differences from what they have in common, and as if each came alone."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from placements import rounds

from cassini_core import Problem
from cassini_core.link_catalog import LinkCatalog, Placement
from cassini_core.route_table import RouteTable


@given(rounds(max_candidates=6))
def test_the_common_routes_and_the_changes_give_back_every_candidate(problem: Problem) -> None:
    table = RouteTable(problem.candidates)
    for place, candidate in enumerate(problem.candidates):
        routes = table.common()
        for job, (before, now) in table.changes(place).items():
            assert before != now or (job in routes) != (job in candidate.routes)
            assert before == routes.get(job, ())
            routes[job] = now
        placed = {job: dict(route) for job, route in routes.items() if job in candidate.routes}
        assert placed == {job: dict(route) for job, route in candidate.routes.items()}
        assert all(not routes[job] for job in routes.keys() - placed.keys())


@given(rounds(max_candidates=6), st.randoms(use_true_random=False))
def test_no_route_is_more_frequent_than_the_common_one_and_order_plays_no_part(
    problem: Problem, rng: random.Random
) -> None:
    table = RouteTable(problem.candidates)
    common = table.common()
    for job in {job for candidate in problem.candidates for job in candidate.routes}:
        routes = [candidate.routes.get(job) for candidate in problem.candidates]
        counts = Counter(None if route is None else tuple(route.items()) for route in routes)
        assert counts[common.get(job)] == max(counts.values())
    shuffled = rng.sample(problem.candidates, len(problem.candidates))
    assert RouteTable(shuffled).common() == common


@given(rounds(max_candidates=6))
def test_candidates_read_together_are_as_each_by_itself(problem: Problem) -> None:
    def content(placement: Placement) -> object:
        shared = [(link.id, link.jobs, link.problem.capacity, link.problem.demands) for link in placement.shared]
        return placement.id, placement.placed, shared, placement.warnings

    together = LinkCatalog(problem).placements(problem.candidates)
    for placement, candidate in zip(together, problem.candidates, strict=True):
        (alone,) = LinkCatalog(problem).placements([candidate])
        assert content(placement) == content(alone)


def test_no_candidates_at_all() -> None:
    assert RouteTable([]).common() == {}
