"""The answer for one candidate: shifts of its jobs, and what every shared link scores at these shifts.

Whichever search found the shifts, every shared link is scored again at them: a reported score is that of the reported
shifts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Float64Array, Int64Array
from ..choices import Status
from ..links.placement import Placement
from .kept_shifts import AtShifts, BaseShifts, NearBase
from .round import Round

__all__ = ["PlacementAnswer", "bounds_only", "verified"]


_NONE: Int64Array = np.zeros(0, dtype=np.int64)
_NO_SHIFTS = AtShifts(_NONE, np.zeros(0), _NONE, _NONE, _NONE, np.zeros(0, dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class PlacementAnswer:
    """The answer for one placement; times in ticks.

    Attributes
    ----------
    placement : Placement
    status : Status
    link_bounds : float64 array
        Certified upper bounds of all shared links of the round, by index.
    kept : AtShifts, NearBase or None
        What :attr:`found` is made from.
    base : BaseShifts or None
        Of the base placement, near whose shifts those of this one were found.
    hold : int or None
        None where no shifts were found.
    warnings : tuple of str
    mean_bound : float or None
        Where it is known: no shifts score more on average over the shared links, proven.
    least_slack : float
        The least slack of a job as a share of its iteration time.
    outbid : bool
        Not searched, because enough other candidates are sure to be as good.
    nodes : int
        What the search took.
    """

    placement: Placement
    status: Status
    link_bounds: Float64Array
    kept: AtShifts | NearBase | None = None
    base: BaseShifts | None = None
    hold: int | None = None
    warnings: tuple[str, ...] = ()
    mean_bound: float | None = None
    least_slack: float = math.inf
    outbid: bool = False
    nodes: int = 0

    @property
    def found(self) -> AtShifts | None:
        """Its shifts; None where none were found. Where they are kept near others O(links and jobs), made anew."""
        return self.kept.whole(self.placement.links) if isinstance(self.kept, NearBase) else self.kept

    def near_base(self) -> PlacementAnswer:
        """The same in less memory, where it can be."""
        if self.base is None or not isinstance(self.kept, AtShifts):
            return self
        return replace(self, kept=self.base.near(self.kept))

    @property
    def bounds(self) -> Float64Array:
        """Those of the placement's links; O(links), made anew each time: all candidates of a round are kept."""
        return self.link_bounds[self.placement.links]


def bounds_only(
    placement: Placement, context: Round, *, status: Status = "bound_only", why: str | None = None, outbid: bool = False
) -> PlacementAnswer:
    """The answer without shifts, with a line that says why; ``alone`` where the placement shares no link."""
    if not placement.n_links:
        return PlacementAnswer(placement, "alone", context.bound, _NO_SHIFTS)
    return PlacementAnswer(placement, status, context.bound, warnings=() if why is None else (why,), outbid=outbid)


def verified(
    placement: Placement,
    context: Round,
    status: Status,
    shift: Int64Array,
    mean_bound: float | None = None,
    *,
    base: BaseShifts | None = None,
    nodes: int = 0,
) -> PlacementAnswer:
    """The answer with the given shifts: scores every link at them, and finds slack and hold (F5).

    Parameters
    ----------
    placement : Placement
    context : Round
    status : Status
        ``"joint"`` becomes ``"consistent"`` where every link reaches its own bound.
    shift : int64 array, shape (jobs of ``context.flat``,)
        Ticks, by the number of the job.
    mean_bound, base, nodes
        As in :class:`PlacementAnswer`.

    Raises
    ------
    KernelError
        A defect.

    Notes
    -----
    Evaluates the links that were not evaluated at these shifts before: O(events log events) per job each.
    """
    links = placement.links
    seen = context.evaluator.judge(links, shift, context.held)
    unsure = [] if seen.upper is seen.lower else np.flatnonzero(seen.upper > seen.lower).tolist()
    ids = [placement.base.shared[link].id for link in links[unsure].tolist()] if unsure else []
    intervals = [
        f"link {link!r}: its score is only known to lie in [{seen.lower[k]:.9g}, {seen.upper[k]:.9g}]"
        for link, k in zip(ids, unsure, strict=True)
    ]
    return PlacementAnswer(
        placement,
        "consistent" if status == "joint" and seen.meets_bounds else status,
        context.bound,
        AtShifts(links, seen.lower, seen.jobs, seen.shift, seen.slack, seen.free),
        base,
        hold=seen.hold,
        warnings=tuple(intervals),
        mean_bound=mean_bound,
        least_slack=seen.least_slack,
        nodes=nodes,
    )
