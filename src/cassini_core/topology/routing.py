"""From the workers of a job to the links that it crosses, with weights of its demand.

Traffic takes shortest paths, in switches passed; hosts forward none. Where several paths are equally short a switch
either spreads traffic over them or picks one for each flow (ECMP):

- ``spread``: each cable on a shortest path to the target gets the same part, at every hop.
- ``hash``: a flow takes the cable number ``mix(key ^ digest(node) ^ seed) % n`` of the ``n`` that a node has on
  shortest paths to its target, in the order of their far ends' names and then of their numbers. ``mix`` is SplitMix64
  and ``digest`` BLAKE2b of a name with 8 bytes of output, little-endian. A flow's key is
  ``mix(mix(digest(source) + 3 * digest(target)) + c)``, with the names of its hosts, after each a slash and its rail if
  it has one, and ``c`` counting the flows between the same two from 0. So paths depend on names and ``seed`` only.

Traffic between two hosts goes in equal parts over the rails that both have. If they have none in common their rails are
paired in the order of their names, those of the host with fewer again and again. Cables of a storage network are not
used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..arrays import Float64Array, Int64Array, runs
from ..errors import InputError, refusal, shown
from .ecmp import U64Array, mix, pick
from .fabric import Fabric, Paths, sums
from .model import Topology
from .patterns import Flows
from .ports import Ports, Up

__all__ = ["Ecmp", "Router", "in_order_of_placement", "paths_from_top"]

Ecmp = Literal["spread", "hash"]


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
    >>> Router(leaf_spine(2, 2, 1), ecmp="spread").route(["h1-1", "h1-1", "h2-1"], ring(3))["leaf1->spine1"]
    0.5
    """

    def __init__(self, topology: Topology, *, ecmp: Ecmp = "spread", seed: int = 0) -> None:
        if ecmp not in get_args(Ecmp):
            raise refusal("", "ecmp", "spread or hash", shown(ecmp))
        self._ecmp = ecmp
        if not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise refusal("", "seed", "a whole number from 0 to 2**63 - 1", shown(seed))
        self._seed = np.uint64(seed)
        self._ports = Ports(topology)
        self._fabric = Fabric(topology)
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
        sizes = np.bincount(self._ports.group[target], minlength=len(self._ports.groups))
        for group, (end, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
            if size:
                at = order[end - size : end]
                part = _Part(source[at], target[at], share[at], key[at] if key is not None else None)
                self._add(load, self._ports.groups[group], part)
        return {self._names[link]: float(load[link]) for link in np.flatnonzero(load)}

    def _between_ports(
        self, workers: Sequence[str], flows: Flows
    ) -> tuple[Int64Array, Int64Array, Float64Array, U64Array | None]:
        """The flows from port to port: those between hosts, once per rail; and their keys if they are hashed."""
        ports = self._ports
        hosts = np.empty(len(workers), dtype=np.int64)
        for index, host in enumerate(workers):
            hosts[index] = ports.host.get(host, -1)
            if hosts[index] < 0:
                raise refusal("", f"workers[{index}]", "a host of the network with a cable", shown(host))
        if not (flows.share > 0).all() or not np.isfinite(flows.share).all():
            raise refusal("", "flows.share", "finite numbers above 0", shown(flows.share))
        for name in ("source", "target"):
            ends = getattr(flows, name)
            if len(ends) != len(flows.share):
                raise refusal("", f"flows.{name}", f"as many as shares, {len(flows.share)}", str(len(ends)))
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
            share = sums(back.ravel(), share, len(pair))
        source, target, share = ports.by_rail(source, target, share)
        if self._ecmp == "spread":
            return source, target, share, None
        pair = source * len(ports.digest) + target
        order = np.argsort(pair, kind="stable")
        new = runs(pair[order])
        count = np.empty(len(pair), dtype=np.int64)
        count[order] = np.arange(len(pair)) - np.repeat(new, np.diff(new, append=len(pair)))
        between = mix(ports.digest[source] + np.uint64(3) * ports.digest[target])
        return source, target, share, mix(between + count.astype(np.uint64))

    def _add(self, load: Float64Array, leaves: Int64Array, part: _Part) -> None:
        """Add the flows to all ports that hang under ``leaves``."""
        fabric, ports = self._fabric, self._ports
        paths = fabric.paths(leaves)
        up = ports.up_choices(np.unique(part.source), paths.far)
        if up.stuck is not None:
            port = part.target[np.flatnonzero(part.source == up.stuck)[0]]
            raise _no_path(ports.label[up.stuck], ports.label[port])
        if part.key is None:
            self._spread(load, leaves, part, paths, up)
        else:
            self._hash(load, part, part.key ^ self._seed, paths, up)

    def _spread(self, load: Float64Array, leaves: Int64Array, part: _Part, paths: Paths, up: Up) -> None:
        """Add flows that take every cable on a shortest path."""
        fabric, ports, down = self._fabric, self._ports, self._ports.down
        sent = np.bincount(part.source, part.share, len(ports.label))
        volume: Float64Array = sent[up.port] / up.size[up.port]
        load[up.link] += volume
        edge, volume_of = fabric.spread(paths, sums(up.leaf, volume, fabric.n))
        load[len(ports.names) + edge] += volume_of
        # Where a port hangs under several leaves, what comes down each depends on who sends.
        for leaf in leaves:
            reach = np.ones(fabric.n) if len(leaves) == 1 else fabric.arriving(paths, int(leaf))
            reached = np.bincount(up.port, reach[up.leaf], len(ports.label)) / np.maximum(up.size, 1)
            came = np.bincount(part.target, part.share * reached[part.source], len(ports.label))
            begin, end = np.searchsorted(down.leaf, [leaf, leaf + 1])
            here = begin + np.flatnonzero(came[down.port[begin:end]] > 0)
            port, back, count = np.unique(down.port[here], return_inverse=True, return_counts=True)
            load[down.link[here]] += (came[port] / count)[back]

    def _hash(self, load: Float64Array, part: _Part, key: U64Array, paths: Paths, up: Up) -> None:
        """Add flows each of which takes one path."""
        fabric, ports, down = self._fabric, self._ports, self._ports.down
        choice = up.first[part.source] + pick(key ^ ports.salt[part.source], up.size[part.source])
        load += np.bincount(up.link[choice], part.share, len(load))
        at = up.leaf[choice]
        far, choices = paths.far, paths.choices
        moving = np.flatnonzero(far[at] > 0)
        while len(moving):
            here = at[moving]
            edge = choices.edge[choices.first[here] + pick(key[moving] ^ fabric.salt[here], choices.size[here])]
            load += np.bincount(len(ports.names) + edge, part.share[moving], len(load))
            at[moving] = fabric.head[edge]
            moving = moving[far[at[moving]] > 0]
        begin = np.searchsorted(down.order, at * len(ports.label) + part.target)
        size = np.searchsorted(down.order, at * len(ports.label) + part.target, side="right") - begin
        load += np.bincount(down.link[begin + pick(key ^ fabric.salt[at], size)], part.share, len(load))


class _Part(NamedTuple):
    """Flows between ports."""

    source: Int64Array
    target: Int64Array
    share: Float64Array
    key: U64Array | None


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
    paths = paths_from_top(topology)
    for index, worker in enumerate(workers):
        if worker not in paths:
            raise refusal("", f"workers[{index}]", "a host of the network", shown(worker))
    return sorted(workers, key=lambda worker: paths[worker])


def paths_from_top(topology: Topology) -> dict[str, tuple[str, ...]]:
    """For each host the switches above it, from the top down, and itself; of several the first by name. O(cables)."""
    tiers = topology.tiers()
    above: dict[str, str] = {}
    for cable in topology.cables:
        if tiers[cable.lower] < tiers[cable.upper] and not cable.storage:
            above[cable.lower] = min(cable.upper, above.get(cable.lower, cable.upper))
    paths: dict[str, tuple[str, ...]] = {}
    for host in topology.hosts:
        path = [host.id]
        while path[-1] in above:
            path.append(above[path[-1]])
        paths[host.id] = tuple(reversed(path))
    return paths


def _no_path(source: str, target: str) -> InputError:
    return refusal("", "workers", "hosts that a path joins", f"{shown(source)} and {shown(target)} in different parts")
