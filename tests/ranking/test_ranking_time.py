"""Deadlines, node limits, progress and interruption of a ranking."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core.deadline
import hosts
import placements
from cassini_core import Candidate, Job, Link, Phase, Problem
from cassini_core.deadline import Deadline
from cassini_core.periods.cluster_pacing import pace_problem
from cassini_core.problem_file import ranking_to_json
from cassini_core.ranking.best_first import FIRST_ACCOUNTED, BestFirst
from cassini_core.ranking.rank_problem import rank
from interrupts import interrupted
from placements import PAIR, mixed_scores, problem_of, up
from work import works_less_than


@given(placements.rounds(), st.sampled_from(["mean", "min", "p10", "per_job"]))
@settings(max_examples=20)
def test_deadline_zero_gives_certified_bounds_only(problem: Problem, aggregate: str) -> None:
    late = rank(problem, deadline_s=0.0, aggregate=aggregate, period_tolerance=0.0)
    full = {one.id: one for one in rank(problem, aggregate=aggregate, period_tolerance=0.0).candidates}
    for one in late.candidates:
        if not one.links:
            assert (one.status, one.score) == ("alone", full[one.id].score)
            continue
        assert (one.status, one.score) == ("bound_only", None)
        assert one.upper_bound >= full[one.id].upper_bound - 1e-9
        assert len([line for line in one.warnings if "deadline" in line]) == len(one.links)
    if any(one.links for one in late.candidates):
        assert any("deadline" in line for line in late.warnings)


def test_iteration_times_stay_where_the_deadline_comes_before_they_are_harmonised() -> None:
    jobs = [Job("b", 254.7, [Phase(200, 100, 50)]), Job("a", 255.2, [Phase(0, 100, 50)])]
    ranking = rank(problem_of(jobs, {"x": 50}, c={"a": ["x"], "b": ["x"]}), deadline_s=0.0)
    assert ranking.paces_ms == {"a": 255.2, "b": 254.7}
    assert any("not harmonised" in line for line in ranking.warnings)


@pytest.mark.parametrize("deadline_s", [0.0, 1e-4, 10.0])
def test_who_does_not_want_times_harmonised_is_not_told_that_they_are_not(deadline_s: float) -> None:
    ranking = rank(mixed_scores(), deadline_s=deadline_s, period_tolerance=0.0)
    assert not any("harmonised" in line for line in ranking.warnings)


def test_past_the_deadline_the_most_promising_candidate_still_gets_its_shifts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Deadline):
        """All links are solved in time; then time is up."""

        def remaining_s(self) -> float:
            return 1e6

        def passed(self) -> bool:
            return True

        def before(self, seconds: float) -> Deadline:
            return self

        def from_now(self) -> Deadline:
            return self

        def leaves(self, share: float) -> bool:
            return False

    monkeypatch.setattr("cassini_core.ranking.rank_problem.Deadline", Late)
    jobs = [*PAIR, up("on", 100, 0, 100, 25)]
    problem = problem_of(
        jobs,
        {"x": 50},
        third={"a": ["x"], "on": ["x"]},
        first={"a": ["x"], "b": ["x"]},
        second={"b": ["x"], "c": ["x"]},
        alone={"b": ["x"]},
    )
    ranking = rank(problem, deadline_s=1.0, period_tolerance=0.0)
    assert [(one.id, one.status) for one in ranking.candidates] == [
        ("first", "tree"),
        ("second", "bound_only"),
        ("third", "bound_only"),
        ("alone", "alone"),
    ]
    assert [one.upper_bound for one in ranking.candidates] == pytest.approx([1.0, 1.0, 0.75, 1.0])
    assert any("deadline" in line for line in ranking.candidates[2].warnings)
    assert any("bound only" in line for line in ranking.warnings)


@given(placements.rounds())
@settings(max_examples=10)
def test_a_far_deadline_changes_nothing(problem: Problem) -> None:
    assert ranking_to_json(rank(problem, deadline_s=1e6)) == ranking_to_json(rank(problem))


def _hard() -> Problem:
    """One link of twenty jobs, nearly full: a proof is out of reach for minutes."""
    rng = np.random.default_rng(1)
    jobs = []
    for k in range(20):
        length, gbps = rng.integers(20, 40, size=3), rng.integers(20, 90, size=3)
        phases = [Phase(start, float(length[i]), float(gbps[i])) for i, start in enumerate((0, 50, 99))]
        jobs.append(Job(f"j{k}", 300.0, phases))
    return problem_of(jobs, {"x": 340.0}, c={job.id: ["x"] for job in jobs})


def test_a_deadline_is_kept_and_said() -> None:
    with works_less_than(3.0):
        ranking = rank(_hard(), node_limit=None, deadline_s=0.3, period_tolerance=0.0)
    one = ranking.candidates[0]
    assert one.status == "tree"
    assert one.score is not None
    assert one.score <= one.upper_bound
    assert not one.optimal
    assert any("deadline" in line for line in one.warnings)


def test_a_node_limit_is_said() -> None:
    ranking = rank(_hard(), node_limit=1, period_tolerance=0.0)
    one = ranking.candidates[0]
    assert not one.optimal
    assert any("node limit" in line for line in one.warnings)
    assert any("proven" in line for line in ranking.warnings)


def test_progress_counts_up_to_its_total() -> None:
    calls: list[tuple[int, int]] = []
    problem = mixed_scores()
    rank(problem, progress=lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert {total for _, total in calls} == {len(calls)}


def test_an_error_in_progress_ends_the_ranking() -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        rank(mixed_scores(), progress=stop)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_a_long_search_at_once() -> None:
    script = """
        import sys
        from test_ranking_time import _hard
        from cassini_core.ranking import rank
        problem = _hard()
        print("ready", flush=True)
        try:
            rank(problem, node_limit=None, period_tolerance=0.0)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    rest, work_s = interrupted(script)
    assert rest == "interrupted\n"
    assert work_s < 3.0  # the imports, half a second of search, and the end of the process


