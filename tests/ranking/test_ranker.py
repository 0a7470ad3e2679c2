"""A ranker gives what ``rank`` gives, byte for byte, whatever it was asked before and whoever else asks."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_ranking_lazy import round_of

import hosts
import placements
from cassini_core import Candidate, InputError, Link, Problem, Ranker, rank
from cassini_core.joint import base_placement
from cassini_core.joint.base_placement import LARGE_LINKS
from cassini_core.kernel.link_arrays import LinkArrays
from cassini_core.kernel.prepared_link import PreparedLink
from cassini_core.periods import pace_scores
from cassini_core.problem_file import ranking_to_json
from placements import PAIR, mixed_scores, problem_of, up
from strategies import jobs as drawn_jobs


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Limits that cut searches short and such that do not, and whatever else decides an answer."""
    return draw(
        st.fixed_dictionaries(
            {
                "node_limit": st.sampled_from([1, 2, 5, 40, 300, "auto", None]),
                "block_node_limit": st.sampled_from([1, 100, "auto"]),
            },
            optional={
                "loops": st.sampled_from(["merge", "discard"]),
                "resolution_ms": st.sampled_from([0.0, 0.5, 3.0]),
                "slack_tolerance": st.sampled_from([0.0, 0.01, 0.2]),
                "period_tolerance": st.sampled_from([0.0, 0.2]),
                "aggregate": st.sampled_from(["min", "per_job"]),
                "threads": st.sampled_from([1, 3]),
                "exhaustive": st.booleans(),
            },
        )
    )


@st.composite
def later(draw: st.DrawFn, problem: Problem) -> Problem:
    """The next round: some jobs ask for something else, links grow or shrink, candidates go, come and trade names."""
    jobs = list(problem.jobs)
    for k in draw(st.sets(st.integers(0, len(jobs) - 1), max_size=2)):
        period = draw(st.sampled_from([round(job.iteration_ms) for job in jobs]))
        jobs[k] = draw(drawn_jobs(max(4, period), jobs[k].id, max_phases=2))
    links = [
        Link(link.id, link.capacity_gbps * draw(st.sampled_from([1.0, 1.0, 1.0, 2.0, 0.5]))) for link in problem.links
    ]
    routes = [draw(st.sampled_from(problem.candidates)).routes for _ in range(draw(st.integers(1, 3)))]
    trade = draw(st.permutations([job.id for job in jobs]))
    if draw(st.booleans()):
        names = dict(zip([job.id for job in jobs], trade, strict=True))
        routes[0] = {names[job]: dict(route) for job, route in routes[0].items()}
    return Problem(jobs, links, [Candidate(f"c{k}", route) for k, route in enumerate(routes)])


def said(problem: Problem, **given: Any) -> bytes:
    return ranking_to_json(rank(problem, **given))


@given(st.data(), st.sampled_from([1, 3, 100]))
@settings(max_examples=40)
def test_round_after_round_the_answer_is_that_of_rank(data: st.DataObject, max_links: int) -> None:
    ranker, problem = Ranker(max_links=max_links), data.draw(placements.rounds(max_jobs=5))
    for _ in range(data.draw(st.integers(2, 5))):
        asked = data.draw(options())
        assert ranking_to_json(ranker.rank(problem, **asked)) == said(problem, **asked)
        assert ranker.cache_info().size <= max_links
        assert ranker._store.links.scores.info().size <= max_links
        assert all(counts.size <= max_links for counts in ranker.cache_info()[4:])
        if data.draw(st.booleans()):
            problem = data.draw(later(problem))


LOOPS = {
    "block_node_limit": st.sampled_from([1, 30, 500, "auto"]),
    "threads": st.sampled_from([1, 3]),
    "exhaustive": st.booleans(),
}


