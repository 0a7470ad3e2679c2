"""The words of options and answers: the types that are published name what the program takes and gives, and no more."""

from __future__ import annotations

import re
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core.cli import main
from cassini_core.kernel import _kernel
from pages import ROOT, read
from placements import mixed_scores

A, B = cc.Job("a", 40, [cc.Phase(0, 20, 50)]), cc.Job("b", 40, [cc.Phase(0, 20, 50)])
PLAIN_AGGREGATES = get_args(get_args(cc.AggregateName)[0])


@pytest.mark.parametrize("loops", get_args(cc.Loops))
@pytest.mark.parametrize("aggregate", [*PLAIN_AGGREGATES, "p0", "p12.5", "p100"])
def test_every_word_of_rank_is_taken_and_every_status_is_a_known_one(loops: Any, aggregate: str) -> None:
    ranking = cc.rank(mixed_scores(), loops=loops, aggregate=aggregate)
    assert {candidate.status for candidate in ranking.candidates} <= set(get_args(cc.Status))


@pytest.mark.parametrize("aggregate", PLAIN_AGGREGATES)
def test_whoever_asks_which_aggregates_there_are_is_told_of_each(
    aggregate: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(cc.InputError, match=repr(aggregate)):
        cc.rank(mixed_scores(), aggregate="median")
    assert main(["rank", "--help"]) == 0
    about = capsys.readouterr().out.partition("--aggregate")[2].partition("--period-tolerance")[0]
    assert re.search(rf"\b{aggregate}\b", about)
    assert f'``"{aggregate}"``' in (cc.rank.__doc__ or "")
    assert f"| `{aggregate}`" in read(ROOT / "docs/ranking.md")


@pytest.mark.parametrize("order", get_args(cc.Order))
def test_every_order_is_taken_and_said(order: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cc.rank(mixed_scores(), order=order).order == order
    assert main(["rank", "--help"]) == 0
    assert re.search(rf"\b{order}\b", capsys.readouterr().out.partition("--order")[2].partition("--top")[0])
    assert f'``"{order}"``' in (cc.rank.__doc__ or "")
    assert f"`{order}`" in read(ROOT / "docs/ranking.md")


@pytest.mark.parametrize("method", get_args(cc.Method))
def test_every_method_is_taken(method: Any) -> None:
    assert cc.solve_link([A, B], 50, method=method).score == 1.0


@given(st.sampled_from(["joint", "merge", "discard", "exact", "angles", "per_job", "mean", "min", "p"]), st.text())
def test_no_other_word_is_taken(word: str, more: str) -> None:
    for alias, call in (
        (cc.Loops, lambda given: cc.rank(mixed_scores(), loops=given)),
        (cc.Order, lambda given: cc.rank(mixed_scores(), order=given)),
        (cc.Method, lambda given: cc.solve_link([A, B], 50, method=given)),
    ):
        if word + more not in get_args(alias):
            with pytest.raises(cc.InputError):
                call(word + more)


def test_why_a_search_ended_is_named_as_the_kernel_names_it() -> None:
    assert get_args(cc.StoppedBy) == _kernel.STOPPED_BY


@pytest.mark.parametrize(
    ("function", "argument", "alias"),
    [
        (cc.rank, "loops", cc.Loops),
        (cc.rank, "aggregate", cc.AggregateName),
        (cc.rank, "order", cc.Order),
        (cc.Ranking, "order", cc.Order),
        (cc.solve_link, "method", cc.Method),
        (cc.RankedCandidate, "status", cc.Status),
        (cc.LinkSolution, "stopped_by", cc.StoppedBy),
    ],
)
def test_signatures_have_the_types(function: Any, argument: str, alias: Any) -> None:
    assert get_type_hints(function)[argument] == alias
