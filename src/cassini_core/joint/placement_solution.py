"""One candidate: from the answers of its links to one time-shift per job, checked on every link.

Links are solved one by one elsewhere. Here their time-shifts are composed (Algorithm 1), and whatever came out is
scored again on every shared link: a reported score is always that of the reported shifts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..choices import Status
from ..kept_property import kept_property
from ..kernel.prepared_links import KernelLinks
from ..kernel.search_limits import Budget
from ..links.batch_solver import SolvedLink
from ..links.incidence import FlatLinks
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

_Float64 = npt.NDArray[np.float64]
_Int64 = npt.NDArray[np.int64]

TOLERANCE = 1e-9
"""Scores are exact to this."""


class Round:
    """What all candidates of a ranking have in common.

    Parameters
    ----------
    catalog : LinkCatalog
        Every placement was read.
    flat : FlatLinks
        Its shared links.
    solved : sequence of SolvedLink
        ``solved[i]`` answers problem ``i`` of the catalog.
    period : mapping of str to int
        Iteration time of each job, ticks.
    budget : Budget
    kernel_links : KernelLinks
        Of the catalog's problems.
    nodes_of_look : float64 array, optional
        What evaluating each problem once costs, search nodes; nothing if not given.

    Attributes
    ----------
    flat, solved, period, budget, kernel_links
        As given.
    bound : float64 array
        Certified upper bound of each shared link of the catalog.
    nodes_of_candidate : int or None
        What the blocks of one candidate may take together; None for no limit. Set by whoever has them answered.
    blocks : BlockSolver
    evaluator : Evaluator
    """

    def __init__(
        self,
        catalog: LinkCatalog,
        flat: FlatLinks,
        solved: Sequence[SolvedLink],
        period: Mapping[str, int],
        budget: Budget,
        kernel_links: KernelLinks,
        nodes_of_look: _Float64 | None = None,
    ) -> None:
        self.period = period
        self.solved = solved
        self.budget = budget
        self.flat = flat
        self.bound: _Float64 = np.array([one.upper_bound for one in solved], dtype=np.float64)[self.flat.problem]
        self.kernel_links = kernel_links
        self.blocks = BlockSolver(self.kernel_links, solved, period, budget)
        looks = np.zeros(len(solved)) if nodes_of_look is None else nodes_of_look
        self.evaluator = Evaluator(kernel_links, flat, looks, with_slack=budget.centred)
        self.nodes_of_candidate: int | None = None
        self._shared = catalog.shared
        self._link_scores: dict[tuple[int, float], LinkScore] = {}  # most candidates have most alike
        self._expected = np.full(len(catalog.shared), None, dtype=object)

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

    @kept_property
    def held(self) -> npt.NDArray[np.bool_]:
        """By the places of ``flat``: whether the job's shift matters there, as far as is known."""
        held = [
            np.ones(len(link.jobs), dtype=np.bool_) if answer is None else ~answer.free
            for link in self._shared
            for answer in (self.solved[link.problem.index].answer,)
        ]
        return np.concatenate(held) if held else np.zeros(0, dtype=np.bool_)

    @kept_property
    def unproven(self) -> npt.NDArray[np.object_]:
        """By shared link: where its own optimum is not known a line that says why, with the gap; else None."""
        why = [_why_unproven(one) for one in self.solved]
        return _objects(
            None if (text := why[link.problem.index]) is None else f"link {link.id!r}: {text}" for link in self._shared
        )

    @kept_property
    def _without_scores(self) -> npt.NDArray[np.object_]:
        return _objects(
            LinkScore(link.id, None, bound) for link, bound in zip(self._shared, self.bound.tolist(), strict=True)
        )

    def expect(self, links: _Int64, shift: _Int64) -> None:
        """Most placements will have most of ``links`` at ``shift``, ticks by the jobs of ``flat``."""
        scores = self.evaluator.expect(links, shift).lower
        for link, score in zip(links.tolist(), scores.tolist(), strict=True):
            self._expected[link] = self._link_score((link, score))

    def link_scores(self, links: _Int64, scores: _Float64 | None, other: _Int64 | None) -> tuple[LinkScore, ...]:
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
    bounds: _Float64
    scores: _Float64 | None = None
    shift: Mapping[str, int] = field(default_factory=dict)
    slack: Mapping[str, int] = field(default_factory=dict)
    hold: int | None = None
    free_jobs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    mean_bound: float | None = None
    least_slack: float = math.inf
    other: _Int64 | None = None
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
    if not placement.shared or any(context.solved[link.problem.index].answer is None for link in placement.shared):
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
    placement: Placement, context: Round, status: Status, shift: _Int64, mean_bound: float | None
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
    job = flat.job[seen.places.at]
    slack = flat.period // 2
    np.minimum.at(slack, job, seen.slack)
    held = np.zeros(len(flat.jobs), dtype=np.bool_)
    held[job[context.held[seen.places.at]]] = True
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


def _objects(values: Iterable[object]) -> npt.NDArray[np.object_]:
    return np.array([*values, None], dtype=object)[:-1]  # one more, or NumPy looks for numbers in none


def _why_unproven(one: SolvedLink) -> str | None:
    if one.answer is None:
        return "not reached before the deadline"
    if one.answer.optimal:
        return None
    why = _CUT_SHORT.get(one.answer.stopped_by, "the search was not finished")
    return f"{why}: best found {one.answer.score_lower:.6g}, bound {one.upper_bound:.6g}"
