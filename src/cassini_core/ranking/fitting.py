"""Longer paces for jobs that fit only in part: with some more time per iteration their bursts fit side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

from ..model import Candidate, Job, Problem
from ..periods.harmonize_jobs import lengthen
from ..results import Ranking
from ..units import ticks_from_ms
from .holding import HeldComponent, held_components

__all__ = ["FITTED_SCORE", "Fitted", "fitted"]

FITTED_SCORE = 0.98
"""What each link of a component is to score: more than is asked of those who are held, so that they are held on where a
later ranking leaves them as they run at some cost."""

MOST_PERCENT = 45
"""Of the pace. A job that is slowed by more than half is not held."""


class Fitted(NamedTuple):
    """What was ranked last, and :func:`held_components` of that."""

    problem: Problem
    ranking: Ranking
    held: tuple[HeldComponent, ...]


def fitted(
    problem: Problem,
    ranking: Ranking,
    rank: Callable[[Problem], Ranking],
    uncontrolled: Problem | None = None,
    *,
    anyway: Collection[str] = (),
) -> Fitted:
    """The best placement, with longer paces where its jobs fit only in part.

    All paces of a component get longer by one percentage, so that they keep their ratios: the least whole one with
    which each of its links scores :data:`FITTED_SCORE`, found by halving. (Of several links, or times of other ratios,
    longer paces now and then fit worse: then a larger one or none may be found.) A component stays as it is where its
    paces would then cost its jobs more than interleaving saves them.

    Parameters
    ----------
    problem : Problem
    ranking : Ranking
        Of ``problem``.
    rank : callable
        Ranks a problem with the options of ``ranking``.
    uncontrolled : Problem, optional
        As for :func:`held_components`.
    anyway : collection of str
        Jobs whose components stay as they are: they are held at the paces that they have.

    Returns
    -------
    Fitted
        With ``problem`` and ``ranking`` themselves where nothing gets longer. Else with the problem with longer
        iteration times and the best placement as its only candidate, and its ranking.

    Notes
    -----
    For each component that fits only in part its links are ranked seven times at most, once where no pace helps. Where
    some do, the placement is ranked again.
    """
    best = ranking.best
    as_it_is = Fitted(problem, ranking, held_components(ranking, problem, uncontrolled, anyway=anyway))
    parts = [one for one in as_it_is.held if one.score < FITTED_SCORE and not any(job in anyway for job in one.jobs)]
    if best is None or not parts:
        return as_it_is
    candidate = next(one for one in problem.candidates if one.id == best.id)
    longer: dict[str, Job] = {}
    for component in parts:
        longer |= _least_that_fits(
            problem, uncontrolled or problem, ranking, _around(candidate, component), component, rank
        )
    if not longer:
        return as_it_is
    jobs = [longer.get(job.id, job) for job in problem.jobs]
    made = Problem(jobs, problem.links, [candidate], problem.running_shifts_ms)
    ranked = rank(made)
    if ranked.best is None:  # a deadline may leave none
        return as_it_is
    return Fitted(made, ranked, held_components(ranked, made, uncontrolled or problem, anyway=anyway))


def _least_that_fits(
    problem: Problem,
    uncontrolled: Problem,
    ranking: Ranking,
    around: Candidate,
    component: HeldComponent,
    rank: Callable[[Problem], Ranking],
) -> dict[str, Job]:
    """A component's jobs at the shortest paces at which they fit; empty without any that is worth it."""
    jobs = {job.id: job for job in problem.jobs if job.id in component.jobs}
    alone_ms = {job.id: job.iteration_ms for job in uncontrolled.jobs}
    paces = {job: ticks_from_ms(ranking.paces_ms[job]) for job in jobs}
    base = math.gcd(*paces.values())
    links = {link for route in around.routes.values() for link in route}

    def at(percent: int) -> tuple[dict[str, Job], list[HeldComponent]]:
        longer_base = base + -(-base * percent // 100)
        made = {job: lengthen(jobs[job], pace // base * longer_base) for job, pace in paces.items()}
        members = [made.get(job.id, job) for job in problem.jobs if job.id in around.routes]
        tried = Problem(members, [link for link in problem.links if link.id in links], [around])
        found = held_components(rank(tried), tried, uncontrolled)
        return made, [one for one in found if not made.keys().isdisjoint(one.jobs)]

    def fit(found: list[HeldComponent]) -> bool:
        return {job for one in found if one.score >= FITTED_SCORE for job in one.jobs} >= jobs.keys()

    # All that is sent late at random phases: interleaving saves no more, and so longer paces must cost less.
    late = max(component.gain_ms[job] / alone_ms[job] for job in jobs) + 1.0 - component.score
    short, long = 0, min(MOST_PERCENT, math.ceil(100 * late))
    made, found = at(long)
    if not fit(found):
        return {}
    while long - short > 1:
        between = (short + long) // 2
        shorter, said = at(between)
        if fit(said):
            long, made, found = between, shorter, said
        else:
            short = between
    return made if all(one.why_not is None for one in found) else {}


def _around(candidate: Candidate, component: HeldComponent) -> Candidate:
    """The links of a component's jobs, and all jobs on them."""
    links = {link for job in component.jobs for link in candidate.routes[job]}
    routes = {
        job: {link: times for link, times in route.items() if link in links} for job, route in candidate.routes.items()
    }
    return Candidate(candidate.id, {job: route for job, route in routes.items() if route})
