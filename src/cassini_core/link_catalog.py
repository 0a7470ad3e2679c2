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
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .model import Candidate, Job, Link, Problem
from .prepared_link import MAX_JOBS, MAX_PHASES, MAX_RATE_SUM_KBPS, PreparedLink
from .route_table import Load, Members, RouteTable
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

    @cached_property
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

    ``jobs[i]`` is the job that stands at place ``i`` of ``problem``; ``index`` is its place in
    :attr:`LinkCatalog.shared`.
    """

    id: str
    capacity_gbps: float
    jobs: tuple[str, ...]
    problem: LinkProblem
    index: int


@dataclass(frozen=True)
class Placement:
    """A candidate seen from its links: shared ones by id, all placed jobs, and what is odd about the others.

    ``links`` are the indices of ``shared``, in its order.
    """

    id: str
    placed: tuple[str, ...]
    links: npt.NDArray[np.int64]
    shared: tuple[SharedLink, ...]
    warnings: tuple[str, ...]

    def sharing_jobs(self) -> list[str]:
        """Ids of the jobs that share a link, sorted."""
        return sorted({job for link in self.shared for job in link.jobs})


class _Reading(NamedTuple):
    """What a load turned out to be: shared by several jobs, odd, or neither."""

    shared: SharedLink | None
    warning: str | None


class LinkCatalog:
    """Reads placements and collects their shared links and link problems, each once.

    Parameters
    ----------
    problem : Problem
        Jobs with the iteration times at which they will run, and links.

    Attributes
    ----------
    problems : list of LinkProblem
        All problems met so far.
    shared : list of SharedLink
        All shared links met so far: a link once for every set of jobs that it carries somewhere.
    """

    def __init__(self, problem: Problem) -> None:
        self.problems: list[LinkProblem] = []
        self.shared: list[SharedLink] = []
        self._jobs: Mapping[str, Job] = {job.id: job for job in problem.jobs}
        self._links: Mapping[str, Link] = {link.id: link for link in problem.links}
        self._by_content: dict[tuple[int, tuple[Demand, ...]], LinkProblem] = {}
        self._demands: dict[tuple[str, float], Demand] = {}
        self._scaled: dict[tuple[Demand, int], Demand] = {}
        self._readings: dict[Load, _Reading] = {}

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
        O(distinct loads), and O(shared links) in whole arrays per candidate.
        """
        routes = RouteTable(candidates) if routes is None else routes
        readings = [self._reading(load) for load in routes.loads]
        rank = {link: k for k, link in enumerate(sorted({load.link for load in routes.loads}))}
        order = _int64([rank[load.link] for load in routes.loads])
        index = _int64([-1 if reading.shared is None else reading.shared.index for reading in readings])
        odd = [k for k, reading in enumerate(readings) if reading.warning is not None]
        shared = np.array([*self.shared, None], dtype=object)[:-1]  # one more, or an empty one would be of numbers
        common = np.arange(routes.n_common)
        odd_common = [k for k in odd if k < routes.n_common]
        odd_own = set(odd).difference(odd_common)
        placements = []
        for candidate, placed, (dropped, added) in zip(candidates, routes.placed, routes.differences, strict=True):
            loads = np.concatenate((np.delete(common, dropped), np.array(added, dtype=np.int64)))
            loads = loads[np.argsort(order[loads])]
            links = index[loads]
            links = links[links >= 0]
            strange = [*(k for k in odd_common if k not in dropped), *(k for k in added if k in odd_own)]
            warnings = [readings[k].warning for k in sorted(strange, key=lambda k: int(order[k]))]
            placements.append(
                Placement(candidate.id, placed, links, tuple(shared[links].tolist()), tuple(filter(None, warnings)))
            )
        return placements

    def common_links(self, routes: RouteTable) -> list[SharedLink]:
        """The shared links of the common placement of ``routes``, by id."""
        readings = [self._reading(load) for load in routes.loads[: routes.n_common]]
        return [reading.shared for reading in readings if reading.shared is not None]

    def _reading(self, load: Load) -> _Reading:
        reading = self._readings.get(load)
        if reading is None:
            reading = self._readings[load] = _Reading(*self._read(self._links[load.link], load.members))
        return reading

    def _read(self, link: Link, members: Members) -> tuple[SharedLink | None, str | None]:
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
        shared = SharedLink(link.id, link.capacity_gbps, tuple(order), problem, len(self.shared))
        self.shared.append(shared)
        return shared

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
