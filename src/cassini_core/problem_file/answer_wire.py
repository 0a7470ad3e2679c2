"""The shape of a ranking as it lies on disk, with or without its problem."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from ..choices import Order, Status
from .decoding import FileWire, count_keys_at_most

__all__ = [
    "AnswerFile",
    "DetailsWire",
    "DisturbanceWire",
    "LinkScoreWire",
    "NarrowLinkWire",
    "RankedCandidateWire",
    "SummaryWire",
    "ToldAnswerFile",
    "ToldCandidateWire",
]


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


class DetailsWire(Struct, forbid_unknown_fields=True):
    """What is said of single jobs and links: by what candidates are told."""

    shifts_ms: dict[str, float]
    slack_ms: dict[str, float]
    free_jobs: list[str]
    links: list[LinkScoreWire]
    narrow_links: list[NarrowLinkWire]
    warnings: list[str]


class SummaryWire(Struct, forbid_unknown_fields=True, kw_only=True):
    """A candidate of an answer without what is said of single jobs and links."""

    id: str
    score: float | None
    upper_bound: float
    optimal: bool
    resolution_ms: float | None
    status: Status
    jobs_placed: int
    hold_ms: float | None
    worst_link: str | None
    total_excess_gbps: float | None
    disturbance: DisturbanceWire | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :class:`FileWire`, its own."""
        return 10 + (4 + len(self.disturbance.moves_ms) if isinstance(self.disturbance, DisturbanceWire) else 0)


class RankedCandidateWire(SummaryWire, forbid_unknown_fields=True, kw_only=True):
    """A candidate of an answer."""

    shifts_ms: dict[str, float]
    slack_ms: dict[str, float]
    free_jobs: list[str]
    links: list[LinkScoreWire]
    narrow_links: list[NarrowLinkWire]
    warnings: list[str]

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        return SummaryWire.count_keys(self) + _details_keys(self)


class ToldCandidateWire(SummaryWire, forbid_unknown_fields=True, kw_only=True):
    """A candidate as its difference from a base, by number, or from nothing: null for what it does not have, two
    numbers for entries of the base's list.
    """

    base: int | None
    shifts_ms: dict[str, float | None]
    slack_ms: dict[str, float | None]
    free_jobs: list[str | list[int]]
    links: list[LinkScoreWire | list[int]]
    narrow_links: list[NarrowLinkWire | list[int]]
    warnings: list[str | list[int]]

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        return SummaryWire.count_keys(self) + 1 + _details_keys(self)


def _details_keys(one: DetailsWire | RankedCandidateWire | ToldCandidateWire) -> int:
    links = sum(not isinstance(link, list) for link in one.links)
    narrow = sum(not isinstance(link, list) for link in one.narrow_links)
    return 6 + len(one.shifts_ms) + len(one.slack_ms) + 3 * links + 4 * narrow


class _AnyAnswerFile(FileWire, kw_only=True):
    """What answers have in common, if wanted with the problem that they answer."""

    best: str | None
    best_proven: bool
    order: Order
    aggregate: str
    slack_tolerance: float
    resolution_ms: float | None
    paces_ms: dict[str, float]
    warnings: list[str]
    running_tolerance: float | UnsetType = UNSET
    problem: Raw | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :class:`FileWire`, without candidates; keys of the problem are checked where that is read."""
        own = 10 + (self.running_tolerance is not UNSET) + len(self.paces_ms)
        return own + 1 + count_keys_at_most(bytes(self.problem)) if isinstance(self.problem, Raw) else own


class AnswerFile(_AnyAnswerFile, kw_only=True):
    """``cassini-ranking/1``."""

    format: Literal["cassini-ranking/1"]
    candidates: list[RankedCandidateWire]

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        return _AnyAnswerFile.count_keys(self) + sum(candidate.count_keys() for candidate in self.candidates)


class ToldAnswerFile(_AnyAnswerFile, kw_only=True):
    """``cassini-ranking/2``."""

    format: Literal["cassini-ranking/2"]
    bases: list[DetailsWire]
    candidates: list[ToldCandidateWire]

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        told = sum(map(_details_keys, self.bases)) + sum(candidate.count_keys() for candidate in self.candidates)
        return _AnyAnswerFile.count_keys(self) + 1 + told
