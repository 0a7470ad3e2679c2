"""Spread: as evenly as there is room over the leaf switches, and under each over its hosts."""

from __future__ import annotations

import numpy as np

from ..arrays import Int64Array
from .cluster import Cluster, HostWorkers

__all__ = ["spread"]


def spread(cluster: Cluster, room: Int64Array, workers: int) -> HostWorkers | None:
    """Where to put the workers of a job: parameters and result as of :func:`cassini_core.placement.packed.packed`.

    Of parts of the network without paths between them, the one with the most room is taken.
    """
    before = np.concatenate(([0], np.cumsum(room)))
    starts, ends = cluster.parts
    total = before[ends] - before[starts]
    if not len(total) or total.max() < workers:
        return None
    part = int(np.argmax(total))
    start, end = int(starts[part]), int(ends[part])
    leaf = cluster.leaf[start:end] - cluster.leaf[start]
    rooms = room[start:end]
    where: list[tuple[int, int]] = []
    for number, share in enumerate(_evenly(np.bincount(leaf, rooms).astype(np.int64), workers).tolist()):
        if share:
            hosts = np.flatnonzero(leaf == number)
            counts = _evenly(rooms[hosts], share).tolist()
            where += [(start + int(host), count) for host, count in zip(hosts, counts, strict=True) if count]
    return tuple(where)


def _evenly(room: Int64Array, count: int) -> Int64Array:
    """``count`` as evenly over places as their room allows; what is left over goes to those with the most room."""
    low, high = 0, count  # the most that each can have
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if int(np.minimum(room, middle).sum()) <= count else (low, middle - 1)
    shares = np.minimum(room, low)
    left = count - int(shares.sum())
    with_room = np.flatnonzero(room > low)
    shares[with_room[np.argsort(-room[with_room], kind="stable")][:left]] += 1
    return shares
