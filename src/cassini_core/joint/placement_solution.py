"""One candidate: from the answers of its links to one time-shift per job, checked on every link.

Links are solved one by one elsewhere. Here their time-shifts are composed (Algorithm 1), and whatever came out is
scored again on every shared link: a reported score is always that of the reported shifts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, Float64Array, Int64Array, Rows, objects
from ..choices import Status
from ..kept_property import kept_property
from ..kernel.link_arrays import LinkAnswers
from ..kernel.prepared_links import PreparedLinks
from ..links.shared_links import LinkCatalog, Placement, SharedLink
from ..results import LinkScore
from .block_solver import BlockSolver
from .link_evaluator import Evaluator

__all__ = [
    "TOLERANCE",
    "Composition",
    "PlacementAnswer",
    "Round",
    "Strategy",
    "answer_placement",
    "bounds_only",
    "verified",
]

TOLERANCE = 1e-9
"""Scores are exact to this."""


class Round:
    """What all candidates of a ranking have in common.

    Parameters
    ----------
    catalog : LinkCatalog
        Every placement was read.
    solved : LinkAnswers
        Of the catalog's problems.
    links : PreparedLinks
        The same problems.
    nodes_of_look : float64 array, optional
        What evaluating each problem once costs, search nodes; nothing if not given.

    Attributes
    ----------
    solved, links
        As given.
    limits : SearchLimits
        Those of ``links``.
    flat : Incidence
        The shared links of the catalog.
    period : mapping of str to int
        Iteration time of each job that shares a link, ticks.
    bound : float64 array
        Certified upper bound of each shared link of the catalog.
    answered : bool array
        Whether each shared link of the catalog has an answer.
    nodes_of_candidate : int or None
        What the blocks of one candidate may take together; None for no limit. Set by whoever has them answered.
    blocks : BlockSolver
    evaluator : Evaluator
    """

    def __init__(
        self,
        catalog: LinkCatalog,
        solved: LinkAnswers,
        links: PreparedLinks,
        nodes_of_look: Float64Array | None = None,
    ) -> None:
        self.solved = solved
        self.links = links
        self.limits = links.limits
        self.flat = flat = catalog.incidence
        self.period = dict(zip(flat.jobs, flat.period.tolist(), strict=True))
        self.bound: Float64Array = solved.upper_bound[flat.problem]
        self.answered: BoolArray = solved.answered[flat.problem]
        self.blocks = BlockSolver(links, solved, self.period)
        looks = np.zeros(len(solved)) if nodes_of_look is None else nodes_of_look
        self.evaluator = Evaluator(links, flat, looks)
        self.nodes_of_candidate: int | None = None
        self._shared = catalog.shared
        self._own: dict[int, tuple[list[int], list[bool]]] = {}
        self._link_scores: dict[tuple[int, float], LinkScore] = {}  # most candidates have most alike
        self._expected = np.full(len(catalog.shared), None, dtype=object)

    def time_shifts(self, links: Sequence[SharedLink], *, keep_free: bool) -> dict[str, dict[str, int]]:
        """Link id to job id to the link's own time-shift; without free jobs where they are not kept.

        The score of a link does not depend on its free jobs (F1b), so their edges hold nothing together. All links
        have an answer.
        """
        shifts = {}
        for link in links:
            ticks, free = self._own_shifts(link.problem)
            own = zip(link.jobs, ticks, free, strict=True)
            held = {job: shift for job, shift, is_free in own if keep_free or not is_free}
            if len(held) >= 2:
                shifts[link.id] = held
        return shifts

    def held_jobs(self, link: SharedLink) -> list[str]:
        """Jobs whose shift matters on a link that has an answer: all but the free ones."""
        return [job for job, free in zip(link.jobs, self._own_shifts(link.problem)[1], strict=True) if not free]

    def _own_shifts(self, problem: int) -> tuple[list[int], list[bool]]:
        """Shifts of the jobs of a link problem, ticks, and which of these do not matter."""
        known = self._own.get(problem)
        if known is None:
            begin, end = self.solved.job_offset[problem : problem + 2].tolist()
            known = self._own[problem] = self.solved.shift[begin:end].tolist(), self.solved.free[begin:end].tolist()
        return known

    @kept_property
    def held(self) -> BoolArray:
        """By the crossings of ``flat``: whether the job's shift matters there, as far as is known."""
        return ~self.solved.free[Rows.of(self.solved.job_offset, self.flat.problem).at]

    @kept_property
    def unproven(self) -> npt.NDArray[np.object_]:
        """By shared link: where its own optimum is not known a line that says why, with the gap; else None."""
        why = {k: _why_unproven(self.solved, k) for k in np.flatnonzero(~self.solved.optimal).tolist()}
        return objects(
            None if (text := why.get(link.problem)) is None else f"link {link.id!r}: {text}" for link in self._shared
        )

    @kept_property
    def _without_scores(self) -> npt.NDArray[np.object_]:
        return objects(
            LinkScore(link.id, None, bound) for link, bound in zip(self._shared, self.bound.tolist(), strict=True)
        )

    def expect(self, links: Int64Array, shift: Int64Array) -> None:
        """Most placements will have most of ``links`` at ``shift``, ticks by the jobs of ``flat``."""
        scores = self.evaluator.expect(links, shift).lower
        for link, score in zip(links.tolist(), scores.tolist(), strict=True):
            self._expected[link] = self._link_score((link, score))

    def link_scores(
        self, links: Int64Array, scores: Float64Array | None, other: Int64Array | None
    ) -> tuple[LinkScore, ...]:
        """Scores and bounds of shared links, for the ranking; ``other``: positions where they are not as expected."""
        if scores is None or other is None:
            return tuple(self._without_scores[links].tolist())
        known = self._link_scores
        out = self._expected[links].tolist()
        for place, key in zip(
            other.tolist(), zip(links[other].tolist(), scores[other].tolist(), strict=True), strict=True
        ):
            out[place] = known.get(key) or self._link_score(key)
        return tuple(out)

    def _link_score(self, key: tuple[int, float]) -> LinkScore:
        link, score = key
        made = self._link_scores[key] = LinkScore(self._shared[link].id, score, float(self.bound[link]))
        return made


