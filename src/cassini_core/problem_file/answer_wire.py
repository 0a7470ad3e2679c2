"""The shape of a ranking as it lies on disk, with or without its problem."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from ..choices import Order, Status
from .decoding import FileWire, count_keys_at_most

__all__ = ["AnswerFile", "DisturbanceWire", "RankedCandidateWire"]


class LinkScoreWire(Struct, forbid_unknown_fields=True, gc=False):
    """A shared link of a ranked candidate."""

    id: str
    score: float | None
    upper_bound: float


class NarrowLinkWire(Struct, forbid_unknown_fields=True, gc=False):
    """A link of a ranked candidate that is too narrow for its only job."""

    id: str
    job: str
    score: float
    excess_gbps: float


class DisturbanceWire(Struct, forbid_unknown_fields=True, gc=False):
    """What a ranked candidate asks of running jobs."""

    moves_ms: dict[str, float]
    score_if_kept: float
    upper_bound_if_kept: float


class RankedCandidateWire(Struct, forbid_unknown_fields=True):
    """A candidate of an answer."""

    id: str
    score: float | None
    upper_bound: float
    optimal: bool
    resolution_ms: float | None
    status: Status
    jobs_placed: int
    shifts_ms: dict[str, float]
    slack_ms: dict[str, float]
    hold_ms: float | None
    free_jobs: list[str]
    worst_link: str | None
    total_excess_gbps: float | None
    links: list[LinkScoreWire]
    narrow_links: list[NarrowLinkWire]
    warnings: list[str]
    disturbance: DisturbanceWire | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        moves = 4 + len(self.disturbance.moves_ms) if isinstance(self.disturbance, DisturbanceWire) else 0
        return moves + 16 + len(self.shifts_ms) + len(self.slack_ms) + 3 * len(self.links) + 4 * len(self.narrow_links)


class AnswerFile(FileWire):
    """``cassini-ranking/1``, if wanted with the problem that it answers."""

    format: Literal["cassini-ranking/1"]
    best: str | None
    best_proven: bool
    order: Order
    aggregate: str
    slack_tolerance: float
    resolution_ms: float | None
    paces_ms: dict[str, float]
    candidates: list[RankedCandidateWire]
    warnings: list[str]
    running_tolerance: float | UnsetType = UNSET
    problem: Raw | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :class:`FileWire`; keys of the problem are checked where that is read."""
        own = (
            10
            + (self.running_tolerance is not UNSET)
            + len(self.paces_ms)
            + sum(candidate.count_keys() for candidate in self.candidates)
        )
        return own + 1 + count_keys_at_most(bytes(self.problem)) if isinstance(self.problem, Raw) else own
