"""What is kept of joint searches: whatever decides an answer is part of its question; no more than allowed is kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_shifts import looked_at

from cassini_core import Candidate, Job, Link, Phase, Problem
from cassini_core.arrays import Int64Array, int64
from cassini_core.deadline import Deadline
from cassini_core.joint import base_search
from cassini_core.joint.base_search import BaseSearch
from cassini_core.joint.kept_evaluations import MOST_ROUNDS, EvaluationStore, KeptEvaluations
from cassini_core.joint.kept_searches import KeptSearches, SearchStore
from cassini_core.joint.known_evaluations import KnownEvaluations
from cassini_core.joint.round import Round
from cassini_core.kernel.prepared_links import PreparedLinks
from cassini_core.links.incidence import Incidence
from cassini_core.links.solution_cache import KeptAnswers


def round_of(seed: int) -> Problem:
    """Seven jobs on six links, with loops."""
    rng = random.Random(seed)
    jobs = [Job(f"j{k}", 100.0, [Phase(rng.randrange(100), rng.randrange(20, 70), 10.0 + k)]) for k in range(7)]
    routes = {job.id: [f"l{k}" for k in rng.sample(range(6), rng.randrange(1, 4))] for job in jobs}
    return Problem(jobs, [Link(f"l{k}", 50.0) for k in range(6)], [Candidate("c", routes)])


class Noted(KeptSearches):
    """Notes what is asked, and searches for nothing."""

    def search(self, question: bytes, node_limit: int | None, deadline: Deadline, search: Callable[[], Any]) -> Any:
        self.asked = question, node_limit
        return None


class Given(NamedTuple):
    """What a round is made of."""

    flat: Incidence
    solved: Any
    links: PreparedLinks
    bound: Any


def drawn(seed: int) -> Given:
    _, context = looked_at(round_of(seed))
    return Given(context.flat, context.solved, context.links, context.bound)


def swapped(values: Int64Array) -> Int64Array:
    """The least two values trade places: the same values are there."""
    low, high = np.unique(values)[:2]
    return np.where(values == low, high, np.where(values == high, low, values))


def other_rounds(one: Given) -> dict[str, Given]:
    flat, solved = one.flat, one.solved
    limits = one.links.limits
    return {
        "period": one._replace(flat=replace(flat, period=flat.period + 1)),
        "member": one._replace(flat=replace(flat, job=swapped(flat.job))),
        "problem": one._replace(flat=replace(flat, problem=swapped(flat.problem))),
        "bound": one._replace(bound=one.bound - 0.01),
        "own_shift": one._replace(solved=replace(solved, shift=solved.shift + 1)),
        "limits": one._replace(
            links=PreparedLinks(one.links.arrays, replace(limits, slack_tolerance=0.5), Deadline(None))
        ),
        "resolution": one._replace(
            links=PreparedLinks(one.links.arrays, replace(limits, resolution_ms=9.0), Deadline(None))
        ),
    }


def test_whatever_decides_a_block_is_part_of_its_question() -> None:
    usual = drawn(3)
    n_links, n_jobs = len(usual.flat.problem), len(usual.flat.jobs)
    links, start = np.arange(n_links), np.arange(n_jobs)
    stays = start % 2 == 0

    def question(one: Given, some: Int64Array = links, weight: Any = None, **given_options: Any) -> bytes:
        context = Round(one.flat, one.solved, one.links, kept=Noted(SearchStore(9), one.links))
        context.bound = one.bound
        context.solve_block(some, weight, node_limit=77, **given_options)
        assert context.kept.asked[1] == 77
        return context.kept.asked[0]

    asked = {name: question(one) for name, one in other_rounds(usual).items()}
    asked |= {
        "usual": question(usual),
        "links": question(usual, links[:-1]),
        "order": question(usual, links[::-1]),
        "weight": question(usual, weight=np.full(n_links, 2.0)),
        "centred": question(usual, centred=False),
        "start": question(usual, start=start),
        "other start": question(usual, start=start + 1),
        "kept": question(usual, start=start, kept=stays),
        "other kept": question(usual, start=start, kept=~stays),
    }
    assert len(set(asked.values())) == len(asked), asked
    assert question(drawn(3)) == question(usual, weight=np.ones(n_links)) == asked["usual"]


def test_whatever_decides_a_difference_is_part_of_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_search, "Baseline", lambda *given, **options: None)
    usual = drawn(3)
    n_links = len(usual.flat.problem)
    base, added, dropped = np.arange(n_links - 2), int64([n_links - 2, n_links - 1]), int64([1])
    shift = np.arange(len(usual.flat.jobs))

    def question(
        one: Given,
        *,
        base: Int64Array = base,
        shift: Int64Array = shift,
        dropped: Int64Array = dropped,
        added: Int64Array = added,
        bound: Any = None,
    ) -> bytes:
        kept = Noted(SearchStore(9), one.links)
        bound = one.bound if bound is None else bound
        BaseSearch(one.links, one.flat, bound, base, shift, kept).near(dropped, added, 77, Deadline(None))
        assert kept.asked[1] == 77
        return kept.asked[0]

    others = other_rounds(usual)
    del others["own_shift"]  # of base placements the shifts are given
    asked = {name: question(one) for name, one in others.items()}
    on_added = np.isin(np.arange(len(usual.flat.job)), usual.flat.rows(added).at)
    swap = swapped(usual.flat.job)
    more = {
        "member added": replace(usual.flat, job=np.where(on_added, swap, usual.flat.job)),
        "member before": replace(usual.flat, job=np.where(on_added, usual.flat.job, swap)),
        "problem added": replace(
            usual.flat, problem=np.where(np.arange(n_links) >= n_links - 2, 0, usual.flat.problem)
        ),
    }
    asked |= {name: question(usual._replace(flat=flat)) for name, flat in more.items()}
    less = usual.bound - 0.01
    asked |= {
        "usual": question(usual),
        "base": question(usual, base=base[:-1]),
        "shift": question(usual, shift=shift + 1),
        "dropped": question(usual, dropped=int64([2])),
        "nothing dropped": question(usual, dropped=int64([])),
        "added": question(usual, added=added[:1]),
        "order": question(usual, added=added[::-1]),
        "bound added": question(usual, bound=np.where(np.arange(n_links) >= n_links - 2, less, usual.bound)),
        "bound before": question(usual, bound=np.where(np.arange(n_links) >= n_links - 2, usual.bound, less)),
    }
    assert len(set(asked.values())) == len(asked), asked
    assert question(drawn(3)) == asked["usual"]


PARTS = st.lists(
    st.one_of(st.none(), st.binary(max_size=9), st.lists(st.integers(0, 3), max_size=3).map(int64)), max_size=4
)


@given(PARTS, PARTS)
def test_parts_do_not_run_into_each_other(one: list[Any], other: list[Any]) -> None:
    kept = KeptSearches(SearchStore(1), drawn(3).links)
    same = [None if part is None else bytes(part) if isinstance(part, bytes) else part.tobytes() for part in one] == [
        None if part is None else bytes(part) if isinstance(part, bytes) else part.tobytes() for part in other
    ]
    none = int64([])
    assert (kept.question(*one, problems=none) == kept.question(*other, problems=none)) == same


@given(st.integers(0, 50), st.integers(1, 600), st.booleans())
def test_a_joint_search_that_took_fewer_nodes_than_its_limit_does_not_depend_on_it(
    seed: int, limit: int, centred: bool
) -> None:
    _, context = looked_at(round_of(seed))
    links = np.arange(len(context.flat.problem))[: 2 + seed % 4]

    def found(node_limit: int) -> tuple[Any, ...]:
        jobs, answer = context.solve_block(links, centred=centred, node_limit=node_limit)
        scores = answer.score_lower.tolist(), answer.score_upper.tolist()
        return jobs.tolist(), answer.shift.tolist(), *scores, answer.upper_bound, answer.nodes, answer.stopped_by

    nodes = found(limit)[-2]
    if nodes < limit:
        assert found(limit) == found(nodes + 1) == found(100_000)


def test_what_a_deadline_may_have_cut_is_not_kept() -> None:
    kept, begun = KeptSearches(SearchStore(9), drawn(3).links), [0]

    class Answer(NamedTuple):
        shift: Int64Array = int64([1])
        nodes: int = 5

    def search() -> Answer:
        begun[0] += 1
        return Answer()

    for deadline, searches in ((Deadline(0.0), 1), (Deadline(0.0), 2), (Deadline(9.0), 3), (Deadline(0.0), 3)):
        kept.search(b"question", None, deadline, search)
        assert begun[0] == searches
    assert kept.search(b"question", 5, Deadline(None), search) == Answer()  # it may have met this limit
    assert begun[0] == 4


def test_large_answers_count_more() -> None:
    class Answer(NamedTuple):
        size: int
        nodes: int = 0

    kept: KeptAnswers[Answer] = KeptAnswers(10, lambda answer: answer.size)
    kept.keep([b"a", b"b", b"c"], None, [Answer(4), Answer(5), Answer(1)])
    assert kept.info().size == 10
    kept.keep([b"b"], None, [Answer(2)])
    assert kept.info().size == 7
    kept.keep([b"d"], None, [Answer(5)])
    assert kept.find([b"a", b"b", b"c", b"d"], None) == [None, Answer(2), Answer(1), Answer(5)]
    kept.keep([b"e"], None, [Answer(11)])
    assert kept.info().size == 0


def ended(store: EvaluationStore, name: bytes, n: int) -> None:
    """A round of one link problem, evaluated at ``n`` relative shifts."""
    known = KnownEvaluations(None)
    first, shift = np.arange(0, 2 * n + 1, 2), np.arange(n)
    relative = np.stack((np.zeros(n, dtype=np.int64), shift), axis=1).ravel()
    known.numbers(np.zeros(n, dtype=np.int64), first, relative, lambda _, at: (shift / 9, shift / 8, 7 * shift, at + 1))
    KeptEvaluations(store, [name], int64([0, 2])).keep(known)


def test_evaluations_of_the_last_rounds_are_kept() -> None:
    store = EvaluationStore(10)

    def asked(name: bytes, shift: int) -> list[Any] | None:
        """What is known, or None."""
        new: list[int] = []

        def evaluate(problem: Int64Array, relative: Int64Array) -> tuple[Any, ...]:
            new.append(len(problem))
            return np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)

        found = KeptEvaluations(store, [b"other", name], int64([0, 1, 3])).find(int64([1]), int64([0, shift]), evaluate)
        return None if new else [column.tolist() for column in found]

    ended(store, b"one", 6)
    assert asked(b"one", 5) == [[5 / 9], [5 / 8], [35], [1, 6]]
    assert asked(b"one", 6) is None
    assert asked(b"two", 5) is None
    ended(store, b"two", 4)
    assert store.info() == (1, 2, 10, 10)
    assert asked(b"one", 5) is not None
    ended(store, b"three", 1)
    assert asked(b"one", 5) is None
    assert asked(b"two", 3) is not None
    for k in range(MOST_ROUNDS):
        ended(store, b"four%d" % k, 1)
    assert asked(b"two", 3) is None
    assert asked(b"four0", 0) is not None
    ended(store, b"large", 11)
    assert store.info().size == 0
    ended(store, b"small", 1)
    KeptEvaluations(store, [b"%d" % k for k in range(10)], int64(range(11))).keep(KnownEvaluations(None))
    assert asked(b"small", 0) is None
    store.clear()
    assert store.info() == (0, 0, 0, 10)
