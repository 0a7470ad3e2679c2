"""Link problems solved in chunks: each answer is, bit by bit, that of the problem alone."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from cassini_core import InputError, KernelError
from cassini_core.arrays import int64
from cassini_core.deadline import Deadline
from cassini_core.kernel import _kernel
from cassini_core.kernel.demand import Demand
from cassini_core.kernel.link_arrays import LinkAnswers, LinkArrays, solve_chunk
from cassini_core.kernel.prepared_link import PreparedLink
from cassini_core.kernel.prepared_links import PreparedLinks
from cassini_core.kernel.search_limits import SearchLimits
from cassini_core.links.batch_solver import BatchSolver
from cassini_core.node_budget import NO_LIMIT
from work import works_less_than

LIMITS = st.one_of(st.none(), st.integers(1, 400))


class LinkProblem(NamedTuple):
    """A link by itself: its capacity and what each job asks of it."""

    capacity: int
    demands: tuple[Demand, ...]


def problem_of(case: strategies.LinkCase) -> LinkProblem:
    one = PreparedLink.from_jobs(case.jobs, case.capacity_gbps)
    phases = list(zip(one.phase_start.tolist(), one.phase_length.tolist(), one.phase_rate.tolist(), strict=True))
    ends = one.phase_offset.tolist()
    demands = [Demand(period, tuple(phases[ends[k] : ends[k + 1]])) for k, period in enumerate(one.period.tolist())]
    return LinkProblem(one.capacity, tuple(demands))


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
    return [problem_of(case) for case in cases]


def hard_problem(index: int = 0, n_jobs: int = 20) -> LinkProblem:
    """A link that is nearly full: a proof is out of reach for minutes."""
    rng = np.random.default_rng(index)
    demands = []
    for _ in range(n_jobs):
        length, rate = rng.integers(20, 40, size=3), rng.integers(20, 90, size=3)
        phases = [(start, int(length[i]), int(rate[i])) for i, start in enumerate((0, 50, 99))]
        demands.append(Demand(300_000_000, tuple((start * 10**6, ms * 10**6, gbps) for start, ms, gbps in phases)))
    return LinkProblem(17 * n_jobs, tuple(demands))


def arrays_of(problems: Sequence[LinkProblem]) -> LinkArrays:
    """The problems one after the other, each array put together from those of single links."""
    links = [prepared(problem) for problem in problems]
    counts = [np.diff(link.phase_offset) for link in links]
    return LinkArrays(
        job_offset=np.cumsum([0, *map(len, links)], dtype=np.int64),
        period=np.concatenate([link.period for link in links]),
        phase_offset=np.concatenate(([0], np.cumsum(np.concatenate(counts)))),
        phase_start=np.concatenate([link.phase_start for link in links]),
        phase_length=np.concatenate([link.phase_length for link in links]),
        phase_rate=np.concatenate([link.phase_rate for link in links]),
        capacity=np.array([link.capacity for link in links], dtype=np.int64),
    )


def same(found: LinkAnswers, k: int, alone: Any) -> bool:
    """Whether answer ``k`` is, bit by bit, that of the link alone: shifts, free jobs, scores, bounds and the end."""
    jobs = slice(*found.job_offset[k : k + 2].tolist())
    scores = [found.result[name][k] for name in ("score_lower", "score_upper", "upper_bound", "nodes")]
    return (
        bool(found.answered[k])
        and found.shift[jobs].tobytes() == alone.shift.tobytes()
        and found.free[jobs].tobytes() == alone.free.tobytes()
        and scores == [alone.score_lower, alone.score_upper, alone.upper_bound, alone.nodes]
        and (found.optimal[k], found.stopped_by(k)) == (alone.optimal, alone.stopped_by)
    )


def pooled(some: Sequence[LinkProblem], limits: Sequence[int] | None = None, **arguments: Any) -> LinkAnswers:
    defaults: dict[str, Any] = {"threads": 2, "deadline": Deadline(None), "progress": lambda done: None}
    links = PreparedLinks(arrays_of(some), SearchLimits(400), Deadline(None))
    return BatchSolver(
        links, None if limits is None else np.array(limits, dtype=np.int64), **{**defaults, **arguments}
    ).solve()


# Chunks


@given(problems(), LIMITS, st.booleans(), st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.01]))
def test_a_chunk_answers_as_each_link_alone(
    some: list[LinkProblem], limit: int | None, with_slack: bool, resolution_ms: float, tolerance: float
) -> None:
    chunk = pickle.loads(pickle.dumps(arrays_of(some)))
    assert len(chunk) == len(some)
    limits = SearchLimits(limit, resolution_ms, tolerance, with_slack=with_slack)
    found = pickle.loads(pickle.dumps(solve_chunk(chunk, limits)))
    assert len(found) == len(some)
    for k, problem in enumerate(some):
        alone = prepared(problem).solve(
            node_limit=limit, resolution_ms=resolution_ms, slack_tolerance=tolerance, with_slack=with_slack
        )
        assert same(found, k, alone)


@given(problems(), LIMITS, st.booleans(), st.data())
def test_links_prepared_once_are_answered_as_those_that_were_not(
    some: list[LinkProblem], limit: int | None, with_slack: bool, data: st.DataObject
) -> None:
    chunk, options = arrays_of(some), _kernel.Options(node_limit=limit)
    links = _kernel.Links(*chunk.columns(), options)
    numbers = int64(data.draw(st.lists(st.integers(0, len(some) - 1), max_size=len(some))))
    part = chunk.part(numbers)
    expected = _kernel.solve_links(*part.columns(), options, with_slack=with_slack)
    found = links.solve(numbers, options, with_slack=with_slack)
    assert expected is not None
    assert found is not None
    assert [one.tobytes() for one in found] == [one.tobytes() for one in expected]


def test_numbers_of_prepared_links_are_checked() -> None:
    links = _kernel.Links(*arrays_of([hard_problem(n_jobs=2)]).columns(), _kernel.Options())
    for numbers in ([-1], [0, 1], [1]):
        with pytest.raises(InputError, match="link: expected indices of 0 to 0, got"):
            links.solve(int64(numbers), _kernel.Options())
    cancel = np.ones(1, dtype=np.int32)
    assert links.solve(int64([0]), _kernel.Options(), cancel) is None
    refused = LinkProblem(2**41, hard_problem(n_jobs=2).demands)
    links = _kernel.Links(*arrays_of([refused, hard_problem(n_jobs=2)]).columns(), _kernel.Options())
    with pytest.raises(InputError, match=r"link 0: prepared\[0\]: expected a link that was not refused"):
        links.solve(int64([0, 1]), _kernel.Options())
    with pytest.raises(InputError, match=r"link 2: prepared\[0\]: expected a link that was not refused"):
        links.solve(int64([1, 1, 0]), _kernel.Options())
    assert links.solve(int64([1]), _kernel.Options()) is not None


def test_links_keep_the_offsets_that_were_prepared_whatever_becomes_of_the_array() -> None:
    # Lengths of outputs are checked by these offsets: others than the kernel read would let it write past an array.
    columns = arrays_of([hard_problem(n_jobs=2)] * 3).columns()
    given = columns[0].copy()
    links = _kernel.Links(given, *columns[1:], _kernel.Options())
    given[1:-1] = 0
    assert links.job_offset.tolist() == columns[0].tolist()
    assert not links.job_offset.flags.writeable


@given(problems(), st.data())
def test_a_part_holds_the_arrays_of_its_links(some: list[LinkProblem], data: st.DataObject) -> None:
    links = data.draw(st.lists(st.integers(0, len(some) - 1), min_size=1))
    part, expected = arrays_of(some).part(np.array(links)), arrays_of([some[k] for k in links])
    assert [one.tolist() for one in part.columns()] == [one.tolist() for one in expected.columns()]


@given(problems())
def test_contents_are_those_of_each_link_alone(some: list[LinkProblem]) -> None:
    assert arrays_of(some).contents() == [arrays_of([problem]).contents()[0] for problem in some]


@given(problems())
def test_sizes_are_those_of_each_link(some: list[LinkProblem]) -> None:
    arrays, phases = arrays_of(some), [[len(demand.phases) for demand in problem.demands] for problem in some]
    assert arrays.n_jobs().tolist() == [len(one) for one in phases]
    assert arrays.n_phases().tolist() == [sum(one) for one in phases]
    assert arrays.most_phases().tolist() == [max(one) for one in phases]


@given(problems())
def test_the_bounds_of_a_chunk_are_its_demand(some: list[LinkProblem]) -> None:
    bounds = arrays_of(some).area_bounds()
    assert bounds.tolist() == pytest.approx([area_bound(problem) for problem in some], rel=1e-12, abs=1e-12)


@given(problems(), problems(), st.sampled_from([1, 7, 350]))
def test_of_two_answers_the_better_is_taken_and_of_two_bounds_the_lower(
    some: list[LinkProblem], others: list[LinkProblem], limit: int
) -> None:
    arrays = arrays_of([*some, *others])
    own = np.arange(len(some))
    few, many = (solve_chunk(arrays.part(own), SearchLimits(nodes)) for nodes in (limit, 400))
    for order in ([few, many], [many, few]):
        answers = LinkAnswers.none_yet(arrays.job_offset, 1.0)
        for found in order:
            answers.take(own, found)
        best = np.maximum(few.score_lower, many.score_lower)
        assert answers.answered.tolist() == [True] * len(some) + [False] * len(others)
        assert answers.score_lower[own].tolist() == best.tolist()
        assert answers.upper_bound[own].tolist() == np.minimum(few.upper_bound, many.upper_bound).clip(best).tolist()
        assert answers.upper_bound[len(some) :].tolist() == [1.0] * len(others)
        for k, problem in enumerate(some):
            shift = answers.shift[slice(*answers.job_offset[k : k + 2].tolist())]
            assert prepared(problem).evaluate(shift).score_lower == pytest.approx(best[k], abs=1e-9)


def test_a_link_out_of_range_is_an_error_of_the_input() -> None:
    good, bad = hard_problem(n_jobs=2), LinkProblem(2**41, hard_problem(n_jobs=2).demands)
    with pytest.raises(InputError, match=r"solve_links: link 1: capacity_kbps\[1\]: expected 1 .. 1099511627776"):
        solve_chunk(arrays_of([good, bad]), SearchLimits(10))


@pytest.mark.parametrize("n_jobs", [2, 20])
def test_a_canceled_chunk_ends_at_once(n_jobs: int) -> None:
    chunk = arrays_of([hard_problem(k, n_jobs) for k in range(50)])
    with works_less_than(1.0), pytest.raises(KernelError, match="canceled"):
        solve_chunk(chunk, SearchLimits(None), cancel=np.ones(1, dtype=np.int32))


def test_a_deadline_is_that_of_all_links_together() -> None:
    chunk = arrays_of([hard_problem(k) for k in range(20)])
    with works_less_than(1.5):
        answers = solve_chunk(chunk, SearchLimits(None), deadline_s=0.2)
    assert {answers.stopped_by(k) for k in range(20)} == {"deadline"}
    assert (answers.score_lower <= answers.upper_bound).all()
    assert (answers.upper_bound <= 1.0).all()


def test_a_status_is_raised() -> None:
    _kernel.check_status(np.zeros(3, dtype=np.int32))
    with pytest.raises(InputError, match="solve_links: an argument is out of its range"):
        _kernel.check_status(np.array([0, 1, 0], dtype=np.int32))


# The pool


@given(problems(), st.data(), st.booleans(), st.sampled_from([None, 1e6]))
def test_every_problem_gets_its_own_limit(
    some: list[LinkProblem], data: st.DataObject, with_slack: bool, deadline_s: float | None
) -> None:
    limits = data.draw(st.lists(st.sampled_from([NO_LIMIT, 1, 7, 350]), min_size=len(some), max_size=len(some)))
    found = pooled(some, limits, with_slack=with_slack, deadline=Deadline(deadline_s))
    for k, (problem, limit) in enumerate(zip(some, limits, strict=True)):
        alone = prepared(problem).solve(node_limit=None if limit == NO_LIMIT else limit, with_slack=with_slack)
        assert same(found, k, alone)


@given(problems(), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=20)
def test_neither_threads_nor_chunks_change_an_answer(some: list[LinkProblem], threads: int, times: int) -> None:
    many = some * (40 * times)  # more than one link per chunk
    found = pooled(many, threads=threads)
    assert all(same(found, k, prepared(problem).solve(node_limit=400)) for k, problem in enumerate(many))


@given(problems())
@settings(max_examples=20)
def test_without_slack_only_the_shifts_differ(some: list[LinkProblem]) -> None:
    one, other = pooled(some), pooled(some, with_slack=False)
    assert one.score_lower == pytest.approx(other.score_lower, abs=1e-9)
    assert one.upper_bound == pytest.approx(other.upper_bound, abs=1e-9)
    assert one.free.tolist() == other.free.tolist()


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
        found = pooled(some, limits=[NO_LIMIT] * len(some), deadline=Deadline(0.3))
    assert (found.upper_bound <= np.array([area_bound(problem) for problem in some]) + 1e-9).all()
    assert (~found.answered | (found.score_lower <= found.upper_bound)).all()


def test_the_number_of_limits_is_that_of_the_problems() -> None:
    with pytest.raises(ValueError, match="node_limits: expected one per problem, 1, got 2"):
        pooled([hard_problem(n_jobs=2)], [1, 2])


def test_an_error_in_one_chunk_ends_it_all() -> None:
    bad = LinkProblem(2**41, hard_problem(n_jobs=2).demands)
    with works_less_than(5.0), pytest.raises(InputError):
        pooled([bad, *(hard_problem(k) for k in range(20))], [NO_LIMIT] * 21)


def test_nothing_to_solve() -> None:
    none = arrays_of([hard_problem(n_jobs=2)]).part(np.zeros(0, dtype=np.int64))
    links = PreparedLinks(none, SearchLimits(400), Deadline(None))
    solver = BatchSolver(links, threads=2, deadline=Deadline(None), progress=lambda done: None)
    assert len(solver.solve()) == 0
