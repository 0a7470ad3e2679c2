"""From the hosts of a job's workers to the links that it crosses, each computed once."""

from __future__ import annotations

from collections.abc import Mapping

from ..topology.routing import Router
from .cluster import Cluster, HostWorkers
from .job_request import Pattern, flows_of

__all__ = ["MAX_ROUTES", "WorkerRoutes"]

MAX_ROUTES = 100_000
"""That are kept; some hundred megabytes at most for jobs of hundreds of hosts."""


class WorkerRoutes:
    """Routes by pattern and where workers are.

    Parameters
    ----------
    router : Router
    """

    def __init__(self, router: Router) -> None:
        self._router = router
        self._known: dict[tuple[Pattern, HostWorkers], Mapping[str, float]] = {}

    def knows(self, pattern: Pattern, where: HostWorkers) -> bool:
        """Whether this route need not be computed any more."""
        return (pattern, where) in self._known

    def of(self, cluster: Cluster, pattern: Pattern, where: HostWorkers) -> Mapping[str, float]:
        """The links that a job crosses, with the multiplier of its demand; none where all workers are on one host.

        Parameters
        ----------
        cluster : Cluster
            Of the router's network: always with the same hosts.
        pattern : Pattern
        where : HostWorkers
            Workers are numbered host by host, in this order, so that a ring enters each leaf switch once.

        Raises
        ------
        InputError
            No path joins two hosts, or the pattern is not one of so many workers.

        Notes
        -----
        As :meth:`cassini_core.topology.routing.Router.route` the first time, then a look-up.
        """
        key = pattern, where
        if key not in self._known:
            if len(self._known) == MAX_ROUTES:
                self._known.clear()
            self._known[key] = self._computed(cluster, pattern, where)
        return self._known[key]

    def _computed(self, cluster: Cluster, pattern: Pattern, where: HostWorkers) -> dict[str, float]:
        if len(where) < 2:
            return {}
        workers = [cluster.hosts[host] for host, count in where for _ in range(count)]
        return self._router.route(workers, flows_of(pattern, len(workers)))
