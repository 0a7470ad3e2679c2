"""From where jobs run to the links that they cross; and which of two placements pose the same problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from ..errors import InputError, shown
from ..model import Job, Link
from ..topology.routing import Router
from .cluster import Cluster, HostWorkers
from .job_request import JobRequest, Pattern, flows_of

__all__ = ["Routes"]

Route = Mapping[str, float]


class Routes:
    """The routes of jobs, each computed once for a pattern and where its workers are.

    Parameters
    ----------
    cluster : Cluster
    requests : sequence of JobRequest
    router : Router
    links : iterable of Link
        Of the network.
    """

    def __init__(self, cluster: Cluster, requests: Sequence[JobRequest], router: Router, links: Sequence[Link]) -> None:
        self._cluster, self._requests, self._router = cluster, requests, router
        self._capacity_gbps = {link.id: link.capacity_gbps for link in links}
        self._known: dict[tuple[Pattern, HostWorkers], Route] = {}
        kinds: dict[Hashable, int] = {}
        # Equal jobs may change places without making another problem.
        self._kind = [kinds.setdefault((one.job.iteration_ms, one.job.phases), len(kinds)) for one in requests]
        self._peak_gbps = [peak_gbps(one.job) for one in requests]

    def of(self, job: int, where: HostWorkers) -> Route:
        """The route of a job. Its workers are numbered host by host, so that a ring enters each leaf switch once."""
        request = self._requests[job]
        key = request.pattern, where
        if key not in self._known:
            workers = [self._cluster.hosts[host] for host, count in where for _ in range(count)]
            try:
                flows = flows_of(request.pattern, request.workers)
                self._known[key] = self._router.route(workers, flows) if len(where) > 1 else {}
            except InputError as error:
                raise InputError(
                    f"job {shown(request.job.id)}: {error}", place=error.place, reason=error.reason
                ) from None
        return self._known[key]

    def problem_of(self, where: Mapping[int, HostWorkers]) -> Hashable:
        """What a ranking sees of a placement: equal for placements with equal scores by necessity.

        Which jobs, or others with equal demand, cross which of the links that jobs share or that are too narrow for
        the only job there.
        """
        routes = {job: self.of(job, hosts) for job, hosts in where.items()}
        jobs_on: Counter[str] = Counter()
        for route in routes.values():
            jobs_on.update(route.keys())
        seen = Counter(
            (
                self._kind[job],
                frozenset(
                    (link, multiplier)
                    for link, multiplier in route.items()
                    if jobs_on[link] > 1 or multiplier * self._peak_gbps[job] > self._capacity_gbps[link]
                ),
            )
            for job, route in routes.items()
        )
        return frozenset(seen.items())


def peak_gbps(job: Job) -> float:
    """The largest demand of a job, or more: the sum of all phases that may overlap."""
    return sum(phase.gbps for phase in job.phases)
