"""Algorithm 2: scores every candidate placement and puts the best first."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from ..choices import AggregateName, Loops
from ..concurrency import canceling_pool, collector_rests
from ..deadline import Deadline, DeadlinePassed
from ..errors import InputError
from ..joint.base_placement import large_ones
from ..joint.joint_shifts import solve_jointly
from ..joint.placement_solution import TOLERANCE, Round
from ..kernel.prepared_link import (
    DEFAULT_MAX_EVENTS,
    DEFAULT_MAX_LEVELS,
    DEFAULT_RESOLUTION_MS,
    DEFAULT_SLACK_TOLERANCE,
)
from ..kernel.prepared_links import KernelLinks
from ..links.batch_solver import SolvedLink, solve_problems
from ..links.evaluation_cost import LinkEffort, link_effort
from ..links.incidence import FlatLinks
from ..links.node_limits import AUTO, NodeLimit, all_candidates_limit, all_links_limit
from ..links.route_deltas import READ_TOGETHER, RouteTable
from ..links.shared_links import LinkCatalog, Placement, SharedLink
from ..links.solution_cache import LinkStore
from ..model import Problem
from ..periods.cluster_pacing import paced_problem
from ..results import RankedCandidate, Ranking
from ..units import ticks_from_ms
from .aggregate import DEFAULT_AGGREGATE
from .candidate_search import answer_candidates
from .options import Progress, RankOptions, checked_options
from .ranked_candidate import Entry, unread

__all__ = ["rank"]

PACING_SHARE = 0.25
"""Of a deadline: iteration times are worth no more, the links need the rest."""


PACING_PER_READING = 0.7
"""Of the time that it took to read the routes: with less harmonising is not begun, it would not come to an end."""

PREPARING_PER_READING = 0.4
"""Of the time that it took to read all candidates, for what must be done before the first large one is answered: with
less it is not begun."""

LINK_SHARE, LINK_SHARE_OF_LARGE = 0.8, 0.2
"""Of what is then left of a deadline, for small and for large placements: bounds are no answer without shifts."""

FINISH_S, FINISH_S_PER_CANDIDATE = 0.004, 25e-6
"""Taken off a deadline: to stop searches, sort what was found, and let go of what is no longer needed."""


def rank(
    problem: Problem,
    *,
    loops: Loops = "joint",
    aggregate: AggregateName = DEFAULT_AGGREGATE,
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
        How the scores of a candidate's shared links become its score. ``"per_job"``: the mean over all placed jobs of
        the score of the job's worst shared link, 1 for a job that shares none; of all aggregates it predicts slowdown
        best (``python -m bench.ranking.prediction``). ``"mean"`` over the shared links is the paper's. Others are
        ``"min"`` and percentiles such as ``"p10"``. Whichever is asked for, time-shifts are searched that maximise the
        mean over the shared links. So a candidate's ``optimal`` rests on the bounds of its links, unless the aggregate
        is ``"mean"``: then what a joint search proved of the mean counts too.
    top : int
        How many candidates are sure to be the best; one by default, as a scheduler places one. With ``loops="joint"``
        candidates are looked at in the order of their bounds, 16 at first, then twice as many each time, until so many
        score at least as much as any other can. The others are ``bound_only``.
    exhaustive : bool
        Look at all candidates instead, whatever that takes.
    period_tolerance : float
        How much an iteration time may be lengthened, as a fraction, so that jobs have a stable relative phase
        (:func:`cassini_core.harmonize`); 0 changes nothing.
    threads : int or None
        Threads that solve links; None for as many as the process has CPUs. The answer does not depend on it.
    deadline_s : float or None
        Seconds from the call; what was not reached in time is reported with its bound. With a deadline the answer is
        valid but not reproducible, and Python's collector of cycles rests until then.
    node_limit : int, "auto" or None
        Search nodes per link; None for no limit. ``"auto"``: 50,000, or fewer where there are many links to solve
        (:mod:`cassini_core.links.node_limits`); then what all links together, and all candidates, may take is limited,
        too (docs/safety.md). What was cut short says so in its candidate's warnings.
    block_node_limit : int, "auto" or None
        The same per cyclic block with ``loops="joint"``.
    resolution_ms : float
        How precisely a shift can be held, ms (F1b).
    slack_tolerance : float
        How much a link's score may drop within slack and hold (F5).
    executor : concurrent.futures.Executor or None
        Solves the distinct link problems, in place of threads of this process; the answer is the same. It is sent a
        function of this package and, in some dozens of parts, NumPy arrays: periods, phases and capacities as integers,
        no names. Its workers need the same version of the package. What it loses (a worker is killed, the pool breaks,
        is shut down or cancels) is solved in this process, as is what it has not begun while nothing came back for 5
        seconds. At the deadline it is not waited for, and on Ctrl-C what it has not begun is canceled. Joint shifts are
        found in this process, by threads, and so is all else.
    progress : callable or None
        Called in the calling thread as ``progress(done, total)``, counting distinct link problems and candidates.

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
    )
    return _rank(problem, options, Deadline(options.deadline_s))


def _rank(problem: Problem, options: RankOptions, deadline: Deadline, store: LinkStore | None = None) -> Ranking:
    if deadline.remaining_s() is None:
        return _rank_in_time(problem, options, deadline, store)
    # A full collection takes as long as a large problem has objects: tenths of a second that nobody can foresee.
    with collector_rests():
        try:
            in_time = deadline.before(FINISH_S + FINISH_S_PER_CANDIDATE * len(problem.candidates))
            return _rank_in_time(problem, options, in_time, store)
        except DeadlinePassed:
            return _unread(problem)


def _rank_in_time(problem: Problem, options: RankOptions, deadline: Deadline, store: LinkStore | None) -> Ranking:
    """Raises DeadlinePassed if there is no time even to read all candidates, where these are many."""
    routes = RouteTable(problem.candidates, deadline.check_reading)
    paced = _paced(problem, options, deadline, routes, store)
    out_of_step = paced is None
    paced = problem if paced is None else paced
    catalog = LinkCatalog(paced, routes, deadline.check_reading)
    placements, common = catalog.placements(), catalog.common_links()
    period = {job.id: ticks_from_ms(job.iteration_ms) for job in paced.jobs}
    flat = FlatLinks(catalog.shared, period)
    large = _large(placements, common, flat, options)
    if len(placements) > READ_TOGETHER:
        deadline.check_reading()
    anchored = any(large) and deadline.leaves(PREPARING_PER_READING)
    deadline = deadline.after_reading()
    n_routes = sum(map(len, routes.placed))
    effort = _effort(catalog, placements, flat, n_routes, options)
    budget = options.budget(len(catalog.problems), len(placements), effort)
    total = len(catalog.problems) + len(placements)
    kernel_links = KernelLinks(catalog.problems, budget, deadline)
    with canceling_pool(1, "cassini-prepare", kernel_links.cancel) as pool:
        if anchored:  # they will be needed; meanwhile links are solved
            pool.submit(kernel_links.prepared)
        solved = solve_problems(
            catalog.problems,
            budget,
            threads=options.threads,
            deadline=deadline.part(LINK_SHARE_OF_LARGE if any(large) else LINK_SHARE),
            executor=options.executor,
            progress=lambda done: options.progress(done, total),
            node_limits=options.link_limits(catalog.problems),
            with_slack=budget.centred and not all(large),  # else no use is made of the own shifts of links
            store=store,
            together=all_links_limit(options.node_limit, n_routes),
            looks=effort.nodes,
        )
    context = Round(catalog, flat, solved, period, budget, kernel_links, effort.nodes)
    nodes = None if options.top is None else all_candidates_limit(options.block_node_limit, n_routes)
    entries = answer_candidates(placements, large, common if anchored else (), context, options, deadline, nodes)
    candidates = tuple(entry.candidate for entry in sorted(entries, key=Entry.key))
    best = candidates[0] if candidates and candidates[0].score is not None else None
    return Ranking(
        best=best,
        best_proven=best is not None and _beats(best, candidates[1:]),
        paces_ms={job.id: job.iteration_ms for job in sorted(paced.jobs, key=lambda job: job.id)},
        candidates=candidates,
        warnings=_warnings(solved, entries, out_of_step=out_of_step),
    )


def _paced(
    problem: Problem, options: RankOptions, deadline: Deadline, routes: RouteTable, store: LinkStore | None
) -> Problem | None:
    """None if there is not time enough."""
    if options.period_tolerance == 0:
        return problem
    in_time = deadline.part(PACING_SHARE)
    seconds = in_time.remaining_s()
    if seconds is not None and seconds < PACING_PER_READING * deadline.elapsed_s():
        return None
    try:
        return paced_problem(problem, options.period_tolerance, options.resolution_ms, in_time, routes, store)
    except InputError:
        LinkCatalog(problem, routes)  # of a link that is too large it says which
        raise


def _unread(problem: Problem) -> Ranking:
    return Ranking(
        best=None,
        best_proven=False,
        paces_ms={job.id: job.iteration_ms for job in sorted(problem.jobs, key=lambda job: job.id)},
        candidates=tuple(unread(candidate.id) for candidate in problem.candidates),
        warnings=(f"the deadline came before all {len(problem.candidates)} candidates were read",),
    )


def _large(
    placements: Sequence[Placement], common: Sequence[SharedLink], flat: FlatLinks, options: RankOptions
) -> list[bool]:
    """Which placements are answered by their difference from the common one: that is no use to one alone."""
    if options.strategy is solve_jointly and common and len(placements) > 1:
        large = large_ones(placements, flat)
        if sum(large) > 1:
            return large
    return [False for _ in placements]


def _effort(
    catalog: LinkCatalog, placements: Sequence[Placement], flat: FlatLinks, n_routes: int, options: RankOptions
) -> LinkEffort:
    """What looking at each link may cost; whatever it does where the caller says how many nodes it may."""
    if options.node_limit != AUTO:
        return LinkEffort(DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS, np.zeros(len(catalog.problems)))
    uses = np.zeros(len(flat.problem), dtype=np.int64)
    for placement in placements:
        uses[placement.links] += 1  # none stands twice in one
    of_problem = np.bincount(flat.problem, uses, len(catalog.problems)).astype(np.int64)
    return link_effort(catalog.problems, of_problem, ticks_from_ms(options.resolution_ms), n_routes)


def _beats(best: RankedCandidate, others: Sequence[RankedCandidate]) -> bool:
    return best.score is not None and all(best.score >= other.upper_bound - TOLERANCE for other in others)


def _warnings(solved: Sequence[SolvedLink], entries: Sequence[Entry], *, out_of_step: bool) -> tuple[str, ...]:
    """What was cut short or left out, in the whole ranking."""
    unreached = sum(one.answer is None for one in solved)
    unproven = sum(one.answer is not None and not one.answer.optimal for one in solved)
    unanswered = sum(one.answer.status == "bound_only" and not one.answer.outbid for one in entries)
    lines = [
        (out_of_step, "iteration times were not harmonised: the deadline came first"),
        (unreached, f"{unreached} of {len(solved)} link problems were not reached before the deadline"),
        (unproven, f"{unproven} of {len(solved)} link problems were not solved to proven optimality"),
        (unanswered, f"{unanswered} of {len(entries)} candidates were not solved; they have a bound only"),
    ]
    return tuple(line for count, line in lines if count)
