"""Affinity graphs and Algorithm 1, without any link being solved: time-shifts on links are random numbers."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.joint.affinity import (
    JOB,
    LINK,
    TIME_SHIFT,
    Component,
    affinity_graph,
    bfs_time_shifts,
    blocks,
    components,
    has_loop,
    job_node,
    link_node,
    surely_has_loop,
)
from placements import trees
from strategies import one_of

PERIODS = (6, 10, 12, 15, 30, 35, 64)


@st.composite
def weighted_trees(draw: st.DrawFn) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Time-shifts on the links of a loop-free graph, and iteration times that divide each other or not."""
    tree = draw(trees(max_links=6, max_jobs_on_link=4))
    period = {job: draw(one_of(PERIODS)) for members in tree.values() for job in members}
    shifts = {link: {job: draw(st.integers(0, period[job] - 1)) for job in members} for link, members in tree.items()}
    return shifts, period


NAMES = st.sampled_from("abcdef")
INCIDENCES = st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(0, 5), min_size=1), max_size=6)
"""Any bipartite graph, loops and all."""


def assert_link_keeps_its_shifts(link: dict[str, int], shifts: dict[str, int], period: dict[str, int]) -> None:
    for one, other in itertools.combinations(link, 2):
        common = math.gcd(period[one], period[other])
        assert (shifts[one] - shifts[other] - link[one] + link[other]) % common == 0, (one, other)


@given(weighted_trees())
def test_theorem_1_every_pair_on_every_link_keeps_its_relative_shift(case: Any) -> None:
    time_shifts, period = case
    shifts = bfs_time_shifts(affinity_graph(time_shifts), period)
    assert shifts.keys() == period.keys()
    for link in time_shifts.values():
        assert_link_keeps_its_shifts(link, shifts, period)


@given(weighted_trees())
def test_shifts_are_canonical(case: Any) -> None:
    time_shifts, period = case
    graph = affinity_graph(time_shifts)
    shifts = bfs_time_shifts(graph, period)
    assert all(0 <= ticks < period[job] for job, ticks in shifts.items())
    assert all(shifts[min(component.jobs)] == 0 for component in components(graph))


@given(INCIDENCES, st.randoms(use_true_random=False))
def test_order_of_links_and_jobs_changes_nothing(time_shifts: dict[str, dict[str, int]], rng: random.Random) -> None:
    period = dict.fromkeys("abcdef", 6)

    def shuffled(mapping: dict[str, Any]) -> dict[str, Any]:
        return dict(rng.sample(sorted(mapping.items(), key=lambda item: item[0]), len(mapping)))

    mixed = shuffled({link: shuffled(members) for link, members in time_shifts.items()})
    first = bfs_time_shifts(affinity_graph(time_shifts), period)
    again = bfs_time_shifts(affinity_graph(mixed), period)
    assert list(first.items()) == list(again.items())


@given(weighted_trees(), st.data())
def test_turning_all_jobs_of_one_link_changes_nothing(case: Any, data: st.DataObject) -> None:
    time_shifts, period = case
    link = data.draw(st.sampled_from(sorted(time_shifts)))
    turn = data.draw(st.integers(-100, 100))
    turned = {**time_shifts, link: {job: ticks + turn for job, ticks in time_shifts[link].items()}}
    assert bfs_time_shifts(affinity_graph(turned), period) == bfs_time_shifts(affinity_graph(time_shifts), period)


@given(INCIDENCES)
def test_loops_are_what_networkx_calls_cycles(time_shifts: dict[str, dict[str, int]]) -> None:
    graph = affinity_graph(time_shifts)
    assert has_loop(graph) == bool(nx.cycle_basis(graph))


@given(INCIDENCES)
def test_counting_never_sees_a_loop_where_there_is_none(time_shifts: dict[str, dict[str, int]]) -> None:
    if surely_has_loop(time_shifts):
        assert has_loop(affinity_graph(time_shifts))


def test_counting_sees_an_uplink_and_a_downlink() -> None:
    assert surely_has_loop({"up": {"a": 0, "b": 0}, "down": {"a": 0, "b": 0}})
    assert not surely_has_loop({"up": {"a": 0, "b": 0}})
    assert not surely_has_loop({})


