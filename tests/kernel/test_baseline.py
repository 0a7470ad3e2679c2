"""Blocks beside a baseline: scores are those of the shifts, and the order of what differs does not matter."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from cassini_core.errors import InputError
from cassini_core.kernel import _kernel
from cassini_core.kernel.prepared_link import PreparedLink

OPTIONS = _kernel.Options(resolution=0)


class Case(NamedTuple):
    """Links of some jobs; ``kept_links`` and ``added`` are indices of links, ``dropped`` of ``kept_links``."""

    links: _kernel.Links
    period: npt.NDArray[np.int64]
    members: list[list[int]]
    kept_links: list[int]
    dropped: list[int]
    added: list[int]
    start: npt.NDArray[np.int64]

    def arrays(self, which: list[int]) -> dict[str, Any]:
        return {
            "link": np.array(which, dtype=np.int64),
            "member": np.array([job for link in which for job in self.members[link]], dtype=np.int64),
        }

    def left(self) -> list[int]:
        return [link for i, link in enumerate(self.kept_links) if i not in self.dropped] + self.added

    def baseline(self) -> _kernel.Baseline:
        return _kernel.Baseline(
            self.links,
            period=self.period,
            shift=self.start,
            upper_bound=None,
            options=OPTIONS,
            **self.arrays(self.kept_links),
        )

    def solve(self, baseline: _kernel.Baseline, **options: Any) -> _kernel.BlockAnswer | None:
        dropped = np.array(self.dropped, dtype=np.int64)
        return baseline.solve(dropped=dropped, options=OPTIONS, upper_bound=None, **self.arrays(self.added), **options)

    def scores(self, shift: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        seen = self.links.evaluate_block(
            self.period, shift=shift, options=OPTIONS, with_slack=False, **self.arrays(self.left())
        )
        assert seen is not None
        return seen[0]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    jobs = draw(strategies.job_lists(3, 5, max_phases=2))
    n_links = draw(st.integers(1, 6))
    pick = st.lists(st.integers(0, len(jobs) - 1), min_size=1, max_size=4, unique=True)
    members = [draw(pick) for _ in range(n_links)]
    capacity = draw(strategies.capacities())
    prepared = [PreparedLink.from_jobs([jobs[j] for j in on], capacity) for on in members]
    counts = [np.diff(one.phase_offset) for one in prepared]
    links = _kernel.Links(
        job_offset=np.cumsum([0] + [len(on) for on in members]),
        period=np.concatenate([one.period for one in prepared]),
        phase_offset=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
        phase_start=np.concatenate([one.phase_start for one in prepared]),
        phase_length=np.concatenate([one.phase_length for one in prepared]),
        phase_rate=np.concatenate([one.phase_rate for one in prepared]),
        capacity=np.array([one.capacity for one in prepared], dtype=np.int64),
        options=OPTIONS,
    )
    some = st.lists(st.integers(0, n_links - 1), max_size=6)
    kept_links, added = draw(some), draw(some)
    dropped = draw(st.lists(st.sampled_from(range(len(kept_links))), unique=True)) if kept_links else []
    period = np.array([round(job.iteration_ms * 1e6) for job in jobs], dtype=np.int64)
    start = np.array([draw(st.integers(0, int(ticks) - 1)) for ticks in period], dtype=np.int64)
    return Case(links, period, members, kept_links, dropped, added, start)


@given(cases(), st.sampled_from([1, 10, 2000]))
def test_scores_are_those_of_the_shifts_and_no_less_than_where_it_began(case: Case, limit: int) -> None:
    found = case.solve(case.baseline(), node_limit=limit)
    assert found is not None
    assert found.score_lower.tolist() == case.scores(found.shift).tolist()
    if case.left():
        assert found.score == pytest.approx(found.score_lower.mean(), abs=1e-9)
        assert found.score >= case.scores(case.start).mean() - 1e-9
    assert found.score <= found.upper_bound
    assert all(0 <= ticks < period for ticks, period in zip(found.shift, case.period, strict=True))


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_what_differs_does_not_matter(case: Case, random: Any) -> None:
    baseline = case.baseline()
    dropped, added = list(case.dropped), list(case.added)
    random.shuffle(dropped)
    random.shuffle(added)
    one, two = case.solve(baseline), case._replace(dropped=dropped, added=added).solve(baseline)
    assert one is not None
    assert two is not None
    assert one.shift.tolist() == two.shift.tolist()
    assert (one.score, one.upper_bound, one.nodes) == (two.score, two.upper_bound, two.nodes)


@given(cases(), st.integers(-(10**9), 10**9))
def test_scores_do_not_show_by_how_much_all_jobs_are_turned(case: Case, ticks: int) -> None:
    assert case.scores(case.start).tolist() == case.scores(case.start + ticks).tolist()


def small() -> Case:
    """Two jobs on two links; without the first there is one, with the second once more."""
    links = _kernel.Links(
        job_offset=np.array([0, 2, 4]),
        period=np.full(4, 100),
        phase_offset=np.arange(5),
        phase_start=np.zeros(4, dtype=np.int64),
        phase_length=np.full(4, 50),
        phase_rate=np.full(4, 10),
        capacity=np.full(2, 10),
        options=OPTIONS,
    )
    return Case(links, np.array([100, 100]), [[0, 1], [1, 0]], [0, 1], [0], [1], np.array([0, 10]))


def test_an_answer_of_two_jobs() -> None:
    found = small().solve(small().baseline())
    assert found is not None
    assert found.shift.tolist() == [0, 50]
    assert found.score_lower.tolist() == [1.0, 1.0]
    assert (found.score, found.optimal, found.stopped_by) == (1.0, True, "complete")


def test_the_baseline_keeps_its_links() -> None:
    case = small()
    baseline = case.baseline()
    assert baseline.links is case.links
    bare, case = case._replace(links=None), None  # type: ignore[arg-type, assignment]
    found = bare.solve(baseline)
    assert found is not None
    assert found.score == 1.0


def test_cancel_and_deadline() -> None:
    case = small()
    assert case.solve(case.baseline(), cancel=np.ones(1, dtype=np.int32)) is None
    late = case.solve(case.baseline(), deadline_ns=0)
    assert late is not None
    assert late.stopped_by == "deadline"
    assert late.shift.tolist() == [0, 10]
    arrays = case.arrays(case.left())
    block = case.links.solve_block(
        case.period, weight=np.ones(2), start=case.start, options=OPTIONS, deadline_ns=0, **arrays
    )
    assert block is not None
    assert block.stopped_by == "deadline"
    seen = case.links.evaluate_block(case.period, shift=case.start, options=OPTIONS, deadline_ns=0, **arrays)
    assert seen is not None
    assert seen[0].tolist() == [0.6, 0.6]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dropped": np.array([0, 0])}, r"solve_delta: dropped\[1\]: expected each index once"),
        ({"dropped": np.array([2])}, r"solve_delta: dropped\[0\]: expected 0 \.\. 1, got 2"),
        ({"dropped": np.array([0, 1, 0])}, "dropped: expected at most 2 indices, got 3"),
        ({"link": np.array([2])}, r"link: expected indices of 0 to 1, got 2 at 0"),
        ({"member": np.array([1])}, r"member: expected shape \(2,\), got \(1,\)"),
        ({"member": np.array([1, 1])}, r"solve_delta: member\[1\]: expected no job twice on a link"),
        ({"weight": np.ones(2)}, r"weight: expected shape \(1,\), got \(2,\)"),
        ({"weight": np.zeros(1)}, r"solve_delta: weight\[0\]: expected a finite number above 0"),
        ({"upper_bound": np.ones(2)}, r"upper_bound: expected shape \(1,\), got \(2,\)"),
        ({"upper_bound": np.array([np.nan])}, r"solve_delta: upper_bound\[0\]: expected a finite number"),
        ({"cancel": np.zeros(2, dtype=np.int32)}, r"cancel: expected shape \(1,\), got \(2,\)"),
        ({"node_limit": 0}, "solve_delta: node_limit: expected 1 .. 9223372036854775807, got 0"),
        ({"deadline_ns": -1}, "solve_delta: deadline_ns: expected 0 .. 9223372036854775807, got -1"),
    ],
)
def test_bad_calls_are_refused(change: dict[str, Any], message: str) -> None:
    case = small()
    given_ = {"dropped": np.array([0]), "options": OPTIONS, "upper_bound": None, **case.arrays([1])}
    with pytest.raises(InputError, match=message):
        case.baseline().solve(**{**given_, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"period": np.zeros(0, dtype=np.int64), "shift": np.zeros(0, dtype=np.int64)},
            "n_jobs: expected 1 .. 1048576",
        ),
        ({"shift": np.zeros(3, dtype=np.int64)}, r"shift: expected shape \(2,\), got \(3,\)"),
        ({"weight": np.ones(3)}, r"weight: expected shape \(2,\), got \(3,\)"),
        ({"link": np.array([0, -1])}, "link: expected indices of 0 to 1, got -1 at 1"),
        ({"period": np.array([100, 99])}, r"prepare_baseline: member\[1\]: expected a job of the period"),
    ],
)
def test_bad_baselines_are_refused(change: dict[str, Any], message: str) -> None:
    case = small()
    given_ = {"period": case.period, "shift": case.start, "options": OPTIONS, "upper_bound": None}
    with pytest.raises(InputError, match=message):
        _kernel.Baseline(case.links, **{**given_, **case.arrays(case.kept_links), **change})


def test_eight_threads_get_the_same_answers() -> None:
    case = small()
    baseline = case.baseline()
    answers: list[tuple[list[int], float]] = []

    def ask() -> None:
        for _ in range(50):
            found = case.solve(baseline)
            assert found is not None
            answers.append((found.shift.tolist(), found.score))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [([0, 50], 1.0)] * 400


@given(cases(), st.data())
def test_links_evaluated_each_for_itself_are_a_block_whose_links_share_no_job(case: Case, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(case.members) - 1), max_size=8))
    link = np.array(numbers, dtype=np.int64)
    jobs = [job for number in numbers for job in case.members[number]]
    period, member = case.period[jobs], np.arange(len(jobs))
    shift = np.array([data.draw(st.integers(0, int(one) - 1)) for one in period], dtype=np.int64)
    with_slack = data.draw(st.booleans())
    block = case.links.evaluate_block(period, link, member, shift, OPTIONS, with_slack)
    each = case.links.evaluate_each(link, shift, OPTIONS, with_slack)
    assert block is not None
    assert each is not None
    assert [None if one is None else one.tobytes() for one in each] == [
        None if one is None else one.tobytes() for one in block
    ]
    with pytest.raises(InputError, match="link: expected indices"):
        case.links.evaluate_each(np.array([len(case.members)]), shift, OPTIONS)
    with pytest.raises(InputError, match="shift: expected shape"):
        case.links.evaluate_each(link, np.append(shift, 0), OPTIONS)
