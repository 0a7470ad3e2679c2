"""From numbers of workers to hosts: one allocation, and others in which every task has the same rho.

The paper's step 1: the auction decides how many workers each task has. Of one that loses, it is open which of its
released workers it keeps; of those that win, it is open who gets which of the GPUs that others lose or that are free. A
task that wins as many as it gave up stays, unless it may move.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from ...arrays import Int64Array
from ...placement.cluster import HostWorkers, Placement
from ...placement.packed import packed
from ...placement.random_hosts import below, random_hosts
from ..state import Allocation, ClusterState, allocation_of, placement_of, where_of
from .fairness import Level, level_of
from .leases import released

__all__ = ["Places"]

_FAILURES = 5
"""Draws in a row that come to nothing, until no more are made: in a large cluster hardly any does not."""

_EXCHANGES = 4
"""That are tried, for each task that might be moved; about one in four is possible."""


class Places:
    """Where the workers of an auction can go.

    Parameters
    ----------
    state : ClusterState
    kept : Allocation
        Workers that stay as their leases say.
    moves : bool
        Whether the others may put released workers of a task elsewhere that wins as many as it gave up.
    """

    def __init__(self, state: ClusterState, kept: Allocation, *, moves: bool = False) -> None:
        self._state = state
        self._moves = moves
        self._kept = placement_of(state, kept)
        self._released: list[list[int]] = []
        """By task the host of each worker that it held and whose lease is over."""
        for task in state.tasks:
            rest = released(state.running.get(task.id, {}), kept.get(task.id, {}))
            self._released.append([host for host, count in where_of(state.cluster, rest) for _ in range(count)])

    @property
    def free(self) -> Int64Array:
        """GPUs by host that are not leased."""
        return self._kept.free.copy()

    def kept_workers(self, task: int) -> int:
        """How many workers a task keeps in any case."""
        return _size(self._kept.where.get(task, ()))

    def trial(self, task: int, workers: int) -> HostWorkers | None:
        """Where a task would be with so many workers, if it could choose first; None if there is no room."""
        placement = self._kept.copy()
        self._stay(placement, task, workers, self._nearest_released(task))
        return placement.where.get(task, ()) if self._take(placement, task, workers, None) else None

    def first(self, counts: Sequence[int], rng: random.Random) -> Placement:
        """Every task with so many workers, where it was as far as it can, then as near as it can.

        A task for which GPUs are scattered so that its workers do not fit has fewer, or none.
        """
        placement = self._kept.copy()
        for task, workers in enumerate(counts):
            self._stay(placement, task, workers, self._nearest_released(task))
        for task in sorted(range(len(counts)), key=lambda one: (-counts[one], one)):
            if not self._take(placement, task, counts[task], None):
                self._give_up_below_least(placement, task)
        self._fill(placement, rng)
        return placement

    def others(self, first: Placement, rng: random.Random) -> Iterator[Allocation]:
        """Allocations without end with the same workers, as far apart, of each task; some of them several times.

        In turns one that is drawn anew, while that succeeds, and the next of a walk of exchanges, which does in a large
        cluster, too.
        """
        counts = [_size(first.where.get(task, ())) for task in range(len(self._state.tasks))]
        levels = {task: level_of(self._state.cluster, where) for task, where in first.where.items()}
        # Whoever wins as many workers as it gave up stays, or may move.
        given_up = {task: len(self._released[task]) for task in levels}
        may_move = {task for task in levels if self._moves and given_up[task]}
        open_to = [
            task for task in levels if task in may_move or counts[task] != self.kept_workers(task) + given_up[task]
        ]
        current, failures = first.copy(), 0
        while True:
            if failures < _FAILURES:
                drawn = self._drawn(counts, levels, may_move, rng)
                failures = failures + 1 if drawn is None else 0
                if drawn is not None:
                    yield allocation_of(self._state, drawn)
            for _ in range(_EXCHANGES * (1 + below(rng, len(open_to) or 1))):
                self._exchange(current, open_to, levels, rng)
            equal = not any(self._has_use(current, task) for task in range(len(counts)))
            yield allocation_of(self._state, current if equal else first)

    def _drawn(
        self, counts: Sequence[int], levels: Mapping[int, Level], may_move: Collection[int], rng: random.Random
    ) -> Placement | None:
        """Every task's workers put anew at random; None if some do not fit, or are nearer or farther apart.

        Of tasks that may move, in turns by chance none does, each second one, or all do.
        """
        placement = self._kept.copy()
        moving = below(rng, 3) if may_move else 0
        for task, workers in enumerate(counts):
            if moving and task in may_move and (moving == 2 or below(rng, 2)):
                continue
            self._stay(placement, task, workers, self._drawn_released(task, rng))
        order = _shuffled(list(range(len(counts))), rng)
        equal = all(self._take(placement, task, counts[task], rng) for task in order)
        equal = equal and all(self._as_far(placement.where[task], at) for task, at in levels.items())
        # GPUs that are left elsewhere may be of use to a task whose workers need several.
        equal = equal and not any(self._has_use(placement, task) for task in range(len(counts)))
        return placement if equal else None

    def _exchange(
        self, placement: Placement, open_to: Sequence[int], levels: Mapping[int, Level], rng: random.Random
    ) -> None:
        """Two tasks exchange a worker, what they have on a host each, or all they have; or one goes to free GPUs.

        Nothing happens if leases, room, paths or distances forbid it.
        """
        if not open_to:
            return
        one = open_to[below(rng, len(open_to))]
        here = self._movable(placement, one)
        if not here:
            return
        kind = below(rng, 3)
        other = open_to[below(rng, len(open_to))] if kind < 2 or below(rng, 2) else None
        there = self._movable(placement, other) if other is not None and other != one else {}
        before = {task: placement.where[task] for task in (one, other) if task is not None}
        if kind == 0 and there and not self._kept.where.get(one) and not self._kept.where.get(other or 0):
            moved = {one: before[other or 0], other or 0: before[one]}
            if _size(before[one]) != _size(before[other or 0]):
                return
        else:
            host = sorted(here)[below(rng, len(here))]
            count = here[host] if below(rng, 2) else 1
            if there:
                to = sorted(there)[below(rng, len(there))]
                back = there[to] if count == here[host] else 1
            else:
                to, back = below(rng, len(self._state.cluster.hosts)), 0
            if to == host:
                return
            moved = {one: _shifted(before[one], host, to, count)}
            if back and other is not None:
                moved[other] = _shifted(before[other], to, host, back)
        for task in moved:
            placement.take(task)
        for task, where in moved.items():
            placement.put(task, where)
        if int(placement.free.min()) < 0 or any(not self._as_far(where, levels[task]) for task, where in moved.items()):
            for task in moved:
                placement.take(task)
            for task in moved:
                placement.put(task, before[task])

    def _movable(self, placement: Placement, task: int) -> dict[int, int]:
        """A task's workers by host that no lease holds."""
        held = dict(self._kept.where.get(task, ()))
        rest = {host: count - held.get(host, 0) for host, count in placement.where.get(task, ())}
        return {host: count for host, count in rest.items() if count > 0}

    def _as_far(self, where: HostWorkers, level: Level) -> bool:
        """Whether workers are so far apart, with paths between all of them."""
        ends = self._state.cluster.parts.end
        parts = np.searchsorted(ends, [host for host, _ in where], side="right")
        return level_of(self._state.cluster, where) == level and len(set(parts.tolist())) == 1

    def _stay(self, placement: Placement, task: int, workers: int, hosts: Sequence[int]) -> None:
        """Let a task keep workers on the first of these hosts, as many as it still lacks."""
        lacking = workers - _size(placement.where.get(task, ()))
        _add(placement, task, hosts[: max(0, lacking)])

    def _nearest_released(self, task: int) -> list[int]:
        """A task's released workers, first those beside which it has most: it gives up what is farthest off."""
        leaf = self._state.cluster.leaf
        hosts = [host for host, count in self._kept.where.get(task, ()) for _ in range(count)] + self._released[task]
        on_host, under_leaf = np.bincount(hosts, minlength=1), np.bincount(leaf[hosts], minlength=1)
        return sorted(self._released[task], key=lambda host: (-under_leaf[leaf[host]], -on_host[host], host))

    def _drawn_released(self, task: int, rng: random.Random) -> list[int]:
        """A task's released workers in an order that is drawn; half of the time rack by rack, so that it keeps few."""
        hosts = _shuffled(self._released[task], rng)
        if below(rng, 2):
            leaf = self._state.cluster.leaf
            racks = _shuffled(sorted({int(leaf[host]) for host in hosts}), rng)
            hosts.sort(key=lambda host: racks.index(int(leaf[host])))
        return hosts

    def _take(self, placement: Placement, task: int, workers: int, rng: random.Random | None) -> bool:
        """Give a task the workers that it lacks, near those that it has; with ``rng`` anywhere, half of the time."""
        where = placement.where.get(task, ())
        lacking = workers - _size(where)
        if lacking <= 0:
            return True
        cluster = self._state.cluster
        room = self._reachable(placement, task)
        if int(room.sum()) < lacking:
            return False
        if not where and (rng is None or below(rng, 2)):
            found = packed(cluster, room, lacking)
        elif rng is not None and below(rng, 2):
            found = random_hosts(cluster, room, lacking, rng)
        else:
            found = self._near(where, room, lacking, rng)
        if found is None:
            return False
        _add(placement, task, [host for host, count in found for _ in range(count)])
        return True

    def _near(self, where: HostWorkers, room: Int64Array, workers: int, rng: random.Random | None) -> HostWorkers:
        """On hosts where the task is, then beside them, then elsewhere: where there is most room, or drawn."""
        leaf = self._state.cluster.leaf
        hosts = [host for host, _ in where]
        there = np.isin(np.arange(len(room)), hosts)
        beside = np.isin(leaf, leaf[hosts])
        leaf_room = np.bincount(leaf, room)[leaf]
        if rng is not None:
            drawn = np.array([rng.random() for _ in room])
            order = np.lexsort((drawn, ~beside, ~there))
        else:
            order = np.lexsort((np.arange(len(room)), -room, -leaf_room, ~beside, ~there))
        filled = np.minimum(np.cumsum(room[order]), workers)
        counts = np.diff(filled, prepend=0)
        return tuple(sorted((int(host), int(count)) for host, count in zip(order, counts, strict=True) if count))

    def _reachable(self, placement: Placement, task: int) -> Int64Array:
        """Room by host; none on hosts that no path joins with the task's workers."""
        room = placement.room(task)
        where = placement.where.get(task, ())
        if where:
            starts, ends = self._state.cluster.parts
            part = int(np.searchsorted(ends, where[0][0], side="right"))
            joined = np.arange(len(room))
            room[(joined < starts[part]) | (joined >= ends[part])] = 0
        return room

    def _give_up_below_least(self, placement: Placement, task: int) -> None:
        if 0 < _size(placement.where.get(task, ())) < self._state.tasks[task].min_workers:
            placement.take(task)

    def _fill(self, placement: Placement, rng: random.Random) -> None:
        """What is left on hosts goes to whoever can use it, at random."""
        left = _shuffled(list(range(len(self._state.tasks))), rng)
        while left:
            task = left[below(rng, len(left))]
            if not self._has_use(placement, task) or not self._take(placement, task, self._next(placement, task), None):
                left.remove(task)

    def _has_use(self, placement: Placement, task: int) -> bool:
        """Whether a task could take more of what is left."""
        more = self._next(placement, task)
        has = _size(placement.where.get(task, ()))
        # A task that is nowhere yet fits into one part of the cluster, or not.
        room = np.add.reduceat(self._reachable(placement, task), self._state.cluster.parts.start).max()
        return more <= self._state.tasks[task].max_workers and int(room) >= more - has

    def _next(self, placement: Placement, task: int) -> int:
        """The number of workers after the one that a task has."""
        return (
            _size(placement.where.get(task, ())) + 1 if task in placement.where else self._state.tasks[task].min_workers
        )


def _size(where: HostWorkers) -> int:
    return sum(count for _, count in where)


def _shifted(where: HostWorkers, host: int, to: int, count: int) -> HostWorkers:
    """With some of the workers of one host on another."""
    total = dict(where)
    total[host] -= count
    total[to] = total.get(to, 0) + count
    return tuple(sorted((at, workers) for at, workers in total.items() if workers))


def _add(placement: Placement, task: int, hosts: Sequence[int]) -> None:
    """More workers for a task, each on a host."""
    if not hosts:
        return
    has: Mapping[int, int] = dict(placement.take(task)) if task in placement.where else {}
    total = dict(has)
    for host in hosts:
        total[host] = total.get(host, 0) + 1
    placement.put(task, tuple(sorted(total.items())))


def _shuffled(items: Sequence[int], rng: random.Random) -> list[int]:
    return sorted(items, key=lambda _: rng.random())