@st.composite
def changed(draw: st.DrawFn, problem: Problem) -> Problem:
    """The next round: now and then another job, one of another name, another link; some other candidates."""
    jobs, links, what = (
        list(problem.jobs),
        list(problem.links),
        draw(st.sampled_from(["nothing", "job", "name", "link"])),
    )
    k = draw(st.integers(0, len(links) - 1))
    others = [candidate.routes for candidate in round_of(draw(st.integers(0, 20)), 3).candidates]
    kept = draw(st.lists(st.sampled_from(problem.candidates), min_size=2, max_size=4))
    routes = [candidate.routes for candidate in kept] + draw(st.lists(st.sampled_from(others), max_size=2))
    if what == "job":
        jobs[k] = replace(jobs[k], phases=round_of(draw(st.integers(0, 20)), 1).jobs[k].phases)
    elif what == "link":
        links[k] = Link(links[k].id, draw(st.sampled_from([40.0, 60.0])))
    elif what == "name":  # the same numbers in another order
        names = dict(zip([job.id for job in jobs], draw(st.permutations([job.id for job in jobs])), strict=True))
        jobs = [replace(job, id=names[job.id]) for job in jobs]
        routes = [{names[job]: dict(route) for job, route in one.items()} for one in routes]
    return Problem(jobs, links, [Candidate(f"c{n}", one) for n, one in enumerate(routes)])


@pytest.mark.parametrize("large_links", [1, LARGE_LINKS])
@given(st.data(), st.sampled_from([1, 40, 100_000]))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_joint_searches_are_those_of_rank(
    monkeypatch: pytest.MonkeyPatch, large_links: int, data: st.DataObject, max_links: int
) -> None:
    """Cyclic blocks and, with ``large_links`` 1, differences from the base placement; running jobs or none."""
    monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
    ranker, problem = Ranker(max_links=max_links), round_of(data.draw(st.integers(0, 20)), 3)
    for _ in range(data.draw(st.integers(2, 5))):
        asked = data.draw(st.fixed_dictionaries(LOOPS))
        running = data.draw(st.sampled_from([{}, {"j0": 3.0, "j1": 40.0, "j2": 41.0}]))
        asked |= {"running_shifts_ms": running, "node_limit": 300}
        assert ranker.rank(problem, **asked).to_json() == rank(problem, **asked).to_json()
        assert all(counts.size <= max_links for counts in ranker.cache_info()[4:])
        problem = data.draw(changed(problem))


@pytest.mark.parametrize("large_links", [1, LARGE_LINKS])
def test_nothing_is_searched_twice(monkeypatch: pytest.MonkeyPatch, large_links: int) -> None:
    monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
    ranker, problem = Ranker(), round_of(3, 6)
    first = ranker.rank(problem, threads=1)  # two threads may both come upon what neither knows yet
    before = ranker.cache_info()
    assert before.searches.misses == before.searches.size > 0
    assert before.evaluations.misses == before.evaluations.size > 0
    assert ranker.rank(problem, threads=1) == first
    after = ranker.cache_info()
    for now, then in ((after.searches, before.searches), (after.evaluations, before.evaluations)):
        assert now.misses == then.misses
        assert now.hits >= then.hits + then.misses
    ranker.clear()
    assert ranker.cache_info() == (0, 0, 0, 100_000, (0, 0, 0, 100_000), (0, 0, 0, 100_000))


@pytest.mark.parametrize("large_links", [1, LARGE_LINKS])
def test_of_a_round_with_other_candidates_the_others_are_known(
    monkeypatch: pytest.MonkeyPatch, large_links: int
) -> None:
    monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
    base = round_of(3, 1)
    moved = [Candidate.moved(f"m{k}", base.candidates[0], {f"j{k}": ["l0", f"l{1 + k % 5}"]}) for k in range(7)]
    ranker = Ranker()
    asked = [Problem(base.jobs, base.links, [*base.candidates, *moved[k : k + 5]]) for k in (0, 1)]
    ranker.rank(asked[0], exhaustive=True, node_limit=300)
    before = ranker.cache_info()
    assert ranker.rank(asked[1], exhaustive=True, node_limit=300) == rank(asked[1], exhaustive=True, node_limit=300)
    after = ranker.cache_info()
    assert after.searches.misses - before.searches.misses < (after.searches.hits - before.searches.hits)


