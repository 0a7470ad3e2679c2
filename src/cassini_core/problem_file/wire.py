"""The shapes of the files as they lie on disk. Ranges and references are checked by ``model``, not here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from .decoding import FileWire

__all__ = ["DifferencesFile", "HostsWire", "JobFile", "JobWire", "LinkFile", "PhaseWire", "ProblemFile"]

Route = list[str] | dict[str, float]
HostsWire = dict[str, dict[str, int]]


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


class ProblemFile(FileWire):
    """``cassini-problem/1``."""

    format: Literal["cassini-problem/1"]
    jobs: list[JobWire]
    links: list[LinkWire]
    candidates: list[CandidateWire]

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        phases = sum(len(job.phases) for job in self.jobs)
        routes = sum(len(candidate.routes) for candidate in self.candidates)
        weighted = sum(
            len(route) for candidate in self.candidates for route in candidate.routes.values() if type(route) is dict
        )
        fixed = 4 + 3 * (len(self.jobs) + phases) + 2 * (len(self.links) + len(self.candidates))
        return fixed + routes + weighted


class BaseWire(Struct, forbid_unknown_fields=True, gc=False):
    """The placement that the candidates of a file of differences are told by."""

    routes: dict[str, Route]
    hosts: HostsWire | UnsetType = UNSET


class MovesWire(Struct, forbid_unknown_fields=True, gc=False):
    """A candidate as its difference from the base: the routes of jobs that have others there, null for not placed."""

    id: str
    moves: dict[str, Route | None]
    hosts: HostsWire | UnsetType = UNSET


class DifferencesFile(FileWire):
    """``cassini-problem/2``."""

    format: Literal["cassini-problem/2"]
    jobs: list[JobWire]
    links: list[LinkWire]
    base: BaseWire
    candidates: list[MovesWire]
    running_shifts_ms: dict[str, float] | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        phases = sum(len(job.phases) for job in self.jobs)
        routes: list[Mapping[str, Route | None]] = [
            self.base.routes,
            *(candidate.moves for candidate in self.candidates),
        ]
        every = (self.base.hosts, *(candidate.hosts for candidate in self.candidates))
        hosts: list[HostsWire] = [one for one in every if isinstance(one, dict)]
        fixed = 6 + 3 * (len(self.jobs) + phases) + 2 * (len(self.links) + len(self.candidates)) + len(hosts)
        nested = sum(len(route) for of in routes for route in of.values() if type(route) is dict)
        fixed += 1 + len(self.running_shifts_ms) if isinstance(self.running_shifts_ms, dict) else 0
        return fixed + nested + sum(map(len, routes)) + sum(len(of) + sum(map(len, of.values())) for of in hosts)


class LinkFile(FileWire):
    """``cassini-link/1``: one link and the jobs on it. The format may be left out."""

    capacity_gbps: float
    jobs: list[JobWire]
    format: Literal["cassini-link/1"] | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        phases = sum(len(job.phases) for job in self.jobs)
        return 2 + (self.format is not UNSET) + 3 * (len(self.jobs) + phases)


class JobFile(FileWire):
    """``cassini-job/1``: one profiled job; ``about`` says where it comes from and is not read by programs."""

    format: Literal["cassini-job/1"]
    id: str
    iteration_ms: float
    phases: list[PhaseWire]
    about: dict[str, Any] | UnsetType = UNSET

    def count_keys(self) -> int:
        """As in :class:`FileWire`, without what is nested in ``about``."""
        about = 1 + len(self.about) if isinstance(self.about, dict) else 0
        return 4 + 3 * len(self.phases) + about
