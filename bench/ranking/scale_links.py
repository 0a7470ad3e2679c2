"""The link problems of a round solved by themselves, as ``rank`` does it before it looks at any candidate.

The only module of the report that calls the engine below its public functions.
"""

from __future__ import annotations

import inspect
import statistics
import time
from typing import Any

import numpy as np

import cassini_core as cc
from cassini_core.deadline import Deadline
from cassini_core.joint.base_placement import large_placements
from cassini_core.kernel.link_arrays import LinkAnswers
from cassini_core.kernel.prepared_link import DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS
from cassini_core.kernel.prepared_links import PreparedLinks
from cassini_core.links.batch_solver import BatchSolver
from cassini_core.links.evaluation_cost import LinkEffort
from cassini_core.links.route_deltas import RouteTable
from cassini_core.links.shared_links import LinkCatalog
from cassini_core.node_budget import link_limits
from cassini_core.periods.cluster_pacing import paced_problem
from cassini_core.ranking.options import RankOptions, checked_options

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
        effort = LinkEffort(DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS, np.zeros(len(catalog.problems)))
        limits = options.limits(len(catalog.problems), len(problem.candidates), effort)
        solved = BatchSolver(
            PreparedLinks(catalog.problems, limits, Deadline(None)),
            link_limits(options.node_limit, catalog.problems.n_jobs()),
            threads=options.threads,
            deadline=Deadline(None),
            progress=lambda done: None,
            with_slack=with_slack,
        ).solve()
        end = time.perf_counter()
        samples.append((end - begin, end - read, time.process_time() - cpu_begin))
    _check_bounds(catalog, solved, ranking)
    seconds, solve_s, cpu_s = (statistics.median(own) for own in zip(*samples, strict=True))
    return {
        "problems": len(solved),
        "block_nodes": limits.block_node_limit,
        "proven": int(solved.optimal.sum()),
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
    return not (catalog.base_links() and len(placements) > 1 and all(large_placements(placements, catalog.incidence)))


def _check_bounds(catalog: LinkCatalog, solved: LinkAnswers, ranking: cc.Ranking) -> None:
    said = {one.id: one for one in ranking.candidates}
    for placement in catalog.placements():
        bounds = {link.id: float(solved.upper_bound[link.problem]) for link in placement.shared}
        for link in said[placement.id].links:
            if abs(bounds[link.id] - link.upper_bound) > TOLERANCE:
                raise WrongAnswerError(
                    f"{placement.id}: link {link.id} has the bound {link.upper_bound!r} in the ranking and "
                    f"{bounds[link.id]!r} by itself"
                )