@pytest.mark.parametrize("large_links", [1, LARGE_LINKS])
@pytest.mark.parametrize("deadline_s", [0.001, 0.01, 0.05])
def test_joint_searches_that_a_deadline_cut_are_not_kept(
    monkeypatch: pytest.MonkeyPatch, large_links: int, deadline_s: float
) -> None:
    monkeypatch.setattr(base_placement, "LARGE_LINKS", large_links)
    ranker, problem = Ranker(), round_of(5, 8)
    for _ in range(3):
        ranker.rank(problem, deadline_s=deadline_s, block_node_limit=None)
    assert ranker.rank(problem, block_node_limit=3_000) == rank(problem, block_node_limit=3_000)


def test_large_rounds_too() -> None:
    """Candidates with many links are answered without the links' own slack: another question."""
    ranker, problem = Ranker(), hosts.problem("round")
    for asked in (problem, Problem(problem.jobs, problem.links, problem.candidates[2:]), problem):
        assert ranking_to_json(ranker.rank(asked, **hosts.FEW_NODES)) == said(asked, **hosts.FEW_NODES)
    info = ranker.cache_info()
    assert info.hits > info.misses


def test_link_problems_are_counted() -> None:
    ranker, problem = Ranker(), mixed_scores()
    counts = []
    for given_options in (
        {},
        {},
        {"aggregate": "min", "threads": 1, "exhaustive": True, "block_node_limit": 7},  # decides no link's answer
        {"resolution_ms": 0.25},
        {"slack_tolerance": 0.5},
        {"node_limit": None},  # nothing was cut short: any limit above will do
    ):
        ranker.rank(problem, **given_options)
        counts.append(ranker.cache_info()[:3])
    assert counts == [(0, 3, 3), (3, 3, 3), (6, 3, 3), (6, 6, 6), (6, 9, 9), (9, 9, 9)]
    assert ranker.cache_info().max_links == 100_000
    ranker.clear()
    assert ranker.cache_info() == (0, 0, 0, 100_000, (0, 0, 0, 100_000), (0, 0, 0, 100_000))
    ranker.rank(problem)
    assert ranker.cache_info()[:3] == (0, 3, 3)


def test_names_play_no_part() -> None:
    ranker = Ranker()
    ranker.rank(problem_of(PAIR, {"x": 50}, c={"a": ["x"], "b": ["x"]}))
    renamed = [replace(job, id=f"other {job.id}") for job in PAIR]
    # Twice the rates on twice the capacity is the same question as well.
    route = {"other c": {"y": 2.0}, "other a": {"y": 2.0}}
    ranker.rank(problem_of(renamed, {"y": 100}, d=route, e=route))
    assert ranker.cache_info()[:2] == (1, 1)


def test_what_was_cut_short_serves_for_its_limit_alone() -> None:
    ranker, problem = Ranker(), hosts.hard()
    hits = []
    for limit in (50, 60, 50, 60, 50):
        assert ranking_to_json(ranker.rank(problem, node_limit=limit)) == said(problem, node_limit=limit)
        hits.append(ranker.cache_info().hits)
    assert hits == [0, 0, 1, 2, 3]


def test_the_links_asked_for_last_are_kept() -> None:
    links = {f"l{k}": 50.0 + k for k in range(4)}
    asked = [problem_of(PAIR, links, c={"a": [link], "b": [link]}) for link in links]
    ranker = Ranker(max_links=2)
    for k in (0, 1, 0, 2, 0, 1):
        ranker.rank(asked[k])
    assert ranker.cache_info()[:4] == (2, 4, 2, 2)
    for k in (0, 1):
        ranker.rank(asked[k])
    assert ranker.cache_info()[:4] == (4, 4, 2, 2)