@given(trees(), st.data())
def test_one_more_edge_inside_a_component_closes_a_loop(tree: dict[str, list[str]], data: st.DataObject) -> None:
    graph = affinity_graph({link: dict.fromkeys(members, 0) for link, members in tree.items()})
    assert not has_loop(graph)
    missing = [
        (job_node(job), link_node(link))
        for component in components(graph)
        for job, link in itertools.product(component.jobs, component.links)
        if job not in tree[link]
    ]
    if missing:
        graph.add_edge(*data.draw(st.sampled_from(missing)))
        assert has_loop(graph)


@given(INCIDENCES)
def test_components_hold_every_node_once_and_no_edge_leaves_one(time_shifts: dict[str, dict[str, int]]) -> None:
    parts = components(affinity_graph(time_shifts, jobs=["lonely"]))
    found_jobs = [job for part in parts for job in part.jobs]
    found_links = [link for part in parts for link in part.links]
    assert sorted(found_jobs) == sorted({"lonely"} | {job for members in time_shifts.values() for job in members})
    assert sorted(found_links) == sorted(time_shifts)
    for link, members in time_shifts.items():
        part = next(part for part in parts if link in part.links)
        assert set(members) <= set(part.jobs)
    assert Component(("lonely",), ()) in parts


@given(INCIDENCES)
def test_with_loops_every_job_still_gets_one_shift_in_range(time_shifts: dict[str, dict[str, int]]) -> None:
    period = {job: 7 + index for index, job in enumerate("abcdef")}
    shifts = bfs_time_shifts(affinity_graph(time_shifts), period)
    assert sorted(shifts) == sorted({job for members in time_shifts.values() for job in members})
    assert all(0 <= ticks < period[job] for job, ticks in shifts.items())


def test_appendix_a_with_numbers() -> None:
    """Figure 5(b) and the example at the end of Appendix A: j1 - l1 - j2 - l2 - j3."""
    time_shifts = {"l1": {"j1": 30, "j2": 50}, "l2": {"j2": 10, "j3": 25}}
    period = {"j1": 100, "j2": 60, "j3": 90}
    shifts = bfs_time_shifts(affinity_graph(time_shifts), period)
    assert shifts == {"j1": 0, "j2": (-30 + 50) % 60, "j3": (-30 + 50 - 10 + 25) % 90}
    assert shifts == {"j1": 0, "j2": 20, "j3": 35}


def test_appendix_a_reduces_modulo_the_iteration_time_of_the_job_reached() -> None:
    time_shifts = {"l1": {"j1": 45, "j2": 15}, "l2": {"j2": 35, "j3": 5}}
    period = {"j1": 60, "j2": 40, "j3": 20}
    # j2: -45 + 15 = -30 = 10 (mod 40); j3: 10 - 35 + 5 = -20 = 0 (mod 20).
    assert bfs_time_shifts(affinity_graph(time_shifts), period) == {"j1": 0, "j2": 10, "j3": 0}


def test_relative_shift_holds_modulo_gcd_only_not_modulo_the_perimeter() -> None:
    """Why the theorem is tested modulo gcd: after line 22 the paper's congruence modulo p^l = 120 is lost."""
    time_shifts = {"l1": {"j1": 30, "j2": 0}}
    period = {"j1": 40, "j2": 60}
    shifts = bfs_time_shifts(affinity_graph(time_shifts), period)
    difference, wanted = shifts["j2"] - shifts["j1"], -30
    assert (difference - wanted) % 20 == 0
    assert (difference - wanted) % 120 != 0


def test_each_component_has_its_own_reference_job() -> None:
    time_shifts = {"x": {"b": 3, "a": 5}, "y": {"d": 1, "c": 2}}
    assert bfs_time_shifts(affinity_graph(time_shifts), dict.fromkeys("abcd", 10)) == {"a": 0, "b": 8, "c": 0, "d": 9}


def test_a_job_and_a_link_may_have_the_same_id() -> None:
    graph = affinity_graph({"x": {"x": 1, "y": 2}, "y": {"y": 3, "z": 4}})
    assert graph.number_of_nodes() == 5
    assert not has_loop(graph)
    assert bfs_time_shifts(graph, dict.fromkeys("xyz", 10)) == {"x": 0, "y": 1, "z": 2}


