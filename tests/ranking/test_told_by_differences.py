"""It plays no part in an answer how candidates are told: whole, or by how they differ from some other placement."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
import placements
from cassini_core import Candidate, Problem, moved_mapping
from cassini_core.links.shared_links import LinkCatalog
from cassini_core.moved_mapping import MovedMapping, told_by


@st.composite
def told_otherwise(draw: st.DrawFn, **size: int) -> tuple[Problem, Problem]:
    """A round, and the same one with some candidates as differences from placements that are no candidates."""
    problem = draw(placements.rounds(max_candidates=6, **size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moved_mapping, "MOST_CHANGED", math.inf)
        hidden = [Candidate(f"hidden{k}", one.routes) for k, one in enumerate(problem.candidates)]
        told = []
        for one in problem.candidates:
            base = draw(st.sampled_from([*hidden, *told]))
            moves: dict[str, Any] = {job: None for job in base.routes if job not in one.routes}
            # Some routes that are the same are told all the same.
            more = draw(st.sets(st.sampled_from(sorted(one.routes)))) if one.routes else set()
            moves |= {job: to for job, to in one.routes.items() if job in more or base.routes.get(job) != to}
            told.append(draw(st.sampled_from([one, Candidate.moved(one.id, base, moves)])))
    return problem, Problem(problem.jobs, problem.links, told)


@given(told_otherwise(), st.sampled_from(["per_job", "mean", "p10"]))
@settings(max_examples=60)
def test_the_answer_is_the_same(both: tuple[Problem, Problem], aggregate: Any) -> None:
    one, other = (cc.rank(problem, aggregate=aggregate, exhaustive=True) for problem in both)
    assert one.to_json() == other.to_json()
    assert one.warnings == other.warnings


@given(told_otherwise())
def test_a_copy_has_the_same_in_common(both: tuple[Problem, Problem]) -> None:
    for problem in both:
        again = pickle.loads(pickle.dumps(problem))
        assert again == problem
        assert [list(one.routes) for one in again.candidates] == [list(one.routes) for one in problem.candidates]
        bases = [{id(told_by(one.routes)[0]) for one in some.candidates} for some in (problem, again)]
        assert len(bases[1]) <= len(bases[0])
        for one in problem.candidates:
            assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == copy.deepcopy(one) == one


@given(told_otherwise(max_jobs=6, max_links=6))
def test_the_links_of_each_candidate_are_the_same(both: tuple[Problem, Problem]) -> None:
    found = [LinkCatalog(problem).placements() for problem in both]
    for one, other, candidate in zip(*found, both[0].candidates, strict=True):
        assert [(link.id, link.jobs) for link in one.shared] == [(link.id, link.jobs) for link in other.shared]
        assert [link.id for link in one.shared] == sorted(placements.shared_links(both[0], candidate))
        assert one.n_links == len(one.links) == len(one.shared)
        assert one.n_crossings == sum(len(link.jobs) for link in one.shared)
        assert (one.warnings, one.narrow_links, one.n_placed) == (other.warnings, other.narrow_links, other.n_placed)


def test_differences_are_what_is_tested() -> None:
    base = Candidate("base", {f"j{k}": [] for k in range(9)})
    assert isinstance(Candidate.moved("c", base, {"j0": ["x"]}).routes, MovedMapping)
