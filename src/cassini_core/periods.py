"""F6: iteration times that are nearly commensurate get a common base, by lengthening some of them a little.

Measured iteration times are noisy: 254.7 and 255.2 ms have no stable relative phase, 255.2 twice has one. Here
assignments are judged and applied: for one link (:func:`harmonize`), or for all links of a problem at once
(:func:`pace_problem`). Which there are, and which of them wins, is in ``assignments``.
"""

from __future__ import annotations

import copy
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .assignments import FEW_JOBS, MAX_ASSIGNMENTS, Times, choose
from .errors import InputError
from .model import Harmonized, Job, Phase, Problem, checked_capacity_gbps
from .route_table import RouteTable
from .units import KBPS_PER_GBPS, TICKS_PER_MS, kbps_from_gbps, ms_from_ticks, ticks_from_ms

__all__ = ["harmonize", "lengthen", "pace_links", "pace_problem"]

IntArray = npt.NDArray[np.int64]
CarefulLinkScore = Callable[[Sequence[Job], float, Mapping[str, float] | None, int], float]
"""A :data:`LinkScore` that takes a limit of search nodes as well."""

LinkScore = Callable[[Sequence[Job], float, Mapping[str, float] | None], float]
"""Jobs on a link ordered by id, its capacity in Gbit/s, multipliers by job id (None: all 1): at most 1."""

SCORES_OF_MANY = 10_000
"""For n > ``FEW_JOBS`` jobs ``harmonize`` scores this / n^2 assignments, as a search costs n^2 or more; at least 16."""

SCORE_NODE_LIMIT = 2_000
"""Search nodes per scored assignment of up to four jobs: proven, in a millisecond or two."""

SCORE_NODE_LIMIT_OF_MANY = 200
"""The same for more jobs, where a proof can take seconds: what a search finds later differs in the third digit."""

LINK_NODE_LIMIT = 300
"""Search nodes per link of a problem: proves up to three jobs. Beyond, a score that is reached, never a hope."""

CAREFUL_NODE_LIMIT = 20_000
"""Search nodes per link when a chosen assignment is compared with changing nothing; less with more than 20 links."""

MAX_LINKS = 500
"""Most link problems a component is judged by. Beyond, an even sample: looking at one assignment can take two scores of
each, and the mean of 500 tells paces apart."""

MAX_TURNS = 1024
"""Most turns of the jobs' circles R_j on the folded circle P' (F1) of a link that an assignment may need. With more the
common base is fine, a score takes long, and phases are close to independent: such an assignment is given up."""

MAX_BASES = 32
"""Most families of iteration times in one component."""

_TURNS_OF_A_SCORE = 64
"""The node limit bounds a score: beyond so many turns it costs no more."""

MAX_WORK = 10_000
"""Most turns laid out for one problem: about a second."""


