"""Which jobs share which links in each placement, and every distinct link problem once.

Links of one candidate, and of all candidates of a ranking, often pose the same problem. Its content alone identifies a
problem, in integers: capacity and rates divided by their greatest common divisor, and the jobs in an order that depends
only on what they ask for. So the same question always gets the same answer, whatever the names of jobs, links and
candidates, and whatever their order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Int64Array, Rows, cut, int64, offsets
from ..errors import InputError, refusal, shown
from ..kernel.demand import Demand, Levels
from ..kernel.link_arrays import LinkArrays
from ..kernel.prepared_link import MAX_JOBS, MAX_PHASES, MAX_RATE_SUM_KBPS
from ..lockless_cached_property import lockless_cached_property
from ..model import Job, Link, Problem
from ..results import NarrowLink
from ..units import KBPS_PER_GBPS, kbps_from_gbps, ticks_from_ms
from .incidence import Incidence, Narrow
from .placement import BaseLinks, Placement, SharedLink
from .route_deltas import RouteTable
from .route_rows import READ_TOGETHER

__all__ = ["LinkCatalog"]


MAX_ALL_PHASES = 2**21
MAX_MULTIPLIED_PHASES = 2**20
"""Most phases of all jobs on all distinct link problems; each takes some 200 bytes."""

MAX_ALL_PAIRS = 2**25
"""Most pairs of jobs on all distinct link problems; the kernel compares the iteration times of each pair."""

_LOADS_TOGETHER, _MEMBERS_TOGETHER = 256, 256  # so many are read before the catalog asks whether to go on


class LinkCatalog:
    """Reads placements and collects their shared links and link problems, each once.

    Parameters
    ----------
    problem : Problem
        Jobs with the iteration times at which they will run, and links.
    routes : RouteTable, optional
        Those of the candidates to read; by default those of all candidates of the problem.
    go_on : callable, optional
        Called now and then; what it raises ends the reading.

    Attributes
    ----------
    problems : LinkArrays
        All distinct link problems.
    shared : list of SharedLink
        All shared links: a link once for every set of jobs that it carries somewhere.
    incidence : Incidence
        The same in arrays.

    Raises
    ------
    InputError
        A multiplier makes a demand larger than the kernel can hold, or more jobs or phases share one link.

    Notes
    -----
    O(distinct loads).
    """

    def __init__(
        self, problem: Problem, routes: RouteTable | None = None, go_on: Callable[[], None] = lambda: None
    ) -> None:
        self._routes = routes = RouteTable(problem.candidates, go_on) if routes is None else routes
        self._go_on = go_on
        jobs = {job.id: job for job in problem.jobs}
        links = {link.id: link for link in problem.links}
        self._links = [links[link] for link in routes.links]
        self._capacity = [kbps_from_gbps(link.capacity_gbps) for link in self._links]
        n_phases = sum(len(jobs[job].phases) for job, _ in routes.members)
        if n_phases > MAX_MULTIPLIED_PHASES:
            raise InputError(
                f"candidates: expected at most {MAX_MULTIPLIED_PHASES} phases of jobs, each counted once for each "
                f"multiplier of its routes, got {n_phases}"
            )
        # Lists by the numbers of members: whole numbers are hashed and compared faster than what they stand for.
        self._demand = []
        for number, (job, multiplier) in enumerate(routes.members):
            if number % _MEMBERS_TOGETHER == _MEMBERS_TOGETHER - 1:
                go_on()
            self._demand.append(Demand.of(jobs[job], multiplier))
        rank = {demand: k for k, demand in enumerate(sorted(set(self._demand)))}
        self._rank = int64(rank[demand] for demand in self._demand)
        self._divisor = [math.gcd(*(rate for _, _, rate in demand.phases)) for demand in self._demand]
        self._peak = [demand.peak() for demand in self._demand]
        self._levels: dict[int, Levels] = {}  # by member
        self._scaled: dict[tuple[int, int], int] = {}
        self._scaled_number: dict[Demand, int] = {}
        self._scaled_demand: list[Demand] = []
        self._scaled_size: list[tuple[int, int]] = []  # phases, and the sum of their rates
        self._n_phases = self._n_pairs = 0  # of all problems
        self._by_content: dict[tuple[int, ...], int] = {}
        loads, n_loads = routes.loads, len(routes.loads.link)
        if n_loads < _LOADS_TOGETHER:
            go_on = lambda: None  # noqa: E731 - few are always read
        asks = np.array([divisor > 0 for divisor in self._divisor], dtype=np.bool_)[loads.member]  # has demand there
        load = np.arange(n_loads).repeat(loads.counts())[asks]
        members = loads.member[asks]
        n_asking = np.bincount(load, minlength=n_loads)
        self._narrow_of = self._narrow_loads(load, members, n_asking)
        go_on()
        is_shared = n_asking >= 2
        self._shared_of = np.where(is_shared, np.cumsum(is_shared) - 1, -1)  # by the numbers of loads
        on_shared = is_shared[load]
        self._crossing = self._ordered(load[on_shared], members[on_shared])
        go_on()
        self._offset = offsets(n_asking[is_shared])
        self.shared = self._shared(loads.link[is_shared].tolist())
        self.problems = self._problem_arrays()
        go_on()
        self.incidence = self._incidence(jobs)
        go_on()

    @lockless_cached_property
    def base(self) -> BaseLinks:
        """The shared links of the base placement of the routes."""
        of_base, is_shared = self._shared_of[: self._routes.n_base], self._shared_of >= 0
        links, order = of_base[of_base >= 0], self._routes.loads.link[is_shared]
        return BaseLinks(links, order, np.diff(self.incidence.offset), self.shared)

    def placements(self) -> list[Placement]:
        """Each candidate, in their order; O(its changes from the base placement)."""
        routes, index = self._routes, self._shared_of
        position = np.cumsum(index[: routes.n_base] >= 0) - 1  # its place in the base, of what the base has
        base, placements = self.base, []
        for number, (candidate, n_placed, (dropped, added)) in enumerate(
            zip(routes.candidate_ids, routes.n_placed, routes.differences, strict=True)
        ):
            if number % READ_TOGETHER == READ_TOGETHER - 1:
                self._go_on()
            gone, come = position[dropped[index[dropped] >= 0]], index[added]
            placement = Placement(candidate, n_placed, base, gone, come[come >= 0])
            own = self._narrow_of_one(dropped, added) if self._narrow_of else []
            if own:
                found, warnings = zip(*[self._narrow_of[load] for load in own], strict=True)
                worst_first = sorted(found, key=lambda link: link.score)
                numbers = int64(self._job_number[link.job] for link in worst_first)
                scores = Narrow(numbers, np.array([link.score for link in worst_first]))
                placement = replace(placement, warnings=warnings, narrow_links=found, narrow=scores)
            placements.append(placement)
        return placements

    @lockless_cached_property
    def _job_number(self) -> dict[str, int]:
        """Jobs that share no link anywhere get numbers beyond those that do."""
        number = {job: k for k, job in enumerate(self.incidence.jobs)}
        for one, _ in self._narrow_of.values():
            number.setdefault(one.job, len(number))
        return number

    @lockless_cached_property
    def _narrow_in_base(self) -> list[int]:
        return [load for load in self._narrow_of if load < self._routes.n_base]

    def _narrow_of_one(self, dropped: Int64Array, added: Int64Array) -> list[int]:
        """Those of one candidate, by link."""
        gone, link = set(dropped.tolist()), self._routes.loads.link
        own = [load for load in self._narrow_in_base if load not in gone]
        return sorted([*own, *(load for load in added.tolist() if load in self._narrow_of)], key=link.__getitem__)

    def _narrow_loads(
        self, load: Int64Array, members: Int64Array, n_asking: Int64Array
    ) -> dict[int, tuple[NarrowLink, str]]:
        """The loads of one job with demand that need more than their link has, by number, each with its warning."""
        only = n_asking[load] == 1
        link = self._routes.loads.link[load[only]]
        crossings = zip(load[only].tolist(), link.tolist(), members[only].tolist(), strict=True)
        return {k: self._narrow(n, member) for k, n, member in crossings if self._peak[member] > self._capacity[n]}

    def _narrow(self, number: int, member: int) -> tuple[NarrowLink, str]:
        """The answer for a link with one job, which is known without a search, and a warning."""
        link, capacity = self._links[number], self._capacity[number]
        job, peak = self._routes.members[member][0], self._peak[member] / KBPS_PER_GBPS
        period = self._demand[member].period
        if member not in self._levels:
            self._levels[member] = self._demand[member].levels()
        excess = self._levels[member].excess(capacity)
        # Quotients of whole numbers: rounded once, whatever their size.
        score = (period * capacity - excess) / (period * capacity)
        found = NarrowLink(link.id, job, score, excess / (period * KBPS_PER_GBPS))
        return found, f"link {link.id!r}: job {job!r} alone needs {peak:g} of {link.capacity_gbps:g} Gbit/s"

    def _ordered(self, load: Int64Array, members: Int64Array) -> Int64Array:
        """The members of each load, in an order that depends only on what they ask for.

        Jobs that ask for the same are interchangeable; their ids decide only which of them comes first.
        """
        return members[np.lexsort((self._rank[members], load))]

    def _shared(self, link: Sequence[int]) -> list[SharedLink]:
        """The shared links, on these physical ones."""
        names = [self._routes.members[member][0] for member in self._crossing.tolist()]
        asked = cut(self._rank[self._crossing], self._offset)
        crossings = itertools.pairwise(self._offset.tolist())
        by_ranks: dict[tuple[int, bytes], int] = {}  # most loads ask as another does
        found = []
        for index, (number, ranks, (begin, end)) in enumerate(zip(link, asked, crossings, strict=True)):
            if index % _LOADS_TOGETHER == 0 and len(link) >= _LOADS_TOGETHER:
                self._go_on()
            physical, capacity = self._links[number], self._capacity[number]
            problem = by_ranks.get((capacity, ranks))
            if problem is None:
                order = self._crossing[begin:end].tolist()
                problem = by_ranks[capacity, ranks] = self._problem(physical, capacity, order)
            jobs = tuple(names[begin:end])
            found.append(SharedLink(physical.id, physical.capacity_gbps, jobs, problem, index))
        return found

    def _problem(self, link: Link, capacity: int, order: Sequence[int]) -> int:
        divisor = math.gcd(capacity, *[self._divisor[member] for member in order])
        content = (capacity // divisor, *[self._scaled_down(member, divisor) for member in order])
        problem = self._by_content.get(content)
        if problem is None:
            self._check_size(link, content[1:])
            problem = self._by_content[content] = len(self._by_content)
        return problem

    def _problem_arrays(self) -> LinkArrays:
        contents = list(self._by_content)
        demands = self._scaled_demand
        phases = [phase for demand in demands for phase in demand.phases]
        start, length, rate = np.array(phases, dtype=np.int64).reshape(-1, 3).T
        jobs = int64(number for content in contents for number in content[1:])
        rows = Rows.of(offsets(len(demand.phases) for demand in demands), jobs)
        return LinkArrays(
            job_offset=offsets(len(content) - 1 for content in contents),
            period=int64(demand.period for demand in demands)[jobs],
            phase_offset=offsets(rows.size),
            phase_start=start[rows.at],
            phase_length=length[rows.at],
            phase_rate=rate[rows.at],
            capacity=int64(content[0] for content in contents),
        )

    def _incidence(self, jobs: Mapping[str, Job]) -> Incidence:
        # Members are sorted by the ids of their jobs.
        names = sorted({job for job, _ in self._routes.members})
        number = {job: k for k, job in enumerate(names)}
        crossing = int64(number[job] for job, _ in self._routes.members)[self._crossing]
        sharing, job = np.unique(crossing, return_inverse=True)
        ids = [names[k] for k in sharing.tolist()]
        return Incidence(
            jobs=ids,
            period=int64(ticks_from_ms(jobs[job].iteration_ms) for job in ids),
            offset=self._offset,
            job=job,
            problem=int64(link.problem for link in self.shared),
            capacity_gbps=np.array([link.capacity_gbps for link in self.shared], dtype=np.float64),
        )

    def _scaled_down(self, member: int, divisor: int) -> int:
        """A number that identifies what the member asks for once all rates are divided."""
        key = int(self._rank[member]), divisor
        scaled = self._scaled.get(key)
        if scaled is None:
            demand = self._demand[member].scaled_down(divisor)
            scaled = self._scaled[key] = self._scaled_number.setdefault(demand, len(self._scaled_number))
            if scaled == len(self._scaled_demand):
                self._scaled_demand.append(demand)
                self._scaled_size.append((len(demand.phases), sum(rate for _, _, rate in demand.phases)))
        return scaled

    def _check_size(self, link: Link, scaled: Sequence[int]) -> None:
        n_phases, rates = map(sum, zip(*[self._scaled_size[number] for number in scaled], strict=True))
        self._n_phases += n_phases
        self._n_pairs += len(scaled) ** 2
        for what, most, found in (
            ("jobs", MAX_JOBS, len(scaled)),
            ("phases", MAX_PHASES, n_phases),
            ("kbit/s of demand over the common divisor of all rates", MAX_RATE_SUM_KBPS, rates),
        ):
            if found > most:
                raise refusal("", f"link {shown(link.id)}", f"at most {most} {what}", f"{found}")
        for what, most, found in (
            ("phases", MAX_ALL_PHASES, self._n_phases),
            ("pairs of jobs", MAX_ALL_PAIRS, self._n_pairs),
        ):
            if found > most:
                raise InputError(f"links: expected at most {most} {what} on all that differ, got more")
