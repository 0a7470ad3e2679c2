"""Where hosts are attached, as arrays: their rails, and the cables between them and switches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array, Rows
from .ecmp import digests
from .fabric import FAR
from .model import Topology, link_name, numbered

__all__ = ["Down", "Ports", "Up"]


class Down(NamedTuple):
    """Cables from leaf switches to ports, sorted by leaf and port (``order``)."""

    order: Int64Array
    leaf: Int64Array
    port: Int64Array
    link: Int64Array


class Up(NamedTuple):
    """Cables on shortest paths out of ports, those of one port one after the other."""

    port: Int64Array
    leaf: Int64Array
    link: Int64Array
    first: Int64Array
    size: Int64Array
    stuck: int | None


class Ports:
    """Where hosts are attached. A port is a rail of a host: all its cables of that name."""

    def __init__(self, topology: Topology) -> None:
        switch = {one.id: index for index, one in enumerate(topology.switches)}
        rails: dict[str, list[str]] = {}
        cables = [
            (cable, number)
            for cable, number in numbered(topology.cables)
            if not cable.storage and cable.lower not in switch
        ]
        for cable, _ in cables:
            known = rails.setdefault(cable.lower, [])
            if cable.rail not in known:
                known.append(cable.rail)
        self.host = {host: index for index, host in enumerate(rails)}
        self._rails = [tuple(sorted(one)) for one in rails.values()]
        self._first = np.cumsum([0, *map(len, self._rails)])[:-1]
        self.label = [host for host, one in rails.items() for _ in one]
        named = [(host, rail) for host, one in rails.items() for rail in sorted(one)]
        port_of = {name: index for index, name in enumerate(named)}
        self.digest = digests(f"{host}/{rail}" if rail else host for host, rail in named)
        self.salt = self.digest
        self.names: list[str] = []
        leaf, port = [], []
        for cable, number in cables:
            port.append(port_of[cable.lower, cable.rail])
            leaf.append(switch[cable.upper])
            self.names += [link_name(cable.lower, cable.upper, number), link_name(cable.upper, cable.lower, number)]
        self._leaf, self._port = np.array(leaf, dtype=np.int64), np.array(port, dtype=np.int64)
        # Switches are numbered by name, and a stable sort keeps the order of numbers.
        self._up_order = np.lexsort((self._leaf, self._port))
        self._up_first = np.searchsorted(self._port[self._up_order], np.arange(len(named) + 1))
        order = np.argsort(self._leaf * len(named) + self._port, kind="stable")
        pair = (self._leaf * len(named) + self._port)[order]
        self.down = Down(pair, self._leaf[order], self._port[order], 2 * order + 1)
        self._group_by_leaves(len(named))
        self._kinds: dict[tuple[str, ...], int] = {}
        self._kind = np.array([self._kinds.setdefault(one, len(self._kinds)) for one in self._rails], dtype=np.int64)

    def _group_by_leaves(self, count: int) -> None:
        """Ports under the same leaves have the same shortest paths to them."""
        under: list[set[int]] = [set() for _ in range(count)]
        for leaf, port in zip(self._leaf.tolist(), self._port.tolist(), strict=True):
            under[port].add(leaf)
        known: dict[frozenset[int], int] = {}
        self.group = np.array([known.setdefault(frozenset(one), len(known)) for one in under], dtype=np.int64)
        self.groups = [np.array(sorted(one), dtype=np.int64) for one in known]

    def by_rail(
        self, source: Int64Array, target: Int64Array, share: Float64Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Flows between hosts as flows between ports."""
        kinds = list(self._kinds)
        pair = self._kind[source] * len(kinds) + self._kind[target]
        parts = []
        for one in np.unique(pair):
            mine, theirs = kinds[one // len(kinds)], kinds[one % len(kinds)]
            both = [(i, theirs.index(rail)) for i, rail in enumerate(mine) if rail in theirs]
            both = both or [(i % len(mine), i % len(theirs)) for i in range(max(len(mine), len(theirs)))]
            here = pair == one
            for i, j in both:
                parts.append((self._first[source[here]] + i, self._first[target[here]] + j, share[here] / len(both)))
        if not parts:
            return source, target, share
        ports, ends, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ports, ends, shares

    def up_choices(self, used: Int64Array, far: Int64Array) -> Up:
        """The cables of the ports ``used`` that are on shortest paths, ``far`` being the distances of switches.

        ``used`` is sorted and not empty; what is said of other ports is 0.
        """
        rows = Rows.of(self._up_first, used)
        at = self._up_order[rows.at]
        length = far[self._leaf[at]]
        least = np.minimum.reduceat(length, rows.first)  # a port has a cable
        keep = (length == np.repeat(least, rows.size)) & (length < FAR)
        stuck = used[least == FAR]
        size = np.zeros(len(self.label), dtype=np.int64)
        size[used] = np.add.reduceat(keep, rows.first, dtype=np.int64)
        first = np.zeros(len(self.label), dtype=np.int64)
        first[used] = np.cumsum(size[used]) - size[used]
        at = at[keep]
        return Up(self._port[at], self._leaf[at], 2 * at, first, size, int(stuck[0]) if len(stuck) else None)