@dataclass(frozen=True, slots=True)
class Composition:
    """A status and, where there is one, a shift for every job that shares a link, ticks.

    ``mean_bound``: no shifts score more on average over the shared links, proven; None: no more than the links' own
    bounds say. ``nodes`` is what the search took.
    """

    status: Status
    shift: Mapping[str, int] | None = None
    mean_bound: float | None = None
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class PlacementAnswer:
    """The answer for one placement; times in ticks.

    ``scores`` and ``bounds`` follow ``placement.shared``; ``scores`` and ``hold`` are None where nothing was solved.
    ``mean_bound`` as for :class:`Composition`. ``least_slack`` is the least share of a job's iteration time, ``other``
    as for :class:`Standings`. ``outbid``: not looked at, because others are sure to be as good. ``nodes`` is what the
    search took.
    """

    placement: Placement
    status: Status
    bounds: Float64Array
    scores: Float64Array | None = None
    shift: Mapping[str, int] = field(default_factory=dict)
    slack: Mapping[str, int] = field(default_factory=dict)
    hold: int | None = None
    free_jobs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    mean_bound: float | None = None
    least_slack: float = math.inf
    other: Int64Array | None = None
    outbid: bool = False
    nodes: int = 0


Strategy = Callable[[Placement, Round], Composition]
"""How the answers of links become one shift per job. Every link of the placement has an answer."""


