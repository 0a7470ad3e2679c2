"""Hypothesis strategies shared by all tests: jobs, links with several jobs, and whole problems.

Times are drawn as small whole numbers of a unit, ``unit_ms``, so that the LCM circle stays small enough for the
reference and alignments happen often. The default unit is 1 ms; with ``unit_ms=TICK_MS`` a unit is one tick. A job
whose shift repeats every ms is free at the default resolution of 0.5 ms (F1b), so both kinds occur.

A strategy of the same arguments is made once: Hypothesis takes as long to look at a new one as to draw from it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from hypothesis import strategies as st

from cassini_core.model import Candidate, Job, Link, Phase, Problem

TICK_MS = 1e-6

CAPACITY_GBPS = 50.0

Option = TypeVar("Option")

MULTIPLIERS = (1.0, 1.0, 1.0, 0.5, 2.0)

# Periods in units. Every family's LCM is at most 210.
EQUAL = (6, 7, 10, 12, 20)
NESTED = ((4, 8, 16), (5, 10, 20), (6, 12, 24), (10, 20, 40))
MIXED = ((4, 6, 12), (6, 9, 18), (8, 12, 24), (10, 15, 30), (12, 18, 24), (12, 20, 30), (6, 10, 15))
COPRIME = ((5, 7), (8, 9), (7, 10), (4, 5, 9), (5, 6, 7))


class LinkCase(NamedTuple):
    """One link problem."""

    jobs: list[Job]
    capacity_gbps: float


@functools.cache
def one_of(options: tuple[Option, ...]) -> st.SearchStrategy[Option]:
    """``st.sampled_from``."""
    return st.sampled_from(options)


@functools.cache
def some_of(
    options: tuple[Option, ...], min_size: int = 0, max_size: int | None = None, *, unique: bool = False
) -> st.SearchStrategy[list[Option]]:
    """A list of some of these."""
    return st.lists(one_of(options), min_size=min_size, max_size=max_size, unique=unique)


@functools.cache
def permuted(options: tuple[Option, ...]) -> st.SearchStrategy[list[Option]]:
    """``st.permutations``."""
    return st.permutations(options)


@functools.cache
def periods(n: int) -> st.SearchStrategy[list[int]]:
    """Periods of ``n`` jobs, in units: all equal, nested, sharing factors, or nearly coprime."""

    @functools.cache
    def of(family: Sequence[int]) -> st.SearchStrategy[list[int]]:
        return st.lists(st.sampled_from(family), min_size=n, max_size=n)

    return st.one_of(
        st.sampled_from(EQUAL).map(lambda period: [period] * n),
        st.sampled_from(NESTED).flatmap(of),
        st.sampled_from(MIXED).flatmap(of),
        st.sampled_from(COPRIME).flatmap(of),
    )


@functools.cache
def rates() -> st.SearchStrategy[float]:
    """Demand of a phase, Gbit/s, whole kbit/s: mostly round, sometimes above the capacity, sometimes 0."""
    return st.one_of(
        st.sampled_from([10.0, 20.0, 25.0, 30.0, 40.0, 50.0]),
        st.sampled_from([0.0, 60.0, 100.0, 250.0]),
        st.integers(1, 60_000_000).map(lambda kbps: kbps / 1e6),
    )


@functools.cache
def phases(period: int, unit_ms: float = 1.0) -> st.SearchStrategy[Phase]:
    """A phase anywhere in ``period`` units; it may wrap, cover nothing, or cover everything."""
    lengths = st.one_of(st.integers(1, max(1, period // 2)), st.integers(0, period))
    return st.tuples(st.integers(0, period - 1), lengths, rates()).map(
        lambda drawn: Phase(drawn[0] * unit_ms, drawn[1] * unit_ms, drawn[2])
    )


@functools.cache
def phase_lists(period: int, max_phases: int, unit_ms: float) -> st.SearchStrategy[list[Phase]]:
    """Mostly some phases, which may overlap; sometimes none, sometimes one that is always on."""
    usual = st.lists(phases(period, unit_ms), min_size=1, max_size=max_phases)
    always_on = rates().map(lambda gbps: [Phase(0.0, period * unit_ms, gbps)])
    return st.one_of(usual, usual, usual, usual, always_on, st.just([]))


@functools.cache
def jobs(period: int, job_id: str = "a", *, max_phases: int = 3, unit_ms: float = 1.0) -> st.SearchStrategy[Job]:
    """A job of one of the ``phase_lists``."""
    return phase_lists(period, max_phases, unit_ms).map(lambda found: Job(job_id, period * unit_ms, tuple(found)))


@functools.cache
def capacities() -> st.SearchStrategy[float]:
    """Capacity of a link, Gbit/s."""
    return st.one_of(st.just(CAPACITY_GBPS), st.sampled_from([1.0, 10.0, 40.0, 80.0, 100.0]))


@functools.cache
@st.composite
def job_lists(
    draw: st.DrawFn, min_jobs: int = 2, max_jobs: int = 3, *, max_phases: int = 3, unit_ms: float = 1.0
) -> list[Job]:
    """Jobs with unique ids that are not in order."""
    n = draw(st.integers(min_jobs, max_jobs))
    ids = draw(permuted(tuple(f"j{k}" for k in range(n))))
    return [
        Job(job_id, period * unit_ms, tuple(draw(phase_lists(period, max_phases, unit_ms))))
        for period, job_id in zip(draw(periods(n)), ids, strict=True)
    ]


@functools.cache
@st.composite
def link_cases(
    draw: st.DrawFn, min_jobs: int = 2, max_jobs: int = 3, *, max_phases: int = 3, unit_ms: float = 1.0
) -> LinkCase:
    """Jobs on one link. The LCM of their periods is at most 210 units."""
    found = draw(job_lists(min_jobs, max_jobs, max_phases=max_phases, unit_ms=unit_ms))
    return LinkCase(found, draw(capacities()))


def shifts_ms(jobs_on_link: Sequence[Job], unit_ms: float = 1.0) -> st.SearchStrategy[dict[str, float]]:
    """A shift of whole units for every job, ms, in ``[0, iteration_ms)``."""
    return st.fixed_dictionaries(
        {
            job.id: st.integers(0, round(job.iteration_ms / unit_ms) - 1).map(lambda at: at * unit_ms)
            for job in jobs_on_link
        }
    )


@functools.cache
@st.composite
def _forest(draw: st.DrawFn, ids: tuple[str, ...], prefix: str) -> dict[str, list[str]]:
    """Routes whose job-link graph has no loop and, where there are many jobs, several components."""
    routes: dict[str, list[str]] = {job_id: [] for job_id in ids}
    waiting = draw(permuted(ids))[:]
    grown: list[str] = []
    link = 0
    while waiting:
        # A new component, or a link that hangs on a job of the one that grows.
        fresh = not grown or draw(st.integers(0, 3)) == 0
        if fresh:
            grown = [waiting.pop()]
        anchor = draw(one_of(tuple(grown)))
        joining = [waiting.pop() for _ in range(min(len(waiting), draw(st.integers(1, 2))))]
        for job_id in (anchor, *joining):
            routes[job_id].append(f"{prefix}{link}")
        grown += joining
        link += 1
    for job_id in ids:
        # Links that nobody shares change nothing; a job may also be placed without network.
        if draw(st.integers(0, 4)) == 0:
            routes[job_id].append(f"{prefix}own-{job_id}")
    return routes


@st.composite
def problems(
    draw: st.DrawFn,
    *,
    loops: bool,
    max_jobs: int = 6,
    max_phases: int = 2,
    max_candidates: int = 1,
    multipliers: bool = True,
    unit_ms: float = 1.0,
) -> Problem:
    """Jobs, links and 1 to ``max_candidates`` candidates; see ``tree_problems`` and ``loop_problems``."""
    n = draw(st.integers(2, max_jobs))
    ids = draw(permuted(tuple(f"j{k}" for k in range(n))))
    # Several families of periods in one problem: a component's periods may have nothing in common.
    drawn: list[int] = []
    while len(drawn) < n:
        drawn += draw(periods(min(n - len(drawn), draw(st.integers(1, 3)))))
    found = [
        Job(job_id, period * unit_ms, tuple(draw(phase_lists(period, max_phases, unit_ms))))
        for period, job_id in zip(drawn, ids, strict=True)
    ]
    capacity: dict[str, float] = {}
    candidates = []
    for index in range(draw(st.integers(1, max_candidates))):
        routes = draw(_forest(tuple(sorted(ids)), f"c{index}-"))
        if loops:
            _close_loops(draw, routes, f"c{index}-x")
        for route in routes.values():
            for link in route:
                capacity.setdefault(link, draw(capacities()))
        weighted = {
            job_id: {link: draw(one_of(MULTIPLIERS)) if multipliers else 1.0 for link in route}
            for job_id, route in routes.items()
        }
        candidates.append(Candidate(f"c{index}", weighted))
    links = tuple(Link(link, gbps) for link, gbps in sorted(capacity.items()))
    return Problem(tuple(found), links, tuple(candidates))


def _close_loops(draw: st.DrawFn, routes: dict[str, list[str]], prefix: str) -> None:
    """Add links between jobs that hang together already: the same jobs once more, or the ends of a path."""
    users: dict[str, list[str]] = {}
    for job_id, route in routes.items():
        for link in route:
            users.setdefault(link, []).append(job_id)
    shared = sorted(link for link, on_it in users.items() if len(on_it) > 1)
    for number in range(draw(st.integers(1, 3))):
        # The first repeats a link for certain: two links of different components would not make a loop.
        chosen = draw(some_of(tuple(shared), 1, 2 if number else 1, unique=True))
        together = sorted({job_id for link in chosen for job_id in users[link]})
        for job_id in draw(permuted(tuple(together)))[: draw(st.integers(2, 3))]:
            routes[job_id].append(f"{prefix}{number}")


tree_problems = functools.partial(problems, loops=False)
"""Problems whose candidates have no loop: several components, mixed periods, 2 or 3 jobs on a shared link.

A job may be silent, a link may have one job, and each candidate is a forest of its own over all the jobs.
"""

loop_problems = functools.partial(problems, loops=True)
"""Problems with loops: as :func:`tree_problems`, then some jobs meet on further links."""