def test_graph_is_bipartite_and_carries_its_weights_by_name() -> None:
    graph = affinity_graph({"up": {"a": 1, "b": 2}})
    assert dict(graph.nodes(data="bipartite")) == {(JOB, "a"): JOB, (JOB, "b"): JOB, (LINK, "up"): LINK}
    assert graph.edges[job_node("b"), link_node("up")] == {TIME_SHIFT: 2}
    assert nx.is_bipartite(graph)


def test_jobs_without_a_link_stand_at_zero() -> None:
    assert bfs_time_shifts(affinity_graph({}, jobs=["b", "a"]), {"a": 1, "b": 1}) == {"a": 0, "b": 0}


def test_empty_graph() -> None:
    graph = affinity_graph({})
    assert not has_loop(graph)
    assert components(graph) == []
    assert bfs_time_shifts(graph, {}) == {}


def test_two_jobs_on_the_same_two_links_are_a_loop() -> None:
    assert has_loop(affinity_graph({"up": {"a": 0, "b": 0}, "down": {"a": 0, "b": 0}}))


def test_a_job_without_iteration_time_is_named() -> None:
    with pytest.raises(KeyError, match="b"):
        bfs_time_shifts(affinity_graph({"up": {"a": 0, "b": 0}}), {"a": 10})


# Blocks


def separated(graph: nx.Graph, job: str, one: str, other: str) -> bool:
    """Whether two links no longer hang together without a job, by search."""
    without = graph.copy()
    without.remove_node(job_node(job))
    return not nx.has_path(without, link_node(one), link_node(other))


@given(INCIDENCES)
def test_links_are_in_one_block_exactly_if_no_single_job_separates_them(time_shifts: dict[str, dict[str, int]]) -> None:
    graph = affinity_graph(time_shifts)
    block_of = {link: number for number, block in enumerate(blocks(graph)) for link in block.links}
    assert block_of.keys() == time_shifts.keys()
    jobs = {job for members in time_shifts.values() for job in members}
    for one, other in itertools.combinations(time_shifts, 2):
        together = nx.has_path(graph, link_node(one), link_node(other)) and not any(
            separated(graph, job, one, other) for job in jobs
        )
        assert (block_of[one] == block_of[other]) >= together
        if block_of[one] == block_of[other] and not together:
            # Only a chain of links, each of which no job separates from the next, makes them one.
            near = nx.Graph(
                [
                    (a, b)
                    for a, b in itertools.combinations(time_shifts, 2)
                    if nx.has_path(graph, link_node(a), link_node(b))
                    and not any(separated(graph, job, a, b) for job in jobs)
                ]
            )
            assert nx.has_path(near, one, other)


@given(INCIDENCES)
def test_blocks_hang_together_in_jobs_alone_and_without_a_loop(time_shifts: dict[str, dict[str, int]]) -> None:
    graph = affinity_graph(time_shifts)
    found = blocks(graph)
    assert all(set(block.jobs) == {job for link in block.links for job in time_shifts[link]} for block in found)
    assert not has_loop(affinity_graph({block.links[0]: dict.fromkeys(block.jobs, 0) for block in found}))
    for block in found:
        assert block.cyclic == has_loop(affinity_graph({link: time_shifts[link] for link in block.links}))
        assert block.cyclic or len(block.links) == 1


@given(trees())
def test_a_graph_without_a_loop_has_one_block_per_link(tree: dict[str, list[str]]) -> None:
    found = blocks(affinity_graph({link: dict.fromkeys(members, 0) for link, members in tree.items()}))
    assert [block.links for block in found] == [(link,) for link in sorted(tree)]


def test_two_rings_that_share_a_job_are_two_blocks_and_a_link_is_never_split() -> None:
    rings = {"up": "ab", "down": "ab", "left": "bc", "right": "bc", "far": "cd"}
    found = blocks(affinity_graph({link: dict.fromkeys(jobs, 0) for link, jobs in rings.items()}))
    assert [(block.links, block.jobs, block.cyclic) for block in found] == [
        (("down", "up"), ("a", "b"), True),
        (("far",), ("c", "d"), False),
        (("left", "right"), ("b", "c"), True),
    ]
    # Two rings that meet in a link: its four jobs cannot be placed apart.
    wide = {"up": "ab", "down": "cd", "both": "abcd"}
    assert len(blocks(affinity_graph({link: dict.fromkeys(jobs, 0) for link, jobs in wide.items()}))) == 1
