"""The words of the command line: numbers promise no more than is true, conclusions say what the ranking says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.choices import Order
from cassini_core.cli.console import one_line
from cassini_core.cli.tables import ranking_table, shift_table
from cassini_core.formats import magnitude_text, ms_text_down, score_text
from cassini_core.model import Candidate, Job, Link, Phase, Problem
from cassini_core.ranking.conclusion import conclude_link, conclude_ranking
from cassini_core.results import LinkScore, LinkSolution, NarrowLink, RankedCandidate, Ranking

JOBS = (Job("a", 100, (Phase(0, 50, 40),)), Job("b", 100, (Phase(0, 50, 40),)))


def ranked(
    name: str,
    scores: Sequence[float] | None,
    *,
    bound: float | None = None,
    status: str = "tree",
    slack_ms: float = 5.0,
    free: Sequence[str] = (),
    placed: int = 2,
    narrow: float | None = None,
) -> RankedCandidate:
    """A candidate whose links have these scores, and their mean; None: not solved.

    ``narrow`` is the score of a narrow link, which counts as the others do.
    """
    links = [LinkScore(f"{name}-l{at}", one, 1.0) for at, one in enumerate(scores or ())]
    beside = () if narrow is None else (NarrowLink(f"{name}-n", "c", narrow, (1 - narrow) * 50),)
    values = None if scores is None else [*scores, *(link.score for link in beside)]
    mean = None if values is None else (sum(values) / len(values) if values else 1.0)
    every = [*((link.score or 0.0, link.id) for link in links), *((link.score, link.id) for link in beside)]
    bound = bound if bound is not None else (1.0 if mean is None else mean)
    shifts = {"a": 0.0, "b": 25.0} if links else {}
    return RankedCandidate(
        id=name,
        score=mean,
        upper_bound=bound,
        optimal=mean is not None and mean >= bound - 1e-9,
        status=status,
        shifts_ms=shifts,
        slack_ms=dict.fromkeys(shifts, slack_ms),
        hold_ms=slack_ms / 2 if links else None,
        free_jobs=tuple(free),
        worst_link=min(every)[1] if every and scores is not None else None,
        total_excess_gbps=None if values is None else sum((1 - one) * 50 for one in values),
        links=tuple(links),
        jobs_placed=placed,
        narrow_links=beside,
    )


def placed_of(order: Order, one: RankedCandidate) -> int:
    return one.jobs_placed if order == "jobs_placed" else 0


def ranking_of(
    *candidates: RankedCandidate, order: Order = "jobs_placed", resolution_ms: float | None = None
) -> Ranking:
    best = next((one for one in candidates if one.score is not None), None)
    proven = best is not None and all(
        placed_of(order, one) < placed_of(order, best)
        or (placed_of(order, one) == placed_of(order, best) and (best.score or 0.0) >= one.upper_bound - 1e-9)
        for one in candidates
        if one is not best
    )
    return Ranking(best, proven, {"a": 100.0, "b": 100.0}, candidates, order=order, resolution_ms=resolution_ms)


def problem_of(*names: str) -> Problem:
    return Problem(JOBS, (Link("l", 50),), tuple(Candidate(name, {}) for name in names))


def conclusion(*candidates: RankedCandidate, aggregate: str = "mean", names: Sequence[str] | None = None) -> str:
    order = names if names is not None else sorted(one.id for one in candidates)
    return conclude_ranking(ranking_of(*candidates), problem_of(*order), aggregate)


# --- the sentence -----------------------------------------------------------------------------------------------------


def test_a_clear_winner() -> None:
    assert conclusion(ranked("x", [0.9, 1.0]), ranked("y", [0.8, 0.9])) == (
        '"x" wins with 0.9500 (mean over its shared links), 0.1000 above the runner-up "y" (0.8500); '
        'its worst link "x-l0" scores 0.9000, the runner-up\'s worst "y-l0" scores 0.8000; '
        "proven: no other candidate can score more."
    )


def test_a_winner_without_proof_only_leads() -> None:
    text = conclusion(ranked("x", [0.9]), ranked("y", [0.8], bound=0.97), ranked("z", None, bound=0.99))
    assert text.startswith('"x" leads with 0.9000')
    assert text.endswith('; not proven: "z" might score up to 0.9900.')


def test_unproven_shifts_of_the_best_are_said() -> None:
    doubt = "better shifts for it are not ruled out (bound 0.9500)."
    text = conclusion(ranked("x", [0.9], bound=0.95), ranked("y", [0.8]))
    assert text.endswith(f"proven: no other candidate can score more, though {doubt}")
    assert conclusion(ranked("x", [0.9], bound=0.95)).endswith(f"; {doubt}")


def test_a_single_candidate() -> None:
    assert conclusion(ranked("x", [0.9])) == (
        '"x" is the only candidate and scores 0.9000 (mean over its shared links); '
        'its worst link "x-l0" scores 0.9000; proven: no shifts score more.'
    )


def test_nothing_shared() -> None:
    text = conclusion(ranked("x", [], status="alone"), ranked("y", [0.8]))
    assert text.startswith('"x" wins with 1.0000, 0.2000 above the runner-up "y" (0.8000); it has no shared link')


def test_nothing_exceeds_the_capacity() -> None:
    within = "; demand stays within the capacity on"
    assert f"{within} its only shared link, the runner-up's" in conclusion(ranked("x", [1.0]), ranked("y", [0.8]))
    assert f"{within} all its 2 shared links;" in conclusion(ranked("x", [1.0, 1.0]))


@pytest.mark.parametrize(
    ("first", "second", "order", "reason"),
    [
        (ranked("x", [0.9], slack_ms=6.0), ranked("y", [0.9]), "xy", "leaves the most slack"),
        (ranked("x", [], status="alone"), ranked("y", [1.0]), "yx", "leaves the most slack"),
        (ranked("x", [0.9]), ranked("y", [0.9, 0.9]), "yx", "shares the fewest links"),
        (ranked("x", [0.9]), ranked("y", [0.9]), "xy", "comes first in the input"),
    ],
)
def test_ties_name_what_decided(first: RankedCandidate, second: RankedCandidate, order: str, reason: str) -> None:
    text = conclusion(first, second, names=list(order))
    assert text.startswith('"x" and "y" tie at ')
    assert reason in text


def test_ties_never_invent_a_reason() -> None:
    # Sorted against every rule, as only a defect could: nothing is claimed then.
    text = conclusion(ranked("x", [0.9, 0.9], slack_ms=1.0), ranked("y", [0.9]), names=["y", "x"])
    assert "because" not in text
    assert "comes first" not in text


def test_many_ties_are_counted() -> None:
    assert conclusion(*(ranked(name, [0.9]) for name in "wxyz")).startswith('"w" and 3 other candidates tie at 0.9000')


def test_nothing_solved() -> None:
    unsolved = [ranked(name, None, bound=0.8, status="discarded") for name in "xy"]
    assert conclusion(*unsolved) == (
        'None of the 2 candidates was solved, their affinity graphs have loops; the highest bound is 0.8000 ("x").'
    )
    assert conclusion(unsolved[0]) == (
        'The only candidate was not solved, its affinity graph has a loop; the bound is 0.8000 ("x").'
    )
    assert "only bounds are known" in conclusion(ranked("x", None, status="bound_only"), unsolved[1])
    assert conclusion() == "There are no candidates to rank."


def test_only_one_solved() -> None:
    text = conclusion(ranked("x", [0.9]), ranked("y", None, bound=0.5), ranked("z", None, bound=0.7))
    assert "(mean over its shared links) and is the only one of 3 candidates that was solved;" in text
    assert text.endswith("proven: no other candidate can score more.")


@pytest.mark.parametrize(
    ("aggregate", "words"),
    [
        ("per_job", "(mean over all placed jobs of each job's worst link)"),
        ("mean", "(mean over its shared links)"),
        ("min", "(its worst link)"),
        ("p10", "(p10 over its shared links)"),
    ],
)
def test_the_sentence_says_which_score(aggregate: str, words: str) -> None:
    assert words in conclusion(ranked("x", [0.9]), ranked("y", [0.8]), aggregate=aggregate)


def test_names_cannot_break_the_sentence() -> None:
    text = conclusion(ranked("x\n\x1b[31m", [0.9]), ranked('"[red]', [0.8]))
    assert text.isprintable()
    assert r"x\n\x1b[31m" in text
    assert "[red]" in text


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    levels = st.sampled_from([1.0, 1 - 5e-10, 1 - 2e-9, 0.95, 0.95 + 1e-6, 0.5, 0.0, -0.3])
    solved = draw(st.lists(st.lists(levels, max_size=3), max_size=4))
    bounds = draw(st.lists(levels, max_size=2))
    extra = st.sampled_from([0.0, 0.0, 0.01, 0.2])
    narrow, placed = st.none() | st.sampled_from([0.95, 0.5, -4.0]), st.sampled_from([1, 2, 2, 2, 3])
    order: Order = draw(st.sampled_from(get_args(Order)))
    made = []
    for at, scores in enumerate(solved):
        beside = draw(narrow)
        values = [*scores, *([] if beside is None else [beside])]
        bound = min(1.0, (sum(values) / len(values) if values else 1.0) + draw(extra))
        status = "tree" if scores else "alone"
        made.append(ranked(f"s{at}", scores, bound=bound, status=status, placed=draw(placed), narrow=beside))
    for at, bound in enumerate(bounds):
        made.append(ranked(f"u{at}", None, bound=bound, status="bound_only", placed=draw(placed)))
    made.sort(
        key=lambda one: (
            -placed_of(order, one),
            one.score is None,
            -round((one.upper_bound if one.score is None else one.score) / 1e-9),
        )
    )
    return ranking_of(*made, order=order, resolution_ms=draw(st.sampled_from([None, 0.5])))


@given(rankings())
def test_the_sentence_says_what_the_ranking_says(ranking: Ranking) -> None:
    problem = problem_of(*sorted(one.id for one in ranking.candidates))
    text = conclude_ranking(ranking, problem, "mean")
    assert text.isprintable()
    assert text.endswith(".")
    best = ranking.best
    if best is None:
        assert "solved" in text or "no candidates" in text
        return
    others = [one for one in ranking.candidates if one.id != best.id]
    assert text.startswith(f'"{best.id}" ')
    assert best.score is not None
    assert score_text(best.score) in text
    equals = [one for one in others if placed_of(ranking.order, one) == placed_of(ranking.order, best)]
    proven = "proven" if ranking.resolution_ms is None else "proven at a resolution of 0.5 ms"
    if ranking.best_proven and others and not equals:
        assert "; no other candidate places as many jobs" in text
    elif ranking.best_proven and others:
        among = "" if len(equals) == len(others) else " that places as many jobs"
        assert f"; {proven}: no other candidate{among} can score more" in text
    else:
        assert "no other candidate" not in text
    assert ("not proven: " in text) == (not ranking.best_proven)
    assert ("not ruled out" in text) == (not best.optimal)
    tied = [one for one in equals if one.score is not None and abs(one.score - best.score) <= 1e-9]
    assert (" tie at " in text) == bool(tied)
    if best.worst_link is not None and min(link.score or 0.0 for link in (*best.links, *best.narrow_links)) < 1 - 1e-9:
        assert f'"{best.worst_link}" scores' in text
        assert ('(too narrow for "c" alone)' in text) >= best.worst_link.endswith("-n")


def test_a_link_is_concluded_with_its_unit() -> None:
    def solution(score: float, bound: float, *, exact: bool = True, free: Sequence[str] = ()) -> LinkSolution:
        shifts = {"a": 0.0, "b": 1.0}
        return LinkSolution(
            score, exact, bound, score >= bound - 1e-9, score, shifts, shifts, 0.0, tuple(free), 255.0, 7
        )

    assert conclude_link(solution(1.0, 1.0), 50).startswith("The jobs interleave completely")
    assert "averages 5.0000 Gbit/s" in conclude_link(solution(0.9, 0.9), 50)
    assert "averages at most 5.0000 Gbit/s" in conclude_link(solution(0.9, 0.95, exact=False), 50)
    assert "not proven: other shifts might score up to 0.9500" in conclude_link(solution(0.9, 0.95), 50)
    assert "no shift matters" in conclude_link(solution(0.9, 0.9, free="ab"), 50)
    assert "no shift matters" not in conclude_link(solution(0.9, 0.9, free="a"), 50)


# --- numbers ----------------------------------------------------------------------------------------------------------


@given(st.floats(-20, 1))
def test_a_score_below_1_is_never_shown_as_1(score: float) -> None:
    text = score_text(score)
    assert abs(float(text) - score) <= 5.1e-5
    assert float(text) < 1 or score >= 1 - 1e-9
    assert text != "-0.0000"


@given(st.integers(0, 2**40))
def test_slack_is_rounded_down(ticks: int) -> None:
    shown = round(float(ms_text_down(ticks / 1e6)) * 1e6)
    assert ticks - 1000 < shown <= ticks


@given(st.floats(1e-12, 1e6))
def test_magnitudes_keep_their_leading_digits(value: float) -> None:
    assert math.isclose(float(magnitude_text(value)), value, rel_tol=0.06)


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert one_line(text).isprintable()
    if text.isascii() and text.isprintable():
        assert one_line(text) == text


# --- tables -----------------------------------------------------------------------------------------------------------


def test_a_free_job_has_words_instead_of_a_number() -> None:
    table = shift_table(ranked("x", [0.9], free=["b"]), JOBS, {"a": 100.0, "b": 100.5})
    assert table.rows == [
        ("a", "0.000", "5.000", "100.000", "-"),
        ("b", "shift does not matter", "any", "100.500", "0.5000 %"),
    ]


def test_an_unsolved_candidate_has_dashes_and_its_bound() -> None:
    table = ranking_table(ranking_of(ranked("x", [0.9], bound=0.95), ranked("y", None, bound=0.8, status="bound_only")))
    assert table.rows == [
        ("1", "x", "0.9000", "0.9500", "gap 0.0500", "tree", "2.500", "x-l0 0.9000"),
        ("2", "y", "-", "0.8000", "not solved", "bound only", "-", "-"),
    ]