def test_iteration_times_are_chosen_by_scores_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [up("a", 254.7, 0, 100, 50), up("b", 255.2, 20, 110, 50), up("c", 401.1, 0, 150, 30)]
    problem = problem_of(jobs, {"x": 50, "y": 60}, c={"a": ["x", "y"], "b": ["x"], "c": ["y"]})
    searched: list[int] = []

    def counted(solve: Any) -> Any:
        def call(*given_first: Any, **given_options: Any) -> Any:
            searched.append(1)
            return solve(*given_first, **given_options)

        return call

    ranker = Ranker()
    first = ranking_to_json(ranker.rank(problem))
    monkeypatch.setattr(PreparedLink, "solve", counted(PreparedLink.solve))
    monkeypatch.setattr(pace_scores, "solve_chunk", counted(pace_scores.solve_chunk))
    assert ranking_to_json(ranker.rank(problem)) == first
    assert searched == []
    assert said(problem) == first
    assert searched != []
    searched.clear()
    ranker.rank(problem, resolution_ms=0.25)
    assert searched != []


def test_threads_share_a_ranker() -> None:
    ranker = Ranker(max_links=40)
    kinds = [(name, limit) for name in hosts.NAMES for limit in (3, 300)]
    expected = {
        (name, limit): said(hosts.problem(name), node_limit=limit, block_node_limit=100) for name, limit in kinds
    }

    def work(offset: int) -> None:
        for name, limit in kinds[offset:] + kinds[:offset]:
            found = ranker.rank(hosts.problem(name), node_limit=limit, block_node_limit=100, threads=2)
            assert ranking_to_json(found) == expected[name, limit]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(0, 8, 2)))
    assert ranker.cache_info().hits > 0
    assert ranker.cache_info().size <= 40


@functools.cache
def said_once(problem: Problem, node_limit: int) -> bytes:
    """The same for equal problems, so it need not be found anew."""
    return said(problem, node_limit=node_limit)


@pytest.mark.parametrize("deadline_s", [0.0, 0.005, 0.03, 0.1, 0.3])
def test_what_a_deadline_cut_is_not_kept(deadline_s: float) -> None:
    ranker, hard = Ranker(), hosts.hard()
    problem = Problem(
        (*hard.jobs, *PAIR),
        (*hard.links, Link("x", 50)),
        (*hard.candidates, Candidate("pair", {"a": ["x"], "b": ["x"]})),
    )
    ranker.rank(problem, deadline_s=deadline_s, node_limit=None)
    for limit in (5, 300, 400):
        assert ranking_to_json(ranker.rank(problem, node_limit=limit)) == said_once(problem, limit)


def test_what_a_deadline_left_time_for_is_kept() -> None:
    ranker, problem = Ranker(), mixed_scores()
    ranker.rank(problem, deadline_s=600.0)
    assert ranking_to_json(ranker.rank(problem)) == said(problem)
    assert ranker.cache_info()[:2] == (3, 3)
    ranker.rank(problem, deadline_s=600.0)
    assert ranker.cache_info()[:2] == (6, 3)


class Counting(ThreadPoolExecutor):
    """Counts the links it is handed."""

    links = 0

    def submit(self, work: Any, chunk: LinkArrays, *others: Any) -> Any:  # type: ignore[override]
        self.links += len(chunk)
        return super().submit(work, chunk, *others)


def test_an_executor_gets_what_is_missing() -> None:
    ranker, problem = Ranker(), mixed_scores()
    less = Problem(problem.jobs[:2], problem.links[:1], [Candidate("c", {"a": ["x"], "b": ["x"]})])
    with Counting(2) as executor:
        ranker.rank(less, executor=executor)
        assert executor.links == 1
        assert ranking_to_json(ranker.rank(problem, executor=executor)) == said(problem)
        assert executor.links == 3
        ranker.rank(problem, executor=executor)
        assert executor.links == 3


