"""What the daemons cannot know: the links, and which of them each job crosses."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cassini_core as cc

from ..schedule import MS_NS
from ..strict_json import load_object
from .crowding import filled
from .profile import Profile

__all__ = ["Network"]

FULL, PARTED = 1.0, 0.66
"""Where communication seems to fill more than the whole of a link's time, jobs hold each other up in each iteration.
When they are to be parted it is taken to fill the second share."""


@dataclass(frozen=True, slots=True)
class Network:
    """Links and routes.

    Attributes
    ----------
    links : mapping of str to float
        Capacities by id, Gbit/s.
    routes : mapping of str to mapping of str to float, or None
        By job: the links it crosses, each with the factor its demand has there. None: every job crosses every link.
    gbps : mapping of str to float
        At what rate a job sends while it communicates, where that is known. Of others the most is taken that their
        narrowest link carries: then no two of them are ever planned to send at once.
    profiles : mapping of str to cassini_core.Job
        Jobs whose iteration time and phases are known; the others are measured.
    """

    links: Mapping[str, float]
    routes: Mapping[str, Mapping[str, float]] | None = None
    gbps: Mapping[str, float] = field(default_factory=dict)
    profiles: Mapping[str, cc.Job] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for link, capacity in self.links.items():
            cc.Link(link, capacity)  # says what is wrong with it
        for job, route in (self.routes or {}).items():
            if unknown := [link for link in route if link not in self.links]:
                raise ValueError(f"routes[{job!r}]: expected ids of links, got {unknown[0]!r}")
        for job, rate in self.gbps.items():
            if not rate > 0:
                raise ValueError(f"gbps[{job!r}]: expected a rate above 0, got {rate!r}")

    @classmethod
    def one_link(cls, name: str, capacity_gbps: float, gbps: Mapping[str, float] | None = None) -> Network:
        """One link that all jobs share."""
        return cls({name: capacity_gbps}, gbps=gbps or {})

    @classmethod
    def from_file(cls, path: str | Path, candidate: str | None = None) -> Network:
        """The links, and the routes of one candidate, of a ``cassini-problem/1`` file.

        Jobs without phases, and those that routes name and the file does not list, are measured.

        Parameters
        ----------
        path : str or Path
        candidate : str, optional
            Which; may be left out if there is only one.

        Raises
        ------
        cassini_core.InputError
            It is no such file, or wrong.
        ValueError
            There is no such candidate, or it is not clear which.
        OSError
            It cannot be read.
        """
        from cassini_core.problem_file import problem_from_json  # loads its JSON library

        text = Path(path).read_bytes()
        try:
            content = load_object(text, str(path))
        except ValueError as error:
            raise cc.InputError(str(error)) from None
        _add_measured(content)
        problem = problem_from_json(json.dumps(content).encode(), str(path))
        found = [one for one in problem.candidates if candidate is None or one.id == candidate]
        if len(found) != 1:
            known = ", ".join(repr(one.id) for one in problem.candidates[:10])
            raise ValueError(f"candidate: expected one of {known}, got {candidate!r}")
        profiles = {job.id: job for job in problem.jobs if job.phases and job.id in found[0].routes}
        return cls({link.id: link.capacity_gbps for link in problem.links}, found[0].routes, profiles=profiles)

    def route(self, job: str) -> Mapping[str, float]:
        """The links that a job crosses; none for a job that is not known here."""
        if self.routes is None:
            return dict.fromkeys(self.links, 1.0)
        return self.routes.get(job, {})

    def communication_ns(self, job: str) -> tuple[int, int] | None:
        """When in its iteration a job with a given profile begins and ends to communicate; None for all others."""
        known = self.profiles.get(job)
        if known is None or not known.phases:
            return None
        start_ms = min(phase.start_ms for phase in known.phases)
        end_ms = max(phase.start_ms + phase.duration_ms for phase in known.phases)
        return round(start_ms * MS_NS), round(min(end_ms, known.iteration_ms) * MS_NS)

    def problem(self, profiles: Mapping[str, Profile], *, slowly: bool = False) -> cc.Problem:
        """These jobs as they are now, in the one placement that they have.

        Those that are to be parted are taken to send so little that there is room for all: where they seem to fill the
        whole of a link's time; or else, ``slowly``, at the iteration time of the slowest.
        """
        takes_ns = {name: one.takes_ns or 0.0 for name, one in profiles.items()}
        durations_ns = {name: one.duration_ns for name, one in profiles.items()}
        seen = self._problem(profiles, durations_ns, takes_ns)
        for link in seen.links:
            if (fills := filled(seen, link, most_by_two=0.0)) > (PARTED if slowly else FULL):
                # They were only seen while they met, so it takes them less when they are apart; without room between
                # them they could not be held there.
                cut = [name for name, one in profiles.items() if one.is_for_parting and link.id in self.route(name)]
                sending = [(profiles[name].duration_ns, 1 / takes_ns[name]) for name in cut]
                longest_ns = _longest(sending, PARTED / fills)
                durations_ns |= {name: min(durations_ns[name], longest_ns) for name in cut}
        slowest_ns = max(takes_ns.values(), default=0.0) if slowly else 0.0
        return self._problem(profiles, durations_ns, dict.fromkeys(profiles, slowest_ns))

    def _problem(
        self, profiles: Mapping[str, Profile], durations_ns: Mapping[str, float], takes_ns: Mapping[str, float]
    ) -> cc.Problem:
        """With these durations of communication, and iterations of those that are to be parted as long at least."""
        jobs = []
        for name, one in sorted(profiles.items()):
            # Not a nanosecond may be sent after the end of the iteration, that is, at its beginning.
            start, duration = math.floor(min(one.start_ns, one.rest_ns)), math.floor(durations_ns[name])
            # What a job that is parted will take: so it waits for its place, however early it comes all of a sudden.
            iteration = max(math.floor(one.rest_ns) + duration, start + duration)
            if one.is_for_parting:
                iteration = max(iteration, math.floor(takes_ns[name]))
            phase = cc.Phase(start / MS_NS, duration / MS_NS, self._gbps(name))
            jobs.append(self.profiles.get(name) or cc.Job(name, iteration / MS_NS, [phase]))
        routes = {name: dict(self.route(name)) for name in sorted(profiles)}
        links = [cc.Link(name, capacity) for name, capacity in sorted(self.links.items())]
        return cc.Problem(jobs, links, [cc.Candidate("as it is", routes)])

    def _gbps(self, job: str) -> float:
        """At what rate a job sends whose profile is measured."""
        if job in self.gbps:
            return self.gbps[job]
        return min(self.links[link] / factor for link, factor in self.route(job).items())


def _longest(sending: Sequence[tuple[float, float]], share: float) -> float:
    """To how much the longest durations are to be cut, that so large a share is left of what all send.

    The longest first: a job that was seen to send for a shorter time was seen where fewer were in its way.

    Parameters
    ----------
    sending : sequence of (float, float)
        Durations, ns, and what each fills per ns.
    share : float
        In (0, 1].
    """
    left = share * sum(duration * per_ns for duration, per_ns in sending)
    all_per_ns = sum(per_ns for _, per_ns in sending)  # of those that may be cut
    for duration, per_ns in sorted(sending):
        if duration * all_per_ns > left:
            return left / all_per_ns
        left -= duration * per_ns
        all_per_ns -= per_ns
    return max((duration for duration, _ in sending), default=0.0)


def _add_measured(content: dict[str, Any]) -> None:
    """Put in jobs that routes name and the file does not list, without phases, so that the file can be read.

    Whatever is wrong with the file is left to its reader.
    """
    jobs, candidates = content.setdefault("jobs", []), content.get("candidates")
    if isinstance(jobs, list) and isinstance(candidates, list):
        listed = {job["id"] for job in jobs if isinstance(job, dict) and isinstance(job.get("id"), str)}
        routes = [candidate.get("routes") for candidate in candidates if isinstance(candidate, dict)]
        named = {job for route in routes if isinstance(route, dict) for job in route}
        jobs += [{"id": job, "iteration_ms": 1.0, "phases": []} for job in sorted(named - listed)]