def answer_placement(placement: Placement, context: Round, strategy: Strategy) -> PlacementAnswer:
    """Shifts, scores and bounds of one placement.

    Parameters
    ----------
    placement : Placement
    context : Round
    strategy : callable
        One of ``loops.STRATEGIES``.

    Returns
    -------
    PlacementAnswer
        ``alone`` without a shared link; ``bound_only`` if a shared link has no answer; else as the strategy says.

    Raises
    ------
    KernelError
        A defect.

    Notes
    -----
    One evaluation per distinct link of the placement: O(events log events) per job each.
    """
    if not placement.shared or not context.answered[placement.links].all():
        return bounds_only(placement, context)
    composition = strategy(placement, context)
    if composition.shift is None:
        return bounds_only(placement, context, status=composition.status)
    shift = context.flat.shifts(composition.shift)
    answer = verified(placement, context, composition.status, shift, composition.mean_bound)
    return replace(answer, nodes=composition.nodes)


def bounds_only(
    placement: Placement, context: Round, *, status: Status = "bound_only", why: str | None = None, outbid: bool = False
) -> PlacementAnswer:
    """What is known of a placement without any shifts, and why there are none; ``alone`` where none are needed."""
    bounds = context.bound[placement.links]
    warnings = _warnings(placement, context)
    if not placement.shared:
        return PlacementAnswer(placement, "alone", bounds, scores=bounds, warnings=warnings)
    return PlacementAnswer(
        placement, status, bounds, warnings=warnings if why is None else (*warnings, why), outbid=outbid
    )


def verified(
    placement: Placement, context: Round, status: Status, shift: Int64Array, mean_bound: float | None
) -> PlacementAnswer:
    """Scores every link again at the shifts that were found, and reads slack and hold off there (F5).

    Parameters
    ----------
    placement : Placement
    context : Round
    status : Status
        ``"joint"`` becomes ``"consistent"`` where every link reaches its own bound.
    shift : int64 array, shape (jobs of ``context.flat``,)
        Ticks.
    mean_bound : float or None
        As for :class:`Composition`.

    Raises
    ------
    KernelError
        A defect.
    """
    flat, bounds = context.flat, context.bound[placement.links]
    seen = context.evaluator.evaluate(placement.links, shift)
    job = flat.job[seen.crossings.at]
    slack = flat.period // 2
    np.minimum.at(slack, job, seen.slack)
    held = np.zeros(len(flat.jobs), dtype=np.bool_)
    held[job[context.held[seen.crossings.at]]] = True
    shares = np.zeros(len(flat.jobs), dtype=np.bool_)
    shares[job] = True
    sharing = np.flatnonzero(shares)
    names = flat.name[sharing].tolist()
    intervals = [
        f"link {placement.shared[k].id!r}: its score is only known to lie in [{seen.lower[k]:.9g}, {seen.upper[k]:.9g}]"
        for k in np.flatnonzero(seen.upper > seen.lower).tolist()
    ]
    loops_cost_nothing = bool((seen.lower >= bounds - TOLERANCE).all())
    return PlacementAnswer(
        placement,
        "consistent" if status == "joint" and loops_cost_nothing else status,
        bounds,
        scores=seen.lower,
        shift=dict(zip(names, shift[sharing].tolist(), strict=True)),
        slack=dict(zip(names, slack[sharing].tolist(), strict=True)),
        hold=int(seen.hold.min()),
        free_jobs=tuple(flat.name[sharing[~held[sharing]]].tolist()),
        warnings=(*_warnings(placement, context), *intervals),
        mean_bound=mean_bound,
        least_slack=float((slack[sharing] / flat.period[sharing]).min()),
        other=seen.other,
    )


_CUT_SHORT = {
    "nodes": "the node limit stopped the search",
    "deadline": "the deadline stopped the search",
    "limits": "exact scoring is beyond the limits of folding",
}


def _warnings(placement: Placement, context: Round) -> tuple[str, ...]:
    return (*placement.warnings, *filter(None, context.unproven[placement.links].tolist()))


def _why_unproven(solved: LinkAnswers, problem: int) -> str:
    if not solved.answered[problem]:
        return "not reached before the deadline"
    why = _CUT_SHORT.get(solved.stopped_by(problem), "the search was not finished")
    return f"{why}: best found {solved.score_lower[problem]:.6g}, bound {solved.upper_bound[problem]:.6g}"
