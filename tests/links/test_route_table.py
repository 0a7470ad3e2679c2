"""Reading many candidates at once: as differences from what they have in common, and as if each came alone."""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from types import FrameType
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import hosts
from cassini_core import Candidate, Problem
from cassini_core.links.route_deltas import RouteTable
from cassini_core.links.shared_links import LinkCatalog
from cassini_core.units import ticks_from_ms
from placements import rounds

Members = tuple[tuple[str, float], ...]
"""What a link carries: job ids and multipliers, sorted by id."""


def loads_of(candidate: Candidate) -> dict[str, Members]:
    """What each link carries, read plainly."""
    carried: dict[str, dict[str, float]] = {}
    for job, route in candidate.routes.items():
        for link, multiplier in route.items():
            carried.setdefault(link, {})[job] = multiplier
    return {link: tuple(sorted(members.items())) for link, members in carried.items()}


def load(table: RouteTable, number: int) -> tuple[str, Members]:
    """A load by name."""
    loads = table.loads
    members = loads.member[loads.offset[number] : loads.offset[number + 1]]
    return table.links[loads.link[number]], tuple(table.members[member] for member in members)


def common_loads(table: RouteTable) -> dict[str, Members]:
    return dict(load(table, number) for number in range(table.n_base))


@given(rounds(max_candidates=6))
def test_the_common_loads_and_its_own_give_back_every_candidate(problem: Problem) -> None:
    table = RouteTable(problem.candidates)
    seen = set()
    for place, candidate in enumerate(problem.candidates):
        dropped, added = (loads.tolist() for loads in table.differences[place])
        assert set(dropped) <= set(range(table.n_base))
        assert set(added).isdisjoint(range(table.n_base))
        kept = [k for k in range(table.n_base) if k not in dropped]
        loads = [load(table, k) for k in (*kept, *added)]
        assert dict(loads) == loads_of(candidate)
        assert len(dict(loads)) == len(loads)
        assert table.n_placed[place] == len(candidate.routes)
        first = problem.candidates[0].routes
        assert table.other_jobs[place] ^ table.other_jobs[0] == candidate.routes.keys() ^ first.keys()
        seen |= loads_of(candidate).items()
    loads = [load(table, k) for k in range(len(table.loads.link))]
    assert len(set(loads)) == len(loads)
    assert seen <= set(loads) <= seen | common_loads(table).items()


@given(rounds(max_candidates=6), st.randoms(use_true_random=False))
def test_the_common_placement_holds_most_frequent_routes_and_order_plays_no_part(
    problem: Problem, rng: random.Random
) -> None:
    common = common_loads(RouteTable(problem.candidates))
    for job in {job for candidate in problem.candidates for job in candidate.routes}:
        routes = [candidate.routes.get(job, {}) for candidate in problem.candidates]
        counts = Counter(frozenset(route.items()) for route in routes)
        held = frozenset((link, dict(members)[job]) for link, members in common.items() if job in dict(members))
        assert held in counts or not held
    shuffled = rng.sample(problem.candidates, len(problem.candidates))
    assert common_loads(RouteTable(shuffled)) == common


def test_the_most_frequent_route_is_common() -> None:
    routes: list[dict[str, list[str]]] = [{"a": ["x"]}, {"a": ["y"]}, {"a": ["y"], "b": ["x"]}, {"b": []}]
    table = RouteTable([Candidate(f"c{k}", route) for k, route in enumerate(routes)])
    assert common_loads(table) == {"y": (("a", 1.0),)}
    own = [[load(table, k) for k in difference.added.tolist()] for difference in table.differences]
    assert own == [[("x", (("a", 1.0),))], [], [("x", (("b", 1.0),))], []]
    assert [difference.dropped.tolist() for difference in table.differences] == [[0], [], [], [0]]


@given(rounds(max_candidates=6))
def test_candidates_read_together_are_as_each_by_itself(problem: Problem) -> None:
    def contents(catalog: LinkCatalog) -> list[object]:
        problems = catalog.problems.contents()
        return [
            (one.id, one.n_placed, [(link.id, link.jobs, problems[link.problem]) for link in one.shared], one.warnings)
            for one in catalog.placements()
        ]

    for content, candidate in zip(contents(LinkCatalog(problem)), problem.candidates, strict=True):
        assert contents(LinkCatalog(problem, RouteTable([candidate]))) == [content]


@given(rounds(max_candidates=6))
def test_the_arrays_of_the_shared_links_are_what_the_links_say(problem: Problem) -> None:
    catalog = LinkCatalog(problem)
    arrays, period = catalog.incidence, {job.id: ticks_from_ms(job.iteration_ms) for job in problem.jobs}
    assert arrays.jobs == sorted({job for link in catalog.shared for job in link.jobs})
    assert arrays.period.tolist() == [period[job] for job in arrays.jobs]
    assert arrays.problem.tolist() == [link.problem for link in catalog.shared]
    assert arrays.capacity_gbps.tolist() == [link.capacity_gbps for link in catalog.shared]
    for link in catalog.shared:
        rows = arrays.rows(np.array([link.index]))
        assert tuple(arrays.name[arrays.job[rows.at]]) == link.jobs
        asked = catalog.problems.part(arrays.problem[[link.index]])
        assert asked.period.tolist() == [period[job] for job in link.jobs]


def test_no_candidates_at_all() -> None:
    table = RouteTable([])
    assert (len(table.loads.link), table.differences, table.n_base) == (0, [], 0)


def test_no_step_of_reading_is_long() -> None:
    """Work is counted in lines that Python executes: none but a small part lies between two looks at the clock."""
    problem = hosts.generate(hosts.Settings(seed="steps", racks=16, jobs=200, candidates=150))
    work, looks = 0, [0]

    def count(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal work
        work += event == "line"
        return count

    def look() -> None:
        looks.append(work)

    before = sys.gettrace()
    sys.settrace(count)
    try:
        LinkCatalog(problem, RouteTable(problem.candidates, look), look).placements()
    finally:
        sys.settrace(before)
    steps = [end - begin for begin, end in itertools.pairwise([*looks, work])]
    assert work > 100_000
    assert max(steps) < 0.1 * work
