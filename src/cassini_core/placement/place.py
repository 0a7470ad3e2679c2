"""Candidate placements of the jobs that wait, beside those that run, as a problem to rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..checks import whole_number
from ..errors import InputError, refusal
from ..model import Candidate, Link, Problem, checked_jobs
from ..topology.model import Topology
from ..topology.routing import Ecmp, Router
from .cluster import Cluster, HostWorkers, Placement
from .job_request import JobRequest
from .routes import Routes
from .strategies import ORDER, placements, running_placement

__all__ = ["DEFAULT_CANDIDATES", "MAX_CANDIDATES", "Placed", "Placements", "place"]

DEFAULT_CANDIDATES = 64
MAX_CANDIDATES = 1_000

_FRUITLESS = 50
"""Placements in a row that pose the problem of an earlier one, until no more are looked for."""

MAX_SEARCHES = 2**25
"""Pairs of a job that waits and a host; some seconds."""

MAX_WORK = 500_000_000
"""Of making placements and routes, in steps of about 10 ns; what was made until then are the candidates."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What a candidate does beside its routes.

    Attributes
    ----------
    id : str
        Of the candidate.
    strategy : str
        How it was made.
    left_out : tuple of str
        Jobs for which there was no room.
    moved : tuple of str
        Running jobs that would move.
    """

    id: str
    strategy: str
    left_out: tuple[str, ...]
    moved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placements:
    """Candidates as a problem, and what they are.

    Attributes
    ----------
    problem : Problem
        With the links that some candidate's routes use.
    placed : tuple of Placed
        One for each candidate.
    gpus, running_gpus, waiting_gpus : int
        Of all hosts, held by jobs that run, and asked for by those that wait.
    cut_short : bool
        Whether there are fewer candidates than asked for because of :data:`MAX_WORK`.
    """

    problem: Problem
    placed: tuple[Placed, ...]
    gpus: int
    running_gpus: int
    waiting_gpus: int
    cut_short: bool


def place(
    topology: Topology,
    requests: Sequence[JobRequest],
    *,
    gpus_per_host: int | None = None,
    candidates: int = DEFAULT_CANDIDATES,
    seed: int = 0,
    move_running: bool = False,
    ecmp: Ecmp = "spread",
) -> Placements:
    """Make candidate placements.

    First the jobs that wait are packed beside those that run, in the order given; then they are spread; some candidates
    place them at random; all others are met on walks of 15 swaps from the packed one, which go on from where
    the peaks of jobs exceed the links no more than before. A job without room is left out. Of placements that pose the
    same problem one is kept, that which moves fewest running jobs.

    Parameters
    ----------
    topology : Topology
        With capacities (``overlay``).
    requests : sequence of JobRequest
        At least one; ids all different.
    gpus_per_host : int, optional
        For hosts of which the topology does not know it.
    candidates : int
        At most so many, 1 to :data:`MAX_CANDIDATES`; small clusters have fewer that differ.
    seed : int
        Of what is drawn and of ``hash``, 0 to 2**63 - 1.
    move_running : bool
        Whether swaps may move jobs that run.
    ecmp : {"spread", "hash"}
        As for :class:`cassini_core.topology.routing.Router`.

    Raises
    ------
    InputError
        An option is wrong, the GPUs of a host are not known, or a job runs where it cannot.

    Notes
    -----
    Every route is computed once. 200 jobs on 800 hosts: some seconds for 64 candidates.

    Examples
    --------
    >>> import cassini_core as cc
    >>> from cassini_core.placement.job_request import JobRequest
    >>> from cassini_core.placement.place import place
    >>> from cassini_core.topology.generated import paper_testbed
    >>> burst = [cc.Phase(start_ms=141, duration_ms=114, gbps=45)]
    >>> jobs = [JobRequest(cc.Job(name, iteration_ms=255, phases=burst), workers=6) for name in "abc"]
    >>> made = place(paper_testbed(), jobs, candidates=4)
    >>> [candidate.id for candidate in made.problem.candidates]
    ['packed', 'spread', 'random-1', 'swap-1']
    """
    if not checked_jobs([one.job for one in requests]):
        raise refusal("", "jobs", "at least one", "none")
    most = whole_number(candidates, "candidates", most=MAX_CANDIDATES)
    router = Router(topology, ecmp=ecmp, seed=seed)
    cluster = Cluster(topology, gpus_per_host)
    waiting = [job for job, one in enumerate(requests) if one.hosts is None]
    if len(waiting) * len(cluster.hosts) > MAX_SEARCHES:
        expected = f"at most {MAX_SEARCHES} pairs of a job that waits and a host"
        raise refusal("", "jobs", expected, f"{len(waiting)} jobs and {len(cluster.hosts)} hosts")
    running = running_placement(cluster, requests)
    links = topology.links()
    routes = Routes(cluster, requests, router, links)
    made: dict[bytes, tuple[str, Placement]] = {}
    fruitless = work = 0
    for strategy, placement in placements(cluster, requests, routes, running, waiting, seed, move_running):
        problem = routes.problem_of(placement.where)
        fruitless = fruitless + 1 if problem in made else 0
        # Of those that pose the same problem the first, or a later one that moves fewer running jobs.
        if problem not in made or len(_moved(running, placement)) < len(_moved(running, made[problem][1])):
            made[problem] = strategy, placement
        work += len(cluster.hosts) * (10 * len(waiting) if strategy != "swap" else 10)
        if len(made) == most or fruitless == _FRUITLESS or work + routes.work > MAX_WORK:
            break
    kept = sorted(made.values(), key=lambda one: (ORDER.index(one[0]), len(_moved(running, one[1]))))
    placed = _described(requests, running, kept)
    return Placements(
        _problem(links, cluster, requests, routes, [(one.id, at) for one, (_, at) in zip(placed, kept, strict=True)]),
        placed,
        int(cluster.gpus.sum()),
        int((cluster.gpus - running.free).sum()),
        sum(one.workers * one.gpus_per_worker for one in requests if one.hosts is None),
        len(made) < most and work + routes.work > MAX_WORK,
    )


def _moved(running: Placement, placement: Placement) -> list[int]:
    """Numbers of the running jobs that a placement moves."""
    return [job for job, where in running.where.items() if placement.where[job] != where]


def _described(
    requests: Sequence[JobRequest], running: Placement, made: Sequence[tuple[str, Placement]]
) -> tuple[Placed, ...]:
    """What each candidate is; its id says how many running jobs it moves."""
    found: list[Placed] = []
    numbers: Counter[str] = Counter()
    for strategy, placement in made:
        moved = tuple(requests[job].job.id for job in _moved(running, placement))
        left_out = tuple(one.job.id for job, one in enumerate(requests) if job not in placement.where)
        numbers[strategy] += 1
        name = f"{strategy}-{numbers[strategy]}" if strategy in ("random", "swap") else strategy
        found.append(Placed(f"{name}-moves-{len(moved)}" if moved else name, strategy, left_out, moved))
    return tuple(found)


def _problem(
    links: Sequence[Link],
    cluster: Cluster,
    requests: Sequence[JobRequest],
    routes: Routes,
    made: Sequence[tuple[str, Placement]],
) -> Problem:
    """The candidates as differences from the first."""

    def hosts(where: HostWorkers) -> dict[str, int]:
        return {cluster.hosts[host]: count for host, count in where}

    ids = [one.job.id for one in requests]
    (first, base), *others = made
    where = {job: base.where[job] for job in sorted(base.where)}
    routed = {ids[job]: routes.of(job, one) for job, one in where.items()}
    candidates = [Candidate(first, routed, {ids[job]: hosts(one) for job, one in where.items()})]
    for candidate, placement in others:
        moves: dict[str, Mapping[str, float] | None] = {}
        moved_to: dict[str, Mapping[str, int]] = {}
        for job, name in enumerate(ids):
            old, new = base.where.get(job), placement.where.get(job)
            if old != new:
                moves[name] = None if new is None else routes.of(job, new)
                if new is not None:
                    moved_to[name] = hosts(new)
        candidates.append(Candidate.moved(candidate, candidates[0], moves, moved_to))
    used = {link for one in candidates for route in one.routes.values() for link in route}
    try:
        return Problem([one.job for one in requests], [link for link in links if link.id in used], candidates)
    except InputError as error:
        raise InputError(f"jobs: {error}", place=error.place, reason=error.reason) from None
