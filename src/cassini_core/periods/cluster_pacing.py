"""Iteration times for a whole problem, chosen once, before any candidate is answered (F6)."""

from __future__ import annotations

import copy
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Int64Array
from ..checks import number_between
from ..deadline import Deadline, DeadlinePassed
from ..kernel.prepared_link import PreparedLink
from ..links.folding import repeats
from ..links.route_deltas import RouteTable
from ..links.solution_cache import LinkStore, PaceScore
from ..model import Job, Problem, checked_jobs
from ..node_budget import CAREFUL_PACE_NODES, PACE_LINK_NODES
from ..units import TICKS_PER_MS, kbps_from_gbps
from .harmonize_jobs import lengthen, loudest_gbps, ticks_of
from .pace_choices import Meeting, Times, choose
from .pace_work import PACE_EVENTS, PaceWork, WorkSpent, search_work

__all__ = ["pace_problem", "paced_problem"]

CarefulLinkScore = Callable[[Sequence[Job], float, Mapping[str, float] | None, int], float]
"""A :data:`LinkScore` that takes a limit of search nodes as well."""

LinkScore = Callable[[Sequence[Job], float, Mapping[str, float] | None], float]
"""Jobs on a link ordered by id, its capacity in Gbit/s, multipliers by job id (None: all 1): at most 1."""

MAX_LINKS = 250
"""Most link problems a component is judged by. Beyond, an even sample: looking at one assignment can take two scores of
each, and the mean of 250 tells paces apart: those of the rounds of ``bench.ranking`` are the same by 500."""

MAX_TURNS = 1024
"""Most turns of the jobs' circles R_j on the folded circle P' (F1) of a link that an assignment may need. With more the
common base is fine, a score takes long, and phases are close to independent: such an assignment is given up."""

MAX_BASES = 32
"""Most families of iteration times in one component."""

_TURNS_OF_A_SCORE = 64
"""Turns that one score is charged at most: the node limit bounds what it costs."""

MAX_WORK = 10_000
"""Most turns laid out for one problem: about a second."""

DENSE_JOBS = 1024
"""Up to so many jobs a matrix says which of them meet."""

MOST_PAIRS = 2**23
"""With more jobs a list of pairs says it, if it has at most so many."""

_BASE_WORK = 200
"""Nodes that making the assignments for a few jobs is charged."""


def paced_problem(
    problem: Problem,
    tolerance: float,
    resolution_ms: float,
    deadline: Deadline,
    routes: RouteTable | None = None,
    store: LinkStore | None = None,
) -> Problem | None:
    """The problem with every job at the iteration time at which it is to be paced.

    Parameters
    ----------
    problem : Problem
    tolerance : float
        Largest lengthening of an iteration time, relative.
    resolution_ms : float
        How precisely a shift can be held, ms: decides which jobs of a link are free (F1b).
    deadline : Deadline
    routes : RouteTable, optional
        Of the problem's candidates, if it was made already.
    store : LinkStore, optional
        Scores found before, and what to add them to.

    Returns
    -------
    Problem or None
        None if the deadline came first.

    Notes
    -----
    Iteration times are judged by what single links reach, each within ``PACE_LINK_NODES`` nodes: that is a link's bound
    for a few jobs, and no mere hope for more. The paces thus depend neither on how loops are treated nor on what the
    ranking may spend. Cost: see :func:`pace_problem`.
    """
    if tolerance == 0:
        return problem

    work = PaceWork()

    def link_score(
        jobs: Sequence[Job],
        capacity_gbps: float,
        multipliers: Mapping[str, float] | None,
        node_limit: int = PACE_LINK_NODES,
    ) -> float:
        deadline.check()
        link = PreparedLink.from_jobs(jobs, capacity_gbps, multipliers)
        question = b"" if store is None else store.pace_question(link, resolution_ms)
        if store is not None and (known := store.scores.find((question,), node_limit)[0]) is not None:
            work.count_search(known.work)
            return known.score
        answer = link.solve(
            resolution_ms=resolution_ms, node_limit=node_limit, with_slack=False, max_events=PACE_EVENTS
        )
        took = search_work(link, answer)
        work.count_search(took)
        if store is not None:
            store.scores.keep((question,), node_limit, (PaceScore(answer.score_lower, answer.nodes, took),))
        return answer.score_lower

    try:
        return pace_problem(problem, tolerance, link_score, link_score, routes=routes, go_on=deadline.check, work=work)
    except DeadlinePassed:
        return None


