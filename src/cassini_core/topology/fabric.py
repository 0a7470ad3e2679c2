"""Switches and the links between them as arrays: distances, and the links on shortest paths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array, Rows
from .ecmp import digests
from .model import Topology, link_name, numbered

__all__ = ["FAR", "Choices", "Fabric", "Paths", "sums"]

FAR = np.iinfo(np.int64).max
"""The distance of what cannot be reached."""


_MOST_KEPT = 4_000_000
"""Numbers of paths that a fabric keeps, about 32 MB; beyond it forgets all and begins again."""


class Choices(NamedTuple):
    """By switch: its links on shortest paths, ``edge[first : first + size]``."""

    edge: Int64Array
    first: Int64Array
    size: Int64Array


class Paths(NamedTuple):
    """The shortest paths to some switches.

    Attributes
    ----------
    far : int64 array
        Links to pass from each switch to the nearest of them; the largest integer where there is no path.
    choices : Choices
    levels : tuple of int64 arrays
        Links on these paths, those nearest to the switches first.
    """

    far: Int64Array
    choices: Choices
    levels: tuple[Int64Array, ...]


class Fabric:
    """The links between switches, sorted by tail, head and number."""

    def __init__(self, topology: Topology) -> None:
        switch = {one.id: index for index, one in enumerate(topology.switches)}
        self.n = len(switch)
        self.salt = digests(switch)
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
        self._offset = np.searchsorted(self.tail, np.arange(self.n + 1)).astype(np.int64)
        self._known: dict[bytes, Paths] = {}
        self._kept = 0

    def paths(self, targets: Int64Array) -> Paths:
        """The shortest paths to ``targets``; O(links between switches), unless they were asked for before."""
        key = targets.tobytes()
        if key not in self._known:
            far = self._distances(targets)
            edge = np.flatnonzero(self._forward(far))
            found = Paths(far, self._choices(edge), tuple(self._levels(far, edge)))
            size = 3 * self.n + 2 * len(edge)
            if self._kept + size > _MOST_KEPT:
                self._known, self._kept = {}, 0
            self._known[key] = found
            self._kept += size
        return self._known[key]

    def _distances(self, targets: Int64Array) -> Int64Array:
        far = np.full(self.n, FAR)
        reached, distance = targets, 0
        while len(reached):
            far[reached] = distance
            near = self.head[Rows.of(self._offset, reached).at]  # every cable is two links
            reached, distance = np.unique(near[far[near] == FAR]), distance + 1
        return far

    def _forward(self, far: Int64Array) -> BoolArray:
        """The links on shortest paths."""
        forward: BoolArray = (far[self.tail] != FAR) & (far[self.tail] == far[self.head] + 1)
        return forward

    def _choices(self, edge: Int64Array) -> Choices:
        size = np.bincount(self.tail[edge], minlength=self.n)
        return Choices(edge, np.cumsum(size) - size, size)

    def _levels(self, far: Int64Array, edge: Int64Array) -> Iterator[Int64Array]:
        length = far[self.tail[edge]]
        order = np.argsort(length, kind="stable")
        ends = np.cumsum(np.bincount(length[order]))
        for begin, end in itertools.pairwise(ends):
            yield edge[order[begin:end]]

    def spread(self, paths: Paths, volume: Float64Array) -> tuple[Int64Array, Float64Array]:
        """The links on shortest paths and what each carries if ``volume`` comes in at the switches."""
        size = paths.choices.size
        edges, loads = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for edge in reversed(paths.levels):
            load = volume[self.tail[edge]] / size[self.tail[edge]]
            volume = volume + np.bincount(self.head[edge], load, self.n)
            edges.append(edge)
            loads.append(load)
        return np.concatenate(edges), np.concatenate(loads)

    def arriving(self, paths: Paths, leaf: int) -> Float64Array:
        """Part of the traffic that comes in at each switch and leaves the switches at ``leaf``, one of the targets."""
        size = paths.choices.size
        part = np.zeros(self.n)
        part[leaf] = 1.0
        for edge in paths.levels:
            part += np.bincount(self.tail[edge], part[self.head[edge]] / size[self.tail[edge]], self.n)
        return part


def sums(index: Int64Array, amount: Float64Array, size: int) -> Float64Array:
    return np.bincount(index, amount, size).astype(np.float64)
