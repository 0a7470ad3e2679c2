"""Iteration times for a whole problem, chosen once, before any candidate is answered (F6)."""

from __future__ import annotations

import copy
import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array, cut, different, int64, offsets
from ..checks import number_between
from ..deadline import Deadline, DeadlinePassed
from ..links.changed_loads import Loads
from ..links.folding import repeats
from ..links.route_deltas import RouteTable
from ..links.solution_cache import LinkStore
from ..model import Job, Problem, checked_jobs
from ..node_budget import CAREFUL_PACE_NODES, PACE_LINK_NODES
from ..units import TICKS_PER_MS, kbps_from_gbps
from .harmonize_jobs import lengthen, loudest_gbps, ticks_of
from .pace_choices import Meeting, Times, choose
from .pace_scores import PaceScores, Question
from .pace_work import PaceWork, WorkSpent

__all__ = ["pace_problem", "paced_problem"]

CarefulLinkScore = Callable[[Sequence[Job], float, Mapping[str, float] | None, int], float]
"""A :data:`LinkScore` that takes a limit of search nodes as well."""

LinkScore = Callable[[Sequence[Job], float, Mapping[str, float] | None], float]
"""Jobs on a link ordered by id, its capacity in Gbit/s, multipliers by job id (None: all 1): at most 1."""

LookAhead = Callable[[Sequence[Question]], None]


class _Scores(NamedTuple):
    """The scores of links that paces are judged by."""

    hasty: LinkScore
    careful: CarefulLinkScore | None
    look_ahead: LookAhead | None


FIRST_AHEAD, LOOKED_AHEAD = 4, 32
"""So many scores are found ahead in one call, at first and, twice as many each time, at last: what is never asked for,
because no other assignment can win or the work that is allowed ends, is no more than what was asked for."""

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

_FREE_MEMBERS = 32
"""Jobs on a link for which it costs nothing to ask again."""

_BASE_WORK = 200
"""Nodes that making the assignments for a few jobs is charged."""


