"""The link problems of a round solved by themselves, as ``rank`` does it before it looks at any candidate.

The only module of the report that calls the engine below its public functions.
"""

from __future__ import annotations

import inspect
import statistics
import time
from typing import Any

import cassini_core as cc
from cassini_core.deadline import Deadline
from cassini_core.joint.base_placement import large_ones
from cassini_core.links.batch_solver import SolvedLink, solve_problems
from cassini_core.links.incidence import FlatLinks
from cassini_core.links.route_deltas import RouteTable
from cassini_core.links.shared_links import LinkCatalog
from cassini_core.periods.cluster_pacing import paced_problem
from cassini_core.ranking.options import RankOptions, checked_options
from cassini_core.units import ticks_from_ms

from .scale_check import TOLERANCE, WrongAnswerError

THREADS = 2


def link_optima(problem: cc.Problem, ranking: cc.Ranking, runs: int) -> dict[str, Any]:
    """Seconds of reading a round and solving its link problems, medians over ``runs``, and how many are proven.

    Returns
    -------
    dict
        ``problems``, ``proven``, ``seconds`` (both steps), ``solve_s``, ``cpu_s`` (both steps), ``pacing_s``; and
        ``block_nodes``, what each cyclic block may take after that.

    Raises
    ------
    WrongAnswerError
        The bounds of the links are not those that stand in ``ranking``, the answer to ``problem``.
    """
    options = default_options(problem)
    begin = time.perf_counter()
    paced = paced_problem(problem, options.period_tolerance, options.resolution_ms, Deadline(None))
    pacing_s = time.perf_counter() - begin
    if paced is None:
        raise WrongAnswerError("iteration times were not harmonised, though there is no deadline")
    with_slack = _with_slack(paced)
    samples = []
    for _ in range(max(1, runs)):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        catalog = LinkCatalog(paced)
        read = time.perf_counter()
        solved = solve_problems(
            catalog.problems,
            options.budget(len(catalog.problems), len(problem.candidates)),
            threads=options.threads,
            deadline=Deadline(None),
            progress=lambda done: None,
            node_limits=options.link_limits(catalog.problems),
            with_slack=with_slack,
        )
        end = time.perf_counter()
        samples.append((end - begin, end - read, time.process_time() - cpu_begin))
    _check_bounds(catalog, solved, ranking)
    seconds, solve_s, cpu_s = (statistics.median(own) for own in zip(*samples, strict=True))
    return {
        "problems": len(solved),
        "block_nodes": options.budget(len(solved), len(problem.candidates)).block_node_limit,
        "proven": sum(one.answer is not None and one.answer.optimal for one in solved),
        "seconds": seconds,
        "solve_s": solve_s,
        "cpu_s": cpu_s,
        "pacing_s": pacing_s,
    }


def default_options(problem: cc.Problem) -> RankOptions:
    """What ``rank`` works with when told nothing, on two threads."""
    defaults = {
        name: one.default for name, one in inspect.signature(cc.rank).parameters.items() if one.kind is one.KEYWORD_ONLY
    }
    return checked_options(problem, **{**defaults, "threads": THREADS})


def _with_slack(paced: cc.Problem) -> bool:
    """Whether the links' own shifts are used: not where every candidate is searched from what all have in common."""
    routes = RouteTable(paced.candidates)
    catalog = LinkCatalog(paced, routes)
    placements = catalog.placements()
    flat = FlatLinks(catalog.shared, {job.id: ticks_from_ms(job.iteration_ms) for job in paced.jobs})
    return not (catalog.common_links() and len(placements) > 1 and all(large_ones(placements, flat)))


def _check_bounds(catalog: LinkCatalog, solved: list[SolvedLink], ranking: cc.Ranking) -> None:
    said = {one.id: one for one in ranking.candidates}
    for placement in catalog.placements():
        bounds = {link.id: solved[link.problem.index].upper_bound for link in placement.shared}
        for link in said[placement.id].links:
            if abs(bounds[link.id] - link.upper_bound) > TOLERANCE:
                raise WrongAnswerError(
                    f"{placement.id}: link {link.id} has the bound {link.upper_bound!r} in the ranking and "
                    f"{bounds[link.id]!r} by itself"
                )
