"""Which jobs share which links in a placement, and every distinct link problem once.

Links of one candidate, and of all candidates of a ranking, often pose the same problem. A problem is known by its
content alone, in integers: capacity and rates divided by their greatest common divisor, and the jobs in an order that
only depends on what they ask for. So the same question always gets the same answer, whatever the jobs, links and
candidates are called and in whatever order they come.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .model import Candidate, Job, Link, Problem
from .prepared_link import MAX_JOBS, MAX_PHASES, MAX_RATE_SUM_KBPS, PreparedLink
from .units import kbps_from_gbps

__all__ = ["Demand", "LinkCatalog", "LinkProblem", "Placement", "SharedLink"]


@dataclass(frozen=True, slots=True, order=True)
class Demand:
    """What one job asks of one link: its iteration time and phases, in ticks and kbit/s.

    ``phases`` are ``(start, length, rate)``, sorted; those without length or rate are dropped.
    """

    period: int
    phases: tuple[tuple[int, int, int], ...]

    def scaled_down(self, divisor: int) -> Demand:
        """The same demand with all rates divided; ``divisor`` divides each of them."""
        return Demand(self.period, tuple((start, length, rate // divisor) for start, length, rate in self.phases))

    def mean(self) -> Fraction:
        """Mean demand, kbit/s."""
        return Fraction(sum(length * rate for _, length, rate in self.phases), self.period)

    def peak(self) -> int:
        """Highest demand at any time, kbit/s; overlapping phases add up. O(phases log phases)."""
        steps: list[tuple[int, int]] = []
        for start, length, rate in self.phases:
            end = start + length
            steps += [(start, rate), (min(end, self.period), -rate)]
            if end > self.period:  # wraps past the end of the iteration
                steps += [(0, rate), (end - self.period, -rate)]
        level = peak = 0
        for _, step in sorted(steps):  # at one time ends come before starts
            level += step
            peak = max(peak, level)
        return peak


@dataclass(frozen=True, slots=True, eq=False)
class LinkProblem:
    """A distinct link problem: ``prepared`` holds its jobs in canonical order, rates and capacity without units.

    ``index`` is its place in :attr:`LinkCatalog.problems`.
    """

    index: int
    prepared: PreparedLink
    area_bound: float


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A physical link that several jobs with demand there cross.

    ``jobs[i]`` is the job that stands at place ``i`` of ``problem``.
    """

    id: str
    capacity_gbps: float
    jobs: tuple[str, ...]
    problem: LinkProblem


@dataclass(frozen=True, slots=True)
class Placement:
    """A candidate seen from its links: shared ones by id, all placed jobs, and what is odd about the others."""

    id: str
    placed: tuple[str, ...]
    shared: tuple[SharedLink, ...]
    warnings: tuple[str, ...]

    def sharing_jobs(self) -> list[str]:
        """Ids of the jobs that share a link, sorted."""
        return sorted({job for link in self.shared for job in link.jobs})


# What a link carries in one candidate: job ids and multipliers, sorted by id.
_Members = tuple[tuple[str, float], ...]


