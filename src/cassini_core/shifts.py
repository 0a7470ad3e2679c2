"""One candidate: from the answers of its links to one time-shift per job, checked on every link.

Links are solved one by one elsewhere. Here their time-shifts are composed (Algorithm 1), and whatever came out is
scored again on every shared link: a reported score is always that of the reported shifts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .block_solver import BlockSolver, LinkScore
from .link_catalog import Placement, SharedLink
from .link_pool import Budget, SolvedLink

__all__ = [
    "TOLERANCE",
    "Anchor",
    "Composition",
    "PlacementAnswer",
    "Round",
    "Strategy",
    "answer_placement",
]

TOLERANCE = 1e-9
"""Scores are exact to this."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Shifts for a placement that many candidates are much like: their common one. ``links`` are its shared links, by
    id.
    """

    links: Mapping[str, SharedLink]
    shift: Mapping[str, int]

    def changed(self, placement: Placement) -> set[str]:
        """Jobs of whose links one carries something else in ``placement``, or is shared in one of the two alone."""
        own = {link.id: link for link in placement.shared}
        changed = [link for name, link in own.items() if self.links.get(name) is not link]
        changed += [link for name, link in self.links.items() if own.get(name) is not link]
        return {job for link in changed for job in link.jobs}


@dataclass(frozen=True, slots=True)
class Round:
    """What all candidates of a ranking have in common.

    ``solved[i]`` answers problem ``i`` of the catalog; ``period`` is the iteration time of each job, ticks. ``anchor``
    is where searches of large placements begin.
    """

    period: Mapping[str, int]
    solved: Sequence[SolvedLink]
    budget: Budget
    blocks: BlockSolver
    anchor: Anchor | None = None

    def time_shifts(self, links: Sequence[SharedLink], *, keep_free: bool) -> dict[str, dict[str, int]]:
        """Link id to job id to the link's own time-shift; without free jobs where they are not kept.

        The score of a link does not depend on its free jobs (F1b), so their edges hold nothing together. All links
        have an answer.
        """
        shifts = {}
        for link in links:
            answer = self.solved[link.problem.index].answer
            assert answer is not None
            kept = link.jobs if keep_free else self.held_jobs(link)
            held = {job: ticks for job, ticks in zip(link.jobs, answer.shift.tolist(), strict=True) if job in kept}
            if len(held) >= 2:
                shifts[link.id] = held
        return shifts

    def held_jobs(self, link: SharedLink) -> list[str]:
        """Jobs whose shift matters on a link that has an answer: all but the free ones."""
        return [link.jobs[place] for place in self.solved[link.problem.index].held_places]


@dataclass(frozen=True, slots=True)
class Composition:
    """A status and, where there is one, a shift for every job that shares a link, ticks.

    ``mean_bound``: no shifts score more on average over the shared links, proven; None: no more than the links' own
    bounds say.
    """

    status: str
    shift: Mapping[str, int] | None = None
    mean_bound: float | None = None


@dataclass(frozen=True, slots=True)
class PlacementAnswer:
    """The answer for one placement; times in ticks.

    ``scores`` and ``bounds`` follow ``placement.shared``; ``scores`` and ``hold`` are None where nothing was solved.
    ``mean_bound`` as for :class:`Composition`.
    """

    placement: Placement
    status: str
    bounds: tuple[float, ...]
    scores: tuple[float, ...] | None = None
    shift: Mapping[str, int] = field(default_factory=dict)
    slack: Mapping[str, int] = field(default_factory=dict)
    hold: int | None = None
    free_jobs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    mean_bound: float | None = None


Strategy = Callable[[Placement, Round], Composition]
"""How the answers of links become one shift per job. Every link of the placement has an answer."""


def answer_placement(placement: Placement, context: Round, strategy: Strategy | None) -> PlacementAnswer:
    """Shifts, scores and bounds of one placement.

    Parameters
    ----------
    placement : Placement
    context : Round
    strategy : callable or None
        One of ``loops.STRATEGIES``; None if no time is left for shifts.

    Returns
    -------
    PlacementAnswer
        ``alone`` without a shared link; ``bound_only`` without a strategy, or if a shared link has no answer; else as
        the strategy says.

    Raises
    ------
    KernelError
        Memory, or a defect.

    Notes
    -----
    One evaluation per distinct link of the placement: O(events log events) per job each.
    """
    solved = [context.solved[link.problem.index] for link in placement.shared]
    bounds = tuple(one.upper_bound for one in solved)
    warnings = (*placement.warnings, *_search_warnings(placement, solved))
    if not placement.shared:
        return PlacementAnswer(placement, "alone", bounds, scores=(), warnings=warnings)
    if strategy is None:
        warnings = (*warnings, "no time-shifts: the deadline came first")
    if strategy is None or any(one.answer is None for one in solved):
        return PlacementAnswer(placement, "bound_only", bounds, warnings=warnings)
    composition = strategy(placement, context)
    if composition.shift is None:
        return PlacementAnswer(placement, composition.status, bounds, warnings=warnings)
    return _verified(placement, context, composition, bounds, warnings)


def _verified(
    placement: Placement,
    context: Round,
    composition: Composition,
    bounds: tuple[float, ...],
    warnings: tuple[str, ...],
) -> PlacementAnswer:
    """Scores every link again at the shifts that were found, and reads slack and hold off there (F5)."""
    shift = composition.shift or {}
    slack = {job: context.period[job] // 2 for job in placement.sharing_jobs()}
    seen = context.blocks.evaluate(placement.shared, shift)
    held: set[str] = set()
    for link, found in zip(placement.shared, seen, strict=True):
        held.update(context.held_jobs(link))
        for job, ticks in zip(link.jobs, found.slack, strict=True):
            if ticks < slack[job]:
                slack[job] = ticks
    reached = tuple(found.lower for found in seen)
    intervals = [
        _interval_warning(link.id, found)
        for link, found in zip(placement.shared, seen, strict=True)
        if found.upper > found.lower
    ]
    loops_cost_nothing = all(score >= bound - TOLERANCE for score, bound in zip(reached, bounds, strict=True))
    return PlacementAnswer(
        placement,
        "consistent" if composition.status == "joint" and loops_cost_nothing else composition.status,
        bounds,
        scores=reached,
        shift={job: shift[job] for job in slack},
        slack=slack,
        hold=min(found.hold for found in seen),
        free_jobs=tuple(job for job in slack if job not in held),
        warnings=(*warnings, *intervals),
        mean_bound=composition.mean_bound,
    )


_CUT_SHORT = {
    "nodes": "the node limit stopped the search",
    "deadline": "the deadline stopped the search",
    "limits": "exact scoring is beyond the limits of folding",
}


def _search_warnings(placement: Placement, solved: Sequence[SolvedLink]) -> list[str]:
    """One line for each link whose own optimum is not known, with the gap."""
    lines = []
    for link, one in zip(placement.shared, solved, strict=True):
        if one.answer is None:
            lines.append(f"link {link.id!r}: not reached before the deadline")
        elif not one.answer.optimal:
            why = _CUT_SHORT.get(one.answer.stopped_by, "the search was not finished")
            gap = f"best found {one.answer.score_lower:.6g}, bound {one.upper_bound:.6g}"
            lines.append(f"link {link.id!r}: {why}: {gap}")
    return lines


def _interval_warning(link_id: str, seen: LinkScore) -> str:
    return f"link {link_id!r}: its score is only known to lie in [{seen.lower:.9g}, {seen.upper:.9g}]"
