"""Time-shifts of jobs that share links, by the package's ranking: when each begins, never where.

Only jobs whose iterations take equally long keep a place to each other, so others are not shifted against each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cassini_core.model import Candidate, Job, Link, Problem
from cassini_core.ranking.ranker import Ranker
from cassini_core.simulation.holding import Grid

from .jobs import NIC_GBPS

__all__ = ["Shifts"]

_DIGITS = 6
"""Iteration times are counted in ticks of 1e-6 ms."""
_SAME_MS = 1.0
"""Shifts that differ by less are the same."""


@dataclass(slots=True)
class Shifts:
    """Shifts of jobs that come, and of running ones where a wait is worth it (the ranking's ``running_tolerance``)."""

    _ranker: Ranker = field(default_factory=Ranker)

    def __call__(
        self, jobs: Iterable[Job], routes: Mapping[str, Mapping[str, float]], begun_ms: Mapping[str, float]
    ) -> dict[str, Grid]:
        """Grids of those that are to begin at other times than they would.

        Parameters
        ----------
        jobs : iterable of Job
        routes : mapping of str to mapping of str to float
            Of all of them.
        begun_ms : mapping of str to float
            When the iteration under way of those that run began.
        """
        alike: dict[float, list[Job]] = defaultdict(list)
        for job in jobs:
            alike[round(job.iteration_ms, _DIGITS)].append(job)
        found: dict[str, Grid] = {}
        for pace_ms, group in alike.items():
            if all(job.id in begun_ms for job in group):
                continue
            shared = [link for link, n in Counter(link for job in group for link in routes[job.id]).items() if n > 1]
            meeting = [job for job in group if any(link in routes[job.id] for link in shared)]
            if not meeting:
                continue
            own = {job.id: {link: routes[job.id][link] for link in shared if link in routes[job.id]} for job in meeting}
            stand = {job.id: begun_ms[job.id] % pace_ms for job in meeting if job.id in begun_ms}
            problem = Problem(meeting, [Link(link, NIC_GBPS) for link in shared], [Candidate("c", own)], stand)
            best = self._ranker.rank(problem, period_tolerance=0.0, threads=1).best
            if best is None:
                continue
            for name, shift_ms in best.shifts_ms.items():
                off = (shift_ms - stand.get(name, shift_ms)) % pace_ms
                if name not in stand or _SAME_MS < off < pace_ms - _SAME_MS:
                    found[name] = Grid(shift_ms, pace_ms)
        return found
