"""Switches and the links between them as arrays: distances, and the links on shortest paths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array, Rows
from .ecmp import digests
from .model import Topology, link_name, numbered

__all__ = ["FAR", "Choices", "Fabric", "sums"]

FAR = np.iinfo(np.int64).max
"""The distance of what cannot be reached."""


class Choices(NamedTuple):
    """By switch: its links on shortest paths, ``edge[first : first + size]``."""

    edge: Int64Array
    first: Int64Array
    size: Int64Array


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

    def distances(self, targets: Int64Array) -> Int64Array:
        """Links to pass from each switch to the nearest of ``targets``; the largest integer where there is no path."""
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

    def choices(self, far: Int64Array) -> Choices:
        edge = np.flatnonzero(self._forward(far))
        size = np.bincount(self.tail[edge], minlength=self.n)
        return Choices(edge, np.cumsum(size) - size, size)

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


def sums(index: Int64Array, amount: Float64Array, size: int) -> Float64Array:
    return np.bincount(index, amount, size).astype(np.float64)
