"""The numbers of the affinity graph and of the candidates are those of the ranking."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core import Candidate, InputError, Job, Link, Phase, Problem
from cassini_core.plots.affinity import MOST_ROWS, affinity_plot_data
from cassini_core.plots.candidates import candidates_plot_data
from cassini_core.plots.placed_links import placed_links
from cassini_core.units import ticks_from_ms
from strategies import loop_problems, tree_problems

HALF = [Phase(0, 50, 40)]


def ring(n_jobs: int) -> tuple[Problem, cc.Ranking]:
    """Each job shares a link with the next one, the last with the first."""
    jobs = [Job(f"j{at:03}", 100, [Phase(0, 50, 40 + at)]) for at in range(n_jobs)]
    links = [Link(f"l{at:03}", 50) for at in range(n_jobs)]
    routes = {job.id: [links[at].id, links[at - 1].id] for at, job in enumerate(jobs)}
    problem = Problem(jobs, links, [Candidate("ring", routes)])
    return problem, cc.rank(problem)


@settings(max_examples=15)
@given(st.one_of(tree_problems(), loop_problems()))
def test_edges_are_the_shifts_of_the_candidate_modulo_what_matters(problem: Problem) -> None:
    ranking = cc.rank(problem)
    candidate = ranking.candidates[0]
    links = {link.id: link for link in placed_links(problem, ranking, candidate)}
    shared = [link for link in links.values() if len(link.jobs) > 1]
    if not shared:
        with pytest.raises(InputError, match="expected a candidate whose jobs share a link, got one without"):
            affinity_plot_data(list(links.values()))
        return
    data = affinity_plot_data(list(links.values()))
    assert sorted(one for link in data["links"] for one in link["ids"]) == sorted(link.id for link in shared)
    for row in data["links"]:
        assert {links[one].score for one in row["ids"]} == {row["score"]}
        edges = [edge for edge in data["edges"] if edge["link"] == row["id"]]
        assert {edge["job"] for edge in edges} == {job.id for job in links[row["id"]].jobs}
        assert all(edge["is_free"] == (edge["job"] in links[row["id"]].free_jobs) for edge in edges)
        held = {edge["job"]: edge["shift_ms"] for edge in edges if edge["shift_ms"] is not None}
        for one, two in itertools.combinations(held, 2):
            gcd = math.gcd(*(ticks_from_ms(ranking.paces_ms[job]) for job in (one, two)))
            on_link = ticks_from_ms(held[one]) - ticks_from_ms(held[two])
            final = ticks_from_ms(candidate.shifts_ms[one]) - ticks_from_ms(candidate.shifts_ms[two])
            assert (on_link - final) % gcd == 0
    if candidate.status == "joint":
        assert any(block["is_cyclic"] for block in data["blocks"])
    for block in data["blocks"]:
        assert block["is_cyclic"] == (len(block["links"]) > 1)


def test_a_large_graph_is_shown_around_one_node() -> None:
    problem, ranking = ring(40)
    links = placed_links(problem, ranking, ranking.candidates[0])
    for data in (
        affinity_plot_data(links),
        affinity_plot_data(links, near_job="j007"),
        affinity_plot_data(links, near_link="l007"),
    ):
        assert len(data["jobs"]) <= MOST_ROWS
        assert len(data["links"]) <= MOST_ROWS
        assert data["left_out"] == {"jobs": 40 - len(data["jobs"]), "links": 40 - len(data["links"])}
        assert len(data["blocks"]) == 1
        assert data["blocks"][0]["is_cyclic"]
    assert {"j006", "j007", "j008"} <= {job["id"] for job in affinity_plot_data(links, near_job="j007")["jobs"]}


def test_only_the_component_of_a_named_node_is_shown() -> None:
    jobs = [Job(name, 100, HALF) for name in "abcd"]
    routes = {"a": ["x", "y"], "b": ["x", "y"], "c": ["z"], "d": ["z"]}
    problem = Problem(jobs, [Link(name, 50) for name in "xyz"], [Candidate("two", routes)])
    ranking = cc.rank(problem)
    links = placed_links(problem, ranking, ranking.candidates[0])
    assert len(affinity_plot_data(links)["jobs"]) == 4
    near = affinity_plot_data(links, near_link="y")
    assert [link["ids"] for link in near["links"]] == [["x", "y"]]
    assert [job["id"] for job in near["jobs"]] == ["a", "b"]
    assert near["left_out"] == {"jobs": 2, "links": 1}
    with pytest.raises(InputError, match=r"job: expected one that shares a link \('a', 'b', 'c', 'd'\), got 'e'"):
        affinity_plot_data(links, near_job="e")
    with pytest.raises(InputError, match=r"link: expected one that several jobs share \('x', 'y', 'z'\), got 'w'"):
        affinity_plot_data(links, near_link="w")


@settings(max_examples=15)
@given(loop_problems(max_candidates=4))
def test_candidates_are_the_rows_of_the_ranking(problem: Problem) -> None:
    ranking = cc.rank(problem)
    data = candidates_plot_data(ranking)
    assert [row["id"] for row in data["candidates"]] == [one.id for one in ranking]
    for row, one in zip(data["candidates"], ranking, strict=True):
        assert (row["score"], row["upper_bound"], row["hold_ms"]) == (one.score, one.upper_bound, one.hold_ms)
        assert row["is_proven"] == (one.score is not None and one.score >= one.upper_bound - 1e-9)
        if row["worst_link_score"] is not None:
            scores = [link.score for link in (*one.links, *one.narrow_links) if link.score is not None]
            assert row["worst_link_score"] == min(scores)