class LinkCatalog:
    """Reads placements and collects their link problems, each once.

    Parameters
    ----------
    problem : Problem
        Jobs with the iteration times at which they will run, and links.

    Attributes
    ----------
    problems : list of LinkProblem
        All problems met so far.
    """

    def __init__(self, problem: Problem) -> None:
        self.problems: list[LinkProblem] = []
        self._jobs: Mapping[str, Job] = {job.id: job for job in problem.jobs}
        self._links: Mapping[str, Link] = {link.id: link for link in problem.links}
        self._by_content: dict[tuple[int, tuple[Demand, ...]], LinkProblem] = {}
        # Candidates of one scheduling round differ in few links: what a link carries is looked up before it is read.
        self._demands: dict[tuple[str, float], Demand] = {}
        self._loads: dict[tuple[str, _Members], tuple[SharedLink | None, str | None]] = {}

    def placement(self, candidate: Candidate) -> Placement:
        """The shared links of a candidate; O(sum of route lengths) if its links were met before.

        Raises
        ------
        InputError
            A multiplier makes a demand larger than the kernel can hold, or more jobs or phases share one link.
        """
        carried: dict[str, list[tuple[str, float]]] = {}
        for job in sorted(candidate.routes):
            for link, multiplier in candidate.routes[job].items():
                carried.setdefault(link, []).append((job, multiplier))
        loads = [self._load(link, tuple(carried[link])) for link in sorted(carried)]
        return Placement(
            candidate.id,
            tuple(sorted(candidate.routes)),
            tuple(shared for shared, _ in loads if shared is not None),
            tuple(warning for _, warning in loads if warning is not None),
        )

    def _load(self, link_id: str, members: _Members) -> tuple[SharedLink | None, str | None]:
        load = self._loads.get((link_id, members))
        if load is None:
            load = self._loads[link_id, members] = self._read(self._links[link_id], members)
        return load

    def _read(self, link: Link, members: _Members) -> tuple[SharedLink | None, str | None]:
        demands = {job: self._demand(job, multiplier) for job, multiplier in members}
        demands = {job: demand for job, demand in demands.items() if demand.phases}
        capacity = kbps_from_gbps(link.capacity_gbps)
        if len(demands) >= 2:
            return self._share(link, capacity, demands), None
        for job, demand in demands.items():
            if demand.peak() > capacity:
                peak = demand.peak() / 1e6
                return None, f"link {link.id!r}: job {job!r} alone needs {peak:g} of {link.capacity_gbps:g} Gbit/s"
        return None, None

    def _demand(self, job_id: str, multiplier: float) -> Demand:
        demand = self._demands.get((job_id, multiplier))
        if demand is None:
            # The capacity plays no part: this only asks for the job's integers, rounded as everywhere else.
            one = PreparedLink.from_jobs((self._jobs[job_id],), 1.0, {job_id: multiplier})
            phases = zip(one.phase_start.tolist(), one.phase_length.tolist(), one.phase_rate.tolist(), strict=True)
            demand = self._demands[job_id, multiplier] = Demand(int(one.period[0]), tuple(sorted(phases)))
        return demand

    def _share(self, link: Link, capacity: int, demands: Mapping[str, Demand]) -> SharedLink:
        # Jobs that ask for the same are interchangeable; their ids decide only who takes which of their places.
        order = sorted(demands, key=lambda job: (demands[job], job))
        divisor = math.gcd(capacity, *(rate for demand in demands.values() for _, _, rate in demand.phases))
        content = (capacity // divisor, tuple(demands[job].scaled_down(divisor) for job in order))
        problem = self._by_content.get(content)
        if problem is None:
            _check_size(link, content[1])
            problem = _link_problem(len(self.problems), *content)
            self._by_content[content] = problem
            self.problems.append(problem)
        return SharedLink(link.id, link.capacity_gbps, tuple(order), problem)


def _check_size(link: Link, demands: tuple[Demand, ...]) -> None:
    phases = [phase for demand in demands for phase in demand.phases]
    rates = sum(rate for _, _, rate in phases)
    for what, most, found in (
        ("jobs", MAX_JOBS, len(demands)),
        ("phases", MAX_PHASES, len(phases)),
        ("kbit/s of demand over the common divisor of all rates", MAX_RATE_SUM_KBPS, rates),
    ):
        if found > most:
            raise InputError(f"link {link.id!r}: expected at most {most} {what}, got {found}")


def _link_problem(index: int, capacity: int, demands: tuple[Demand, ...]) -> LinkProblem:
    phases = [phase for demand in demands for phase in demand.phases]
    prepared = PreparedLink(
        job_ids=tuple(str(place) for place in range(len(demands))),
        period=_int64([demand.period for demand in demands]),
        phase_offset=_int64([0, *itertools.accumulate(len(demand.phases) for demand in demands)]),
        phase_start=_int64([start for start, _, _ in phases]),
        phase_length=_int64([length for _, length, _ in phases]),
        phase_rate=_int64([rate for _, _, rate in phases]),
        capacity=capacity,
    )
    # On average at least the demand above the capacity is excess, wherever the jobs stand (F3).
    excess = max(Fraction(0), sum((demand.mean() for demand in demands), Fraction(0)) - capacity)
    return LinkProblem(index, prepared, float(1 - excess / capacity))


def _int64(values: Sequence[int]) -> npt.NDArray[np.int64]:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array
