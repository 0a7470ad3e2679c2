"""What a network is, in numbers for people and programs: tiers, capacities and their origin, parts, oddities."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations

from ..errors import shown
from ..formats import counted
from .model import Basis, Topology

__all__ = ["Capacity", "Summary", "TierSummary", "summarize"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """Cables of one capacity: Gbit/s of each direction of each, where that comes from, and how many."""

    gbps: float | None
    basis: Basis | None
    cables: int


@dataclass(frozen=True, slots=True)
class TierSummary:
    """The cables that go up from one tier of nodes.

    Attributes
    ----------
    tier : int
        1 for the cables of hosts.
    nodes : int
        Nodes at their lower ends.
    capacities : tuple of Capacity
        By capacity.
    oversubscription : tuple of float, or None
        Least and most, over the switches at the lower ends, of capacity down over capacity up. None for hosts, and
        where a capacity is not known.
    """

    tier: int
    nodes: int
    capacities: tuple[Capacity, ...]
    oversubscription: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A network in numbers.

    Attributes
    ----------
    hosts, switches, cables : int
        Parallel cables count each.
    tiers : tuple of TierSummary
        From the hosts up.
    parts : tuple of (int, int)
        Hosts and switches of each part that no cable joins to another, largest first.
    oddities : tuple of str
        What the reader of a file said, and what is unusual in the network itself.
    """

    hosts: int
    switches: int
    cables: int
    tiers: tuple[TierSummary, ...]
    parts: tuple[tuple[int, int], ...]
    oddities: tuple[str, ...]


def summarize(topology: Topology) -> Summary:
    """The network in numbers. O(nodes + cables), but for switches whose hosts have many different neighbours."""
    level = topology.tiers()
    parts = sorted(
        ((sum(level[node] == 0 for node in part), sum(level[node] > 0 for node in part)) for part in topology.parts()),
        reverse=True,
    )
    return Summary(
        len(topology.hosts),
        len(topology.switches),
        sum(cable.count for cable in topology.cables),
        _tiers(topology),
        tuple(parts),
        (*topology.oddities, *_oddities(topology, len(parts))),
    )


def _tiers(topology: Topology) -> tuple[TierSummary, ...]:
    level = topology.tiers()
    up: dict[str, float] = defaultdict(float)
    down: dict[str, float] = defaultdict(float)
    capacities: dict[int, Counter[tuple[float | None, Basis | None]]] = defaultdict(Counter)
    nodes: dict[int, set[str]] = defaultdict(set)
    for cable in topology.cables:
        tier = level[cable.lower] + 1
        capacities[tier][cable.gbps, cable.basis] += cable.count
        nodes[tier].add(cable.lower)
        if level[cable.upper] > level[cable.lower] and not cable.storage:
            capacity = cable.count * (float("nan") if cable.gbps is None else cable.gbps)
            up[cable.lower] += capacity
            down[cable.upper] += capacity
    found = []
    for tier, kinds in sorted(capacities.items()):
        rows = sorted(kinds.items(), key=lambda row: (row[0][0] or 0.0, str(row[0][1])))
        ratios = [down[node] / up[node] for node in nodes[tier] if tier > 1 and down.get(node) and up.get(node)]
        known = bool(ratios) and all(ratio == ratio for ratio in ratios)
        span = (min(ratios), max(ratios)) if known else None
        found.append(TierSummary(tier, len(nodes[tier]), tuple(Capacity(*kind, n) for kind, n in rows), span))
    return tuple(found)


def _oddities(topology: Topology, parts: int) -> list[str]:
    level = topology.tiers()
    leaves: dict[str, set[str]] = {host.id: set() for host in topology.hosts}
    below: dict[str, set[str]] = {switch.id: set() for switch in topology.switches}
    storage = beside = skipping = high = 0
    for cable in topology.cables:
        below[cable.upper].add(cable.lower)
        storage += cable.count * cable.storage
        if cable.storage:
            continue
        if level[cable.lower] == 0:
            leaves[cable.lower].add(cable.upper)
            high += cable.count * (level[cable.upper] > 1)
        else:
            beside += cable.count * (level[cable.lower] == level[cable.upper])
            skipping += cable.count * (level[cable.upper] > level[cable.lower] + 1)
    times = Counter(len(under) for under in leaves.values())
    empty = [switch for switch, under in below.items() if not under]
    found = [
        (parts > 1, f"{parts} parts that no cable joins"),
        (times[0] > 0, f"{counted(times[0], 'host')} without a cable"),
        (bool(empty), f"switches with nothing below: {len(empty)}, such as {shown(min(empty, default=''))}"),
        (high > 0, f"{counted(high, 'cable')} from hosts to switches above tier 1"),
        (beside > 0, f"{counted(beside, 'cable')} between switches of one tier"),
        (skipping > 0, f"cables that skip a tier: {skipping}"),
        (storage > 0, f"{counted(storage, 'cable')} of a storage network, not used by training"),
    ]
    several = [
        f"{counted(hosts, 'host')} under {number} switches" for number, hosts in sorted(times.items()) if number > 1
    ]
    return [text for holds, text in found if holds] + several + _false_leaves(leaves)


def _false_leaves(leaves: dict[str, set[str]]) -> list[str]:
    """Switches at which hosts meet that share none of their other switches."""
    others: dict[str, set[frozenset[str]]] = defaultdict(set)
    for under in leaves.values():
        for leaf in under:
            if 1 < len(under) <= _MOST_ADAPTERS:
                others[leaf].add(frozenset(under - {leaf}))
    odd = [leaf for leaf, sets in others.items() if any(one.isdisjoint(two) for one, two in _few_pairs(sets))]
    if not odd:
        return []
    text = f"switches where hosts meet that share no other switch: {len(odd)}, such as {shown(min(odd))}"
    return [f"{text}; a storage network?"]


_MOST_ADAPTERS = 64


def _few_pairs(sets: set[frozenset[str]]) -> combinations[tuple[frozenset[str], frozenset[str]]]:
    return combinations(sorted(sets, key=sorted)[:200], 2)
