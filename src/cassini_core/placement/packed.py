"""Packed: under the lowest switch that has room, on the fewest leaf switches there, then the fewest hosts.

Slurm's tree plugin and Kueue's topology-aware scheduling pack much like this. Where several do, the one with the least
room is taken (best fit), so that large holes stay for large jobs; then the first in the order of the cluster's
hosts.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Int64Array, runs
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
    O(hosts * log hosts).
    """
    before = np.concatenate(([0], np.cumsum(room)))
    for starts, ends in cluster.tiers:
        total = before[ends] - before[starts]
        fitting = total >= workers
        if fitting.any():
            leaves, hosts = _needed(cluster, room, workers, starts, ends)
            order = np.lexsort((total, hosts, leaves))
            best = order[fitting[order]][0]
            return _within(cluster, room, workers, int(starts[best]), int(ends[best]))
    return None


def _needed(
    cluster: Cluster, room: Int64Array, workers: int, starts: Int64Array, ends: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """For the hosts under each of some switches: how many leaf switches, and how many hosts, have room for all."""
    size = ends - starts
    number = np.repeat(np.arange(len(starts)), size)
    leaf_room = np.bincount(cluster.leaf, room).astype(np.int64)
    first = cluster.leaf[starts]
    leaf_number = np.repeat(np.arange(len(starts)), cluster.leaf[ends - 1] - first + 1)
    if len(leaf_number) != len(leaf_room):  # single hosts: of one leaf switch each
        return np.ones(len(starts), dtype=np.int64), np.ones(len(starts), dtype=np.int64)
    return _fewest_of(leaf_room, leaf_number, workers), _fewest_of(room, number, workers)


def _fewest_of(room: Int64Array, group: Int64Array, workers: int) -> Int64Array:
    """For each group of places, how many of its largest ones have room for all; one more than it has if none do."""
    order = np.lexsort((-room, group))
    filled = np.cumsum(room[order])
    start = runs(group)
    filled -= np.repeat(filled[start] - room[order][start], np.diff(start, append=len(group)))
    return 1 + np.bincount(group, filled < workers).astype(np.int64)


def _within(cluster: Cluster, room: Int64Array, workers: int, start: int, end: int) -> HostWorkers:
    """The workers on the fewest leaf switches under one switch, whose hosts have room for all."""
    leaf = cluster.leaf[start:end] - cluster.leaf[start]
    leaves = _fewest(np.bincount(leaf, room[start:end]).astype(np.int64), workers)
    chosen = np.zeros(int(leaf[-1]) + 1, dtype=bool)
    chosen[leaves] = True
    hosts = start + np.flatnonzero(chosen[leaf])
    picked = hosts[_fewest(room[hosts], workers)]
    counts = room[picked]
    counts[-1] -= counts.sum() - workers
    return tuple(sorted(zip(picked.tolist(), counts.tolist(), strict=True)))


def _fewest(room: Int64Array, workers: int) -> Int64Array:
    """The fewest places that together have room: the largest, and last the smallest that has room for the rest."""
    order = np.argsort(-room, kind="stable")
    filled = np.cumsum(room[order])
    full = int(np.searchsorted(filled, workers))
    missing = workers - (int(filled[full - 1]) if full else 0)
    rest = order[full:]
    enough = rest[room[rest] >= missing]
    # Of equal ones the first: the order is by size, then by number.
    last = enough[room[enough] == room[enough].min()][:1]
    return np.concatenate((order[:full], last))
