"""The GPUs of a network's hosts, hosts that hang together side by side; and a placement of jobs on them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ..arrays import Int64Array
from ..errors import refusal, shown
from ..topology.model import Topology
from ..topology.parts import parts_of
from ..topology.routing import paths_from_top

__all__ = ["Cluster", "Domains", "HostWorkers", "Placement"]

HostWorkers = tuple[tuple[int, int], ...]
"""Where a job runs: numbers of hosts, in their order, and how many of its workers each has."""


class Domains(NamedTuple):
    """Hosts that hang under one switch: those from ``start`` to before ``end``, one entry per switch."""

    start: Int64Array
    end: Int64Array


class Cluster:
    """Hosts in such an order that those under one switch stand together.

    Parameters
    ----------
    topology : Topology
    gpus_per_host : int, optional
        For hosts of which the topology does not know how many GPUs they have.

    Attributes
    ----------
    hosts : tuple of str
    number : dict of str to int
        Of each host, by id.
    gpus : int64 array
        By host.
    tiers : tuple of Domains
        Single hosts; what hangs under each leaf switch; and so on; last, hosts between which there are paths.
    leaf : int64 array
        Number of the leaf switch of each host; several hosts under the same switches have one.

    Raises
    ------
    InputError
        A host's GPUs are known neither from the topology nor from ``gpus_per_host``.

    Notes
    -----
    O(hosts * tiers + cables).
    """

    def __init__(self, topology: Topology, gpus_per_host: int | None = None) -> None:
        paths = paths_from_top(topology)
        parts = _parts(topology)
        known = {host.id: host.gpus if host.gpus is not None else gpus_per_host for host in topology.hosts}
        for host, gpus in known.items():
            if gpus is None:
                raise refusal("", f"host {shown(host)} gpus", "how many GPUs it has (--gpus)", "none in the topology")
        self.hosts = tuple(sorted(paths, key=lambda host: (parts[host], paths[host])))
        self.number = {host: index for index, host in enumerate(self.hosts)}
        self.gpus = np.array([known[host] for host in self.hosts], dtype=np.int64)
        tiers = topology.tiers()
        part_of = [parts[host] for host in self.hosts]
        rows = [[(switch, tiers[switch]) for switch in paths[host]] for host in self.hosts]
        levels = range(max(tiers.values(), default=0) + 1)
        keys = [[(part, _ancestor(row, tier)) for part, row in zip(part_of, rows, strict=True)] for tier in levels]
        self.tiers = (*map(_runs, keys), _runs(part_of))
        leaves = _runs([(parts[host], paths[host][-2:-1] or host) for host in self.hosts])
        self.leaf = np.repeat(np.arange(len(leaves.start)), leaves.end - leaves.start)

    @property
    def parts(self) -> Domains:
        """Hosts between which there are paths."""
        return self.tiers[-1]


class Placement:
    """Where jobs run, and the GPUs that are left.

    Attributes
    ----------
    where : dict of int to HostWorkers
        By number of the job.
    free : int64 array
        GPUs by host.
    """

    def __init__(self, gpus_per_worker: tuple[int, ...], free: Int64Array, where: Mapping[int, HostWorkers]) -> None:
        self._gpus_per_worker = gpus_per_worker
        self.free = free.copy()
        self.where = dict(where)

    def copy(self) -> Placement:
        """One that can be changed without changing this one."""
        return Placement(self._gpus_per_worker, self.free, self.where)

    def put(self, job: int, where: HostWorkers) -> None:
        """Place a job that is not placed; there must be room."""
        self.where[job] = where
        for host, workers in where:
            self.free[host] -= workers * self._gpus_per_worker[job]

    def take(self, job: int) -> HostWorkers:
        """Take a placed job away, and say where it was."""
        where = self.where.pop(job)
        for host, workers in where:
            self.free[host] += workers * self._gpus_per_worker[job]
        return where

    def room(self, job: int) -> Int64Array:
        """How many workers of a job each host has free GPUs for."""
        return self.free // self._gpus_per_worker[job]


def _ancestor(row: list[tuple[str, int]], tier: int) -> tuple[str, ...]:
    """The path down to the highest node of at most ``tier``: equal for hosts under one such node."""
    kept = [node for node, level in row if level > tier]
    return tuple(node for node, _ in row[: len(kept) + 1])


def _runs(keys: Iterable[object]) -> Domains:
    """Where runs of equal keys begin and end."""
    sizes = [sum(1 for _ in run) for _, run in itertools.groupby(keys)]
    ends = np.cumsum(np.array(sizes, dtype=np.int64))
    return Domains(ends - np.array(sizes, dtype=np.int64), ends)


def _parts(topology: Topology) -> dict[str, int]:
    """A number for each host, equal for hosts between which there are paths; a host without cable has its own.

    Hosts with cables to several networks are joined where each rail of theirs is in the same networks.
    """
    cables = [cable for cable in topology.cables if not cable.storage]
    switches = {switch.id for switch in topology.switches}
    between = [(cable.lower, cable.upper) for cable in cables if cable.lower in switches]
    network_of = parts_of(sorted(switches), between)
    reached: dict[str, set[tuple[str, str]]] = {host.id: set() for host in topology.hosts}
    for cable in cables:
        if cable.lower in reached:
            reached[cable.lower].add((cable.rail, network_of[cable.upper]))
    numbers: dict[object, int] = {}
    found = {}
    for host, rails in reached.items():
        networks = {network for _, network in rails}
        kind = (host, "alone") if not rails else networks.pop() if len(networks) == 1 else frozenset(rails)
        found[host] = numbers.setdefault(kind, len(numbers))
    return found
