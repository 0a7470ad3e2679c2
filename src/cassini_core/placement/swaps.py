"""Local swaps: two jobs exchange what they have on one host each, or a job moves to free GPUs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from .cluster import Cluster, HostWorkers, Placement
from .packed import packed
from .random_hosts import below

__all__ = ["swapped"]

_TRIES = 20
"""Draws before it is given up: in a full cluster with jobs of many sizes most exchanges do not fit."""


def swapped(
    cluster: Cluster, placement: Placement, movable: Sequence[int], gpus_per_worker: Sequence[int], rng: random.Random
) -> Placement | None:
    """A placement that differs by one swap.

    Half of the draws exchange the workers of two jobs on one host each, which lie under different leaf switches; one
    of the two hosts may have free GPUs in place of a job. The other half moves a whole job away from one of its leaf
    switches, packed under some of the others.

    Parameters
    ----------
    cluster : Cluster
    placement : Placement
        Not changed.
    movable : sequence of int
        Numbers of placed jobs that may be moved.
    gpus_per_worker : sequence of int
        By job.
    rng : random.Random

    Returns
    -------
    Placement or None
        None if none was found in so many draws.
    """
    if not movable:
        return None
    for _ in range(_TRIES):
        job = movable[below(rng, len(movable))]
        if rng.random() < 0.5:
            new = _moved(cluster, placement, job, rng)
        else:
            new = _exchanged(cluster, placement, job, movable, gpus_per_worker, rng)
        if new is not None:
            return new
    return None


def _moved(cluster: Cluster, placement: Placement, job: int, rng: random.Random) -> Placement | None:
    """Move a job away from one of its leaf switches, to some of the others: to all, it would always go the same way."""
    new = placement.copy()
    where = new.take(job)
    left_out = np.array([rng.random() < 0.5 for _ in range(int(cluster.leaf[-1]) + 1)])
    left_out[cluster.leaf[where[below(rng, len(where))][0]]] = True
    room = np.where(left_out[cluster.leaf], 0, new.room(job))
    found = packed(cluster, room, sum(workers for _, workers in where))
    if found is None:
        return None
    new.put(job, found)
    return new


def _exchanged(
    cluster: Cluster,
    placement: Placement,
    job: int,
    movable: Sequence[int],
    gpus_per_worker: Sequence[int],
    rng: random.Random,
) -> Placement | None:
    """Exchange a job's workers on one host with those of another job, or with free GPUs, on another host."""
    where = placement.where[job]
    here, workers = where[below(rng, len(where))]
    chosen = below(rng, len(movable) + 1)
    other = movable[chosen] if chosen < len(movable) else None
    if other == job:
        return None
    if other is None:
        there, theirs = below(rng, len(cluster.hosts)), 0
    else:
        there, theirs = placement.where[other][below(rng, len(placement.where[other]))]
    one_leaf = cluster.leaf[0] == cluster.leaf[-1]
    if here == there or (cluster.leaf[here] == cluster.leaf[there] and not one_leaf):
        return None
    if _part(cluster, here) != _part(cluster, there):
        return None
    mine, needed = workers * gpus_per_worker[job], theirs * gpus_per_worker[other] if other is not None else 0
    if placement.free[here] + mine < needed or placement.free[there] + needed < mine:
        return None
    new = placement.copy()
    new.put(job, _without_and_with(new.take(job), here, there, workers))
    if other is not None:
        new.put(other, _without_and_with(new.take(other), there, here, theirs))
    return new


def _part(cluster: Cluster, host: int) -> int:
    return int(np.searchsorted(cluster.parts.end, host, side="right"))


def _without_and_with(where: HostWorkers, old: int, new: int, workers: int) -> HostWorkers:
    """All workers of one host on another."""
    found = dict(where)
    del found[old]
    found[new] = found.get(new, 0) + workers
    return tuple(sorted(found.items()))
