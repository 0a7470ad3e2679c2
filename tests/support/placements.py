"""Random placements, and an independent look at what a ranking says about them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cassini_core import Candidate, Job, Link, Phase, Problem, _reference
from cassini_core.arrays import int64, offsets
from cassini_core.links.incidence import Crossings
from strategies import capacities, job_lists, one_of, permuted, some_of


def up(job_id: str, period: float, start: float, duration: float, gbps: float) -> Job:
    """A job with one phase; ms and Gbit/s."""
    return Job(job_id, period, [Phase(start, duration, gbps)])


def problem_of(jobs: list[Job], capacities: dict[str, float], **routes: Any) -> Problem:
    """A problem whose candidates are given by keyword: ``c={"a": ["x"], "b": ["x"]}``."""
    links = tuple(Link(link, gbps) for link, gbps in capacities.items())
    return Problem(tuple(jobs), links, tuple(Candidate(name, route) for name, route in routes.items()))


def crossings_of(jobs: Sequence[Sequence[str]], n_placed: int) -> Crossings:
    """Which jobs cross the shared links of a candidate, from their ids on each link."""
    number = {job: k for k, job in enumerate(sorted({job for on_link in jobs for job in on_link}))}
    ends = offsets(map(len, jobs))
    crossing = int64(number[job] for on_link in jobs for job in on_link)
    return Crossings(np.arange(len(jobs)), ends, crossing, len(number), n_placed)


PAIR = [up("a", 100, 0, 50, 50), up("b", 100, 0, 50, 50), up("c", 100, 0, 50, 50)]
"""Any two of these jobs just fit on 50 Gbit/s; three do not."""


def mixed_scores() -> Problem:
    """Link x scores 1, y 0.5 and z 0; d is placed without network and e shares nothing."""
    jobs = [*PAIR, up("d", 100, 0, 50, 50), up("e", 100, 0, 50, 50), up("on", 100, 0, 100, 50)]
    return problem_of(
        jobs,
        {"x": 100, "y": 50, "z": 50},
        c={"a": ["x", "y"], "b": ["x"], "on": {"y": 1.0, "z": 1.0}, "c": {"z": 2.0}, "d": [], "e": []},
    )


@functools.cache
@st.composite
def trees(draw: st.DrawFn, *, max_links: int = 5, max_jobs_on_link: int = 3) -> dict[str, list[str]]:
    """Link id to the ids of its jobs: a loop-free affinity graph of one or more components, ids in random order.

    A new link hangs on at most one job of each component that is already there, so it never closes a loop.
    """
    n_links = draw(st.integers(1, max_links))
    names = iter(draw(permuted(tuple(f"j{i}" for i in range(n_links * max_jobs_on_link)))))
    component_of: dict[str, int] = {}
    tree: dict[str, list[str]] = {}
    for link in draw(permuted(tuple(f"l{i}" for i in range(n_links)))):
        size = draw(st.integers(2, max_jobs_on_link))
        members: list[str] = []
        if component_of and draw(st.booleans()):
            components = draw(some_of(tuple(sorted(set(component_of.values()))), max_size=size, unique=True))
            for one in components:
                members.append(draw(one_of(tuple(sorted(job for job, c in component_of.items() if c == one)))))
        members += [next(names) for _ in range(size - len(members))]
        joined = {component_of[job] for job in members if job in component_of}
        for job, old in list(component_of.items()):
            if old in joined:
                component_of[job] = len(tree)
        component_of.update(dict.fromkeys(members, len(tree)))
        tree[link] = members
    return tree


@functools.cache
def routes(jobs: tuple[str, ...], links: tuple[str, ...]) -> st.SearchStrategy[dict[str, dict[str, float]]]:
    """Of some of the jobs: multipliers by link."""
    return st.dictionaries(one_of(jobs), st.dictionaries(one_of(links), one_of((0.5, 1.0, 1.0, 2.0)), max_size=3))


@functools.cache
@st.composite
def rounds(draw: st.DrawFn, *, max_jobs: int = 4, max_links: int = 4, max_candidates: int = 4) -> Problem:
    """A scheduling round: candidates over the same links, loops or not, absent jobs, empty routes, multipliers."""
    some = draw(job_lists(1, max_jobs, max_phases=2))
    links = [Link(f"l{i}", draw(capacities())) for i in range(draw(st.integers(1, max_links)))]
    drawn_routes = routes(tuple(job.id for job in some), tuple(link.id for link in links))
    candidates = [Candidate(f"c{i}", draw(drawn_routes)) for i in range(draw(st.integers(1, max_candidates)))]
    return Problem(tuple(some), tuple(links), tuple(candidates))


def paced_jobs(problem: Problem, paces_ms: Mapping[str, float]) -> dict[str, Job]:
    """The jobs at their paces. The added time is Down, at the end: a wrapping phase wraps where it did."""
    paced = {}
    for job in problem.jobs:
        phases = []
        for phase in job.phases:
            over = phase.start_ms + phase.duration_ms - job.iteration_ms
            phases.append(Phase(phase.start_ms, phase.duration_ms - max(0.0, over), phase.gbps))
            if over > 0:
                phases.append(Phase(0.0, over, phase.gbps))
        paced[job.id] = Job(job.id, paces_ms[job.id], phases)
    return paced


def shared_links(problem: Problem, candidate: Candidate) -> dict[str, dict[str, float]]:
    """Link id to job id to multiplier, for links that two or more jobs with demand cross."""
    phases = {job.id: [phase for phase in job.phases if round(phase.duration_ms * 1e6) > 0] for job in problem.jobs}
    carried: dict[str, dict[str, float]] = {}
    for job, route in candidate.routes.items():
        for link, multiplier in route.items():
            if any(round(phase.gbps * multiplier * 1e6) > 0 for phase in phases[job]):
                carried.setdefault(link, {})[job] = multiplier
    return {link: members for link, members in carried.items() if len(members) >= 2}


def narrow_scores(
    problem: Problem, candidate: Candidate, paces_ms: Mapping[str, float] | None = None
) -> dict[str, tuple[str, float]]:
    """Link id to job id and score, for links whose only job with demand is above the capacity; by the reference."""
    if paces_ms is not None:
        problem = Problem(list(paced_jobs(problem, paces_ms).values()), problem.links, problem.candidates)
    loads, scores = _reference.link_loads(problem, candidate), _reference.link_scores(problem, candidate, {})
    single = {link: next(iter(load)) for link, load in loads.items() if len(load) == 1}
    return {link: (job, scores[link]) for link, job in single.items() if scores[link] < 1}


def aggregated(
    aggregate: str, scores: Mapping[str, float], narrow: Mapping[str, tuple[str, float]], on_link: Any, placed: Any
) -> float:
    """The score of a candidate from those of its shared links and its narrow ones, by the reference."""
    on_it = {**on_link, **{link: [job] for link, (job, _) in narrow.items()}}
    beside = [(link, score) for link, (_, score) in narrow.items()]
    sets = itertools.chain(*(itertools.combinations(beside, size) for size in range(len(beside) + 1)))
    return min(_reference.aggregated(aggregate, {**scores, **dict(some)}, on_it, len(placed)) for some in sets)


def rescored(problem: Problem, ranking: Mapping[str, Any], candidate: Mapping[str, Any]) -> dict[str, float]:
    """Score of each shared link at the shifts and paces that stand in the JSON of a ranking, by the reference."""
    paced = paced_jobs(problem, ranking["paces_ms"])
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    asked = next(one for one in problem.candidates if one.id == candidate["id"])
    return {
        link: _reference.score([paced[job] for job in members], capacity[link], candidate["shifts_ms"], 0.5, members)
        for link, members in shared_links(problem, asked).items()
    }


def scores_on_grid(problem: Problem, candidate: Candidate) -> dict[str, npt.NDArray[np.float64]]:
    """Score of each shared link at every combination of whole-ms shifts, all but one job's at 0; by the reference."""
    on_link = shared_links(problem, candidate)
    jobs = {job.id: job for job in problem.jobs}
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    sharing = sorted({job for members in on_link.values() for job in members})
    grids = [range(1), *(range(round(jobs[job].iteration_ms)) for job in sharing[1:])]
    shifts = np.array(list(itertools.product(*grids)), dtype=np.int64) * 1_000_000
    scores = {}
    for link, members in on_link.items():
        kbps = round(capacity[link] * 1e6)
        waves = _reference.waves_from_jobs([jobs[job] for job in members], members)
        columns = [sharing.index(job) for job in members]
        excess = _reference.mean_excess_many(waves, kbps, shifts[:, columns])
        scores[link] = 1.0 - np.array([float(value) for value in excess]) / kbps
    return scores


def best_mean(problem: Problem, candidate: Candidate) -> float:
    """The best mean score over the shared links, and narrow ones that lower it, that whole-ms shifts reach."""
    scores = list(scores_on_grid(problem, candidate).values())
    narrow = sorted(score for _, score in narrow_scores(problem, candidate).values())
    means = [
        (sum(scores) + np.full(1, sum(narrow[:count]))) / (len(scores) + count)
        for count in range(len(narrow) + 1)
        if len(scores) + count
    ]
    return float(np.min(means, axis=0).max()) if means else 1.0


def best_per_job(problem: Problem, candidate: Candidate) -> float:
    """The best mean over placed jobs of the job's worst link that whole-ms shifts reach."""
    scores: dict[str, Any] = dict(scores_on_grid(problem, candidate))
    on_link: dict[str, Any] = dict(shared_links(problem, candidate))
    for link, (job, score) in narrow_scores(problem, candidate).items():
        scores[link], on_link[link] = np.full(1, score), [job]
    if not scores:
        return 1.0
    worst = [
        functools.reduce(np.minimum, (scores[link] for link in scores if job in on_link[link]), np.ones(1))
        for job in candidate.routes
    ]
    return float((sum(worst) / len(worst)).max())
