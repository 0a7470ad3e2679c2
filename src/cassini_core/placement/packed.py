"""Packed: under the lowest switch that has room, on the fewest leaf switches there, then the fewest hosts.

That is the rule of Slurm's tree and block plugins and of Kueue's topology-aware scheduling. Where several do, the one
with the least room left is taken (best fit), so that large holes stay for large jobs; then the first in the order of
the cluster's hosts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, Int64Array
from .cluster import Cluster, HostWorkers

__all__ = ["packed"]


def packed(cluster: Cluster, room: Int64Array, workers: int) -> HostWorkers | None:
    """Where to put the workers of a job.

    Parameters
    ----------
    cluster : Cluster
    room : int64 array
        How many of its workers each host has room for.
    workers : int

    Returns
    -------
    HostWorkers or None
        None if nowhere is room for all.

    Notes
    -----
    O(hosts * log hosts) for each switch of the lowest tier that has room.
    """
    before = np.concatenate(([0], np.cumsum(room)))
    for starts, ends in cluster.tiers:
        total = before[ends] - before[starts]
        fitting = np.flatnonzero(total >= workers)
        if len(fitting):
            if ends[-1] == len(starts):  # single hosts
                best = fitting[np.argmin(total[fitting])]
                return ((int(best), workers),)
            fits = (_fit(cluster, room, workers, int(starts[one]), int(ends[one])) for one in fitting)
            return min(fits, key=lambda fit: fit[:3]).where
    return None


class _Fit(NamedTuple):
    leaves: int
    hosts: int
    left: int
    where: HostWorkers


def _fit(cluster: Cluster, room: Int64Array, workers: int, start: int, end: int) -> _Fit:
    """The workers on the fewest leaf switches under one switch, whose hosts have room for all."""
    leaf = cluster.leaf[start:end] - cluster.leaf[start]
    rooms = room[start:end]
    leaves = _fewest(np.bincount(leaf, rooms).astype(np.int64), workers)
    chosen = np.zeros(int(leaf[-1]) + 1, dtype=bool)
    chosen[leaves] = True
    inside: BoolArray = chosen[leaf]
    hosts = np.flatnonzero(inside & (rooms > 0))
    picked = hosts[_fewest(rooms[hosts], workers)]
    counts = rooms[picked].copy()
    counts[-1] -= counts.sum() - workers
    where = sorted(zip((picked + start).tolist(), counts.tolist(), strict=True))
    return _Fit(len(leaves), len(picked), int(rooms[inside].sum()) - workers, tuple(where))


def _fewest(room: Int64Array, workers: int) -> Int64Array:
    """The fewest places that together have room: the largest, and last the smallest that has room for the rest."""
    order = np.argsort(-room, kind="stable")
    filled = np.cumsum(room[order])
    count = int(np.searchsorted(filled, workers)) + 1
    full, rest = order[: count - 1], order[count - 1 :]
    missing = workers - (int(filled[count - 2]) if count > 1 else 0)
    enough = rest[room[rest] >= missing]
    # Of equal ones the first: the order is by size, then by number.
    last = enough[room[enough] == room[enough].min()][:1]
    return np.concatenate((full, last))