def test_progress_counts_what_was_known() -> None:
    ranker, problem = Ranker(), mixed_scores()
    for _ in range(2):
        steps: list[tuple[int, int]] = []
        ranker.rank(problem, progress=lambda done, total, steps=steps: steps.append((done, total)))
        assert steps == sorted(steps)
        assert steps[-1] == (4, 4)
        assert (3, 4) in steps


def test_an_interrupted_ranking_leaves_what_it_found() -> None:
    ranker, problem = Ranker(), hosts.problem("round")

    def interrupt(done: int, total: int) -> None:
        if done > total // 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranker.rank(problem, progress=interrupt, **hosts.FEW_NODES)
    kept = ranker.cache_info().size
    assert kept > 0
    assert ranking_to_json(ranker.rank(problem, **hosts.FEW_NODES)) == said(problem, **hosts.FEW_NODES)
    assert ranker.cache_info().hits == kept


@pytest.mark.parametrize("copied", [lambda ranker: pickle.loads(pickle.dumps(ranker)), copy.copy, copy.deepcopy])
def test_a_copy_has_kept_nothing(copied: Any) -> None:
    ranker = Ranker(max_links=7)
    ranker.rank(mixed_scores())
    other = copied(ranker)
    assert other.cache_info()[:4] == (0, 0, 0, 7)
    other.rank(mixed_scores())
    assert ranker.cache_info() == other.cache_info()
    assert ranker.cache_info()[:4] == (0, 3, 3, 7)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")
def test_children_forked_while_other_threads_rank_answer() -> None:
    ranker = Ranker(max_links=50)
    ask = functools.partial(ranker.rank, threads=2, **hosts.FEW_NODES)
    expected = hosts.ranked("loop")
    ask(hosts.problem("round"))
    with hosts.busy(lambda: ask(hosts.problem("round"))):
        for _ in range(10):
            assert hosts.forked(lambda: ranking_to_json(ask(hosts.problem("loop")))) == expected


WRONG: Sequence[dict[str, Any]] = (
    {"loops": "other"},
    {"aggregate": "p101"},
    {"top": 0},
    {"node_limit": 0},
    {"threads": 1.5},
    {"deadline_s": -1},
    {"resolution_ms": -1},
    {"progress": 5},
    {"executor": 5},
)


@pytest.mark.parametrize("given_options", WRONG)
def test_wrong_arguments_are_refused_as_by_rank(given_options: dict[str, Any]) -> None:
    def message(call: Any, *given_first: Any) -> str:
        with pytest.raises(InputError) as error:
            call(*given_first, **given_options)
        return str(error.value)

    assert message(Ranker().rank, mixed_scores()) == message(rank, mixed_scores())
    assert message(Ranker().rank, {}) == message(rank, {})


def test_wrong_calls() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        Ranker().rank(mixed_scores(), nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Ranker().rank(mixed_scores(), "joint")  # type: ignore[misc]
    with pytest.raises(TypeError, match="problem"):
        Ranker().rank()  # type: ignore[call-arg]
    assert inspect.signature(Ranker().rank) == inspect.signature(rank)


@pytest.mark.parametrize("max_links", [0, -1, 1.5, "3", None, True, 2**63])
def test_wrong_bounds(max_links: Any) -> None:
    with pytest.raises(InputError, match="max_links: expected a whole number of at least 1, got"):
        Ranker(max_links=max_links)


def test_a_problem_beyond_the_kernel_is_refused_as_by_rank_and_harms_nothing() -> None:
    jobs = [up(f"j{k}", 100, 0, 1, 1) for k in range(1025)]
    wrong = problem_of([*jobs, *PAIR], {"x": 50}, c={job.id: ["x"] for job in jobs})
    ranker = Ranker()
    with pytest.raises(InputError, match="link 'x': expected at most 1024 jobs, got 1025"):
        ranker.rank(wrong)
    assert ranking_to_json(ranker.rank(mixed_scores())) == said(mixed_scores())
