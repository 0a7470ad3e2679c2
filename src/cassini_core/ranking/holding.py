"""Which jobs of a placement are worth holding at their shifts: how far they may move, and what interleaving saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ..joint.affinity import Component, affinity_graph, components
from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS, PreparedLink
from ..links.folding import repeats
from ..links.one_link import solve_link
from ..model import Candidate, Job, Problem
from ..periods.harmonize_jobs import lengthen
from ..results import RankedCandidate, Ranking
from ..units import ms_from_ticks, ticks_from_ms

__all__ = ["LEAST_SCORE", "HeldComponent", "held_components"]

LEAST_SCORE = 0.97
"""Of each link of a component that is held. Below, its jobs are held up in each iteration, come late, and wait for the
next point of their grids again and again: at random phases they fare better (``python -m bench.testbed --only
partial``)."""


@dataclass(frozen=True, slots=True)
class HeldComponent:
    """Jobs whose shifts matter and that hang together over shared links.

    Attributes
    ----------
    jobs : tuple of str
        By id.
    hold_ms : float
        How far all of them may move at once, ms: the least over the links of the component.
    score : float
        The least over the links that two or more of its jobs share: 1 - score is the share of the time by which demand
        above capacity is sent later.
    gain_ms : mapping of str to float
        By job what interleaving saves per iteration, ms, on its worst link and against random phases.
    why_not : str or None
        Why the jobs had better run free; None: they are to be held.
    """

    jobs: tuple[str, ...]
    hold_ms: float
    score: float
    gain_ms: Mapping[str, float] = field(hash=False)
    why_not: str | None

    def is_worth(self, paces_ms: Mapping[str, float], alone_ms: Mapping[str, float]) -> bool:
        """Whether interleaving saves its jobs more than these paces cost them, both as shares of iteration times."""
        cost = sum(paces_ms[job] / alone_ms[job] - 1.0 for job in self.jobs)
        return cost < sum(self.gain_ms[job] / alone_ms[job] for job in self.jobs)


def held_components(
    ranking: Ranking, problem: Problem, uncontrolled: Problem | None = None, *, anyway: Collection[str] = ()
) -> tuple[HeldComponent, ...]:
    """The components of a ranking's best placement, by their first jobs; none where no placement is the best.

    Free jobs are in none: their paces fit no ratio, and whom they alone connect need not know of each other.

    Parameters
    ----------
    ranking : Ranking
        Of ``problem``.
    problem : Problem
    uncontrolled : Problem, optional
        The jobs with their uncontrolled iteration times, where those of ``problem`` are longer so that they make up for
        jitter. Default: ``problem``.
    anyway : collection of str
        Jobs whose components are held also where they fit only in part, or where their paces cost more than
        interleaving wins: to see what they are when they are apart, say.

    Notes
    -----
    Solves and evaluates each different link once.
    """
    best = ranking.best
    if best is None:
        return ()
    candidate = next(one for one in problem.candidates if one.id == best.id)
    alone_ms = {job.id: job.iteration_ms for job in (uncontrolled or problem).jobs}
    scores = {link.id: link.score for link in best.links if link.score is not None}
    found = _components(candidate, best)
    holds = _holds(ranking, problem, candidate, best, found)
    gains = _gains(uncontrolled or problem, candidate, best)
    made = []
    for component, hold in zip(found, holds, strict=True):
        gain_ms = {job: ms_from_ticks(gains[job]) for job in component.jobs}
        # Where one of them meets free jobs alone, no shift and no pace of theirs matters.
        uses = Counter(link for job in component.jobs for link in candidate.routes[job])
        score = min((scores[link] for link in component.links if link in scores and uses[link] > 1), default=1.0)
        one = HeldComponent(component.jobs, ms_from_ticks(hold), score, gain_ms, None)
        judged = not any(job in anyway for job in one.jobs)
        made.append(replace(one, why_not=_why_not(one, ranking.paces_ms, alone_ms, judged=judged)))
    return tuple(made)


def _components(candidate: Candidate, best: RankedCandidate) -> list[Component]:
    held = {job: shift for job, shift in best.shifts_ms.items() if job not in best.free_jobs}
    on_link = {
        link.id: {job: 0 for job, route in candidate.routes.items() if link.id in route and job in held}
        for link in best.links
    }
    return [one for one in components(affinity_graph(on_link, held)) if one.jobs]


def _holds(
    ranking: Ranking, problem: Problem, candidate: Candidate, best: RankedCandidate, found: list[Component]
) -> list[int]:
    """The hold of each component, ticks: the least over its own links, each at the shifts of the ranking.

    The ranking gives the least over all components, which would narrow each to the tightest of them all.
    """
    least = ticks_from_ms(best.hold_ms or 0.0)
    if len(found) < 2:
        return [least] * len(found)
    placed = (job for job in problem.jobs if job.id in candidate.routes)
    paced = {job.id: lengthen(job, ticks_from_ms(ranking.paces_ms[job.id])) for job in placed}
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    resolution_ms = DEFAULT_RESOLUTION_MS if ranking.resolution_ms is None else ranking.resolution_ms
    on_links: dict[str, int] = {}
    for link in (link.id for link in best.links):
        members = [job for job, route in candidate.routes.items() if link in route]
        prepared = PreparedLink.from_jobs(
            [paced[job] for job in members], capacity[link], {job: candidate.routes[job][link] for job in members}
        )
        shifts = [ticks_from_ms(best.shifts_ms[job]) for job in members]
        # From the first, as the ranking evaluates them.
        relative = [(shift - shifts[0]) % period for shift, period in zip(shifts, prepared.period, strict=True)]
        seen = prepared.evaluate(relative, resolution_ms=resolution_ms, slack_tolerance=ranking.slack_tolerance)
        on_links[link] = seen.hold
    if abs(min(on_links.values()) - least) > 1:
        # Ranked with options that are not known here, so that other jobs may be free: what it said holds anyway.
        return [least] * len(found)
    return [min((on_links[link] for link in one.links), default=0) for one in found]


def _why_not(
    one: HeldComponent, paces_ms: Mapping[str, float], alone_ms: Mapping[str, float], *, judged: bool
) -> str | None:
    if not any(one.gain_ms.values()):
        return "interleaving wins nothing: at random phases its links score as much"
    if one.hold_ms == 0:
        return "nothing can be held: the best shifts leave its jobs no room to move"
    # One job late, the others early: twice the hold apart, to either side.
    paces = Counter(ticks_from_ms(paces_ms[job]) for job in one.jobs)
    if 4 * ticks_from_ms(one.hold_ms) >= max(repeats(paces).values()):
        return "interleaving wins next to nothing: whatever the phases, its links score nearly the same"
    if judged and one.score < LEAST_SCORE:
        return f"its jobs fit only in part: at the best shifts a link scores {one.score:.2f}"
    if any(paces_ms[job] > 1.5 * alone_ms[job] for job in one.jobs):
        return "a job of its component would be slowed by more than half"
    if judged and not one.is_worth(paces_ms, alone_ms):
        return "its paces would cost more than interleaving wins"
    return None


def _gains(problem: Problem, candidate: Candidate, best: RankedCandidate) -> dict[str, int]:
    """What each job saves per iteration on its worst link, ticks, against random phases.

    Demand above capacity has to be sent later. Per iteration that is its mean over time, as a share of the capacity,
    times the iteration time: 1 - score of the time. At random phases the expected score counts, which the kernel gives
    where it treats all jobs as free (F1b).

    ``problem`` has the uncontrolled iteration times: what runs free is not paced.
    """
    jobs = {job.id: job for job in problem.jobs}
    capacity = {link.id: link.capacity_gbps for link in problem.links}
    gains = dict.fromkeys(best.shifts_ms, 0)
    known: dict[tuple[tuple[tuple[str, float], ...], float], float | None] = {}
    for link in best.links:
        members = tuple((job, route[link.id]) for job, route in candidate.routes.items() if link.id in route)
        key = members, capacity[link.id]
        if key not in known:
            known[key] = _random_score([jobs[job] for job, _ in members], capacity[link.id], dict(members))
        at_random = known[key]
        if link.score is None or at_random is None:
            continue
        for job, _ in members:
            if job in gains:
                iteration = ticks_from_ms(jobs[job].iteration_ms)
                saved = min(1.0, max(0.0, link.score - at_random))
                gains[job] = max(gains[job], min(iteration, round(saved * iteration)))
    return gains


def _random_score(jobs: list[Job], capacity_gbps: float, multipliers: Mapping[str, float]) -> float | None:
    """Expected score of a link whose jobs run at independent random phases; None beyond the limits of folding."""
    longest_ms = max(job.iteration_ms for job in jobs)
    solution = solve_link(jobs, capacity_gbps, resolution_ms=longest_ms, multipliers=multipliers)
    return solution.score if solution.score_is_exact else None
