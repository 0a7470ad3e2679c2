"""From the workers of a job to the links that it crosses, with weights of its demand.

Traffic takes shortest paths, in switches passed; hosts forward none. Where several paths are equally short a switch
either spreads traffic over them or picks one for each flow (ECMP):

- ``spread``: each cable on a shortest path to the target gets the same part, at every hop.
- ``hash``: a flow takes the cable number ``mix(key ^ digest(node) ^ seed) % n`` of the ``n`` that a node has on
  shortest paths to its target, in the order of their far ends' names and then of their numbers. ``mix`` is SplitMix64
  and ``digest`` BLAKE2b of a name with 8 bytes of output, little-endian. A flow's key is
  ``mix(mix(digest(source) + 3 * digest(target)) + c)``, with the names of its hosts, after each a slash and its rail if
  it has one, and ``c`` counting the flows between the same two from 0. So paths depend on names and ``seed`` only.

Traffic between two hosts goes in equal parts over the rails that both have. If they have none in common it goes over
all pairs of their rails. Cables of a storage network are not used.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, Float64Array, Int64Array
from ..errors import InputError, refusal, shown
from .model import Topology, link_name, numbered
from .patterns import Flows

__all__ = ["Ecmp", "Router", "in_order_of_placement"]

Ecmp = Literal["spread", "hash"]

_U64 = np.uint64
_FAR = np.iinfo(np.int64).max


class Router:
    """Finds the links that flows cross in one network.

    Parameters
    ----------
    topology : Topology
        Capacities do not matter.
    ecmp : {"spread", "hash"}
        What is done where several shortest paths exist; the module says how.
    seed : int
        For ``hash``, 0 to 2**63 - 1: other choices for other seeds.

    Raises
    ------
    InputError
        An option is wrong.

    Examples
    --------
    >>> from cassini_core.topology.generated import leaf_spine
    >>> from cassini_core.topology.patterns import ring
    >>> from cassini_core.topology.routing import Router
    >>> Router(leaf_spine(2, 1, 2)).route(["h1-1", "h1-1", "h2-2"], ring(3))
    {'h1-1->leaf1': 1.0, 'leaf1->h1-1': 1.0, 'h2-2->leaf2': 1.0, 'leaf2->h2-2': 1.0, 'leaf1->spine1': 1.0, \
'spine1->leaf1': 1.0, 'leaf2->spine1': 1.0, 'spine1->leaf2': 1.0}
    """

    def __init__(self, topology: Topology, *, ecmp: Ecmp = "spread", seed: int = 0) -> None:
        if ecmp not in get_args(Ecmp):
            raise refusal("", "ecmp", "spread or hash", shown(ecmp))
        self._ecmp = ecmp
        if not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise refusal("", "seed", "a whole number from 0 to 2**63 - 1", shown(seed))
        self._seed = _U64(seed)
        self._ports = _Ports(topology)
        self._fabric = _Fabric(topology)
        self._names = [*self._ports.names, *self._fabric.names]

    def route(self, workers: Sequence[str], flows: Flows) -> dict[str, float]:
        """The links that a job crosses, as a route of a :class:`cassini_core.Candidate`.

        Parameters
        ----------
        workers : sequence of str
            The host of each worker. Flows between workers of one host use no link.
        flows : Flows
            Between these workers (``patterns``).

        Returns
        -------
        dict of str to float
            Id of a link, as in :meth:`Topology.links`, to the sum of the shares of the flows that cross it: the
            multiplier of the job's demand there. Links without traffic are left out.

        Raises
        ------
        InputError
            A host is not in the network, a flow names no worker, or no path joins two hosts.

        Notes
        -----
        O(flows + leaf switches * cables between switches). All-to-all among 1,024 hosts of a fat-tree takes well below
        a second with ``spread``; with ``hash`` each of its million flows is followed by itself.
        """
        source, target, share, key = self._between_ports(workers, flows)
        load = np.zeros(len(self._names))
        order = np.argsort(self._ports.group[target], kind="stable")
        ends = np.cumsum(np.bincount(self._ports.group[target], minlength=len(self._ports.groups)))
        for group, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if begin < end:
                at = order[begin:end]
                part = _Part(source[at], target[at], share[at], key[at] if key is not None else None)
                self._add(load, self._ports.groups[group], part)
        return {self._names[link]: float(load[link]) for link in np.flatnonzero(load)}

    def _between_ports(
        self, workers: Sequence[str], flows: Flows
    ) -> tuple[Int64Array, Int64Array, Float64Array, npt.NDArray[_U64] | None]:
        """The flows from port to port: those between hosts, once per rail; and their keys if they are hashed."""
        ports = self._ports
        hosts = np.empty(len(workers), dtype=np.int64)
        for index, host in enumerate(workers):
            hosts[index] = ports.host.get(host, -1)
            if hosts[index] < 0:
                raise refusal("", f"workers[{index}]", "a host of the network with a cable", shown(host))
        for name in ("source", "target"):
            ends = getattr(flows, name)
            if len(ends) and not 0 <= ends.min() <= ends.max() < len(workers):
                raise refusal(
                    "", f"flows.{name}", f"workers from 0 to {len(workers) - 1}", f"{ends.min()} to {ends.max()}"
                )
        source, target, share = hosts[flows.source], hosts[flows.target], flows.share
        apart = source != target
        source, target, share = source[apart], target[apart], share[apart]
        if self._ecmp == "spread" and len(share):  # equal flows are one
            pair, back = np.unique(source * len(ports.host) + target, return_inverse=True)
            source, target = np.divmod(pair, len(ports.host))
            share = _sums(back.ravel(), share, len(pair))
        source, target, share = ports.by_rail(source, target, share)
        if self._ecmp == "spread":
            return source, target, share, None
        pair = source * len(ports.digest) + target
        order = np.argsort(pair, kind="stable")
        new = np.flatnonzero(np.diff(pair[order], prepend=-1))
        count = np.empty(len(pair), dtype=np.int64)
        count[order] = np.arange(len(pair)) - np.repeat(new, np.diff(new, append=len(pair)))
        between = _mix(ports.digest[source] + _U64(3) * ports.digest[target])
        return source, target, share, _mix(between + count.astype(_U64))

    def _add(self, load: Float64Array, leaves: Int64Array, part: _Part) -> None:
        """Add the flows to all ports that hang under ``leaves``."""
        fabric, ports = self._fabric, self._ports
        far = fabric.distances(leaves)
        up = ports.up_choices(np.unique(part.source), far)
        if up.stuck is not None:
            port = part.target[np.flatnonzero(part.source == up.stuck)[0]]
            raise _no_path(ports.label[up.stuck], ports.label[port])
        down, first = ports.down, len(ports.names)
        if part.key is None:
            sent = np.bincount(part.source, part.share, len(ports.label))
            volume: Float64Array = sent[up.port] / up.size[up.port]
            load[up.link] += volume
            edge, volume_of = fabric.spread(far, _sums(up.leaf, volume, fabric.n))
            load[first + edge] += volume_of
            # Where a port hangs under several leaves, what comes down each depends on who sends.
            for leaf in leaves:
                reach = np.ones(fabric.n) if len(leaves) == 1 else fabric.arriving(far, int(leaf))
                reached = np.bincount(up.port, reach[up.leaf], len(ports.label)) / np.maximum(up.size, 1)
                came = np.bincount(part.target, part.share * reached[part.source], len(ports.label))
                here = np.flatnonzero((down.leaf == leaf) & (came[down.port] > 0))
                count = np.bincount(down.port[here], minlength=len(ports.label))
                load[down.link[here]] += came[down.port[here]] / count[down.port[here]]
            return
        key = part.key ^ self._seed
        choice = up.first[part.source] + _pick(key ^ ports.salt[part.source], up.size[part.source])
        load += np.bincount(up.link[choice], part.share, len(load))
        at = up.leaf[choice]
        moving = np.flatnonzero(far[at] > 0)
        choices = fabric.choices(far)
        while len(moving):
            here = at[moving]
            edge = choices.edge[choices.first[here] + _pick(key[moving] ^ fabric.salt[here], choices.size[here])]
            load += np.bincount(first + edge, part.share[moving], len(load))
            at[moving] = fabric.head[edge]
            moving = moving[far[at[moving]] > 0]
        begin = np.searchsorted(down.order, at * len(ports.label) + part.target)
        size = np.searchsorted(down.order, at * len(ports.label) + part.target, side="right") - begin
        load += np.bincount(down.link[begin + _pick(key ^ fabric.salt[at], size)], part.share, len(load))


class _Part(NamedTuple):
    """Flows between ports."""

    source: Int64Array
    target: Int64Array
    share: Float64Array
    key: npt.NDArray[_U64] | None


class _Down(NamedTuple):
    """Cables from leaf switches to ports, sorted by leaf and port (``order``)."""

    order: Int64Array
    leaf: Int64Array
    port: Int64Array
    link: Int64Array


class _Up(NamedTuple):
    """Cables on shortest paths out of ports, those of one port one after the other."""

    port: Int64Array
    leaf: Int64Array
    link: Int64Array
    first: Int64Array
    size: Int64Array
    stuck: int | None


class _Ports:
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
        self.digest = _digests(f"{host}/{rail}" if rail else host for host, rail in named)
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
        order = np.argsort(self._leaf * len(named) + self._port, kind="stable")
        pair = (self._leaf * len(named) + self._port)[order]
        self.down = _Down(pair, self._leaf[order], self._port[order], 2 * order + 1)
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
            both = both or [(i, j) for i in range(len(mine)) for j in range(len(theirs))]
            here = pair == one
            for i, j in both:
                parts.append((self._first[source[here]] + i, self._first[target[here]] + j, share[here] / len(both)))
        if not parts:
            return source, target, share
        ports, ends, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ports, ends, shares

    def up_choices(self, used: Int64Array, far: Int64Array) -> _Up:
        """The cables of ``used`` that are on shortest paths, ``far`` being the distances of switches."""
        order = self._up_order
        port, leaf, length = self._port[order], self._leaf[order], far[self._leaf[order]]
        least = np.full(len(self.label), _FAR)
        np.minimum.at(least, port, length)
        is_used = np.zeros(len(self.label), dtype=bool)
        is_used[used] = True
        stuck = np.flatnonzero(is_used & (least == _FAR))
        keep = is_used[port] & (length == least[port]) & (length < _FAR)
        size = np.bincount(port[keep], minlength=len(self.label))
        link = 2 * order[keep]
        return _Up(port[keep], leaf[keep], link, np.cumsum(size) - size, size, int(stuck[0]) if len(stuck) else None)


class _Choices(NamedTuple):
    """By switch: its links on shortest paths, ``edge[first : first + size]``."""

    edge: Int64Array
    first: Int64Array
    size: Int64Array


class _Fabric:
    """The links between switches, sorted by tail, head and number."""

    def __init__(self, topology: Topology) -> None:
        switch = {one.id: index for index, one in enumerate(topology.switches)}
        self.n = len(switch)
        self.salt = _digests(switch)
        links = []
        for cable, number in numbered(topology.cables):
            if cable.lower in switch and not cable.storage:
                one, two = switch[cable.lower], switch[cable.upper]
                links.append((one, two, number, link_name(cable.lower, cable.upper, number)))
                links.append((two, one, number, link_name(cable.upper, cable.lower, number)))
        links.sort()
        self.tail = np.array([link[0] for link in links], dtype=np.int64)
        self.head = np.array([link[1] for link in links], dtype=np.int64)
        self.names = [link[3] for link in links]

    def distances(self, targets: Int64Array) -> Int64Array:
        """Links to pass from each switch to the nearest of ``targets``; the largest integer where there is no path."""
        far = np.full(self.n, _FAR)
        far[targets] = 0
        for distance in range(self.n):
            reached = self.tail[(far[self.head] == distance) & (far[self.tail] == _FAR)]
            if not len(reached):
                break
            far[reached] = distance + 1
        return far

    def _forward(self, far: Int64Array) -> BoolArray:
        """The links on shortest paths."""
        forward: BoolArray = (far[self.tail] != _FAR) & (far[self.tail] == far[self.head] + 1)
        return forward

    def choices(self, far: Int64Array) -> _Choices:
        edge = np.flatnonzero(self._forward(far))
        size = np.bincount(self.tail[edge], minlength=self.n)
        return _Choices(edge, np.cumsum(size) - size, size)

    def _levels(self, far: Int64Array) -> Iterator[Int64Array]:
        """Links on shortest paths, those nearest to the target first."""
        edge = np.flatnonzero(self._forward(far))
        length = far[self.tail[edge]]
        order = np.argsort(length, kind="stable")
        ends = np.cumsum(np.bincount(length[order]))
        for begin, end in itertools.pairwise(ends):
            yield edge[order[begin:end]]

    def spread(self, far: Int64Array, volume: Float64Array) -> tuple[Int64Array, Float64Array]:
        """The links on shortest paths and what each carries if ``volume`` comes in at the switches."""
        size = self.choices(far).size
        edges, loads = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for edge in reversed(list(self._levels(far))):
            load = volume[self.tail[edge]] / size[self.tail[edge]]
            volume = volume + np.bincount(self.head[edge], load, self.n)
            edges.append(edge)
            loads.append(load)
        return np.concatenate(edges), np.concatenate(loads)

    def arriving(self, far: Int64Array, leaf: int) -> Float64Array:
        """Part of the traffic that comes in at each switch and leaves the switches at ``leaf``, one of the targets."""
        size = self.choices(far).size
        part = np.zeros(self.n)
        part[leaf] = 1.0
        for edge in self._levels(far):
            part += np.bincount(self.tail[edge], part[self.head[edge]] / size[self.tail[edge]], self.n)
        return part


def in_order_of_placement(topology: Topology, workers: Sequence[str]) -> list[str]:
    """The workers' hosts so ordered that those that hang together stand together: a ring enters each rack once.

    Parameters
    ----------
    topology : Topology
    workers : sequence of str
        The host of each worker.

    Returns
    -------
    list of str
        By the switches above a host, from the top down, then by name; above each node the first switch by name counts.

    Raises
    ------
    InputError
        A host is not in the network.
    """
    tiers = topology.tiers()
    above: dict[str, str] = {}
    for cable in topology.cables:
        if tiers[cable.lower] < tiers[cable.upper] and not cable.storage:
            above[cable.lower] = min(cable.upper, above.get(cable.lower, cable.upper))
    paths: dict[str, tuple[str, ...]] = {}
    for index, worker in enumerate(workers):
        if tiers.get(worker, 1) > 0:
            raise refusal("", f"workers[{index}]", "a host of the network", shown(worker))
        if worker not in paths:
            path = [worker]
            while path[-1] in above:
                path.append(above[path[-1]])
            paths[worker] = tuple(reversed(path))
    return sorted(workers, key=lambda worker: paths[worker])


def _digests(names: Iterator[str] | dict[str, int]) -> npt.NDArray[_U64]:
    parts = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names]
    return np.frombuffer(b"".join(parts), dtype="<u8").astype(_U64)


def _mix(x: npt.NDArray[_U64]) -> npt.NDArray[_U64]:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = x + _U64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U64(27))) * _U64(0x94D049BB133111EB)
    return x ^ (x >> _U64(31))


def _pick(key: npt.NDArray[_U64], size: Int64Array) -> Int64Array:
    return (_mix(key) % size.astype(_U64)).astype(np.int64)


def _sums(index: Int64Array, amount: Float64Array, size: int) -> Float64Array:
    return np.bincount(index, amount, size).astype(np.float64)


def _no_path(source: str, target: str) -> InputError:
    return refusal("", "workers", "hosts that a path joins", f"{shown(source)} and {shown(target)} in different parts")