def paced_problem(
    problem: Problem,
    tolerance: float,
    resolution_ms: float,
    deadline: Deadline,
    routes: RouteTable | None = None,
    store: LinkStore | None = None,
    threads: int = 1,
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
    threads : int
        Threads that score links; the paces do not depend on it.

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
    with ThreadPoolExecutor(threads, thread_name_prefix="cassini-pace") as pool:
        scores = PaceScores(resolution_ms, deadline, work, store, pool if threads > 1 else None, threads)
        try:
            return pace_problem(
                problem,
                tolerance,
                scores.score,
                scores.score,
                routes=routes,
                go_on=deadline.check,
                work=work,
                look_ahead=scores.look_ahead,
            )
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
    look_ahead: LookAhead | None = None,
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
    look_ahead : callable, optional
        Told of links before ``link_score`` is asked for them.

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
    gbps = np.array([capacity[link] for link in routes.links], dtype=np.float64)[routes.loads.link]
    scores = _Scores(link_score, careful_score, look_ahead)
    paces = _paces(problem.jobs, routes.members, routes.loads, gbps, tolerance, scores, go_on, work or PaceWork())
    jobs = tuple(lengthen(job, paces[job.id]) for job in problem.jobs)
    if all(map(operator.is_, jobs, problem.jobs)):
        return problem
    # The same ids as before: checking a million routes again would take seconds.
    paced = copy.copy(problem)
    object.__setattr__(paced, "jobs", jobs)
    return paced


_Load = tuple[bytes, float]
"""The members on a link, at least two, ascending, and its capacity, Gbit/s. Numbers of members are kept as bytes that
sort as they do: they are compared and looked up faster."""

_AS_BYTES = np.dtype(">i8")


def _numbers(load: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(load, dtype=_AS_BYTES).tolist()
    return numbers


def _paces(
    jobs: Sequence[Job],
    members: Sequence[tuple[str, float]],
    loads: Loads,
    gbps: Float64Array,
    tolerance: float,
    scores: _Scores,
    go_on: Callable[[], None],
    work: PaceWork,
) -> dict[str, int]:
    """Every job's pace, ticks; its own iteration time where unchanged. See :func:`pace_problem`."""
    jobs, tolerance = checked_jobs(jobs), number_between(tolerance, 0, math.inf, "", "tolerance")
    paces = dict(zip((job.id for job in jobs), ticks_of(jobs), strict=True))
    if tolerance == 0 or len(set(paces.values())) < 2:
        return paces
    by_id = {job.id: job for job in jobs}
    components = _components(by_id, members, loads, gbps, go_on)
    n_links = sum(map(len, components))
    for component in components:
        go_on()
        turns = max(1_000, MAX_WORK * len(component) // n_links)
        judge = _LinkMean(by_id, members, component, scores, turns, work)
        careful = judge.careful(scores.careful) if scores.careful else None
        times = Times.of(ticks_of(judge.jobs), tolerance, judge.meet)
        try:
            for _ in range(min(len(judge.jobs), MAX_BASES)):
                judge.renew()
                chosen, _value = choose(times, judge.value, judge.ceiling, careful, judge.expect)
                if chosen.q == 0:
                    break
                times = replace(times, current=chosen.paces, active=times.active & ~chosen.on_base)
        except WorkSpent:
            break
        finally:
            paces.update(zip((job.id for job in judge.jobs), times.current.tolist(), strict=True))
    return paces


# What an assignment is worth to many links.


_Asked = tuple[int, tuple[int, ...]]
"""The number of a link, and the iteration times of its jobs."""


class _LinkMean:
    """Mean over links of the gain in a link's score; a link is scored again only where a pace on it changed."""

    def __init__(
        self,
        by_id: Mapping[str, Job],
        members: Sequence[tuple[str, float]],
        loads: Sequence[_Load],
        scores: _Scores,
        turns: int,
        work: PaceWork,
    ) -> None:
        on_links = set(_numbers(b"".join(on_it for on_it, _ in loads)))
        self.jobs = [by_id[job_id] for job_id in sorted({members[member][0] for member in on_links})]
        index = {job.id: k for k, job in enumerate(self.jobs)}
        step = max(1.0, len(loads) / MAX_LINKS)
        some = [loads[int(k * step)] for k in range(min(len(loads), MAX_LINKS))]
        self._links = [(gbps, tuple(members[member] for member in _numbers(on_it))) for on_it, gbps in some]
        self._members = [[index[job_id] for job_id, _ in on_it] for _, on_it in self._links]
        self._multipliers = [
            dict(on_it) if any(multiplier != 1.0 for _, multiplier in on_it) else None for _, on_it in self._links
        ]
        self._job_at = np.array([job for on_it in self._members for job in on_it], dtype=np.int64)
        self._link_at = np.repeat(np.arange(len(some)), [len(on_it) for on_it in self._members])
        self.meet = _meeting(self._members, len(self.jobs))
        self._ticks = ticks_of(self.jobs)
        self._natural = np.array(self._ticks, dtype=np.int64)
        self._unpaced = [self._at_link(link, self._ticks) for link in range(len(some))]
        self._score = scores.hasty
        self._look_ahead = scores.look_ahead
        self._is_careful = False
        self._most_turns = turns
        self._left = turns
        self._work = work
        self._lengthened: dict[tuple[int, int], Job] = {}
        self._counted: set[tuple[str, tuple[int, ...]]] = set()
        self._turns: dict[tuple[int, ...], int] = {}
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}
        self._unchanged: dict[int, float] = {}  # by link: at the jobs' own iteration times
        self._coming: list[Int64Array] = []  # from the next one on: what may be valued, in this order
        self._together = FIRST_AHEAD
        self._seen: set[_Asked] = set()  # in the last call ahead

    def expect(self, coming: Sequence[Int64Array]) -> None:
        """Be told what may be valued from now on, in this order, so that many links are scored in one call."""
        self._coming = list(reversed(coming))
        self._together = FIRST_AHEAD

    def value(self, paces: Int64Array) -> float:
        touched, ticks = self._touched(paces), paces.tolist()
        self._go_to(paces)
        if self._coming:
            self._coming.pop()
        gains = [
            self._ask(link, self._at_link(link, ticks)) - self._ask_unchanged(link)
            for link in self._seen_ahead(touched, (ticks,))
        ]
        return math.fsum(gains) / len(self._links)

    def renew(self) -> None:
        """A fresh share of the work, so that the first family of iteration times does not starve the others."""
        self._left = max(1_000, self._most_turns // 6)
        self._work.spend(_BASE_WORK + len(self.jobs) ** 2 // 256 + len(self.jobs) * len(self._links) // 64)

    def careful(self, score: CarefulLinkScore) -> Callable[[Int64Array], float]:
        """:meth:`value` by a slower score; all links that a pace can touch share its nodes."""
        limit = max(PACE_LINK_NODES, min(CAREFUL_PACE_NODES, 20 * CAREFUL_PACE_NODES // max(1, len(self._links))))

        def value(paces: Int64Array) -> float:
            known, unchanged, left, hasty = self._known, self._unchanged, self._left, self._score
            self._is_careful = True
            self._known, self._unchanged = {}, {}
            self._score = lambda jobs, gbps, multipliers: score(jobs, gbps, multipliers, limit)
            try:
                return self.value(paces)
            finally:
                self._known, self._unchanged, self._left, self._score = known, unchanged, left, hasty
                self._is_careful = False

        return value

    def ceiling(self, paces: Int64Array) -> float:
        if self._left <= 0:
            return -math.inf
        touched = self._touched(paces)
        self._go_to(paces)
        gains = [1.0 - self._ask_unchanged(link) for link in self._seen_ahead(touched, ())]
        return math.fsum(gains) / len(self._links)

    def _touched(self, paces: Int64Array) -> list[int]:
        """The links on which a pace changed; counts the work."""
        self._work.spend(1 + (len(paces) + len(self._job_at)) // 512)
        return self._changed(paces)

    def _changed(self, paces: Int64Array) -> list[int]:
        touched = np.zeros(len(self._links), dtype=np.bool_)
        touched[self._link_at[(paces != self._natural)[self._job_at]]] = True
        return np.flatnonzero(touched).tolist()

    # Links scored ahead. It counts no work, so nothing depends on it but time.

    def _go_to(self, paces: Int64Array) -> None:
        """Forget what comes no more."""
        while self._coming and self._coming[-1] is not paces:
            self._coming.pop()

    def _seen_ahead(self, links: Sequence[int], at: Sequence[Sequence[int]]) -> Iterator[int]:
        """The same links, some at a time scored ahead: as they are, and at each of some iteration times."""
        if self._look_ahead is None or self._is_careful:
            yield from links
            return
        for begin in range(0, len(links), LOOKED_AHEAD):
            some = links[begin : begin + LOOKED_AHEAD]
            asked = self._unknown(some, at)
            if not self._seen.issuperset(asked):
                if begin + LOOKED_AHEAD >= len(links):
                    asked = self._with_coming(asked)
                if len(asked) > 1:
                    self._look_ahead([self._question(*one) for one in asked])
                    self._seen = set(asked)
            yield from some

    def _unknown(self, links: Sequence[int], at: Sequence[Sequence[int]]) -> list[_Asked]:
        """What will be asked of some links as they are, and at each of some iteration times."""
        asked = [(link, self._unpaced[link]) for link in links if link not in self._unchanged]
        asked += [(link, self._at_link(link, ticks)) for ticks in at for link in links]
        return [one for one in dict.fromkeys(asked) if one not in self._known and self._is_judged(*one)]

    def _with_coming(self, asked: list[_Asked]) -> list[_Asked]:
        """Also what is asked for the next assignments, as far as they fit in and the work that is allowed goes."""
        left = self._left - sum(self._cost(*one) for one in asked)
        together, self._together = self._together, min(LOOKED_AHEAD, 2 * self._together)
        for paces in reversed(self._coming):
            touched = self._changed(paces)
            if left <= 0 or len(touched) > together:
                break
            new = [one for one in self._unknown(touched, (paces.tolist(),)) if one not in asked]
            if len(asked) + len(new) > together:
                break
            asked = asked + new
            left -= sum(self._cost(*one) for one in new)
        return asked

    def _at_link(self, link: int, ticks: Sequence[int]) -> tuple[int, ...]:
        return tuple([ticks[member] for member in self._members[link]])

    def _is_judged(self, link: int, paces: tuple[int, ...]) -> bool:
        """Whether it costs no more to judge than it can bring; what is there already is always judged."""
        return self._is_careful or self._turns_of(paces) <= MAX_TURNS or paces == self._unpaced[link]

    def _cost(self, link: int, paces: tuple[int, ...]) -> int:
        """What scoring a link takes of the turns that are left."""
        return min(self._turns_of(paces), _TURNS_OF_A_SCORE) + len(self._members[link]) ** 2 // 16

    def _turns_of(self, paces: tuple[int, ...]) -> int:
        found = self._turns.get(paces)
        if found is None:  # most links have the same few iteration times
            some = tuple(sorted(paces))
            found = self._turns[paces] = self._turns[some] = self._turns.get(some) or _turns(some)
        return found

    def _question(self, link: int, paces: tuple[int, ...]) -> Question:
        jobs = tuple([self._at(job, pace) for job, pace in zip(self._members[link], paces, strict=True)])
        return jobs, self._links[link][0], self._multipliers[link]

    def _at(self, job: int, pace: int) -> Job:
        if (job, pace) not in self._lengthened:
            self._lengthened[job, pace] = lengthen(self.jobs[job], pace)
        return self._lengthened[job, pace]

    # What links score. It counts the work.

    def _ask_unchanged(self, link: int) -> float:
        if link not in self._unchanged:
            found = self._ask(link, self._unpaced[link])
            if len(self._members[link]) > _FREE_MEMBERS:
                return found  # to ask again is counted again
            self._unchanged[link] = found
        return self._unchanged[link]

    def _ask(self, link: int, paces: tuple[int, ...]) -> float:
        members = self._members[link]
        if len(members) > _FREE_MEMBERS:
            self._work.spend(len(members) // _FREE_MEMBERS)
        key = link, paces
        if key not in self._known:
            self._work.spend(1)
            self._count(paces, len(members) ** 2 // 8)
            if not self._is_judged(link, paces):
                return -math.inf
            for job, pace in zip(members, paces, strict=True):
                self._count((job, pace), len(self.jobs[job].phases) // 2, "job")
            self._known[key] = float(self._score(*self._question(link, paces)))
            self._left -= self._cost(link, paces)
        return self._known[key]

    def _count(self, what: tuple[int, ...], work: int, kind: str = "turns") -> None:
        """Count work that is done once."""
        if (kind, what) not in self._counted:
            self._work.spend(work)
            self._counted.add((kind, what))


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
    one, other = np.divmod(different(codes), n)
    return one, other


def _turns(periods: Sequence[int]) -> int:
    """``sum_j P' / R_j`` over the jobs that are not free at the default resolution; at least the number of jobs."""
    # One pass of F1b is enough for an estimate.
    count: Mapping[int, int] = Counter(periods)
    if len(count) == 1:
        return len(periods)
    found = repeats(count)
    held = {period: several for period, several in count.items() if found[period] > TICKS_PER_MS}
    folded = found if len(held) == len(count) else repeats(held)
    whole = math.lcm(*folded.values())
    return max(len(periods), sum(several * whole // folded[period] for period, several in held.items()))


def _components(
    by_id: Mapping[str, Job],
    members: Sequence[tuple[str, float]],
    loads: Loads,
    gbps: Float64Array,
    go_on: Callable[[], None],
) -> list[list[_Load]]:
    """Distinct link problems with several loud jobs, grouped by what hangs together, in the order of members."""
    loudest = {job_id: loudest_gbps(job) for job_id, job in by_id.items()}
    loud = np.array([kbps_from_gbps(loudest[job_id] * times) > 0 for job_id, times in members], dtype=np.bool_)
    heard = loud[loads.member]
    n_heard = np.bincount(np.arange(len(loads.link)).repeat(loads.counts())[heard], minlength=len(loads.link))
    several = n_heard > 1
    on_it, sizes = loads.member[heard][several.repeat(n_heard)], n_heard[several]
    go_on()
    keys = zip(cut(on_it.astype(_AS_BYTES), offsets(sizes)), gbps[several].tolist(), strict=True)
    distinct = sorted(set(keys))
    go_on()
    number = {job_id: k for k, job_id in enumerate(dict.fromkeys(job_id for job_id, _ in members))}
    job = int64(number[job_id] for job_id, _ in members)
    first = on_it[offsets(sizes)[:-1]].repeat(sizes)
    parent = list(range(len(number)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    parts = len(number)
    for pair in different(job[first] * len(number) + job[on_it]).tolist():
        one, other = (root(k) for k in divmod(pair, len(number)))
        if one != other:
            parent[other] = one
            parts -= 1
            if parts == 1:
                break
    groups: dict[int, list[_Load]] = {}
    begins = itertools.groupby(distinct, lambda load: load[0][: _AS_BYTES.itemsize])
    for begin, some in begins:  # sorted: those that begin with one member lie together
        groups.setdefault(root(job[_numbers(begin)[0]]), []).extend(some)
    return list(groups.values())
