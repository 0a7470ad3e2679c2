"""What every peer returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.link.grid import Grid


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """Rotations and what the peer says of them.

    Attributes
    ----------
    shifts_ms : dict of str to float
        Empty if the peer found nothing within its time limit.
    claimed_score : float
        The peer's own objective; NaN without an answer.
    grid_score : float
        The score of its rotations on its grid, recomputed in whole numbers; NaN without an answer.
    proved_optimal : bool
        Whether it proved that no rotations of its grid score more.
    """

    shifts_ms: dict[str, float]
    claimed_score: float
    grid_score: float
    proved_optimal: bool

    @classmethod
    def of(cls, grid: Grid, rotation: Sequence[int], claimed_excess: float, *, proved_optimal: bool) -> PeerAnswer:
        """The answer that stands for rotations in steps and an excess in the grid's unit."""
        return cls(
            shifts_ms=grid.shifts_ms(rotation),
            claimed_score=1.0 - claimed_excess / (grid.points * grid.capacity),
            grid_score=grid.score(grid.excess(rotation)),
            proved_optimal=proved_optimal,
        )

    @classmethod
    def nothing(cls) -> PeerAnswer:
        """No answer within the time limit."""
        return cls({}, float("nan"), float("nan"), False)
