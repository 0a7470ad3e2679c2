"""From where jobs run to the links that they cross; and which of two placements pose the same problem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from hashlib import blake2b

from ..errors import InputError, shown
from ..iteration_steps import iteration_steps
from ..model import Job, Link
from ..topology.routing import Router
from .cluster import Cluster, HostWorkers
from .job_request import JobRequest, flows_of
from .worker_routes import WorkerRoutes

__all__ = ["Routes"]

Route = Mapping[str, float]

_WORK_OF_A_JOB = 200
"""Of looking at it once, its route aside, in steps of about 10 ns."""

_FULL = 1 - 1e-9
"""Of a capacity: peaks are sums of floats."""


class Routes:
    """The routes of jobs, each computed once for a pattern and where its workers are.

    Parameters
    ----------
    cluster : Cluster
    requests : sequence of JobRequest
    router : Router
    links : sequence of Link
        Of the network.

    Attributes
    ----------
    work : int
        What was done so far, in steps of about 10 ns.
    """

    def __init__(self, cluster: Cluster, requests: Sequence[JobRequest], router: Router, links: Sequence[Link]) -> None:
        self._cluster, self._requests, self._routes = cluster, requests, WorkerRoutes(router)
        self._capacity_gbps = {link.id: link.capacity_gbps for link in links}
        self.work = 0
        kinds: dict[Hashable, int] = {}
        # Equal jobs may change places without making another problem.
        self._kind = [kinds.setdefault((one.job.iteration_ms, one.job.phases), len(kinds)) for one in requests]
        self._peak_gbps = [_peak_gbps(one.job) for one in requests]

    def of(self, job: int, where: HostWorkers) -> Route:
        """The route of a job."""
        request = self._requests[job]
        try:
            if not self._routes.knows(request.pattern, where):
                flows = flows_of(request.pattern, request.workers)
                leaves = len({int(self._cluster.leaf[host]) for host, _ in where})
                self.work += 20 * len(flows.share) + leaves * (len(self._cluster.hosts) + len(self._capacity_gbps))
            return self._routes.of(self._cluster, request.pattern, where)
        except InputError as error:
            place = f"jobs[{shown(request.job.id)}]"
            raise InputError(f"{place}: {error}", place=place, reason=error.reason) from None

    def problem_of(self, where: Mapping[int, HostWorkers]) -> bytes:
        """A digest of what a ranking sees of a placement: placements of which it is equal have the same score.

        Which jobs, or others of equal demand, share which links, and the links that are too narrow for the only job
        there.
        """
        routes = {job: self.of(job, hosts) for job, hosts in where.items()}
        jobs_on: Counter[str] = Counter()
        for route in routes.values():
            jobs_on.update(route.keys())
            self.work += _WORK_OF_A_JOB + 20 * len(route)
        seen = sorted((self._kind[job], *self._seen(job, route, jobs_on)) for job, route in routes.items())
        return blake2b(repr(seen).encode(), digest_size=16).digest()

    def peak_excess_gbps(self, where: Mapping[int, HostWorkers]) -> float:
        """By how much the peaks of all jobs on a link exceed its capacity, summed over the links."""
        peaks: dict[str, float] = {}
        for job, hosts in where.items():
            route = self.of(job, hosts)
            self.work += _WORK_OF_A_JOB + 20 * len(route)
            for link, multiplier in route.items():
                peaks[link] = peaks.get(link, 0.0) + multiplier * self._peak_gbps[job]
        return math.fsum(max(0.0, peak - self._capacity_gbps[link]) for link, peak in peaks.items())

    def _seen(
        self, job: int, route: Route, jobs_on: Counter[str]
    ) -> tuple[list[tuple[str, float]], list[tuple[float, float]]]:
        """Of a job the links that it shares, and how narrow those are that it has for itself, wherever they are."""
        shared = sorted((link, multiplier) for link, multiplier in route.items() if jobs_on[link] > 1)
        own = ((multiplier, self._capacity_gbps[link]) for link, multiplier in route.items() if jobs_on[link] == 1)
        return shared, sorted(one for one in own if one[0] * self._peak_gbps[job] > _FULL * one[1])


def _peak_gbps(job: Job) -> float:
    """The largest demand of a job at one time."""
    phases = ((phase.start_ms, phase.duration_ms, phase.gbps) for phase in job.phases)
    return max(gbps for _, _, gbps in iteration_steps(job.iteration_ms, phases))
