"""Paths without search: ECMP, Crux's and perfect routing as MonkeyTree's simulator has them, and all at once."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from .fabric import RACKS, SPINES, Flow, Running, links

__all__ = ["Paths", "Spines", "crux", "ecmp", "edge_colours", "even", "perfect"]

Spines = tuple[tuple[int, ...], ...]
"""Of each flow of a job: those over which it goes, split evenly; one, if packets are to stay in order."""
Paths = dict[str, Spines]
"""By job."""


def ecmp(jobs: Mapping[str, Running], before: Paths, seed: int = 0) -> Paths:
    """Every flow on a spine drawn for good."""
    found = dict(before)
    for name, one in jobs.items():
        if name not in found:
            drawn = random.Random(f"ecmp {seed} {name}")
            found[name] = tuple((drawn.randrange(SPINES),) for _ in one.flows)
    return found


def crux(jobs: Mapping[str, Running], before: Paths) -> Paths:
    """Those jobs first whose GPUs compute and send the longest; each flow where the fewest are, of both its links.

    The published simulator lets activations and exchanges between stages count as flows too; here they are none.
    """
    load: dict[str, int] = defaultdict(int)
    found: Paths = {}

    def intensity(one: Running) -> float:
        return one.job.gpus * one.job.kind.iteration_ms(one.job.gpus)

    for name in sorted(jobs, key=lambda name: -intensity(jobs[name])):
        spines = []
        for flow in jobs[name].flows:
            best = min(range(SPINES), key=lambda spine: max(load[link] for link in links(flow, spine)))
            for link in links(flow, best):
                load[link] += 1
            spines.append((best,))
        found[name] = tuple(spines)
    return found


def perfect(jobs: Mapping[str, Running], before: Paths) -> Paths:
    """All flows coloured so that no two of a colour leave or reach the same rack; a colour is a spine, the 17th the
    first again.
    """
    names = [name for name, one in jobs.items() for _ in one.flows]
    colours = edge_colours([flow for one in jobs.values() for flow in one.flows])
    found: dict[str, list[tuple[int, ...]]] = {name: [] for name in jobs}
    for name, colour in zip(names, colours, strict=True):
        found[name].append((colour % SPINES,))
    return {name: tuple(spines) for name, spines in found.items()}


def even(jobs: Mapping[str, Running], before: Paths) -> Paths:
    """Every flow split evenly over all spines: paths that never change, or packets sprayed."""
    return {name: (tuple(range(SPINES)),) * len(one.flows) for name, one in jobs.items()}


def edge_colours(flows: Sequence[Flow]) -> list[int]:
    """A proper edge colouring of a bipartite multigraph with as many colours as its highest degree (König 1916).

    Notes
    -----
    O(flows * racks): where the ends of a flow have no free colour in common, colours are swapped along a path.
    """
    leaves: list[dict[int, int]] = [{} for _ in range(RACKS)]  # colour to flow
    reaches: list[dict[int, int]] = [{} for _ in range(RACKS)]
    colours = [-1] * len(flows)

    def unused(at: dict[int, int]) -> int:
        return next(colour for colour in range(len(flows)) if colour not in at)

    for number, (here, there) in enumerate(flows):
        mine, other = unused(leaves[here]), unused(reaches[there])
        if mine not in reaches[there]:
            other = mine
        elif other not in leaves[here]:
            mine = other
        else:
            # The path from `there` whose edges have `mine` and `other` in turn does not come to `here`.
            path, at, ends, colour = [], there, reaches, mine
            while colour in ends[at]:
                edge = ends[at][colour]
                path.append(edge)
                at = flows[edge][0] if ends is reaches else flows[edge][1]
                ends = leaves if ends is reaches else reaches
                colour = mine + other - colour
            for edge in path:
                del leaves[flows[edge][0]][colours[edge]], reaches[flows[edge][1]][colours[edge]]
            for edge in path:
                colours[edge] = mine + other - colours[edge]
                leaves[flows[edge][0]][colours[edge]] = reaches[flows[edge][1]][colours[edge]] = edge
        colours[number] = mine
        leaves[here][mine] = reaches[there][mine] = number
    return colours