@pytest.mark.parametrize("seed", [5, 26, 29])
def test_pacing_never_beats_a_few_nodes_and_loses_the_link(seed: int) -> None:
    """Nine jobs of round periods: a hasty score once paced one a few ns longer, which only made it free."""
    rng = random.Random(seed)
    jobs = tuple(
        Job(
            f"j{k}",
            rng.choice([240, 300, 360, 400]),
            [Phase(rng.uniform(0, 200), rng.uniform(5, 40), rng.uniform(5, 40)) for _ in range(4)],
        )
        for k in range(9)
    )
    problem = Problem(jobs, (Link("l", 50),), (Candidate("c", {job.id: ["l"] for job in jobs}),))
    paced, natural = rank(problem, node_limit=2000).best, rank(problem, period_tolerance=0, node_limit=2000).best
    assert paced is not None
    assert natural is not None
    assert paced.score is not None
    assert natural.score is not None
    assert paced.score >= natural.score - 1e-9


@pytest.mark.parametrize(("n_jobs", "periods"), [(10, (180, 330, 255, 200)), (40, (120, 180, 200, 255, 330))])
def test_round_periods_on_a_long_circle_keep_what_they_have(n_jobs: int, periods: tuple[int, ...]) -> None:
    """The natural times need thousands of turns; a base a few ns off needs few, and once won for that alone."""
    rng = random.Random(3)
    jobs = tuple(
        Job(f"j{k:02}", period := rng.choice(periods), [Phase(rng.randrange(50), rng.randint(10, period // 4), 30)])
        for k in range(n_jobs)
    )
    problem = Problem(jobs, (Link("l", 8.0 * n_jobs),), (Candidate("c", {job.id: ["l"] for job in jobs}),))
    with works_less_than(30.0):
        paced, natural = rank(problem, node_limit=2000).best, rank(problem, period_tolerance=0, node_limit=2000).best
    assert paced is not None
    assert natural is not None
    assert paced.score is not None
    assert natural.score is not None
    assert paced.score >= natural.score - 1e-9


def test_noisy_families_that_share_links_are_all_paced() -> None:
    """Three models, each measured a little differently on every job: the first family must not starve the others."""
    rng = random.Random(5)
    jobs, links, routes = [], [], {}
    for k in range(40):
        natural = (150.0, 222.0, 305.0)[k % 3] * (1 + rng.uniform(0, 0.009))
        jobs.append(Job(f"j{k:02}", round(natural, 4), [Phase(10, natural / 3, 40)]))
        routes[f"j{k:02}"] = []
    # Each job meets the next of its own model; two links join the models into one component.
    for number, pair in enumerate([*((k, k + 3) for k in range(37)), (0, 1), (1, 2)]):
        links.append(Link(f"l{number:02}", 50))
        for job in pair:
            routes[f"j{job:02}"].append(f"l{number:02}")
    paces = rank(Problem(tuple(jobs), tuple(links), (Candidate("c", routes),))).paces_ms
    assert len(set(paces.values())) <= 12
    assert sum(paces[job.id] > job.iteration_ms for job in jobs) >= 30


def test_harmonising_looks_at_the_clock_before_the_first_link_is_scored() -> None:
    """Sorting the links of a thousand jobs and candidates takes tenths of a second."""

    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    jobs = [Job("b", 254.7, [Phase(200, 100, 50)]), Job("a", 255.2, [Phase(0, 100, 50)])]
    with pytest.raises(Stop):
        pace_problem(problem_of(jobs, {"x": 50}, c={"a": ["x"], "b": ["x"]}), 0.01, _never, _never, go_on=stop)


def _never(*link: object) -> float:
    raise AssertionError(link)


def test_a_deadline_leaves_the_links_their_part() -> None:
    """Harmonising a link of a hundred jobs must not eat the whole deadline: the candidate is still solved."""
    rng = random.Random(6)
    jobs = tuple(Job(f"j{k:03}", rng.choice((120, 180, 240)), [Phase(rng.randrange(50), 20, 5)]) for k in range(60))
    problem = Problem(jobs, (Link("l", 60),), (Candidate("c", {job.id: ["l"] for job in jobs}),))
    with works_less_than(3.0):
        best = rank(problem, deadline_s=1.0).best
    assert best is not None
    assert best.score is not None


class EndsAfterThree:
    """Candidates of which the deadline comes while the third is answered; counts what threads are asked for then."""

    def __init__(self) -> None:
        self.left_to_answer = 3
        self.late_in: Counter[bool] = Counter()  # by whether the calling thread was asked
        self.calling = threading.current_thread()

    def remaining_s(self) -> float:
        return 1.0

    def passed(self) -> bool:
        return False

    def from_now(self) -> EndsAfterThree:
        return self

    def leaves(self, share: float) -> bool:
        return self.left_to_answer > 0

    def answer(self, *_: object) -> Any:
        self.left_to_answer -= 1
        return self._entry()

    def late(self, number: int) -> Any:
        self.late_in[threading.current_thread() is self.calling] += 1
        return self._entry()

    def most(self, number: int) -> Any:
        return 0, -number

    def cost(self, entries: object) -> int:
        return 0

    def search_ahead(self, pool: object, parts: Any, nodes: object, answer: Any) -> None:
        for part in parts:
            answer(part, {})

    def _entry(self) -> Any:
        return SimpleNamespace(worth=None, answer=SimpleNamespace(jobs=()))


def test_past_the_deadline_no_thread_is_asked_for_what_is_left() -> None:
    late: Any = EndsAfterThree()
    done: list[int] = []
    search = BestFirst(late, top=1, threads=1, deadline=late, cancel=np.zeros(1, dtype=np.int32), progress=done.append)
    assert len(search.run(1000)) == 1000
    assert done == list(range(1, 1001))
    assert late.late_in[False] < FIRST_ACCOUNTED
    assert sum(late.late_in.values()) == 1000 - 3


class WorkClock:
    """A clock that goes with the lines that Python executes, in any thread: a microsecond each."""

    def __init__(self) -> None:
        self.lines = 0

    def monotonic(self) -> float:
        return self.lines * 1e-6

    @contextmanager
    def going(self) -> Iterator[None]:
        before = sys.gettrace()
        threading.settrace(self._count)
        sys.settrace(self._count)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type]

    def _count(self, frame: FrameType, event: str, arg: object) -> Any:
        self.lines += event == "line"
        return self._count


@pytest.mark.slow
def test_wherever_the_deadline_comes_the_answer_is_hardly_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late by no more than a small part of the work of a whole ranking."""
    problem = hosts.generate(hosts.Settings(seed="steps", racks=16, jobs=200, candidates=150))
    clock = WorkClock()
    monkeypatch.setattr(cassini_core.deadline, "time", clock)

    def took_s(deadline_s: float) -> float:
        begin = clock.monotonic()
        with clock.going():
            rank(problem, threads=1, deadline_s=deadline_s)
        return clock.monotonic() - begin

    whole_s = took_s(1e3)
    late_s = [took_s(share * whole_s) - share * whole_s for share in np.linspace(0.02, 0.6, 12)]
    assert max(late_s) < 0.03 * whole_s