def pace_problem(
    problem: Problem,
    tolerance: float,
    link_score: LinkScore,
    careful_score: CarefulLinkScore | None = None,
    *,
    routes: RouteTable | None = None,
    go_on: Callable[[], None] = lambda: None,
    work: PaceWork | None = None,
) -> Problem:
    """The problem with the iteration times at which its jobs are to be paced.

    Jobs that share a link in some candidate, directly or through others, form a component. Each is harmonised (F6) with
    the mean of ``link_score`` over its distinct links as the score, never by joint solves. One base serves one family
    of iteration times. So F6 is applied again to the jobs that the first base did not reach, the others held, until
    nothing changes: two noisy copies of each of three models get three paces.

    Parameters
    ----------
    problem : Problem
    tolerance : float
        As for :func:`harmonize`.
    link_score : callable
    careful_score : callable, optional
        For the last comparison with changing nothing; none is made without it.
    routes : RouteTable, optional
        Of the problem's candidates, if it was made already.
    go_on : callable, optional
        Called now and then; the search ends with what it raises.
    work : PaceWork, optional
        Counts what the scores, if they count, and this function cost.

    Notes
    -----
    Work is limited by ``MAX_LINKS``, ``MAX_TURNS`` and ``MAX_WORK``, for the whole problem. Deterministic: all limits
    are counts.
    """
    if tolerance == 0:
        return problem
    go_on()
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    routes = RouteTable(problem.candidates) if routes is None else routes
    gbps = [capacity[link] for link in routes.links]
    loads = {(gbps[load[0]], load[1:]) for load in routes.loads if len(load) > 2}
    go_on()
    paces = _paces(problem.jobs, routes.members, loads, tolerance, link_score, careful_score, go_on, work or PaceWork())
    jobs = tuple(lengthen(job, paces[job.id]) for job in problem.jobs)
    if all(map(operator.is_, jobs, problem.jobs)):
        return problem
    # The same ids as before: checking a million routes again would take seconds.
    paced = copy.copy(problem)
    object.__setattr__(paced, "jobs", jobs)
    return paced


_Load = tuple[float, tuple[int, ...]]
"""Capacity, Gbit/s, and the numbers of the jobs with their multipliers on a link, ascending."""