def harmonize(
    jobs: Sequence[Job],
    tolerance: float = 0.01,
    *,
    capacity_gbps: float | None = None,
    score: Callable[[Sequence[Job]], float] | None = None,
) -> Harmonized:
    """Lengthen iteration times a little where that lets the jobs keep a stable relative phase (F6).

    For each anchor job ``r`` and ``q = 1 .. 16`` the base is ``g = ceil(T_r / q)``: the anchor takes ``q g``, every
    other job ``ceil(T_j / g) g``, each where that is at most ``(1 + tolerance) T_j``; else a job keeps its own time,
    and an anchor is not tried. Also tried: leaving out any single job, and changing nothing. The best has the highest
    ``score - mean_j(T'_j / T_j - 1)``; among equals (within 1e-9) fewer jobs changed, least maximum lengthening,
    smallest ``q``, ids. The added time is Down at the end of the iteration; nothing is ever shortened.

    Parameters
    ----------
    jobs : sequence of Job
        Unique ids. Jobs without demand take no part and stay as they are.
    tolerance : float
        Largest relative lengthening of a job, at least 0; compared exactly. 0 changes nothing.
    capacity_gbps : float, optional
        Gbit/s of the one link whose best score is ``score``. Default: the largest peak demand of any one job,
        a link on which each job alone just fits.
    score : callable, optional
        Called with the jobs that have demand, ordered by id, some lengthened; returns at most 1, higher is better.
        Default: the score ``solve_link`` reaches on a link of ``capacity_gbps`` within a node limit, which is the
        exact best score for up to four jobs and a good one for more.

    Returns
    -------
    Harmonized
        Jobs in the given order, relative lengthening by id, and the score of the chosen iteration times.

    Raises
    ------
    InputError
        Duplicate ids, a tolerance that is not a finite number of at least 0, a wrong capacity, or both
        ``capacity_gbps`` and ``score``.

    Notes
    -----
    Each distinct assignment is scored at most once. Beyond ``FEW_JOBS`` jobs their number is limited
    (``SCORES_OF_MANY``): those that bring most pairs to a common base come first, then least lengthening. The same
    whatever the order of ``jobs``.
    """
    jobs, tolerance = _checked_jobs(jobs), _checked_tolerance(tolerance)
    if score is not None and capacity_gbps is not None:
        raise InputError("harmonize: expected capacity_gbps or score, got both")
    loud = sorted((job for job in jobs if kbps_from_gbps(_loudest_gbps(job)) > 0), key=lambda job: job.id)
    left = MAX_ASSIGNMENTS if len(loud) <= FEW_JOBS else max(16, SCORES_OF_MANY // len(loud) ** 2)

    def paced(paces: IntArray) -> list[Job]:
        return [lengthen(job, pace) for job, pace in zip(loud, paces.tolist(), strict=True)]

    def value(paces: IntArray) -> float:
        nonlocal left
        left -= 1
        return float(score(paced(paces)) if score else kernel(paced(paces), node_limit))

    kernel = _best_score_on_link(loud, capacity_gbps)
    node_limit = SCORE_NODE_LIMIT if len(loud) <= 4 else SCORE_NODE_LIMIT_OF_MANY
    careful = None if score else lambda paces: kernel(paced(paces), CAREFUL_NODE_LIMIT)
    ceiling = lambda _: 1.0 if left > 0 else -math.inf  # noqa: E731
    chosen, reached = choose(Times.of(_ticks(loud), tolerance), value, ceiling, careful)
    paces = dict(zip((job.id for job in loud), chosen.paces.tolist(), strict=True))
    natural = dict(zip((job.id for job in jobs), _ticks(jobs), strict=True))
    lengthening = {job_id: (paces.get(job_id, period) - period) / period for job_id, period in natural.items()}
    return Harmonized(tuple(lengthen(job, paces.get(job.id, natural[job.id])) for job in jobs), lengthening, reached)


def lengthen(job: Job, pace_ticks: int) -> Job:
    """The job with an iteration time of ``pace_ticks``, the added time Down at the end.

    The demand at every instant of the old iteration stays: a phase that wraps past the old end is split there.
    Returns ``job`` itself if nothing changes. Raises InputError for a pace below the iteration time.
    """
    period = ticks_from_ms(job.iteration_ms)
    if pace_ticks < period:
        raise InputError(f"job {job.id!r}: expected a pace of at least {period} ticks, got {pace_ticks}")
    if pace_ticks == period:
        return job
    phases: list[Phase] = []
    for phase in job.phases:
        # A start may round up to the end of the iteration, which is its beginning.
        start, length = ticks_from_ms(phase.start_ms) % period, ticks_from_ms(phase.duration_ms)
        before_end = min(length, period - start)
        if length > before_end:
            phases.append(Phase(0.0, ms_from_ticks(length - before_end), phase.gbps))
        phases.append(Phase(ms_from_ticks(start), ms_from_ticks(before_end), phase.gbps))
    return Job(job.id, ms_from_ticks(pace_ticks), tuple(phases))


def pace_problem(
    problem: Problem,
    tolerance: float,
    link_score: LinkScore | None = None,
    careful_score: CarefulLinkScore | None = None,
    *,
    routes: RouteTable | None = None,
) -> Problem:
    """The problem with the iteration times at which its jobs are to be paced; see :func:`pace_links`.

    ``routes`` is the table of its candidates, if it was made already.
    """
    if tolerance == 0:
        return problem
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    routes = RouteTable(problem.candidates) if routes is None else routes
    loads = [
        (capacity[routes.links[link]], dict(routes.members[member] for member in members))
        for link, *members in routes.loads
        if len(members) > 1
    ]
    paces = pace_links(problem.jobs, loads, tolerance, link_score, careful_score=careful_score)
    jobs = tuple(lengthen(job, paces[job.id]) for job in problem.jobs)
    if all(map(operator.is_, jobs, problem.jobs)):
        return problem
    # The same ids as before: checking a million routes again would take seconds.
    paced = copy.copy(problem)
    object.__setattr__(paced, "jobs", jobs)
    return paced


def pace_links(
    jobs: Sequence[Job],
    links: Iterable[tuple[float, Mapping[str, float]]],
    tolerance: float,
    link_score: LinkScore | None = None,
    *,
    careful_score: CarefulLinkScore | None = None,
    max_bases: int | None = None,
) -> dict[str, int]:
    """Paces for jobs that meet on several links: those of all candidates together.

    Jobs that share a link, directly or through others, form a component. Each is harmonised (F6) with the mean of
    ``link_score`` over its distinct link problems as the score, never by joint solves. One base serves one family of
    iteration times, so F6 is applied again to the jobs the first base did not reach, the others held, until nothing
    changes: two noisy copies of each of three models get three paces.

    Parameters
    ----------
    jobs : sequence of Job
    links : iterable of (float, mapping of str to float)
        Capacity, Gbit/s, and job id to multiplier: one link of one candidate. Repetitions count once.
    tolerance : float
        As for :func:`harmonize`.
    link_score : callable, optional
        Called with jobs ordered by id, some lengthened, capacity and multipliers; returns at most 1. Default: the
        score the kernel reaches within ``LINK_NODE_LIMIT`` nodes, which is the link's bound for up to three jobs. For
        more it is less than the bound, so that no job is lengthened for a gain that nobody has seen.
    careful_score : callable, optional
        The same with a limit of search nodes as its fourth argument, for the last comparison with changing nothing.
        Default: the kernel if ``link_score`` is not given, else none is made.
    max_bases : int, optional
        Most bases per component; 1 is F6 to the letter.

    Returns
    -------
    dict of str to int
        Every job's pace, ticks; its own iteration time where unchanged.

    Raises
    ------
    InputError
        As :func:`harmonize`.

    Notes
    -----
    Work is limited by ``MAX_LINKS``, ``MAX_TURNS`` and ``MAX_WORK``, for the whole problem. Deterministic: all limits
    are counts.
    """
    jobs, tolerance = _checked_jobs(jobs), _checked_tolerance(tolerance)
    paces = dict(zip((job.id for job in jobs), _ticks(jobs), strict=True))
    if tolerance == 0 or len(set(paces.values())) < 2:
        return paces
    by_id = {job.id: job for job in jobs}
    if link_score is None and careful_score is None:
        careful_score = _reached
    components = _components(by_id, links)
    n_links = sum(map(len, components))
    for component in components:
        work = max(1_000, MAX_WORK * len(component) // n_links)
        judge = _LinkMean(by_id, component, link_score or _reached, work)
        careful = judge.careful(careful_score) if careful_score else None
        times = Times.of(_ticks(judge.jobs), tolerance, judge.meet)
        for _ in range(min(len(judge.jobs), MAX_BASES) if max_bases is None else max_bases):
            judge.renew()
            chosen, _value = choose(times, judge.value, judge.ceiling, careful)
            if chosen.q == 0:
                break
            times = replace(times, current=chosen.paces, active=times.active & ~chosen.on_base)
        paces.update(zip((job.id for job in judge.jobs), times.current.tolist(), strict=True))
    return paces


# What an assignment is worth to many links.

_LinkProblem = tuple[float, tuple[tuple[str, float], ...]]  # capacity; (job id, multiplier) ordered by id


class _LinkMean:
    """Mean over links of the gain in a link's score; a link is scored again only where a pace on it changed."""

    def __init__(self, by_id: Mapping[str, Job], links: list[_LinkProblem], score: LinkScore, work: int) -> None:
        self.jobs = [by_id[job_id] for job_id in sorted({job_id for _, on_it in links for job_id, _ in on_it})]
        index = {job.id: k for k, job in enumerate(self.jobs)}
        step = max(1.0, len(links) / MAX_LINKS)
        self._links = [links[int(k * step)] for k in range(min(len(links), MAX_LINKS))]
        self._members = [[index[job_id] for job_id, _ in on_it] for _, on_it in self._links]
        self._links_of: list[list[int]] = [[] for _ in self.jobs]
        self.meet = np.zeros((len(self.jobs), len(self.jobs)), dtype=np.bool_)
        for link, members in enumerate(self._members):
            self.meet[np.ix_(members, members)] = True
            for job in members:
                self._links_of[job].append(link)
        np.fill_diagonal(self.meet, False)
        self._natural = np.array(_ticks(self.jobs), dtype=np.int64)
        self._score = score
        self._is_careful = False
        self._work = work
        self._left = work
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def value(self, paces: IntArray) -> float:
        gains = [self._ask(link, paces) - self._ask(link, self._natural) for link in self._touched(paces)]
        return math.fsum(gains) / len(self._links)

    def renew(self) -> None:
        """A fresh share of the work, so that the first family of iteration times does not starve the others."""
        self._left = max(1_000, self._work // 6)

    def careful(self, score: CarefulLinkScore) -> Callable[[IntArray], float]:
        """:meth:`value` by a slower score; all links that a pace can touch share its nodes."""
        limit = max(LINK_NODE_LIMIT, min(CAREFUL_NODE_LIMIT, 20 * CAREFUL_NODE_LIMIT // max(1, len(self._links))))

        def value(paces: IntArray) -> float:
            known, left, hasty = self._known, self._left, self._score
            self._is_careful = True
            self._known, self._score = {}, lambda jobs, gbps, multipliers: score(jobs, gbps, multipliers, limit)
            try:
                return self.value(paces)
            finally:
                self._known, self._left, self._score = known, left, hasty
                self._is_careful = False

        return value

    def ceiling(self, paces: IntArray) -> float:
        if self._left <= 0:
            return -math.inf
        return math.fsum(1.0 - self._ask(link, self._natural) for link in self._touched(paces)) / len(self._links)

    def _touched(self, paces: IntArray) -> list[int]:
        return sorted({link for job in np.flatnonzero(paces != self._natural).tolist() for link in self._links_of[job]})

    def _ask(self, link: int, paces: IntArray) -> float:
        members = self._members[link]
        key = (link, tuple(paces[members].tolist()))
        if key not in self._known:
            turns, natural = _turns(key[1]), bool(np.array_equal(paces[members], self._natural[members]))
            if turns > MAX_TURNS and not natural and not self._is_careful:
                return -math.inf  # costs more to judge than it can bring; what is there already is always judged
            capacity, on_it = self._links[link]
            jobs = [lengthen(self.jobs[job], pace) for job, pace in zip(members, key[1], strict=True)]
            multipliers = dict(on_it) if any(multiplier != 1.0 for _, multiplier in on_it) else None
            self._known[key] = float(self._score(jobs, capacity, multipliers))
            self._left -= min(turns, _TURNS_OF_A_SCORE) + len(members) ** 2 // 16
        return self._known[key]


def _turns(periods: Sequence[int]) -> int:
    """``sum_j P' / R_j`` over the jobs that are not free at the default resolution; at least the number of jobs."""

    def repeats(of: Sequence[int]) -> list[int]:
        return [math.lcm(*(math.gcd(a, b) for k, b in enumerate(of) if k != j)) for j, a in enumerate(of)]

    # One pass of F1b is enough for an estimate.
    held = [period for period, repeat in zip(periods, repeats(periods), strict=True) if repeat > TICKS_PER_MS]
    folded = repeats(held)
    return max(len(periods), sum(math.lcm(*folded) // repeat for repeat in folded))


def _components(
    by_id: Mapping[str, Job], links: Iterable[tuple[float, Mapping[str, float]]]
) -> list[list[_LinkProblem]]:
    """Distinct link problems with several loud jobs, grouped by what hangs together, in the order of ids."""
    loudest = {job_id: _loudest_gbps(job) for job_id, job in by_id.items()}
    distinct: set[_LinkProblem] = set()
    met = {(capacity_gbps, tuple(on_it.items())): on_it for capacity_gbps, on_it in links}  # most repeat
    for (capacity_gbps, _), on_it in met.items():
        loud = [item for item in on_it.items() if kbps_from_gbps(loudest[item[0]] * item[1]) > 0]
        if len(loud) > 1:
            distinct.add((capacity_gbps, tuple(sorted(loud))))
    parent = {job_id: job_id for job_id in by_id}

    def root(job_id: str) -> str:
        while parent[job_id] != job_id:
            parent[job_id] = job_id = parent[parent[job_id]]
        return job_id

    for _, members in distinct:
        for job_id, _ in members[1:]:
            parent[root(job_id)] = root(members[0][0])
    groups: dict[str, list[_LinkProblem]] = {}
    for link in sorted(distinct, key=lambda link: (link[1], link[0])):
        groups.setdefault(root(link[1][0][0]), []).append(link)
    return list(groups.values())


# Checks and small things.


def _ticks(jobs: Sequence[Job]) -> list[int]:
    return [ticks_from_ms(job.iteration_ms) for job in jobs]


def _loudest_gbps(job: Job) -> float:
    """Largest rate of a phase that lasts; 0 if there is none."""
    return max((phase.gbps for phase in job.phases if ticks_from_ms(phase.duration_ms) > 0), default=0.0)


def _peak_gbps(job: Job) -> float:
    """Largest total demand of a job at any instant; where phases overlap, their sum."""
    period = ticks_from_ms(job.iteration_ms)
    level = 0  # just before time 0: phases that end at the end of the iteration, or wrap
    changes: list[tuple[int, int]] = []
    for phase in job.phases:
        start, length = ticks_from_ms(phase.start_ms) % period, ticks_from_ms(phase.duration_ms)
        rate = kbps_from_gbps(phase.gbps)
        level += rate if start + length >= period and length > 0 else 0
        changes += [(start, rate), ((start + length) % period, -rate)] if length < period else []
    peak = level
    for _, change in sorted(changes):  # ends before beginnings
        level += change
        peak = max(peak, level)
    return peak / KBPS_PER_GBPS


def _best_score_on_link(loud: Sequence[Job], capacity_gbps: float | None) -> Callable[[Sequence[Job], int], float]:
    if capacity_gbps is not None:
        capacity = checked_capacity_gbps(capacity_gbps, "harmonize capacity_gbps")
    else:
        capacity = max(map(_peak_gbps, loud), default=1.0)

    def score(jobs: Sequence[Job], node_limit: int) -> float:
        from .prepared_link import PreparedLink  # the kernel is needed only here

        if not jobs:
            return 1.0
        return PreparedLink.from_jobs(jobs, capacity).solve(node_limit=node_limit, with_slack=False).score_lower

    return score


def _reached(
    jobs: Sequence[Job],
    capacity_gbps: float,
    multipliers: Mapping[str, float] | None,
    node_limit: int = LINK_NODE_LIMIT,
) -> float:
    from .prepared_link import PreparedLink

    link = PreparedLink.from_jobs(jobs, capacity_gbps, multipliers)
    return link.solve(node_limit=node_limit, with_slack=False).score_lower


def _checked_jobs(jobs: Sequence[Job]) -> tuple[Job, ...]:
    jobs = tuple(jobs)
    for index, job in enumerate(jobs):
        if not isinstance(job, Job):
            raise InputError(f"jobs[{index}]: expected a Job, got {type(job).__name__}")
    repeated = [job_id for job_id, count in Counter(job.id for job in jobs).items() if count > 1]
    if repeated:
        raise InputError(f"jobs: expected unique ids, got {repeated[0]!r} twice")
    return jobs


def _checked_tolerance(tolerance: float) -> float:
    try:
        number = math.nan if isinstance(tolerance, (bool, str)) else float(tolerance)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"tolerance: expected a finite number of at least 0, got {tolerance!r}")
    return number
