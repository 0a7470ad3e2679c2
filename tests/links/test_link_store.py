"""What is kept about links: never another answer than a search would find, and never more than allowed."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hosts
from cassini_core.arrays import int64, offsets
from cassini_core.deadline import Deadline
from cassini_core.kernel.link_arrays import LinkArrays
from cassini_core.kernel.prepared_link import PreparedLink
from cassini_core.kernel.prepared_links import PreparedLinks
from cassini_core.kernel.search_limits import SearchLimits
from cassini_core.links.batch_solver import BatchSolver
from cassini_core.links.shared_links import LinkCatalog
from cassini_core.links.solution_cache import KeptAnswers, LinkStore
from cassini_core.node_budget import AUTO, LINK_NODES, link_limit
from placements import problem_of, up
from strategies import LinkCase, link_cases


class Found(NamedTuple):
    """What a search says; ``cut`` is the limit that it met."""

    question: bytes
    nodes: int
    cut: int | None


def searched(question: bytes, limit: int | None) -> Found:
    """A search that takes 10 times as many nodes as the question says, and may notice a limit a node late."""
    cost = 10 * question[0]
    return Found(question, cost, None) if limit is None or cost < limit else Found(question, limit + limit % 2, limit)


QUESTIONS = st.integers(0, 5).map(lambda k: bytes([k]))
LIMITS = st.one_of(st.none(), st.sampled_from([9, 10, 11, 20, 21, 30, 55]))


@given(st.lists(st.tuples(QUESTIONS, LIMITS), max_size=60), st.integers(1, 8))
def test_what_is_found_is_what_a_search_would_find(asked: list[tuple[bytes, int | None]], most: int) -> None:
    kept: KeptAnswers[Found] = KeptAnswers(most)
    for question, limit in asked:
        known = kept.find([question], limit)[0]
        assert known in (None, searched(question, limit))
        kept.keep([question], limit, [searched(question, limit)])
        assert kept.find([question], limit) == [searched(question, limit)]
        assert kept.info().size <= most


@given(st.lists(QUESTIONS, max_size=60), st.integers(1, 4))
def test_what_was_not_asked_for_longest_goes_first(asked: list[bytes], most: int) -> None:
    kept: KeptAnswers[Found] = KeptAnswers(most)
    model: OrderedDict[bytes, None] = OrderedDict()
    for question in asked:
        known = kept.find([question], None) != [None]
        assert known == (question in model)
        if not known:
            kept.keep([question], None, [searched(question, None)])
        model[question] = None
        model.move_to_end(question)
        if len(model) > most:
            model.popitem(last=False)


def test_counts_start_again_when_all_is_forgotten() -> None:
    store = LinkStore(3)
    store.answers.count(hits=2, misses=1)
    store.scores.keep([b"x"], None, [searched(b"\1", None)])  # type: ignore[list-item]
    assert store.answers.info() == (2, 1, 0, 3)
    store.clear()
    assert store.answers.info() == (0, 0, 0, 3)
    assert store.scores.info().size == 0


def test_a_lock_that_somebody_held_is_free_in_a_forked_child() -> None:
    if not hasattr(os, "register_at_fork"):
        pytest.skip("no forks")
    kept: KeptAnswers[Found] = KeptAnswers(3)
    kept.keep([b"\2"], None, [searched(b"\2", None)])
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with kept._lock:
            held.set()
            done.wait(hosts.HANG_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(hosts.HANG_S)
    try:
        assert (
            hosts.forked(lambda: str(kept.find([b"\2"], None)[0]).encode(), 10.0)
            == b"%s" % str(searched(b"\2", None)).encode()
        )
    finally:
        done.set()
        thread.join()
    assert kept.find([b"\2"], None) == [searched(b"\2", None)]


@given(link_cases(max_jobs=4), st.integers(1, 400), st.booleans())
def test_a_search_that_took_fewer_nodes_than_its_limit_does_not_depend_on_it(
    case: LinkCase, limit: int, with_slack: bool
) -> None:
    link = PreparedLink.from_jobs(case.jobs, case.capacity_gbps)
    found = link.solve(node_limit=limit, with_slack=with_slack)
    if found.nodes >= limit:
        return
    for other in (found.nodes + 1, 50_000):
        again = link.solve(node_limit=other, with_slack=with_slack)
        for name in ("score_lower", "score_upper", "upper_bound", "optimal", "nodes", "stopped_by"):
            assert getattr(again, name) == getattr(found, name)
        assert again.shift.tolist() == found.shift.tolist()
        assert again.free.tolist() == found.free.tolist()


def test_with_slack_or_without_is_another_question() -> None:
    jobs = [up("a", 100, 0, 25, 50), up("b", 50, 7, 12.5, 50), up("c", 100, 14, 25, 50)]
    problems = LinkCatalog(problem_of(jobs, {"x": 50}, c={job.id: ["x"] for job in jobs})).problems
    store = LinkStore(9)
    links = PreparedLinks(problems, SearchLimits(300), Deadline(None))
    solver = partial(BatchSolver, links, threads=1, deadline=Deadline(None), progress=lambda done: None)
    for _ in range(2):
        shifts = []
        for with_slack in (False, True):
            found = solver(with_slack=with_slack, store=store).solve()
            plain = solver(with_slack=with_slack).solve()
            assert found.result.tobytes() == plain.result.tobytes()
            assert found.shift.tolist() == plain.shift.tolist()
            shifts.append(found.shift.tolist())
        assert shifts[0] != shifts[1]
    assert store.answers.info() == (2, 2, 2, 9)


@given(link_cases(max_jobs=3), link_cases(max_jobs=3))
def test_other_links_ask_another_question(one: LinkCase, other: LinkCase) -> None:
    links = [PreparedLink.from_jobs(case.jobs, case.capacity_gbps) for case in (one, other)]
    first, second = links
    names = ("period", "phase_offset", "phase_start", "phase_length", "phase_rate")
    same = first.capacity == second.capacity and all(
        getattr(first, name).tolist() == getattr(second, name).tolist() for name in names
    )
    contents = LinkArrays(
        offsets(map(len, links)),
        np.concatenate([link.period for link in links]),
        offsets(np.concatenate([np.diff(link.phase_offset) for link in links])),
        np.concatenate([link.phase_start for link in links]),
        np.concatenate([link.phase_length for link in links]),
        np.concatenate([link.phase_rate for link in links]),
        int64(link.capacity for link in links),
    ).contents()
    assert (contents[0] == contents[1]) == same
    assert same or not contents[0].startswith(contents[1])


def test_a_few_links_more_or_fewer_mostly_leave_the_limit_as_it_is() -> None:
    limits = [link_limit(AUTO, n) for n in range(1, 5000)]
    assert limits == sorted(limits, key=lambda limit: -(limit or 0))
    assert all(0.8 * min(50_000, LINK_NODES // n) <= (limit or 0) <= 50_000 for n, limit in enumerate(limits, 1))
    assert len(set(limits)) < 35
    assert link_limit(AUTO, 970) == link_limit(AUTO, 1030)
