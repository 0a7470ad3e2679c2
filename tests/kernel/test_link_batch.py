"""Link problems solved in chunks: each answer is, bit by bit, that of the problem alone."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from cassini_core import InputError, KernelError
from cassini_core.deadline import Deadline
from cassini_core.kernel import _kernel
from cassini_core.kernel.link_arrays import ChunkOptions, LinkChunk, solve_chunk
from cassini_core.kernel.link_problem import Demand, LinkProblem
from cassini_core.kernel.prepared_link import PreparedLink
from cassini_core.kernel.search_limits import Budget
from cassini_core.links.batch_solver import SolvedLink, solve_problems
from work import works_less_than

NAMES = ("score_lower", "score_upper", "upper_bound", "optimal", "nodes", "stopped_by")

LIMITS = st.one_of(st.none(), st.integers(1, 400))


def problem_of(case: strategies.LinkCase, index: int = 0) -> LinkProblem:
    one = PreparedLink.from_jobs(case.jobs, case.capacity_gbps)
    phases = list(zip(one.phase_start.tolist(), one.phase_length.tolist(), one.phase_rate.tolist(), strict=True))
    ends = one.phase_offset.tolist()
    demands = [Demand(period, tuple(phases[ends[k] : ends[k + 1]])) for k, period in enumerate(one.period.tolist())]
    return LinkProblem(index, one.capacity, tuple(demands))


def prepared(problem: LinkProblem) -> PreparedLink:
    """The problem as a single call of the kernel takes it."""
    phases = np.array([phase for one in problem.demands for phase in one.phases], dtype=np.int64).reshape(-1, 3)
    return PreparedLink(
        job_ids=tuple(map(str, range(len(problem.demands)))),
        period=np.array([one.period for one in problem.demands], dtype=np.int64),
        phase_offset=np.cumsum([0, *(len(one.phases) for one in problem.demands)], dtype=np.int64),
        phase_start=phases[:, 0].copy(),
        phase_length=phases[:, 1].copy(),
        phase_rate=phases[:, 2].copy(),
        capacity=problem.capacity,
    )


def area_bound(problem: LinkProblem) -> float:
    """No score is higher: what does not fit on average is excess."""
    mean = sum(
        Fraction(length * rate, demand.period) for demand in problem.demands for _, length, rate in demand.phases
    )
    return float(1 - max(Fraction(0), mean - problem.capacity) / problem.capacity)


@st.composite
def problems(draw: st.DrawFn) -> list[LinkProblem]:
    """Some link problems, silent jobs and single ones among them."""
    cases = draw(st.lists(strategies.link_cases(min_jobs=1, max_jobs=4), min_size=1, max_size=6))
    return [problem_of(case, index) for index, case in enumerate(cases)]


def hard_problem(index: int = 0, n_jobs: int = 20) -> LinkProblem:
    """A link that is nearly full: a proof is out of reach for minutes."""
    rng = np.random.default_rng(index)
    demands = []
    for _ in range(n_jobs):
        length, rate = rng.integers(20, 40, size=3), rng.integers(20, 90, size=3)
        phases = [(start, int(length[i]), int(rate[i])) for i, start in enumerate((0, 50, 99))]
        demands.append(Demand(300_000_000, tuple((start * 10**6, ms * 10**6, gbps) for start, ms, gbps in phases)))
    return LinkProblem(index, 17 * n_jobs, tuple(demands))


def same(one: Any, other: Any) -> bool:
    """Bit by bit: shifts, free jobs, scores, bounds and how the search ended."""
    return (
        one.shift.tobytes() == other.shift.tobytes()
        and one.free.tobytes() == other.free.tobytes()
        and all(getattr(one, name) == getattr(other, name) for name in NAMES)
    )


def arrays(chunk: LinkChunk) -> list[Any]:
    """The arguments of ``_kernel.solve_links``."""
    return [getattr(chunk, field.name) for field in dataclasses.fields(chunk)]


def pooled(some: Sequence[LinkProblem], **arguments: Any) -> list[SolvedLink]:
    defaults: dict[str, Any] = {"threads": 2, "deadline": Deadline(None), "progress": lambda done: None}
    return solve_problems(some, Budget(400, 0.5, 0.01), **{**defaults, **arguments})


# Chunks


@given(problems(), LIMITS, st.booleans(), st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.01]))
def test_a_chunk_answers_as_each_link_alone(
    some: list[LinkProblem], limit: int | None, with_slack: bool, resolution_ms: float, tolerance: float
) -> None:
    chunk = pickle.loads(pickle.dumps(LinkChunk.of(some)))
    assert len(chunk) == len(some)
    options = ChunkOptions(limit, resolution_ms, tolerance, with_slack)
    found = pickle.loads(pickle.dumps(solve_chunk(chunk, options))).each(chunk.job_offset)
    for problem, answer in zip(some, found, strict=True):
        alone = prepared(problem).solve(
            node_limit=limit, resolution_ms=resolution_ms, slack_tolerance=tolerance, with_slack=with_slack
        )
        assert same(answer, alone)


@given(problems(), LIMITS, st.booleans(), st.data())
def test_links_prepared_once_are_answered_as_those_that_were_not(
    some: list[LinkProblem], limit: int | None, with_slack: bool, data: st.DataObject
) -> None:
    chunk, options = LinkChunk.of(some), _kernel.Options(node_limit=limit)
    links = _kernel.Links(*arrays(chunk), options)
    first = data.draw(st.integers(0, len(some)))
    last = data.draw(st.integers(first, len(some)))
    part = LinkChunk.of(some[first:last])
    expected = _kernel.solve_links(*arrays(part), options, with_slack=with_slack)
    found = links.solve(first, last, options, with_slack=with_slack)
    assert expected is not None
    assert found is not None
    assert [one.tobytes() for one in found] == [one.tobytes() for one in expected]


def test_a_range_of_prepared_links_is_checked() -> None:
    links = _kernel.Links(*arrays(LinkChunk.of([hard_problem(n_jobs=2)])), _kernel.Options())
    for first, last in [(-1, 1), (1, 0), (0, 2), (2, 2)]:
        with pytest.raises(InputError, match="first, last: expected 0 <= first <= last <= 1"):
            links.solve(first, last, _kernel.Options())
    cancel = np.ones(1, dtype=np.int32)
    assert links.solve(0, 1, _kernel.Options(), cancel) is None
    refused = LinkProblem(0, 2**41, hard_problem(n_jobs=2).demands)
    links = _kernel.Links(*arrays(LinkChunk.of([refused, hard_problem(n_jobs=2)])), _kernel.Options())
    with pytest.raises(InputError, match=r"link 0: prepared\[0\]: expected a link that was not refused"):
        links.solve(0, 2, _kernel.Options())
    assert links.solve(1, 2, _kernel.Options()) is not None


@given(problems())
def test_a_chunk_holds_the_arrays_of_its_links(some: list[LinkProblem]) -> None:
    chunk = LinkChunk.of(some)
    for name in ("period", "phase_start", "phase_length", "phase_rate"):
        expected = np.concatenate([getattr(prepared(problem), name) for problem in some])
        assert getattr(chunk, name).tolist() == expected.tolist()
    assert chunk.capacity.tolist() == [problem.capacity for problem in some]
    assert np.diff(chunk.job_offset).tolist() == [len(problem.demands) for problem in some]
    counts = np.concatenate([np.diff(prepared(problem).phase_offset) for problem in some])
    assert np.diff(chunk.phase_offset).tolist() == counts.tolist()


@given(problems())
def test_the_bounds_of_a_chunk_are_its_demand(some: list[LinkProblem]) -> None:
    bounds = LinkChunk.of(some).area_bounds()
    assert bounds.tolist() == pytest.approx([area_bound(problem) for problem in some], rel=1e-12, abs=1e-12)


def test_answers_cannot_be_written_to() -> None:
    problem = hard_problem(n_jobs=3)
    (answer,) = solve_chunk(chunk := LinkChunk.of([problem]), ChunkOptions(10, 0.5, 0.01)).each(chunk.job_offset)
    with pytest.raises(ValueError, match="read-only"):
        answer.shift[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        answer.free[0] = True
    with pytest.raises(AttributeError):
        answer.optimal = True  # type: ignore[misc]


def test_a_link_out_of_range_is_an_error_of_the_input() -> None:
    good, bad = hard_problem(n_jobs=2), LinkProblem(1, 2**41, hard_problem(n_jobs=2).demands)
    with pytest.raises(InputError, match=r"solve_links: link 1: capacity_kbps\[1\]: expected 1 .. 1099511627776"):
        solve_chunk(LinkChunk.of([good, bad]), ChunkOptions(10, 0.5, 0.01))


@pytest.mark.parametrize("n_jobs", [2, 20])
def test_a_canceled_chunk_ends_at_once(n_jobs: int) -> None:
    chunk = LinkChunk.of([hard_problem(k, n_jobs) for k in range(50)])
    with works_less_than(1.0), pytest.raises(KernelError, match="canceled"):
        solve_chunk(chunk, ChunkOptions(None, 0.5, 0.01), cancel=np.ones(1, dtype=np.int32))


def test_a_deadline_is_that_of_all_links_together() -> None:
    chunk = LinkChunk.of([hard_problem(k) for k in range(20)])
    with works_less_than(1.5):
        answers = solve_chunk(chunk, ChunkOptions(None, 0.5, 0.01), deadline_s=0.2).each(chunk.job_offset)
    assert {answer.stopped_by for answer in answers} == {"deadline"}
    assert all(answer.score_lower <= answer.upper_bound <= 1.0 for answer in answers)


def test_a_status_is_raised() -> None:
    _kernel.check_status(np.zeros(3, dtype=np.int32))
    with pytest.raises(InputError, match="solve_links: an argument is out of its range"):
        _kernel.check_status(np.array([0, 1, 0], dtype=np.int32))


# The pool


@given(problems(), st.data(), st.booleans(), st.sampled_from([None, 1e6]))
def test_every_problem_gets_its_own_limit(
    some: list[LinkProblem], data: st.DataObject, with_slack: bool, deadline_s: float | None
) -> None:
    limits = data.draw(st.lists(st.sampled_from([None, 1, 7, 350]), min_size=len(some), max_size=len(some)))
    found = pooled(some, node_limits=limits, with_slack=with_slack, deadline=Deadline(deadline_s))
    for problem, limit, one in zip(some, limits, found, strict=True):
        assert one.answer is not None
        assert same(one.answer, prepared(problem).solve(node_limit=limit, with_slack=with_slack))
        assert one.upper_bound == one.answer.upper_bound


@given(problems(), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=20)
def test_neither_threads_nor_chunks_change_an_answer(some: list[LinkProblem], threads: int, times: int) -> None:
    many = some * (40 * times)  # more than one link per chunk
    found = pooled(many, threads=threads)
    assert all(same(one.answer, prepared(many[k]).solve(node_limit=400)) for k, one in enumerate(found))


@given(problems())
@settings(max_examples=20)
def test_without_slack_only_the_shifts_differ(some: list[LinkProblem]) -> None:
    for one, other in zip(pooled(some), pooled(some, with_slack=False), strict=True):
        assert one.answer is not None
        assert other.answer is not None
        assert one.answer.score_lower == pytest.approx(other.answer.score_lower, abs=1e-9)
        assert one.upper_bound == pytest.approx(other.upper_bound, abs=1e-9)
        assert one.held_places == other.held_places


@pytest.mark.parametrize("deadline_s", [None, 1e6])
def test_progress_never_goes_back_and_ends_with_all(deadline_s: float | None) -> None:
    some = [hard_problem(k, n_jobs) for k in range(8) for n_jobs in (2, 8)]
    seen: list[int] = []
    pooled(some, progress=seen.append, deadline=Deadline(deadline_s))
    assert seen == sorted(seen)
    assert seen[-1] == len(some)


def test_a_deadline_of_many_links_is_kept() -> None:
    some = [hard_problem(k) for k in range(300)]
    with works_less_than(1.5):
        found = pooled(some, deadline=Deadline(0.3), node_limits=[None] * len(some))
    for problem, one in zip(some, found, strict=True):
        assert one.upper_bound <= area_bound(problem) + 1e-9
        assert one.answer is None or one.answer.score_lower <= one.upper_bound


def test_the_number_of_limits_is_that_of_the_problems() -> None:
    with pytest.raises(ValueError, match="node_limits: expected one per problem, 1, got 2"):
        pooled([hard_problem(n_jobs=2)], node_limits=[1, 2])


def test_an_error_in_one_chunk_ends_it_all() -> None:
    bad = LinkProblem(1, 2**41, hard_problem(n_jobs=2).demands)
    with works_less_than(5.0), pytest.raises(InputError):
        pooled([bad, *(hard_problem(k) for k in range(20))], node_limits=[None] * 21)


def test_nothing_to_solve() -> None:
    assert pooled([]) == []
    assert pooled([], node_limits=[]) == []
