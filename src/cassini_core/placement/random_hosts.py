"""Random: hosts in an order drawn for each job, each filled before the next."""

from __future__ import annotations

import random

import numpy as np

from ..arrays import Int64Array
from .cluster import Cluster, HostWorkers

__all__ = ["below", "random_hosts"]


def random_hosts(cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
    """Where to put the workers of a job: parameters and result as of :func:`cassini_core.placement.packed.packed`.

    Of parts of the network without paths between them, one that has room is drawn.
    """
    before = np.concatenate(([0], np.cumsum(room)))
    starts, ends = cluster.parts
    fitting = np.flatnonzero(before[ends] - before[starts] >= workers)
    if not len(fitting):
        return None
    part = fitting[below(rng, len(fitting))]
    hosts = starts[part] + np.flatnonzero(room[starts[part] : ends[part]])
    where: list[tuple[int, int]] = []
    while workers:
        last = len(hosts) - len(where) - 1
        chosen = below(rng, last + 1)
        hosts[chosen], hosts[last] = hosts[last], hosts[chosen]
        host = int(hosts[last])
        where.append((host, min(workers, int(room[host]))))
        workers -= where[-1][1]
    return tuple(sorted(where))


def below(rng: random.Random, count: int) -> int:
    """A whole number from 0 to before ``count``: of all that is random only ``random()`` never changes its sequence."""
    return int(rng.random() * count)
