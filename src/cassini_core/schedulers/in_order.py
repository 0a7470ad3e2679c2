"""Schedulers without opinions of their own: tasks run in the order of arrival, with the workers that they asked for.

What runs stays where it is. A task that finds no room waits, and later ones may take the room.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from ..arrays import Int64Array
from ..checks import whole_number
from ..placement.cluster import Cluster, HostWorkers, Placement
from ..placement.packed import packed
from ..placement.random_hosts import below, random_hosts
from .distinct import distinct
from .state import Allocation, ClusterState, allocation_of, placement_of

__all__ = ["FirstFit", "InOrder", "Packed", "Random", "shape"]


class InOrder(ABC):
    """Places the tasks that wait, one after the other, by a rule that a subclass gives.

    Parameters
    ----------
    seed : int
        Of what is drawn.
    """

    interval_s: float | None = None

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    @abstractmethod
    def first(self, cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
        """Where the rule puts workers, given for how many each host has room; None if nowhere."""

    @abstractmethod
    def other(self, cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
        """Another place, drawn among those that the rule finds as good; None if it finds none."""

    def worth(self, cluster: Cluster, where: HostWorkers) -> object:
        """How good a task's place is to the rule: equal for places that are as good."""
        return None

    def propose(self, state: ClusterState, candidates: int) -> list[Allocation]:
        """As of :class:`cassini_core.schedulers.scheduler.Scheduler`. O(candidates * tasks that wait * hosts)."""
        rng = random.Random(f"in order {self._seed} {state.now_s}")
        base = self._filled(state, rng, drawn=False)
        return distinct(self._all(state, base, rng), whole_number(candidates, "candidates"))

    def _all(self, state: ClusterState, base: Placement, rng: random.Random) -> Iterator[Allocation]:
        yield allocation_of(state, base)
        while len(base.where) > len(state.running):
            made = self._filled(state, rng, drawn=True)
            # What the first tasks leave may be too little for a later one, or make it worse.
            equal = self._worths(state.cluster, made) == self._worths(state.cluster, base)
            yield allocation_of(state, made if equal else base)

    def _worths(self, cluster: Cluster, placement: Placement) -> dict[int, object]:
        return {number: self.worth(cluster, where) for number, where in placement.where.items()}

    def _filled(self, state: ClusterState, rng: random.Random, *, drawn: bool) -> Placement:
        placement = placement_of(state, state.running)
        for number, task in enumerate(state.tasks):
            if number not in placement.where:
                room = placement.room(number)
                where = self.first(state.cluster, room, task.requested_workers, rng)
                if where is not None and drawn:
                    where = self.other(state.cluster, room, task.requested_workers, rng) or where
                if where is not None:
                    placement.put(number, where)
        return placement


class Random(InOrder):
    """Workers on hosts drawn at random: no locality, the paper's scheduler of the highest overhead."""

    def first(self, cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
        return random_hosts(cluster, room, workers, rng)

    other = first


class FirstFit(InOrder):
    """Workers on the first hosts with room, in the order of the network. From any other host on is as good to it."""

    def first(self, cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
        for start, end in zip(*cluster.parts, strict=True):
            filled = np.cumsum(room[start:end])
            if len(filled) and filled[-1] >= workers:
                last = int(np.searchsorted(filled, workers))
                counts = room[start : start + last + 1].tolist()
                counts[-1] -= int(filled[last]) - workers
                return tuple((int(start) + at, count) for at, count in enumerate(counts) if count)
        return None

    def other(self, cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
        later = np.arange(len(room)) >= below(rng, len(room))
        return self.first(cluster, room * later, workers, rng)


class Packed(InOrder):
    """Workers packed by topology, as Slurm's tree plugin and Kueue do much like it (:mod:`..placement.packed`).

    A place that takes as many hosts under as many leaf switches is as good to it.
    """

    def first(self, cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
        return packed(cluster, room, workers)

    def other(self, cluster: Cluster, room: Int64Array, workers: int, rng: random.Random) -> HostWorkers | None:
        best = packed(cluster, room, workers)
        for _ in range(_DRAWS):
            # Some hosts are covered, and it packs into the others.
            kept = np.array([below(rng, 2) for _ in range(len(room))], dtype=np.int64)
            found = packed(cluster, room * kept, workers)
            if best is not None and found is not None and self.worth(cluster, found) == self.worth(cluster, best):
                return found
        return best

    def worth(self, cluster: Cluster, where: HostWorkers) -> object:
        return shape(cluster, where)


_DRAWS = 4
"""Of hosts that are covered: each succeeds half the time where much is free."""


def shape(cluster: Cluster, where: HostWorkers) -> tuple[int, int]:
    """Under how many leaf switches a task's workers are, and on how many hosts."""
    return len({int(cluster.leaf[host]) for host, _ in where}), len(where)
