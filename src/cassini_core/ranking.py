"""Algorithm 2: scores every candidate placement and puts the best first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from .aggregate import Aggregate, mean
from .block_solver import BlockSolver
from .candidate_pool import answer_again, answer_placements
from .joint import improve_jointly, is_large, solve_jointly
from .link_catalog import LinkCatalog, Placement, SharedLink
from .link_pool import Deadline, SolvedLink, solve_problems
from .model import LinkScore, Problem, RankedCandidate, Ranking
from .node_limits import AUTO, NodeLimit
from .pacing import paced_problem
from .prepared_link import DEFAULT_RESOLUTION_MS, DEFAULT_SLACK_TOLERANCE
from .rank_options import Progress, RankOptions, checked_options
from .route_table import RouteTable
from .shifts import TOLERANCE, Anchor, PlacementAnswer, Round, Strategy
from .units import ms_from_ticks, ticks_from_ms

__all__ = ["rank"]

ANCHOR_EFFORT = 200
"""The common placement of many large ones is searched with so many times the nodes of each: they all begin there."""

IMPROVED, IMPROVED_EFFORT = 8, 20
"""So many of the best large placements are searched with so many times the nodes once more."""

PACING_SHARE = 0.25
"""Of a deadline: iteration times are worth no more, the links need the rest."""


def rank(
    problem: Problem,
    *,
    loops: str = "joint",
    aggregate: str = "mean",
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
    aggregate : str
        How the scores of a candidate's shared links become its score: ``"mean"`` (the paper's), ``"min"``, a
        percentile such as ``"p10"``, or ``"per_job"``, the mean over all placed jobs of the job's worst link.
        Time-shifts are the same for all.
    period_tolerance : float
        How much an iteration time may be lengthened, as a fraction, so that jobs have a stable relative phase
        (:func:`cassini_core.harmonize`); 0 changes nothing.
    threads : int or None
        Threads that solve links; None for as many as the process has CPUs. The answer does not depend on it.
    deadline_s : float or None
        Seconds from the call; what was not reached in time is reported with its bound. With a deadline the answer is
        valid but not reproducible.
    node_limit : int, "auto" or None
        Search nodes per link; None for no limit. ``"auto"``: 50,000, or fewer where there are many links to solve
        (:mod:`cassini_core.node_limits`). What was cut short says so in its candidate's warnings.
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
        Memory, or a defect.

    Notes
    -----
    Paper, Algorithm 2 and section 4.2. Each distinct link problem is solved once, whatever the number of links and
    candidates that pose it; its cost is that of :func:`cassini_core.solve_link`. Releases the GIL while solving; can
    be interrupted.
    """
    options = checked_options(
        problem,
        loops=loops,
        aggregate=aggregate,
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


def _rank(problem: Problem, options: RankOptions, deadline: Deadline) -> Ranking:
    routes = RouteTable(problem.candidates)
    pacing_deadline = deadline.part(PACING_SHARE)
    paced = paced_problem(problem, options.period_tolerance, options.resolution_ms, pacing_deadline, routes)
    out_of_step = paced is None
    paced = problem if paced is None else paced
    catalog = LinkCatalog(paced)
    placements = catalog.placements(problem.candidates, routes)
    total = len(catalog.problems) + len(placements)
    budget = options.budget(len(catalog.problems), len(placements))
    solved = solve_problems(
        catalog.problems,
        budget,
        threads=options.threads,
        deadline=deadline,
        executor=options.executor,
        progress=lambda done: options.progress(done, total),
    )
    period = {job.id: ticks_from_ms(job.iteration_ms) for job in paced.jobs}
    context = Round(period, solved, budget, BlockSolver(catalog.problems, solved, period, budget))
    if options.strategy is solve_jointly:
        context = replace(context, anchor=_anchor(placements, catalog.common_links(routes), context))
    answers = answer_placements(
        placements,
        _most_promising_first(placements, solved, options.aggregate),
        context,
        options.strategy,
        threads=options.threads,
        deadline=deadline,
        progress=lambda done: options.progress(len(solved) + done, total),
    )
    if context.anchor is not None:
        _improve_best(answers, context, options, deadline)
    entries = [_entry(place, answer, options.aggregate, period) for place, answer in enumerate(answers)]
    candidates = tuple(entry.candidate for entry in sorted(entries, key=_Entry.key))
    best = candidates[0] if candidates and candidates[0].score is not None else None
    return Ranking(
        best=best,
        best_proven=best is not None and _beats(best, candidates[1:]),
        paces_ms={job.id: job.iteration_ms for job in sorted(paced.jobs, key=lambda job: job.id)},
        candidates=candidates,
        warnings=_warnings(solved, candidates, out_of_step=out_of_step),
    )


def _anchor(placements: Sequence[Placement], common: Sequence[SharedLink], context: Round) -> Anchor | None:
    """Shifts of the common placement, if several placements are too large to be taken apart."""
    if sum(map(is_large, placements)) < 2 or not common:
        return None
    if any(context.solved[link.problem.index].answer is None for link in common):
        return None  # the deadline came first
    answer = context.blocks.solve(common, effort=ANCHOR_EFFORT)
    return Anchor({link.id: link for link in common}, answer.shift)


def _improve_best(answers: list[PlacementAnswer], context: Round, options: RankOptions, deadline: Deadline) -> None:
    """Large placements were searched near their differences alone: the best of them once more, everywhere."""

    def score(answer: PlacementAnswer) -> int:
        jobs = [link.jobs for link in answer.placement.shared]
        return _bucket(options.aggregate(answer.scores or (), jobs, answer.placement.placed))

    def further(answer: PlacementAnswer) -> Strategy:
        return lambda placement, context: improve_jointly(placement, context, answer.shift, IMPROVED_EFFORT)

    large = [k for k, answer in enumerate(answers) if answer.scores and is_large(answer.placement)]
    best = sorted(large, key=lambda place: (-score(answers[place]), place))[:IMPROVED]
    answer_again(answers, best, context, further, threads=options.threads, deadline=deadline)


def _most_promising_first(
    placements: Sequence[Placement], solved: Sequence[SolvedLink], aggregate: Aggregate
) -> list[int]:
    buckets = [-_bucket(_bound(placement, solved, aggregate)) for placement in placements]
    return sorted(range(len(placements)), key=lambda place: (buckets[place], place))


def _bound(placement: Placement, solved: Sequence[SolvedLink], aggregate: Aggregate) -> float:
    bounds = [solved[link.problem.index].upper_bound for link in placement.shared]
    return aggregate(bounds, [link.jobs for link in placement.shared], placement.placed)


def _bucket(score: float) -> int:
    """Scores compare in buckets, so that a rounding error decides nothing."""
    return round(score / TOLERANCE)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A candidate with what it is sorted by."""

    candidate: RankedCandidate
    place: int
    least_slack: float

    def key(self) -> tuple[bool, int, float, int, int]:
        one = self.candidate
        if one.score is None:  # after all that were solved
            return (True, -_bucket(one.upper_bound), 0.0, 0, self.place)
        return (False, -_bucket(one.score), -self.least_slack, len(one.links), self.place)


def _entry(place: int, answer: PlacementAnswer, aggregate: Aggregate, period: Mapping[str, int]) -> _Entry:
    shared, placed = answer.placement.shared, answer.placement.placed
    jobs = [link.jobs for link in shared]
    bound = aggregate(answer.bounds, jobs, placed)
    if aggregate is mean and answer.mean_bound is not None:
        bound = min(bound, answer.mean_bound)
    score = None if answer.scores is None else aggregate(answer.scores, jobs, placed)
    scores: Sequence[float | None] = answer.scores if answer.scores is not None else [None] * len(shared)
    candidate = RankedCandidate(
        id=answer.placement.id,
        score=score,
        upper_bound=bound,
        optimal=score is not None and score >= bound - TOLERANCE,
        status=answer.status,
        shifts_ms={job: ms_from_ticks(ticks) for job, ticks in answer.shift.items()},
        slack_ms={job: ms_from_ticks(ticks) for job, ticks in answer.slack.items()},
        hold_ms=None if answer.hold is None else ms_from_ticks(answer.hold),
        free_jobs=answer.free_jobs,
        worst_link=_worst_link(answer),
        total_excess_gbps=_total_excess_gbps(answer),
        links=tuple(
            LinkScore(link.id, score, bound) for link, score, bound in zip(shared, scores, answer.bounds, strict=True)
        ),
        warnings=answer.warnings,
    )
    # A candidate in which nothing is shared has all the slack there is.
    least_slack = min((ticks / period[job] for job, ticks in answer.slack.items()), default=math.inf)
    return _Entry(candidate, place, least_slack)


def _worst_link(answer: PlacementAnswer) -> str | None:
    if not answer.scores:
        return None
    return min(zip(answer.scores, (link.id for link in answer.placement.shared), strict=True))[1]


def _total_excess_gbps(answer: PlacementAnswer) -> float | None:
    if answer.scores is None:
        return None
    links = zip(answer.scores, answer.placement.shared, strict=True)
    return math.fsum((1.0 - score) * link.capacity_gbps for score, link in links)


def _beats(best: RankedCandidate, others: Sequence[RankedCandidate]) -> bool:
    return best.score is not None and all(best.score >= other.upper_bound - TOLERANCE for other in others)


def _warnings(
    solved: Sequence[SolvedLink], candidates: Sequence[RankedCandidate], *, out_of_step: bool
) -> tuple[str, ...]:
    """What was cut short or left out, in the whole ranking."""
    unreached = sum(one.answer is None for one in solved)
    unproven = sum(one.answer is not None and not one.answer.optimal for one in solved)
    unanswered = sum(one.status == "bound_only" for one in candidates)
    lines = [
        (out_of_step, "iteration times were not harmonised: the deadline came first"),
        (unreached, f"{unreached} of {len(solved)} link problems were not reached before the deadline"),
        (unproven, f"{unproven} of {len(solved)} link problems were not solved to proven optimality"),
        (unanswered, f"{unanswered} of {len(candidates)} candidates were not solved; they have a bound only"),
    ]
    return tuple(line for count, line in lines if count)
