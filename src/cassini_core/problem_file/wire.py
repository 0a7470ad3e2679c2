"""The shapes of the files as they lie on disk. Ranges and references are checked by ``model``, not here."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

__all__ = ["JobFile", "JobWire", "LinkFile", "PhaseWire", "ProblemFile"]

Route = list[str] | dict[str, float]


# gc=False: these hold nothing that could point back at them, and there can be millions.
class PhaseWire(Struct, forbid_unknown_fields=True, gc=False):
    """A phase; ms and Gbit/s."""

    start_ms: float
    duration_ms: float
    gbps: float


class JobWire(Struct, forbid_unknown_fields=True, gc=False):
    """A job inside a problem or link file."""

    id: str
    iteration_ms: float
    phases: list[PhaseWire]


class LinkWire(Struct, forbid_unknown_fields=True, gc=False):
    """A link of a problem file."""

    id: str
    capacity_gbps: float


class CandidateWire(Struct, forbid_unknown_fields=True, gc=False):
    """A candidate of a problem file."""

    id: str
    routes: dict[str, Route]


class ProblemFile(Struct, forbid_unknown_fields=True):
    """``cassini-problem/1``."""

    format: Literal["cassini-problem/1"]
    jobs: list[JobWire]
    links: list[LinkWire]
    candidates: list[CandidateWire]

    def count_keys(self) -> int:
        """Keys of all objects together, which must all differ within their object."""
        phases = sum(len(job.phases) for job in self.jobs)
        routes = sum(len(candidate.routes) for candidate in self.candidates)
        weighted = sum(
            len(route) for candidate in self.candidates for route in candidate.routes.values() if type(route) is dict
        )
        fixed = 4 + 3 * (len(self.jobs) + phases) + 2 * (len(self.links) + len(self.candidates))
        return fixed + routes + weighted


class LinkFile(Struct, forbid_unknown_fields=True):
    """``cassini-link/1``: one link and the jobs on it. The format may be left out."""

    capacity_gbps: float
    jobs: list[JobWire]
    format: Literal["cassini-link/1"] | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :meth:`ProblemFile.count_keys`."""
        phases = sum(len(job.phases) for job in self.jobs)
        return 2 + (self.format is not UNSET) + 3 * (len(self.jobs) + phases)


class JobFile(Struct, forbid_unknown_fields=True):
    """``cassini-job/1``: one profiled job; ``about`` says where it comes from and is not read by programs."""

    format: Literal["cassini-job/1"]
    id: str
    iteration_ms: float
    phases: list[PhaseWire]
    about: dict[str, Any] | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :meth:`ProblemFile.count_keys`, without what is nested in ``about``."""
        about = 1 + len(self.about) if isinstance(self.about, dict) else 0
        return 4 + 3 * len(self.phases) + about