def _paces(
    jobs: Sequence[Job],
    members: Sequence[tuple[str, float]],
    loads: Iterable[_Load],
    tolerance: float,
    link_score: LinkScore,
    careful_score: CarefulLinkScore | None,
    go_on: Callable[[], None],
    work: PaceWork,
) -> dict[str, int]:
    """Every job's pace, ticks; its own iteration time where unchanged. See :func:`pace_problem`."""
    jobs, tolerance = checked_jobs(jobs), number_between(tolerance, 0, math.inf, "", "tolerance")
    paces = dict(zip((job.id for job in jobs), ticks_of(jobs), strict=True))
    if tolerance == 0 or len(set(paces.values())) < 2:
        return paces
    by_id = {job.id: job for job in jobs}
    components = _components(by_id, members, loads, go_on)
    n_links = sum(map(len, components))
    for component in components:
        go_on()
        turns = max(1_000, MAX_WORK * len(component) // n_links)
        judge = _LinkMean(by_id, members, component, link_score, turns, work)
        careful = judge.careful(careful_score) if careful_score else None
        times = Times.of(ticks_of(judge.jobs), tolerance, judge.meet)
        try:
            for _ in range(min(len(judge.jobs), MAX_BASES)):
                judge.renew()
                chosen, _value = choose(times, judge.value, judge.ceiling, careful)
                if chosen.q == 0:
                    break
                times = replace(times, current=chosen.paces, active=times.active & ~chosen.on_base)
        except WorkSpent:
            break
        finally:
            paces.update(zip((job.id for job in judge.jobs), times.current.tolist(), strict=True))
    return paces


# What an assignment is worth to many links.


class _LinkMean:
    """Mean over links of the gain in a link's score; a link is scored again only where a pace on it changed."""

    def __init__(
        self,
        by_id: Mapping[str, Job],
        members: Sequence[tuple[str, float]],
        loads: Sequence[_Load],
        score: LinkScore,
        turns: int,
        work: PaceWork,
    ) -> None:
        on_links = {member for _, on_it in loads for member in on_it}
        self.jobs = [by_id[job_id] for job_id in sorted({members[member][0] for member in on_links})]
        index = {job.id: k for k, job in enumerate(self.jobs)}
        step = max(1.0, len(loads) / MAX_LINKS)
        some = [loads[int(k * step)] for k in range(min(len(loads), MAX_LINKS))]
        self._links = [(gbps, tuple(members[member] for member in on_it)) for gbps, on_it in some]
        self._members = [[index[job_id] for job_id, _ in on_it] for _, on_it in self._links]
        self._job_at = np.array([job for on_it in self._members for job in on_it], dtype=np.int64)
        self._link_at = np.repeat(np.arange(len(some)), [len(on_it) for on_it in self._members])
        self.meet = _meeting(self._members, len(self.jobs))
        self._ticks = ticks_of(self.jobs)
        self._natural = np.array(self._ticks, dtype=np.int64)
        self._score = score
        self._is_careful = False
        self._most_turns = turns
        self._left = turns
        self._work = work
        self._lengthened: dict[tuple[int, int], Job] = {}
        self._turns: dict[tuple[int, ...], int] = {}
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def value(self, paces: Int64Array) -> float:
        ticks = paces.tolist()
        gains = [self._ask(link, ticks) - self._ask(link, self._ticks) for link in self._touched(paces)]
        return math.fsum(gains) / len(self._links)

    def renew(self) -> None:
        """A fresh share of the work, so that the first family of iteration times does not starve the others."""
        self._left = max(1_000, self._most_turns // 6)
        self._work.spend(_BASE_WORK + len(self.jobs) ** 2 // 256 + len(self.jobs) * len(self._links) // 64)

    def careful(self, score: CarefulLinkScore) -> Callable[[Int64Array], float]:
        """:meth:`value` by a slower score; all links that a pace can touch share its nodes."""
        limit = max(PACE_LINK_NODES, min(CAREFUL_PACE_NODES, 20 * CAREFUL_PACE_NODES // max(1, len(self._links))))

        def value(paces: Int64Array) -> float:
            known, left, hasty = self._known, self._left, self._score
            self._is_careful = True
            self._known, self._score = {}, lambda jobs, gbps, multipliers: score(jobs, gbps, multipliers, limit)
            try:
                return self.value(paces)
            finally:
                self._known, self._left, self._score = known, left, hasty
                self._is_careful = False

        return value

    def ceiling(self, paces: Int64Array) -> float:
        if self._left <= 0:
            return -math.inf
        return math.fsum(1.0 - self._ask(link, self._ticks) for link in self._touched(paces)) / len(self._links)

    def _touched(self, paces: Int64Array) -> list[int]:
        self._work.spend(1 + (len(paces) + len(self._job_at)) // 512)
        touched = np.zeros(len(self._links), dtype=np.bool_)
        touched[self._link_at[(paces != self._natural)[self._job_at]]] = True
        return np.flatnonzero(touched).tolist()

    def _at(self, job: int, pace: int) -> Job:
        known = self._lengthened.get((job, pace))
        if known is None:
            self._work.spend(len(self.jobs[job].phases) // 2)
            known = self._lengthened[job, pace] = lengthen(self.jobs[job], pace)
        return known

    def _ask(self, link: int, ticks: Sequence[int]) -> float:
        members = self._members[link]
        if len(members) > 32:
            self._work.spend(len(members) // 32)
        key = (link, tuple([ticks[member] for member in members]))
        if key not in self._known:
            self._work.spend(1)
            if key[1] not in self._turns:  # most links have the same few iteration times
                self._work.spend(len(members) ** 2 // 8)
                self._turns[key[1]] = _turns(key[1])
            turns, natural = self._turns[key[1]], all(ticks[member] == self._ticks[member] for member in members)
            if turns > MAX_TURNS and not natural and not self._is_careful:
                return -math.inf  # costs more to judge than it can bring; what is there already is always judged
            capacity, on_it = self._links[link]
            jobs = [self._at(job, pace) for job, pace in zip(members, key[1], strict=True)]
            multipliers = dict(on_it) if any(multiplier != 1.0 for _, multiplier in on_it) else None
            self._known[key] = float(self._score(jobs, capacity, multipliers))
            self._left -= min(turns, _TURNS_OF_A_SCORE) + len(members) ** 2 // 16
        return self._known[key]


def _meeting(members: Sequence[Sequence[int]], n: int) -> Meeting | None:
    """Which of ``n`` jobs are on a link together; None, for all, where there are too many pairs to be told apart."""
    if n <= DENSE_JOBS:
        meet = np.zeros((n, n), dtype=np.bool_)
        for on_it in members:
            meet[np.ix_(on_it, on_it)] = True
        np.fill_diagonal(meet, False)
        return meet
    if sum(len(on_it) ** 2 for on_it in members) > MOST_PAIRS:
        return None
    pairs = [np.array(on_it, dtype=np.int64) for on_it in members]
    codes = np.concatenate(
        [(on_it[:, None] * n + on_it)[np.triu_indices(len(on_it), 1)] for on_it in map(np.sort, pairs)]
    )
    one, other = np.divmod(np.unique(codes), n)
    return one, other


def _turns(periods: Sequence[int]) -> int:
    """``sum_j P' / R_j`` over the jobs that are not free at the default resolution; at least the number of jobs."""
    # One pass of F1b is enough for an estimate.
    found = repeats(Counter(periods))
    held = Counter(period for period in periods if found[period] > TICKS_PER_MS)
    folded = repeats(held)
    whole = math.lcm(*folded.values())
    return max(len(periods), sum(count * whole // folded[period] for period, count in held.items()))


def _components(
    by_id: Mapping[str, Job],
    members: Sequence[tuple[str, float]],
    loads: Iterable[_Load],
    go_on: Callable[[], None],
) -> list[list[_Load]]:
    """Distinct link problems with several loud jobs, grouped by what hangs together, in the order of ids."""
    loudest = {job_id: loudest_gbps(job) for job_id, job in by_id.items()}
    loud = [kbps_from_gbps(loudest[job_id] * multiplier) > 0 for job_id, multiplier in members]
    if all(loud):
        distinct = {load for load in loads if len(load[1]) > 1}
    else:
        heard = ((gbps, tuple(member for member in on_it if loud[member])) for gbps, on_it in loads)
        distinct = {load for load in heard if len(load[1]) > 1}
    number = {job_id: k for k, job_id in enumerate(dict.fromkeys(job_id for job_id, _ in members))}
    job = [number[job_id] for job_id, _ in members]
    parent = list(range(len(number)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    for _, on_it in distinct:
        first = root(job[on_it[0]])
        for member in on_it[1:]:
            other = root(job[member])
            if other != first:
                parent[other] = first
    go_on()
    groups: dict[int, list[_Load]] = {}
    for load in sorted(distinct, key=lambda load: (load[1], load[0])):
        groups.setdefault(root(job[load[1][0]]), []).append(load)
    return list(groups.values())
