"""Where one job goes: packed against all choices there are, spread as evenly as can be, random within what is free."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.placement.cluster import Cluster, HostWorkers
from cassini_core.placement.packed import packed
from cassini_core.placement.random_hosts import random_hosts
from cassini_core.placement.spread import spread
from cassini_core.topology.generated import leaf_spine
from placing import rooms

STRATEGIES: dict[str, Callable[[Cluster, np.ndarray, int], HostWorkers | None]] = {
    "packed": packed,
    "spread": spread,
    "random": lambda cluster, room, workers: random_hosts(cluster, room, workers, random.Random("a")),
}


def height(cluster: Cluster, hosts: set[int]) -> int:
    """The lowest tier with a switch under which all of them are."""
    for tier, (starts, ends) in enumerate(cluster.tiers):
        if any(start <= min(hosts) and max(hosts) < end for start, end in zip(starts, ends, strict=True)):
            return tier
    raise AssertionError("hosts between which there is no path")


def cost(cluster: Cluster, where: set[int]) -> tuple[int, int]:
    return height(cluster, where), len({int(cluster.leaf[host]) for host in where})


@given(rooms(), st.integers(1, 12))
def test_packed_stands_as_low_and_on_as_few_leaf_switches_as_can_be(
    case: tuple[Cluster, list[int]], workers: int
) -> None:
    cluster, room = case
    found = packed(cluster, np.array(room), workers)
    best: tuple[int, int] | None = None
    fewest: dict[tuple[int, frozenset[int]], int] = {}
    for count in range(1, len(room) + 1):
        for hosts in itertools.combinations(range(len(room)), count):
            parts = {int(np.searchsorted(cluster.parts.end, host, side="right")) for host in hosts}
            if len(parts) == 1 and min(room[host] for host in hosts) and sum(room[host] for host in hosts) >= workers:
                own = cost(cluster, set(hosts))
                best = own if best is None else min(best, own)
                kind = own[0], frozenset(int(cluster.leaf[host]) for host in hosts)
                fewest[kind] = min(fewest.get(kind, count), count)
    if found is None:
        assert best is None
        return
    hosts_used = {host for host, _ in found}
    assert cost(cluster, hosts_used) == best
    leaves = frozenset(int(cluster.leaf[host]) for host in hosts_used)
    assert len(found) == fewest[height(cluster, hosts_used), leaves]
    if len(leaves) == 1 and best is not None:
        assert len(found) == min(number for (tier, on), number in fewest.items() if (tier, len(on)) == (best[0], 1))


@pytest.mark.parametrize("name", STRATEGIES)
@given(case=rooms(), workers=st.integers(1, 20))
def test_each_strategy_stays_within_the_room_of_one_part_and_finds_it(
    name: str, case: tuple[Cluster, list[int]], workers: int
) -> None:
    cluster, room = case
    given_room = np.array(room)
    found = STRATEGIES[name](cluster, given_room, workers)
    assert given_room.tolist() == room
    totals = [sum(room[start:end]) for start, end in zip(*cluster.parts, strict=True)]
    assert (found is not None) == (max(totals) >= workers)
    if found is not None:
        assert sum(count for _, count in found) == workers
        assert all(0 < count <= room[host] for host, count in found)
        assert found == tuple(sorted(dict(found).items()))
        height(cluster, {host for host, _ in found})


@given(rooms(), st.integers(1, 12))
def test_on_an_empty_cluster_nothing_is_packed_tighter_than_packed(
    case: tuple[Cluster, list[int]], workers: int
) -> None:
    cluster, _ = case
    room = np.full(len(cluster.hosts), 2)
    tight = packed(cluster, room, workers)
    for name in ("spread", "random"):
        other = STRATEGIES[name](cluster, room, workers)
        assert (tight is None) == (other is None)
        if tight is not None and other is not None:
            assert cost(cluster, {host for host, _ in tight}) <= cost(cluster, {host for host, _ in other})


@given(rooms(), st.integers(1, 12))
def test_spread_is_even_over_leaf_switches_and_hosts(case: tuple[Cluster, list[int]], workers: int) -> None:
    """Nobody with room to spare has two workers fewer than another."""
    cluster, room = case
    found = dict(spread(cluster, np.array(room), workers) or ())
    if not found:
        return
    start, end = next(one for one in zip(*cluster.parts, strict=True) if one[0] <= min(found) < one[1])
    hosts = range(start, end)
    leaves = {
        int(cluster.leaf[host]): [one for one in hosts if cluster.leaf[one] == cluster.leaf[host]] for host in hosts
    }
    groups = [[(sum(found.get(h, 0) for h in on), sum(room[h] for h in on)) for on in leaves.values()]]
    groups += [[(found.get(host, 0), room[host]) for host in on] for on in leaves.values()]
    for group in groups:
        most = max(count for count, _ in group)
        assert all(count >= most - 1 or count == own for count, own in group)


def test_packed_takes_the_smallest_hole_that_is_large_enough() -> None:
    cluster = Cluster(leaf_spine(3, 2, 4), 8)
    room = np.array([8, 8, 8, 8, 8, 8, 0, 0, 8, 8, 8, 0])
    assert packed(cluster, room, 16) == ((4, 8), (5, 8))
    assert packed(cluster, room, 20) == ((8, 8), (9, 8), (10, 4))
    assert packed(cluster, np.array([8, 3, 5, 8, 4, 4, 4, 4, 2, 2, 2, 2]), 4) == ((4, 4),)
    assert packed(cluster, np.array([4, 4, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2]), 18) == ((4, 8), (5, 8), (6, 2))
