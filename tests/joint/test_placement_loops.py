"""Loops over placements: compiled, as plain Python and in whole arrays they give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core.arrays import BoolArray, Float64Array, Int64Array, int64, offsets
from cassini_core.compiled import compiled, why_not
from cassini_core.joint import placement_arrays, placement_loops
from cassini_core.joint.known_evaluations import KnownEvaluations
from cassini_core.joint.placement_loops import UNKNOWN
from cassini_core.joint.scoring import ARRAYS, Scoring, Table

PLAIN = Scoring(
    placement_loops.stand,
    placement_loops.judge,
    placement_loops.differ,
    placement_loops.per_job,
    Table(placement_loops.find, placement_loops.look, placement_loops.add, placement_loops.hash_again),
)


def ways() -> dict[str, Scoring]:
    """All ways that there are here."""
    found = {"arrays": ARRAYS, "plain": PLAIN}
    loops = compiled(placement_loops.LOOPS)
    if loops is not None:
        stand, find, look, add, hash_again, judge, differ, per_job = loops
        found["compiled"] = Scoring(stand, judge, differ, per_job, Table(find, look, add, hash_again))
    return found


@pytest.fixture(scope="module")
def scorings() -> dict[str, Scoring]:
    return ways()


def test_loops_are_compiled_where_numba_is(scorings: dict[str, Scoring]) -> None:
    pytest.importorskip("numba")
    assert "compiled" in scorings, why_not()


class Case(NamedTuple):
    """Links with jobs, some of them in a placement, shifts, and what is expected."""

    links: Int64Array
    shift: Int64Array
    offset: Int64Array
    job: Int64Array
    period: Int64Array
    problem: Int64Array
    expected: Int64Array
    expected_number: Int64Array
    bound: Float64Array
    held: BoolArray


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n_jobs = draw(st.integers(2, 8))
    period = int64(draw(st.lists(st.sampled_from([1, 2, 3, 50, 2**40]), min_size=n_jobs, max_size=n_jobs)))
    some_jobs = st.lists(st.integers(0, n_jobs - 1), min_size=2, max_size=n_jobs, unique=True)
    on_links = draw(st.lists(some_jobs, min_size=1, max_size=8))
    n = len(on_links)
    links = int64(draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True)))
    shift = np.array([draw(st.integers(0, int(most) - 1)) for most in period], dtype=np.int64)
    offset, job = offsets(map(len, on_links)), int64(k for on_link in on_links for k in on_link)
    # Equal numbers of jobs may be the same problem: which jobs stand there plays no part.
    problem = int64(len(on_link) for on_link in on_links)
    expected, expected_number = np.full(len(job), -1, dtype=np.int64), np.full(n, UNKNOWN, dtype=np.int64)
    for link in range(n):
        if draw(st.booleans()):
            at = slice(int(offset[link]), int(offset[link + 1]))
            expected[at] = (shift[job[at]] - shift[job[at][0]]) % period[job[at]]
            expected[at][-1] += draw(st.integers(0, 1))
            expected_number[link] = link
    bound = np.array(draw(st.lists(st.sampled_from([0.5, 1.0]), min_size=n, max_size=n)))
    held = np.array(draw(st.lists(st.booleans(), min_size=len(job), max_size=len(job))))
    return Case(links, shift, offset, job, period, problem, expected, expected_number, bound, held)


def same(found: Sequence[Any]) -> None:
    assert all(one == found[0] for one in found[1:])


@settings(max_examples=60)
@given(case=cases())
def test_which_jobs_stand_otherwise(scorings: dict[str, Scoring], case: Case) -> None:
    def asked(scoring: Scoring) -> tuple[Any, ...]:
        number, other = np.empty((2, len(case.links)), dtype=np.int64)
        first, relative = np.empty(len(case.links) + 1, dtype=np.int64), np.empty(len(case.job), dtype=np.int64)
        where = case.offset, case.job, case.period, case.expected, case.expected_number
        count = scoring.stand(case.links, case.shift, *where, number, other, first, relative)
        first = first[: count + 1]
        return count, number.tolist(), other[:count].tolist(), first.tolist(), relative[: first[-1]].tolist()

    same([asked(scoring) for scoring in scorings.values()])
    _, number, other, first, relative = asked(ARRAYS)
    assert [k for k, known in enumerate(number) if known == UNKNOWN] == other
    for k, link in enumerate(case.links.tolist()):
        jobs = case.job[case.offset[link] : case.offset[link + 1]]
        turned = ((case.shift[jobs] - case.shift[jobs[0]]) % case.period[jobs]).tolist()
        stands = case.expected[case.offset[link] : case.offset[link + 1]].tolist() == turned
        assert stands == (k not in other)
        if not stands:
            place = other.index(k)
            assert relative[first[place] : first[place + 1]] == turned


SCORES = st.one_of(st.sampled_from([1.0, 0.0, -0.0, 1 / 3, -5.0]), st.floats(-1e9, 1.0))


@settings(max_examples=60)
@given(case=cases(), data=st.data())
def test_what_a_placement_is_worth(scorings: dict[str, Scoring], case: Case, data: st.DataObject) -> None:
    n, sizes = len(case.problem), np.diff(case.offset)
    lower = np.array(data.draw(st.lists(SCORES, min_size=n, max_size=n)))
    upper = lower + np.array(data.draw(st.lists(st.sampled_from([0.0, 0.25]), min_size=n, max_size=n)))
    hold = np.array(data.draw(st.lists(st.integers(0, 99), min_size=n, max_size=n)), dtype=np.int64)
    n_entries = int(sizes.sum())
    slack = np.array(data.draw(st.lists(st.integers(0, 2**41), min_size=n_entries, max_size=n_entries)), dtype=np.int64)
    number, first = case.links.copy(), case.offset  # the evaluation of each link has its number
    known = lower, upper, hold, first, slack

    def judged(scoring: Scoring) -> tuple[Any, ...]:
        n_jobs = len(case.period)
        to_lower = np.empty(len(case.links))
        job, shift, own_slack = np.empty((3, n_jobs), dtype=np.int64)
        free = np.empty(n_jobs, dtype=np.bool_)
        where = case.offset, case.job, case.period, case.bound, case.held
        count, *rest = scoring.judge(
            case.links, number, case.shift, *where, *known, to_lower, job, shift, own_slack, free
        )
        arrays = [array[:count].tolist() for array in (job, shift, own_slack, free)]
        return count, *rest, to_lower.tolist(), *arrays

    found = [judged(scoring) for scoring in scorings.values()]
    same(found)
    _, least_hold, certain, meets, least_slack, scores, jobs, *_ = found[0]
    assert scores == lower[case.links].tolist()
    assert least_hold == min(hold[case.links])
    assert certain == (lower[case.links] == upper[case.links]).all()
    assert meets == all(lower[link] >= case.bound[link] - 1e-9 for link in case.links)
    assert jobs == sorted({k for link in case.links for k in case.job[case.offset[link] : case.offset[link + 1]]})
    assert 0 <= least_slack <= 0.5


@settings(max_examples=60)
@given(data=st.data())
def test_what_differs_from_the_base_placement(scorings: dict[str, Scoring], data: st.DataObject) -> None:
    n_links, n_jobs = 6, 5
    links = int64(data.draw(st.permutations(range(n_links)))[: data.draw(st.integers(0, n_links))])
    jobs = int64(sorted(data.draw(st.sets(st.integers(0, n_jobs - 1)))))

    def some(n: int, of: st.SearchStrategy[Any], dtype: Any) -> Any:
        return np.array(data.draw(st.lists(of, min_size=n, max_size=n)), dtype=dtype)

    few, truth = st.integers(0, 1), st.booleans()
    score, base_score = (some(n, st.sampled_from([0.5, 1.0]), np.float64) for n in (len(links), n_links))
    own = [some(len(jobs), of, dtype) for of, dtype in ((few, np.int64), (few, np.int64), (truth, np.bool_))]
    base = [some(n_jobs, of, dtype) for of, dtype in ((few, np.int64), (few, np.int64), (truth, np.bool_))]
    shares = some(n_jobs, truth, np.bool_)

    def found(scoring: Scoring) -> list[list[int]]:
        to = np.empty(n_links, dtype=np.int64), *np.empty((3, n_jobs), dtype=np.int64)
        counts = scoring.differ(links, score, jobs, *own, base_score, shares, *base, *to)
        return [array[:count].tolist() for array, count in zip(to, counts, strict=True)]

    same([found(scoring) for scoring in scorings.values()])
    at, here = jobs.tolist(), set(jobs.tolist())
    assert found(ARRAYS) == [
        [k for k, link in enumerate(links.tolist()) if score[k] != base_score[link]],
        [job for job in range(n_jobs) if shares[job] and job not in here],
        [job for job in at if not shares[job]],
        [k for k, job in enumerate(at) if any(one[k] != of_base[job] for one, of_base in zip(own, base, strict=True))],
    ]


@settings(max_examples=60)
@given(case=cases(), data=st.data())
def test_the_mean_over_jobs_is_the_exact_sum(scorings: dict[str, Scoring], case: Case, data: st.DataObject) -> None:
    n, n_jobs = len(case.links), len(case.period)
    tiny = st.floats(-1.0, 1.0).map(lambda value: value * 2.0**-60)
    scores = np.array(data.draw(st.lists(st.one_of(SCORES, tiny), min_size=n, max_size=n)))
    narrow = data.draw(st.lists(st.tuples(st.integers(0, n_jobs + 2), SCORES), max_size=3))
    narrow_job, narrow_score = int64(job for job, _ in narrow), np.array([score for _, score in narrow])
    size = max(n_jobs, 1 + int(narrow_job.max(initial=-1)))
    n_placed = size + data.draw(st.integers(0, 5))

    def mean(scoring: Scoring) -> str:
        worst = np.empty(size)
        some = case.links, scores, case.offset, case.job, narrow_job, narrow_score
        return float(scoring.per_job(*some, n_placed, worst)).hex()

    same([mean(scoring) for scoring in scorings.values()])
    worst = [1.0] * n_placed
    for link, score in zip(case.links.tolist(), scores.tolist(), strict=True):
        for job in case.job[case.offset[link] : case.offset[link + 1]].tolist():
            worst[job] = min(worst[job], score)
    for job, score in narrow:
        worst[job] = min(worst[job], score)
    assert mean(ARRAYS) == (math.fsum(worst) / n_placed).hex()


@settings(max_examples=200)
@given(values=st.lists(st.floats(-1e300, 1.0, exclude_max=True), min_size=1, max_size=60))
def test_sums_are_rounded_once(scorings: dict[str, Scoring], values: list[float]) -> None:
    """One job on each link, of every size and sign: the partial sums are those of math.fsum."""
    n = len(values)
    some = np.arange(n), np.array(values), np.arange(n + 1), np.arange(n), int64([]), np.zeros(0)
    for scoring in scorings.values():
        assert scoring.per_job(*some, n, np.empty(n)) == math.fsum([*values, 0.0]) / n


asked_questions = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30), min_size=1, max_size=8
)


@settings(max_examples=60)
@given(rounds=asked_questions)
def test_what_is_known_is_not_computed_again(scorings: dict[str, Scoring], rounds: list[list[tuple[int, int]]]) -> None:
    """Problem ``p`` has ``p + 1`` jobs; the second number says how they stand."""

    def asked(table: Table | None) -> list[Any]:
        known, computed, said = KnownEvaluations(table), list[tuple[int, ...]](), list[Any]()

        def compute(problem: Int64Array, relative: Int64Array) -> tuple[Any, ...]:
            ends = offsets(problem + 1).tolist()
            for k, one in enumerate(problem.tolist()):
                computed.append((one, *relative[ends[k] : ends[k + 1]].tolist()))
            values = np.array([sum(relative[ends[k] : ends[k + 1]]) + 10 * one for k, one in enumerate(problem)])
            return values / 2, values / 1.0, values, relative + 7

        for questions in rounds:
            problem = int64(one for one, _ in questions)
            first = offsets(problem + 1)
            relative = int64(turn * k for one, turn in questions for k in range(one + 1))
            number = known.numbers(problem, first, relative, compute)
            for k, (one, _) in enumerate(questions):
                at = number[k]
                own = relative[first[k] : first[k + 1]]
                assert known.problem[at] == one
                assert known.lower[at] == (own.sum() + 10 * one) / 2 == known.upper[at] / 2
                assert known.hold[at] == own.sum() + 10 * one
                entries = slice(int(known.first[at]), int(known.first[at + 1]))
                assert known.relative[entries].tolist() == own.tolist()
                assert known.slack[entries].tolist() == (own + 7).tolist()
            said.append(number.tolist())
        assert len(computed) == len(set(computed)) == known.count
        return said

    same([asked(scoring.table) for scoring in scorings.values()])


@settings(max_examples=60)
@given(data=st.data(), known_already=asked_questions, questions=asked_questions)
def test_what_is_known_is_copied_to_whoever_looks(
    scorings: dict[str, Scoring],
    data: st.DataObject,
    known_already: list[list[tuple[int, int]]],
    questions: list[list[tuple[int, int]]],
) -> None:
    def arrays(some: list[tuple[int, int]]) -> tuple[Int64Array, Int64Array, Int64Array]:
        problem = np.array([one for one, _ in some], dtype=np.int64)
        relative = np.array([turn * k for one, turn in some for k in range(one + 1)], dtype=np.int64)
        return problem, offsets(problem + 1), relative

    def compute(problem: Int64Array, relative: Int64Array) -> tuple[Any, ...]:
        first = offsets(problem + 1)
        turned = np.add.reduceat(relative, first[:-1])
        return turned / 2, turned + problem / 4, 3 * turned + problem, relative + 7

    asked = [one for some in questions for one in some]
    there = {one for some in known_already for one in some if one[0]}  # of one job all questions are the same
    alone = any(one == 0 for some in known_already for one, _ in some)
    # Some are known from elsewhere, and the problems of some nobody has there.
    draws = st.lists(st.sampled_from(["ask", "ask", "known", "other"]), min_size=len(asked), max_size=len(asked))
    fate = data.draw(draws)
    for scoring in scorings.values():
        known = KnownEvaluations(scoring.table)
        for some in known_already:
            known.numbers(*arrays(some), compute)
        problem, first, relative = arrays(asked)
        expected = compute(problem, relative)
        mine = np.array([one == "other" for one in fate])
        is_known = np.array([one == "known" for one in fate])
        lower, upper = np.full((2, len(asked)), -9.0)
        hold, slack = np.full(len(asked), -9), np.full(len(relative), -9)
        known.look(np.where(mine, UNKNOWN, problem), first, relative, lower, upper, hold, slack, is_known)
        for k, one in enumerate(asked):
            found = fate[k] == "ask" and (one in there or (alone and one[0] == 0))
            assert is_known[k] == (found or fate[k] == "known")
            entries = slice(int(first[k]), int(first[k + 1]))
            for to, value in zip((lower[k], upper[k], hold[k]), expected, strict=False):
                assert to == (value[k] if found else -9)
            assert slack[entries].tolist() == (expected[3][entries] if found else slack[entries] * 0 - 9).tolist()


def test_many_evaluations_are_found_again(scorings: dict[str, Scoring]) -> None:
    """The table grows many times, and places in it are met by several."""
    rng = np.random.default_rng(1)
    relative = rng.integers(0, 50, 6000)
    for scoring in scorings.values():
        known = KnownEvaluations(scoring.table)
        keys = dict[tuple[int, ...], int]()
        for begin in range(0, 6000, 200):
            part = relative[begin : begin + 200]
            problem, first = part[::2] % 5, np.arange(0, 201, 2)

            def compute(problem: Int64Array, own: Int64Array) -> tuple[Any, ...]:
                return problem / 2, problem / 1.0, problem * 3, own

            number = known.numbers(problem, first, part, compute)
            for k in range(100):
                key = int(problem[k]), *part[2 * k : 2 * k + 2].tolist()
                assert keys.setdefault(key, int(number[k])) == number[k]
        assert known.count == len(keys)


def test_a_question_that_another_thread_answered_meanwhile_has_one_number(scorings: dict[str, Scoring]) -> None:
    some = int64([1, 1, 2]), int64([0, 1, 2, 3]), int64([5, 5, 5])
    for scoring in scorings.values():
        known = KnownEvaluations(scoring.table)
        inner: list[Int64Array] = []

        def plain(problem: Int64Array, relative: Int64Array) -> tuple[Any, ...]:
            return problem / 2, problem / 1.0, problem, relative

        def compute(
            problem: Int64Array, relative: Int64Array, known: KnownEvaluations = known, inner: Any = inner
        ) -> tuple[Any, ...]:
            inner.append(known.numbers(*some, plain))
            return plain(problem, relative)

        outer = known.numbers(*some, compute)
        assert outer.tolist() == inner[0].tolist() == [0, 0, 1]
        assert known.count == 2


def signature(function: Callable[..., Any]) -> list[str]:
    return list(function.__annotations__)


@pytest.mark.parametrize("name", placement_arrays.__all__)
def test_both_ways_have_the_same_arguments(name: str) -> None:
    assert signature(getattr(placement_arrays, name)) == signature(getattr(placement_loops, name))
