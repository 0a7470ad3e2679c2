"""Which jobs share which links in each placement, and every distinct link problem once.

Links of one candidate, and of all candidates of a ranking, often pose the same problem. Its content alone identifies a
problem, in integers: capacity and rates divided by their greatest common divisor, and the jobs in an order that depends
only on what they ask for. So the same question always gets the same answer, whatever the names of jobs, links and
candidates, and whatever their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Rows, int64, offsets
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

_LOADS_TOGETHER, _MEMBERS_TOGETHER = 512, 256  # so many are read before the catalog asks whether to go on


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
        self.shared: list[SharedLink] = []
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
        self._rank = [rank[demand] for demand in self._demand]
        self._divisor = [math.gcd(*(rate for _, _, rate in demand.phases)) for demand in self._demand]
        self._peak = [demand.peak() for demand in self._demand]
        self._levels: dict[int, Levels] = {}  # by member
        self._scaled: dict[tuple[int, int], int] = {}
        self._scaled_number: dict[Demand, int] = {}
        self._scaled_demand: list[Demand] = []
        self._scaled_size: list[tuple[int, int]] = []  # phases, and the sum of their rates
        self._n_phases = self._n_pairs = 0  # of all problems
        self._by_content: dict[tuple[int, ...], int] = {}
        self._by_ranks: dict[
            tuple[int, ...], int
        ] = {}  # problems by capacity and ranks: most loads ask as another does
        self._crossing: list[int] = []  # the number of the member at each crossing of the shared links
        self._shared_of: list[SharedLink | None] = []  # by the numbers of loads
        self._narrow_of: dict[int, tuple[NarrowLink, str]] = {}  # with its warning
        for number, load in enumerate(routes.loads):
            if number % _LOADS_TOGETHER == _LOADS_TOGETHER - 1:
                go_on()
            self._read(number, load)
        self.problems = self._problem_arrays()
        if len(routes.loads) >= _LOADS_TOGETHER:
            go_on()
        self.incidence = self._incidence(jobs)
        if len(routes.loads) >= _LOADS_TOGETHER:
            go_on()

    @lockless_cached_property
    def base(self) -> BaseLinks:
        """The shared links of the base placement of the routes."""
        routes = self._routes
        return BaseLinks(
            int64(shared.index for shared in self._shared_of[: routes.n_base] if shared is not None),
            int64(load[0] for load, shared in zip(routes.loads, self._shared_of, strict=True) if shared is not None),
            np.diff(self.incidence.offset),
            self.shared,
        )

    def placements(self) -> list[Placement]:
        """Each candidate, in their order; O(its changes from the base placement)."""
        routes, is_shared = self._routes, [shared is not None for shared in self._shared_of]
        index = [-1 if shared is None else shared.index for shared in self._shared_of]
        position = np.cumsum(is_shared).tolist()  # one more than its place in the base, of what the base has
        base, placements = self.base, []
        for number, (candidate, n_placed, (dropped, added)) in enumerate(
            zip(routes.candidate_ids, routes.n_placed, routes.differences, strict=True)
        ):
            if number % READ_TOGETHER == READ_TOGETHER - 1:
                self._go_on()
            gone = int64(sorted(position[load] - 1 for load in dropped if is_shared[load]))
            come = int64(index[load] for load in sorted(added, key=self._by_link) if is_shared[load])
            placement = Placement(candidate, n_placed, base, gone, come)
            own = self._narrow_loads(dropped, added) if self._narrow_of else []
            if own:
                found, warnings = zip(*[self._narrow_of[load] for load in own], strict=True)
                worst_first = sorted(found, key=lambda link: link.score)
                numbers = int64(self._job_number[link.job] for link in worst_first)
                scores = Narrow(numbers, np.array([link.score for link in worst_first]))
                placement = replace(placement, warnings=warnings, narrow_links=found, narrow=scores)
            placements.append(placement)
        return placements

    def _by_link(self, load: int) -> int:
        return self._routes.loads[load][0]

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

    def _narrow_loads(self, dropped: Sequence[int], added: Sequence[int]) -> list[int]:
        """Those of one candidate, by link."""
        gone = set(dropped)
        own = [load for load in self._narrow_in_base if load not in gone]
        return sorted([*own, *(load for load in added if load in self._narrow_of)], key=self._by_link)

    def _read(self, number: int, load: tuple[int, ...]) -> None:
        link, members = load[0], [member for member in load[1:] if self._divisor[member]]  # those with demand there
        self._shared_of.append(self._share(link, members) if len(members) >= 2 else None)
        if len(members) == 1 and self._peak[members[0]] > self._capacity[link]:
            self._narrow_of[number] = self._narrow(link, members[0])

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

    def _share(self, number: int, members: Sequence[int]) -> SharedLink:
        # Jobs that ask for the same are interchangeable; their ids decide only which of them comes first.
        rank, names = self._rank, self._routes.members
        order = sorted(members, key=rank.__getitem__)
        link, capacity = self._links[number], self._capacity[number]
        asked = (capacity, *[rank[member] for member in order])
        problem = self._by_ranks.get(asked)
        if problem is None:
            problem = self._by_ranks[asked] = self._problem(link, capacity, order)
        jobs = tuple([names[member][0] for member in order])
        shared = SharedLink(link.id, link.capacity_gbps, jobs, problem, len(self.shared))
        self.shared.append(shared)
        self._crossing += order
        return shared

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
        crossing = int64(number[job] for job, _ in self._routes.members)[int64(self._crossing)]
        sharing, job = np.unique(crossing, return_inverse=True)
        ids = [names[k] for k in sharing.tolist()]
        return Incidence(
            jobs=ids,
            period=int64(ticks_from_ms(jobs[job].iteration_ms) for job in ids),
            offset=offsets(len(link.jobs) for link in self.shared),
            job=job,
            problem=int64(link.problem for link in self.shared),
            capacity_gbps=np.array([link.capacity_gbps for link in self.shared], dtype=np.float64),
        )

    def _scaled_down(self, member: int, divisor: int) -> int:
        """A number that identifies what the member asks for once all rates are divided."""
        key = self._rank[member], divisor
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
