"""Mappings told by their difference from another are those that were meant, and cost the difference alone."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core import moved_mapping
from cassini_core.moved_mapping import MovedMapping, NotSeenBefore, changed_keys, moved

KEYS = st.sampled_from("abcdefgh")
CHANGES = st.dictionaries(KEYS, st.none() | st.integers(0, 2), max_size=4)


@st.composite
def families(draw: st.DrawFn) -> list[tuple[Mapping[str, int], dict[str, int]]]:
    """Mappings of which most are differences from others, each with the dict that it has to be."""
    made: list[tuple[Mapping[str, int], dict[str, int]]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moved_mapping, "MOST_CHANGED", draw(st.sampled_from([1 / 4, 10])))
        for _ in range(draw(st.integers(1, 6))):
            if not made or draw(st.integers(0, 4)) == 0:
                plain = draw(st.dictionaries(KEYS, st.integers(0, 2)))
                made.append((plain, plain))
                continue
            base, meant = draw(st.sampled_from(made))
            changes = {key: to for key, to in draw(CHANGES).items() if to is not None or key in meant}
            new = {key: to for key, to in {**meant, **changes}.items() if to is not None}
            made.append((moved(base, changes), new))
    return draw(st.permutations(made))


@given(families())
def test_a_moved_mapping_is_what_was_meant(family: list[tuple[Mapping[str, int], dict[str, int]]]) -> None:
    for mapping, meant in family:
        assert mapping == meant
        assert len(mapping) == len(meant) == len(list(mapping))
        assert dict(mapping.items()) == meant
        assert {key: mapping.get(key) for key in "abcdefgh"} == {key: meant.get(key) for key in "abcdefgh"}
        assert [key in mapping for key in "abcdefgh"] == [key in meant for key in "abcdefgh"]
        assert not isinstance(mapping, MovedMapping) or not isinstance(mapping.base, MovedMapping)


@given(families())
def test_what_may_differ_holds_all_that_does(family: list[tuple[Mapping[str, int], dict[str, int]]]) -> None:
    for one, a in family:
        for other, b in family:
            differ = {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
            assert differ <= changed_keys(one, other) <= set("abcdefgh")


@given(families())
def test_going_through_many_leaves_nothing_out(family: list[tuple[Mapping[str, int], dict[str, int]]]) -> None:
    not_seen = NotSeenBefore[int]()
    seen: set[tuple[str, int]] = set()
    for mapping, meant in family:
        new = list(not_seen.items(mapping))
        assert new == list(dict(new).items())
        assert set(new) <= meant.items()
        seen |= set(new)
        assert meant.items() <= seen


def test_candidates_take_memory_for_what_they_change() -> None:
    jobs = [cc.Job(f"j{k}", 40, [cc.Phase(0, 20, 50)]) for k in range(3000)]
    base = cc.Candidate("base", {job.id: [f"l{k % 100}"] for k, job in enumerate(jobs)}, {"j0": {"h": 1}})
    links = [cc.Link(f"l{k}", 100.0) for k in range(101)]
    tracemalloc.start()
    try:
        moves: list[dict[str, Any]] = [{f"j{k}": ["l100"], f"j{k + 1}": None} for k in range(2000)]
        candidates = [cc.Candidate.moved(f"c{k}", base, some, {f"j{k}": {"h": 1}}) for k, some in enumerate(moves)]
        problem = cc.Problem(jobs, links, candidates)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20  # whole ones would take 200 MiB
    finally:
        tracemalloc.stop()
    assert len(problem.candidates[5].routes) == 2999


def test_what_only_some_candidates_show_of_their_base_is_checked_all_the_same() -> None:
    base = cc.Candidate("base", {**{f"j{k}": [] for k in range(20)}, "bad": ["nowhere"]})
    hides, shows = cc.Candidate.moved("hides", base, {"bad": None}), cc.Candidate.moved("shows", base, {"j0": None})
    jobs = [cc.Job(job, 40, [cc.Phase(0, 20, 50)]) for job in base.routes]
    assert cc.Problem(jobs, [], [hides])
    for candidates in ([hides, shows], [shows, hides]):
        with pytest.raises(cc.InputError, match=r"routes\['bad'\]: expected ids of links .*, got 'nowhere'"):
            cc.Problem(jobs, [], candidates)
    builder = cc.ProblemBuilder()
    for job in jobs:
        builder.add_job(job)
    builder.add_candidate(hides)
    for _ in range(2):  # a refusal is no reason to look away the next time
        with pytest.raises(cc.InputError, match="nowhere"):
            builder.add_candidate(shows)
