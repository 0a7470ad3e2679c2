"""Algorithm 2: scores every candidate placement and puts the best first.

The way of a problem is that of ``_rank_in_time``: routes and links are read, iteration times harmonised, links solved
each by itself, candidates answered from these answers, and what came out is sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from ..arrays import Int64Array
from ..choices import AggregateName, Loops, Order
from ..concurrency import canceling_pool, collector_rests
from ..deadline import (
    BOUNDING_PER_READING,
    FINISH_S,
    FINISH_S_PER_CANDIDATE,
    FREEING_PER_READING,
    LINK_SHARE,
    LINK_SHARE_OF_LARGE,
    PACING_PER_READING,
    PACING_SHARE,
    PREPARING_LINKS_PER_READING,
    PREPARING_PER_READING,
    Deadline,
    DeadlinePassed,
)
from ..errors import InputError
from ..joint.base_placement import Searched, large_placements, search_base
from ..joint.kept_searches import KeptSearches
from ..joint.round import Round
from ..joint.scoring import Scoring, scoring_of
from ..kernel.link_arrays import LinkAnswers
from ..kernel.prepared_link import (
    DEFAULT_MAX_EVENTS,
    DEFAULT_MAX_LEVELS,
    DEFAULT_RESOLUTION_MS,
    DEFAULT_SLACK_TOLERANCE,
)
from ..kernel.prepared_links import PreparedLinks
from ..links.batch_solver import BatchSolver
from ..links.evaluation_cost import LinkEffort, link_effort
from ..links.placement import Placement
from ..links.route_deltas import RouteTable
from ..links.route_rows import READ_TOGETHER
from ..links.shared_links import LinkCatalog
from ..model import Problem
from ..node_budget import AUTO, NodeLimit, all_candidates_limit, all_links_limit, link_limits
from ..periods.cluster_pacing import paced_problem
from ..results import Ranking
from ..units import SCORE_TOLERANCE, ticks_from_ms
from .aggregate import DEFAULT_AGGREGATE
from .candidate_search import CandidateSearch
from .disturbance import DisturbanceMaker
from .options import DEFAULT_RUNNING_TOLERANCE, Progress, RankOptions, checked_options
from .ranked_candidate import CandidateMaker, Entry, unread
from .store import Store

__all__ = ["rank", "rank_checked"]

FEW_ROUTES = 2**15
"""Placed jobs of all candidates together up to which the collector of cycles rests without a deadline, too: 100
candidates of 300 jobs, ranked in a second."""


def rank(
    problem: Problem,
    *,
    loops: Loops = "joint",
    aggregate: AggregateName = DEFAULT_AGGREGATE,
    order: Order = "jobs_placed",
    top: int = 1,
    exhaustive: bool = False,
    period_tolerance: float = 0.01,
    threads: int | None = None,
    deadline_s: float | None = None,
    node_limit: NodeLimit = AUTO,
    block_node_limit: NodeLimit = AUTO,
    resolution_ms: float = DEFAULT_RESOLUTION_MS,
    slack_tolerance: float = DEFAULT_SLACK_TOLERANCE,
    executor: Executor | None = None,
    progress: Progress | None = None,
    running_shifts_ms: Mapping[str, float] | None = None,
    running_tolerance: float = DEFAULT_RUNNING_TOLERANCE,
) -> Ranking:
    """Ranks the candidate placements of a problem by how well the jobs that share links interleave.

    Parameters
    ----------
    problem : Problem
        Jobs, links and candidates.
    loops : {"joint", "merge", "discard"}
        What becomes of a candidate whose affinity graph has a loop. ``"joint"`` makes one link of those that pose the
        same problem, lets free jobs go, and finds shifts for the links of each loop together. ``"merge"`` keeps what
        then still has a loop only if that costs nothing. ``"discard"`` gives every loop up, as the paper does. A
        candidate that is given up keeps its bounds and sorts last.
    aggregate : {"per_job", "mean", "min"} or a percentile such as "p10"
        How the scores of a candidate's links become its score. ``"per_job"``: the mean over all placed jobs of the
        score of the job's worst link, 1 for a job whose links have room for it and that shares none; of all aggregates
        it predicts slowdown best (``python -m bench.ranking.prediction``). ``"mean"`` over the shared links is the
        paper's. Others are ``"min"`` and percentiles such as ``"p10"``. A link that is too narrow for its only job
        counts like a shared one, where that lowers the score. Whichever is asked for, time-shifts are searched that
        maximise the mean over the shared links. So a candidate's ``optimal`` rests on the bounds of its links, unless
        the aggregate is ``"mean"``: then what a joint search proved of the mean counts too.
    order : {"jobs_placed", "score"}
        ``"jobs_placed"``: candidates that place more jobs come first, whatever they score; to place fewer is no way to
        a better ranking. ``"score"``: the score alone decides.
    top : int
        How many candidates are sure to be the first; one by default, as a scheduler places one. With ``loops="joint"``
        candidates are looked at in the order of their bounds, those that place most jobs first if ``order`` says so: 16
        at first, then twice as many each time, until so many come before any other. The others are ``bound_only``.
    exhaustive : bool
        Look at all candidates instead, whatever that takes.
    period_tolerance : float
        How much an iteration time may be lengthened, as a fraction, so that jobs have a stable relative phase
        (:func:`cassini_core.harmonize`); 0 changes nothing.
    threads : int or None
        Threads that solve links; None for as many as the process has CPUs. The answer does not depend on it.
    deadline_s : float or None
        Seconds from the call, 0 for bounds at once; what was not reached in time is reported with its bound. With a
        deadline the answer is valid but not reproducible. Python's collector of cycles rests until then, and in small
        rounds without one.
    node_limit : int, "auto" or None
        Search nodes per link; None for no limit. ``"auto"``: 50,000, or fewer where there are many links to solve
        (:mod:`cassini_core.node_budget`); then what all links together, and all candidates, may take is limited,
        too (docs/safety.md). What was cut short says so in its candidate's warnings.
    block_node_limit : int, "auto" or None
        The same per cyclic block with ``loops="joint"``.
    resolution_ms : float
        How precisely a shift can be held, ms (F1b).
    slack_tolerance : float
        How much a link's score may drop within slack and hold (F5).
    executor : concurrent.futures.Executor or None
        Solves the distinct link problems and then searches the large candidates, in place of threads of this process;
        the answer is the same. It is sent functions of this package and, in some dozens of parts, arrays of numbers and
        no names; what candidates have in common goes to each worker once, which keeps it for two rounds. Its workers
        need the same version of the package. What it loses (a worker is killed or raises whatever it may be, the pool
        breaks, is shut down or cancels) is done in this process, which raises only what it comes upon itself. So is
        what the executor has not begun while nothing came back for 5 seconds, or a tenth of the time until the
        deadline if that is less. At the deadline it is not waited for, and on Ctrl-C what it has not begun is
        canceled. All else is done in this process, by threads.
    progress : callable or None
        Called in the calling thread as ``progress(done, total)``, counting distinct link problems and candidates.
    running_shifts_ms : mapping of str to float, optional
        Job id to the time-shift at which it runs now, ms: by how much its iterations start after an instant that is
        the same for all, modulo the pace. By default those of the problem; an empty mapping: none runs. Of each
        candidate the answer then says which running jobs move, by how much, and what it scores if all stay
        (``disturbance``).
    running_tolerance : float
        What moving a running job has to win: by how much the score has to grow, summed over the placed jobs. Of each
        candidate the shifts are chosen, and candidates come, by their score less ``running_tolerance`` times the share
        of placed jobs that run and move; among equals the fewest jobs move, then the least waiting decides. So no score
        is less by more than this share of the tolerance than without running jobs. A job that moves waits up to a pace,
        once: with 0.01 a move pays back within 100 iterations.

    Returns
    -------
    Ranking
        Best first. Mappings, links and warnings are in the order of ids.

    Raises
    ------
    InputError
        An argument is wrong, or a link is beyond what the kernel can hold.
    KernelError
        A defect.
    MemoryError
        There is not enough memory; the process is as it was.

    Notes
    -----
    Paper, Algorithm 2 and section 4.2; ``loops="discard", aggregate="mean"`` is its rule. Each distinct link problem
    is solved once, whatever the number of links and candidates that pose it; its cost is that of
    :func:`cassini_core.solve_link`. Releases the GIL while solving; can be interrupted.

    Examples
    --------
    >>> import cassini_core as cc
    >>> jobs = [cc.Job(name, 40, [cc.Phase(0, 20, 50)]) for name in "ab"]
    >>> links = [cc.Link("up1", 50), cc.Link("up2", 25)]
    >>> on_one = cc.Candidate("wide", {"a": ["up1"], "b": ["up1"]})
    >>> on_other = cc.Candidate("narrow", {"a": ["up2"], "b": ["up2"]})
    >>> ranking = cc.rank(cc.Problem(jobs, links, [on_other, on_one]))
    >>> ranking
    <Ranking: 2 candidates, best 'wide' with 1 (proven)>
    >>> ranking["wide"].shifts_ms
    {'a': 0.0, 'b': 20.0}
    >>> [(one.id, one.score) for one in ranking]
    [('wide', 1.0), ('narrow', 0.0)]
    """
    options = checked_options(
        problem,
        loops=loops,
        aggregate=aggregate,
        order=order,
        top=top,
        exhaustive=exhaustive,
        period_tolerance=period_tolerance,
        threads=threads,
        deadline_s=deadline_s,
        node_limit=node_limit,
        block_node_limit=block_node_limit,
        resolution_ms=resolution_ms,
        slack_tolerance=slack_tolerance,
        executor=executor,
        progress=progress,
        running_shifts_ms=running_shifts_ms,
        running_tolerance=running_tolerance,
    )
    return rank_checked(problem, options, Deadline(options.deadline_s))


def rank_checked(problem: Problem, options: RankOptions, deadline: Deadline, store: Store | None = None) -> Ranking:
    """As :func:`rank`, with checked options; ``store`` keeps answers from one ranking to the next."""
    if deadline.remaining_s() is None:
        with collector_rests() if _is_quick(problem, options) else nullcontext():
            return _rank_in_time(problem, options, deadline, store)
    # A full collection takes as long as a large problem has objects: tenths of a second that nobody can foresee.
    with collector_rests():
        try:
            in_time = deadline.before(FINISH_S + FINISH_S_PER_CANDIDATE * len(problem.candidates))
            return _rank_in_time(problem, options, in_time, store)
        except DeadlinePassed:
            return _unread(problem, options)


def _is_quick(problem: Problem, options: RankOptions) -> bool:
    """Whether a ranking takes no longer than a full collection may. It makes no cycles that could be collected."""
    budgeted = options.node_limit == AUTO and options.block_node_limit == AUTO
    return budgeted and sum(len(candidate.routes) for candidate in problem.candidates) <= FEW_ROUTES


def _rank_in_time(problem: Problem, options: RankOptions, deadline: Deadline, store: Store | None) -> Ranking:
    """Raises DeadlinePassed if there is no time even to read all candidates, where these are many."""
    routes = RouteTable(problem.candidates, deadline.check_reading)
    paced = _pace(problem, routes, options, deadline, store)
    read = _read(problem if paced is None else paced, routes, options, deadline)
    kept = None if store is None else KeptSearches(store.searches, read.links)
    solved, scoring, searched = _solve_links(read, options, store, kept)
    context = Round(read.catalog.incidence, solved, read.links, read.effort.nodes, scoring, kept)
    entries = _answer_candidates(read, context, options, searched)
    context.evaluator.keep()
    warnings = (
        *_warnings(context.solved, entries, out_of_step=paced is None),
        *_different_jobs(routes, options.order),
    )
    return _ranking(sorted(entries, key=Entry.key), read.paces_ms, warnings, options)


def _pace(
    problem: Problem, routes: RouteTable, options: RankOptions, deadline: Deadline, store: Store | None
) -> Problem | None:
    """The problem with harmonised iteration times; None if there is no time for that."""
    if options.period_tolerance == 0:
        return problem
    in_time = deadline.part(PACING_SHARE)
    seconds = in_time.remaining_s()
    if seconds is not None and seconds < PACING_PER_READING * deadline.elapsed_s():
        return None
    try:
        links = None if store is None else store.links
        return paced_problem(
            problem, options.period_tolerance, options.resolution_ms, in_time, routes, links, options.threads
        )
    except InputError:
        LinkCatalog(problem, routes)  # of a link that is too large it says which
        raise


class _Reading(NamedTuple):
    """What was read of a problem, and what answering it may cost.

    ``large`` tells which placements are answered from the base placement, ``base_links`` are the indices of its shared
    links: none if there is no time to search it. All candidates together place ``n_routes`` jobs.
    """

    paces_ms: Mapping[str, float]
    catalog: LinkCatalog
    placements: Sequence[Placement]
    large: Sequence[bool]
    base_links: Int64Array
    n_routes: int
    effort: LinkEffort
    links: PreparedLinks
    link_share: float
    deadline: Deadline


def _read(problem: Problem, routes: RouteTable, options: RankOptions, deadline: Deadline) -> _Reading:
    """What the jobs of each candidate share, which way each will be answered, and the limits of all searches."""
    catalog = LinkCatalog(problem, routes, deadline.check_reading)
    placements = catalog.placements()
    base_links = catalog.base.links
    large = [False] * len(placements)
    # A difference from the base placement is of no use to one placement alone.
    if options.loops == "joint" and len(base_links):
        found = large_placements(placements, catalog.incidence)
        large = found if sum(found) > 1 else large
    if len(placements) > READ_TOGETHER and not deadline.leaves(FREEING_PER_READING + BOUNDING_PER_READING):
        raise DeadlinePassed
    if not (any(large) and deadline.leaves(PREPARING_PER_READING)):
        base_links = base_links[:0]
    least = FREEING_PER_READING + BOUNDING_PER_READING + PREPARING_LINKS_PER_READING
    link_share = LINK_SHARE_OF_LARGE if any(large) else LINK_SHARE
    if len(placements) > READ_TOGETHER and not deadline.leaves(least):
        link_share = 0.0
    deadline = deadline.after_reading()
    n_routes = sum(routes.n_placed)
    effort = _effort(catalog, placements, n_routes, options)
    limits = options.limits(len(catalog.problems), len(placements), effort)
    links = PreparedLinks(catalog.problems, limits, deadline)
    paces_ms = {job.id: job.iteration_ms for job in sorted(problem.jobs, key=lambda job: job.id)}
    return _Reading(paces_ms, catalog, placements, large, base_links, n_routes, effort, links, link_share, deadline)


def _effort(catalog: LinkCatalog, placements: Sequence[Placement], n_routes: int, options: RankOptions) -> LinkEffort:
    """What evaluating each link may cost. A caller who sets a node limit himself gets no other limit."""
    if options.node_limit != AUTO:
        return LinkEffort(DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS, np.zeros(len(catalog.problems)))
    problem = catalog.incidence.problem
    uses = np.zeros(len(problem), dtype=np.int64)
    for placement in placements:  # no link stands twice in one
        uses[catalog.base.links[placement.dropped]] -= 1
        uses[placement.added] += 1
    uses[catalog.base.links] += len(placements)
    of_problem = np.bincount(problem, uses, len(catalog.problems)).astype(np.int64)
    return link_effort(catalog.problems, of_problem, ticks_from_ms(options.resolution_ms), n_routes)


def _solve_links(
    read: _Reading, options: RankOptions, store: Store | None, kept: KeptSearches | None
) -> tuple[LinkAnswers, Scoring, Searched | None]:
    """Every distinct link problem by itself; what candidates will be scored by; and the base placement, if several
    threads have no deadline: then it is searched beside the links that it does not have.
    """
    flat = read.catalog.incidence
    n_crossings = sum(placement.n_crossings for placement in read.placements)
    in_hurry = read.deadline.remaining_s() is not None
    searched: Future[Searched] = Future()
    first = int(flat.problem[read.base_links].max(initial=-1)) + 1 if options.threads > 1 and not in_hurry else 0

    def search(answers: LinkAnswers) -> None:
        try:
            searched.set_result(search_base(Round(flat, answers, read.links, kept=kept), read.base_links))
        except BaseException as error:  # raised where the result is asked for
            searched.set_exception(error)

    links, total = read.links, len(read.links.arrays) + len(read.placements)
    with canceling_pool(1, "cassini-prepare", links.cancel) as pool:
        if len(read.base_links):  # the base placement will need them; meanwhile links are solved
            pool.submit(links.prepared)
        scoring = pool.submit(scoring_of, n_crossings, in_hurry=in_hurry)
        solved = BatchSolver(
            links,
            link_limits(options.node_limit, links.arrays.n_jobs()),
            threads=options.threads,
            deadline=read.deadline.part(read.link_share),
            executor=options.executor,
            progress=lambda done: options.progress(done, total),
            with_slack=links.limits.with_slack and not all(read.large),  # else nobody uses the own shifts of links
            store=None if store is None else store.links,
            together=all_links_limit(options.node_limit, read.n_routes),
            evaluation_nodes=read.effort.nodes,
            first=first,
            after_first=search if first else None,
        ).solve()
        return solved, scoring.result(), searched.result() if first else None


def _answer_candidates(read: _Reading, context: Round, options: RankOptions, searched: Searched | None) -> list[Entry]:
    """One shift per job for each candidate that can be among the first."""
    maker = CandidateMaker(context, read.catalog.shared, options.aggregate, options.order)
    if running := options.running_shifts_ms:
        maker = DisturbanceMaker(
            context, read.catalog.shared, options.aggregate, options.order, running, options.running_tolerance
        )
    search = CandidateSearch(
        read.placements, read.large, read.base_links, context, maker, options, read.deadline, searched
    )
    return search.run(None if options.top is None else all_candidates_limit(options.block_node_limit, read.n_routes))


def _warnings(solved: LinkAnswers, entries: Sequence[Entry], *, out_of_step: bool) -> tuple[str, ...]:
    """What was cut short or left out, in the whole ranking."""
    unreached = int((~solved.answered).sum())
    unproven = int((solved.answered & ~solved.optimal).sum())
    unanswered = sum(one.answer.status == "bound_only" and not one.answer.outbid for one in entries)
    lines = [
        (out_of_step, "iteration times were not harmonised: the deadline came first"),
        (unreached, f"{unreached} of {len(solved)} link problems were not reached before the deadline"),
        (unproven, f"{unproven} of {len(solved)} link problems were not solved to proven optimality"),
        (unanswered, f"{unanswered} of {len(entries)} candidates were not solved; they have a bound only"),
    ]
    return tuple(line for count, line in lines if count)


def _different_jobs(routes: RouteTable, order: Order) -> Iterator[str]:
    """A line where candidates do not place the same jobs: their scores are not about the same."""
    if len(set(routes.other_jobs)) < 2:
        return
    least, most = min(routes.n_placed), max(routes.n_placed)
    if least == most:
        yield f"candidates do not place the same jobs, though each places {least}"
    elif order == "jobs_placed":
        yield f"candidates place from {least} to {most} jobs: those that place more come first, whatever they score"
    else:
        yield f"candidates place from {least} to {most} jobs, and the order looks at their scores alone"


def _ranking(
    entries: Sequence[Entry], paces_ms: Mapping[str, float], warnings: tuple[str, ...], options: RankOptions
) -> Ranking:
    """The public answer; ``entries`` are sorted."""
    candidates = tuple(entry.candidate for entry in entries)
    best = next((entry for entry in entries if entry.worth is not None), None)
    return Ranking(
        best=None if best is None else best.candidate,
        best_proven=best is not None and all(_cannot_come_before(best, other) for other in entries),
        paces_ms=paces_ms,
        candidates=candidates,
        warnings=warnings,
        order=options.order,
        resolution_ms=next((one.resolution_ms for one in candidates if one.resolution_ms is not None), None),
        aggregate=options.aggregate_name,
        slack_tolerance=options.slack_tolerance,
        running_tolerance=options.running_tolerance if options.running_shifts_ms else None,
    )


def _cannot_come_before(best: Entry, other: Entry) -> bool:
    if other is best or other.placed != best.placed:
        return other.placed <= best.placed
    assert best.candidate.score is not None
    return best.candidate.score - best.cost >= other.bound - SCORE_TOLERANCE


def _unread(problem: Problem, options: RankOptions) -> Ranking:
    """The answer where there was no time to read all candidates."""
    found = [unread(candidate.id, len(candidate.routes)) for candidate in problem.candidates]
    if options.order == "jobs_placed":
        found.sort(key=lambda one: -one.jobs_placed)
    return Ranking(
        best=None,
        best_proven=False,
        paces_ms={job.id: job.iteration_ms for job in sorted(problem.jobs, key=lambda job: job.id)},
        candidates=tuple(found),
        warnings=(f"the deadline came before all {len(found)} candidates were read",),
        order=options.order,
        aggregate=options.aggregate_name,
        slack_tolerance=options.slack_tolerance,
        running_tolerance=options.running_tolerance if options.running_shifts_ms else None,
    )
