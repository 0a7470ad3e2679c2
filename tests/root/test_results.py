"""What can be done with answers: look up, iterate, write, show; the same for any ids and numbers."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from html.parser import HTMLParser
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
import wild_strategies as wild
from cassini_core.errors import worded
from cassini_core.problem_file import link_solution_to_json, ranking_to_json
from cassini_core.results import HTML_ROWS, deferred_candidate
from placements import mixed_scores
from told_rankings import as_whole

scores = st.none() | st.floats(-1e9, 1)
by_job = st.dictionaries(wild.ids, st.floats(0, 1e6), max_size=3)
some_ids = st.lists(wild.ids, max_size=3).map(tuple)
candidates = st.builds(
    cc.RankedCandidate,
    id=wild.ids,
    score=scores,
    upper_bound=st.floats(-1e9, 1),
    optimal=st.booleans(),
    status=st.sampled_from(get_args(cc.Status)),
    shifts_ms=by_job,
    slack_ms=by_job,
    hold_ms=st.none() | st.floats(0, 1e6),
    free_jobs=some_ids,
    worst_link=st.none() | wild.ids,
    total_excess_gbps=st.none() | st.floats(0, 1e6),
    links=st.lists(st.builds(cc.LinkScore, wild.ids, scores, st.floats(-1e9, 1)), max_size=3).map(tuple),
    warnings=some_ids,
    jobs_placed=st.integers(0, 2**31),
    narrow_links=st.lists(
        st.builds(cc.NarrowLink, wild.ids, wild.ids, st.floats(-1e9, 1), st.floats(0, 1e6)), max_size=3
    ).map(tuple),
    resolution_ms=st.none() | st.floats(0, 1e6),
)


@st.composite
def rankings(draw: st.DrawFn) -> cc.Ranking:
    """Rankings of any content, with ids of their own."""
    found = tuple(draw(st.lists(candidates, max_size=5, unique_by=lambda one: one.id)))
    best = found[0] if found and found[0].score is not None else None
    order, resolution_ms = draw(st.sampled_from(get_args(cc.Order))), draw(st.none() | st.floats(0, 1e6))
    return cc.Ranking(best, draw(st.booleans()), draw(by_job), found, draw(some_ids), order, resolution_ms)


@st.composite
def solutions(draw: st.DrawFn) -> cc.LinkSolution:
    """Link solutions of any content."""
    jobs = draw(st.lists(wild.ids, min_size=1, max_size=4, unique=True))
    times = {job: draw(st.floats(0, 1e6)) for job in jobs}
    score = draw(st.floats(-1e9, 1))
    free = tuple(job for job in jobs if draw(st.booleans()))
    return cc.LinkSolution(score, True, 1.0, draw(st.booleans()), score, times, times, 1.5, free, 40.0, 3)


PLAIN = re.compile(
    r'<(table|thead|tbody|tr|caption style="text-align:left;white-space:nowrap"|t[hd] style="text-align:(left|right)"'
    r'|svg width="80" height="10" aria-hidden="true"'
    r'|rect width="[\d.]+" height="10" fill="[#\w]+"( fill-opacity="[\d.]+")?/)>'
)
"""The tags of a table and of a bar in it."""


class Table(HTMLParser):
    """The text of each cell, and all other tags than those of a table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.odd: list[Any] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Note the tag."""
        self.cells += [""] if tag in ("td", "th", "caption") else []
        if PLAIN.fullmatch(self.get_starttag_text() or "") is None:
            self.odd.append(self.get_starttag_text())

    def handle_data(self, data: str) -> None:
        """Add to the cell."""
        self.cells[-1] += data


@given(rankings())
def test_a_ranking_is_a_sequence_of_its_candidates_that_ids_find_too(ranking: cc.Ranking) -> None:
    assert tuple(ranking) == ranking.candidates
    assert len(ranking) == len(ranking.candidates)
    for place, one in enumerate(ranking.candidates):
        assert ranking[place] is ranking[np.int64(place)] is ranking[place - len(ranking)] is ranking[one.id] is one
        assert one.id in ranking
        assert one in ranking
    assert ranking[1:] == ranking.candidates[1:]
    with pytest.raises(KeyError):
        ranking["an id that is nobody's"]
    assert "an id that is nobody's" not in ranking
    assert 3 not in ranking
    for place in (len(ranking), -len(ranking) - 1):
        with pytest.raises(IndexError) as caught:
            ranking[place]
        number = f"{len(ranking)} candidate{'s' * (len(ranking) != 1)}"
        assert str(caught.value) == f"ranking[{place}]: expected a position among {number}"


@given(rankings())
def test_records_are_flat_and_have_the_same_keys(ranking: cc.Ranking) -> None:
    records = ranking.records()
    assert [(one["rank"], one["id"]) for one in records] == [(n + 1, one.id) for n, one in enumerate(ranking)]
    assert len({tuple(one) for one in records}) <= 1
    for record, one in zip(records, ranking, strict=True):
        assert all(value is None or isinstance(value, (str, float, int)) for value in record.values())
        assert all(record[key] == getattr(one, key) for key in record.keys() & one.__slots__ if key != "warnings")
        assert record["least_slack_ms"] in one.slack_ms.values() or not one.slack_ms


@given(rankings())
def test_a_ranking_writes_itself_as_the_command_line_does(ranking: cc.Ranking) -> None:
    written = ranking.to_json()
    assert written == ranking_to_json(ranking)
    content = json.loads(written)
    assert as_whole(json.loads(ranking.to_json(differences=True))) == content
    assert [one["id"] for one in content["candidates"]] == [one.id for one in ranking]
    assert content["paces_ms"] == ranking.paces_ms
    assert (content["order"], content["resolution_ms"]) == (ranking.order, ranking.resolution_ms)
    for said, one in zip(content["candidates"], ranking, strict=True):
        assert (said["jobs_placed"], said["resolution_ms"]) == (one.jobs_placed, one.resolution_ms)
        assert [tuple(link.values()) for link in said["narrow_links"]] == list(map(astuple, one.narrow_links))


@given(solutions())
def test_a_link_solution_writes_itself(solution: cc.LinkSolution) -> None:
    assert solution.to_json() == link_solution_to_json(solution)
    assert json.loads(solution.to_json())["shifts_ms"] == solution.shifts_ms
    assert {one["job"]: one["shift_ms"] for one in solution.records()} == solution.shifts_ms
    assert tuple(one["job"] for one in solution.records() if one["free"]) == solution.free_jobs


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_refused_with_its_place(bad: float) -> None:
    one = cc.RankedCandidate("c", 1.0, 1.0, True, "tree", {"a": bad}, {"a": 1.0}, 1.0, (), None, None, ())
    for differences in (False, True):
        with pytest.raises(cc.InputError) as caught:
            cc.Ranking(one, True, {}, (one,)).to_json(differences=differences)
        assert caught.value.place in ("candidates[0].shifts_ms['a']", "bases[0].shifts_ms['a']")


@given(st.one_of(wild.problems(), rankings(), candidates, solutions()))
def test_repr_is_one_short_line(value: Any) -> None:
    assert repr(value).isprintable()
    assert len(repr(value)) < 250


def test_repr_of_a_large_problem_is_short() -> None:
    names = [f"job {k}" for k in range(2000)]
    candidate = cc.Candidate("all", {name: ["up"] for name in names})
    problem = cc.Problem([cc.Job(name, 40) for name in names], [cc.Link("up", 50)], [candidate])
    assert repr(problem) == "<Problem: 2000 jobs, 1 link, 1 candidate>"
    assert repr(candidate) == "<Candidate 'all': 2000 jobs placed>"
    assert len(repr(cc.harmonize(problem.jobs))) < 100


@given(rankings())
def test_the_html_of_a_ranking_names_every_candidate_and_nothing_breaks_out(ranking: cc.Ranking) -> None:
    table = Table(ranking._repr_html_())
    assert not table.odd
    header = table.cells.index("candidate")
    assert table.cells[header + 10 :: 10] == [worded(one.id) for one in ranking]


@given(solutions() | candidates)
def test_the_html_of_a_link_or_candidate_names_every_job_and_nothing_breaks_out(
    solution: cc.LinkSolution | cc.RankedCandidate,
) -> None:
    table = Table(solution._repr_html_())
    assert not table.odd
    assert table.cells[4::3] == [worded(job) for job in solution.shifts_ms]


def test_the_html_of_many_candidates_is_cut_and_says_so() -> None:
    many = tuple(
        cc.RankedCandidate(f"c{k}", None, 1.0, False, "bound_only", {}, {}, None, (), None, None, ())
        for k in range(999)
    )
    text = cc.Ranking(None, False, {}, many)._repr_html_()
    assert text.count("bound_only") == HTML_ROWS
    assert f"the first {HTML_ROWS} are shown" in text


def test_all_of_a_ranking_in_a_few_lines() -> None:
    ranking = cc.rank(mixed_scores())
    assert ranking.best is ranking[0] is ranking[ranking[0].id]


# Candidates of which a part is made when it is asked for


def deferred(asked: list[int]) -> tuple[cc.RankedCandidate, cc.RankedCandidate]:
    """A whole candidate, and an equal one whose rest is made later; ``asked`` grows when it is."""
    whole = cc.RankedCandidate("c", 0.5, 1.0, False, "tree", {"a": 1.0}, {"a": 2.0}, 3.0, ("a",), "l", 0.0, (), ("w",))
    fields = {field.name: getattr(whole, field.name) for field in dataclasses.fields(whole)}
    names = ["shifts_ms", "slack_ms", "free_jobs", "worst_link", "total_excess_gbps", "links", "warnings"]
    rest = {name: fields.pop(name) for name in names}

    def make() -> dict[str, Any]:
        asked.append(1)
        return rest

    return whole, deferred_candidate(make, **fields)


@pytest.mark.parametrize(
    "look",
    [
        lambda one: one,
        lambda one: pickle.loads(pickle.dumps(one)),
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
    ],
    ids=["itself", "pickled", "copied", "deep-copied", "replaced"],
)
def test_what_is_made_later_shows_nowhere(look: Callable[[cc.RankedCandidate], cc.RankedCandidate]) -> None:
    asked: list[int] = []
    whole, one = deferred(asked)
    assert one.score == whole.score
    assert not asked
    again = look(one)
    assert again == whole == one
    assert hash(again) == hash(whole)
    assert repr(again) == repr(whole)
    assert dataclasses.asdict(again) == dataclasses.asdict(whole)
    assert len(asked) == 1


def test_a_candidate_has_no_other_attributes() -> None:
    for one in deferred([]):
        with pytest.raises(AttributeError, match="nothing"):
            _ = one.nothing  # type: ignore[attr-defined]


def test_threads_that_ask_at_once_find_the_same() -> None:
    for _ in range(50):
        whole, one = deferred([])
        begin = threading.Barrier(4)

        def look(one: cc.RankedCandidate = one, begin: threading.Barrier = begin) -> Any:
            begin.wait()
            return one.shifts_ms, one.warnings, one.links

        with ThreadPoolExecutor(4) as pool:
            found = [future.result() for future in [pool.submit(look) for _ in range(4)]]
        assert found == [(whole.shifts_ms, whole.warnings, whole.links)] * 4
