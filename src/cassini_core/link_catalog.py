"""Which jobs share which links in each placement, and every distinct link problem once.

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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .kept_property import kept_property
from .model import Candidate, Job, Link, Problem
from .prepared_link import MAX_JOBS, MAX_PHASES, MAX_RATE_SUM_KBPS, PreparedLink
from .route_table import Members, RouteTable
from .units import kbps_from_gbps

__all__ = ["Demand", "LinkCatalog", "LinkProblem", "Placement", "SharedLink"]


class Demand(NamedTuple):
    """What one job asks of one link: its iteration time and phases, in ticks and kbit/s.

    ``phases`` are ``(start, length, rate)``, sorted; those without length or rate are dropped.
    """

    period: int
    phases: tuple[tuple[int, int, int], ...]

    def scaled_down(self, divisor: int) -> Demand:
        """The same demand with all rates divided; ``divisor`` divides each of them."""
        return Demand(self.period, tuple((start, length, rate // divisor) for start, length, rate in self.phases))

    def mean(self) -> float:
        """Mean demand, kbit/s."""
        return sum(length * rate for _, length, rate in self.phases) / self.period

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


class LinkProblem:
    """A distinct link problem: its jobs in canonical order, rates and capacity without units.

    Attributes
    ----------
    index : int
        Its place in :attr:`LinkCatalog.problems`.
    capacity : int
    demands : tuple of Demand
        One per job.
    """

    def __init__(self, index: int, capacity: int, demands: tuple[Demand, ...]) -> None:
        self.index = index
        self.capacity = capacity
        self.demands = demands

    @kept_property
    def prepared(self) -> PreparedLink:
        """The problem as the kernel takes it."""
        phases = [phase for demand in self.demands for phase in demand.phases]
        return PreparedLink(
            job_ids=tuple(str(place) for place in range(len(self.demands))),
            period=_int64([demand.period for demand in self.demands]),
            phase_offset=_int64([0, *itertools.accumulate(len(demand.phases) for demand in self.demands)]),
            phase_start=_int64([start for start, _, _ in phases]),
            phase_length=_int64([length for _, length, _ in phases]),
            phase_rate=_int64([rate for _, _, rate in phases]),
            capacity=self.capacity,
        )

    @property
    def area_bound(self) -> float:
        """No shifts score more: on average at least the demand above the capacity is excess (F3)."""
        excess = math.fsum(demand.mean() for demand in self.demands) - self.capacity
        return 1.0 - max(0.0, excess) / self.capacity


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


_Load = tuple[SharedLink | None, str | None]
_NOTHING: _Load = (None, None)


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
        # What a link carries is looked up before it is read: most candidates differ in few links.
        self._demands: dict[tuple[str, float], Demand] = {}
        self._scaled: dict[tuple[Demand, int], Demand] = {}
        self._loads: dict[tuple[str, Members], _Load] = {}

    def placements(self, candidates: Sequence[Candidate], routes: RouteTable | None = None) -> list[Placement]:
        """The shared links of each candidate.

        Parameters
        ----------
        candidates : sequence of Candidate
        routes : RouteTable, optional
            Of these candidates, if it was made already.

        Returns
        -------
        list of Placement
            In the order of ``candidates``. Where two candidates have the same jobs on a link, the
            :class:`SharedLink` is the same object.

        Raises
        ------
        InputError
            A multiplier makes a demand larger than the kernel can hold, or more jobs or phases share one link.

        Notes
        -----
        O(links, and what differs from the common placement) per candidate.
        """
        routes = RouteTable(candidates) if routes is None else routes
        common = self._common(routes)
        return [
            self._placement(candidate, routes.own_loads(place), common) for place, candidate in enumerate(candidates)
        ]

    def common_links(self, routes: RouteTable) -> list[SharedLink]:
        """The shared links of the common placement of ``routes``, by id."""
        return [shared for shared, _ in self._common(routes).values() if shared is not None]

    def _common(self, routes: RouteTable) -> dict[str, _Load]:
        return {link: self._load(link, members) for link, members in routes.common_loads().items()}

    def _placement(self, candidate: Candidate, own: Mapping[str, Members], common: Mapping[str, _Load]) -> Placement:
        loads = dict(common)
        loads.update((link, self._load(link, members)) for link, members in own.items())
        if len(loads) > len(common):
            loads = dict(sorted(loads.items()))
        return Placement(
            candidate.id,
            tuple(sorted(candidate.routes)),
            tuple(shared for shared, _ in loads.values() if shared is not None),
            tuple(warning for _, warning in loads.values() if warning is not None),
        )

    def _load(self, link_id: str, members: Members) -> _Load:
        if not members:
            return _NOTHING
        load = self._loads.get((link_id, members))
        if load is None:
            load = self._loads[link_id, members] = self._read(self._links[link_id], members)
        return load

    def _read(self, link: Link, members: Members) -> _Load:
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
        content = (capacity // divisor, tuple(self._scaled_down(demands[job], divisor) for job in order))
        problem = self._by_content.get(content)
        if problem is None:
            _check_size(link, content[1])
            problem = LinkProblem(len(self.problems), *content)
            self._by_content[content] = problem
            self.problems.append(problem)
        return SharedLink(link.id, link.capacity_gbps, tuple(order), problem)

    def _scaled_down(self, demand: Demand, divisor: int) -> Demand:
        scaled = self._scaled.get((demand, divisor))
        if scaled is None:
            scaled = self._scaled[demand, divisor] = demand.scaled_down(divisor)
        return scaled


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


def _int64(values: Sequence[int]) -> npt.NDArray[np.int64]:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array
