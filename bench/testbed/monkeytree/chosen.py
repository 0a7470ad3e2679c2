"""Paths chosen for whole jobs: a job is as slow as the worst of its links, so few are to share what must be shared.

A bundle is the flows of a job between two racks, one or eight. It takes spines side by side, for each flow one or more;
which of those groups of spines each bundle takes is found by local search whenever a job comes or goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cassini_core.arrays import Float64Array, Int64Array
from cassini_core.simulation.jit import jit

from .fabric import RACKS, SPINES, Running
from .routing import Paths

__all__ = ["Chosen"]

_CASES = 10
"""Jobs on a link whose contention is reckoned by cases; for more, others are there on average."""
_SWEEPS = 20
_LESS = 1e-9


class _Bundle(NamedTuple):
    job: str
    at: int  # its first flow
    flows: int


@dataclass(slots=True)
class Chosen:
    """Paths by local search: from those of before, and from others, drawn at random.

    Parameters
    ----------
    per_flow : int
        Paths over which each flow is split evenly: so many queue pairs between two GPUs.
    starts : int
        How many are drawn.
    seed : int
    """

    per_flow: int = 1
    starts: int = 2
    seed: int = 0
    _kept: dict[tuple[str, int], int] = field(default_factory=dict)

    def __call__(self, jobs: Mapping[str, Running], before: Paths) -> Paths:
        """The paths of all flows."""
        number = {name: index for index, name in enumerate(jobs)}
        bundles = list(_bundles(jobs))
        if not bundles:
            return {}
        ends = np.array([jobs[one.job].flows[one.at] for one in bundles])
        flows = np.array([one.flows for one in bundles])
        width = np.minimum(SPINES, flows * self.per_flow)
        owner = np.array([number[one.job] for one in bundles])
        duty = np.array([one.job.kind.duty(one.job.gpus) for one in jobs.values()])
        options, drawn = SPINES // width, np.random.default_rng(self.seed)
        kept = np.array([self._kept[one[:2]] if one.job in before else 0 for one in bundles])
        apart = np.where(flows > 1, 0, 5 * ends[:, 0] % options)
        starts = [kept, apart, *(drawn.integers(options) for _ in range(self.starts))]
        if (options == 1).all():
            choice = kept
        else:
            choice, least = kept, math.inf
            for start in starts:
                cost = search((owner, ends, flows / width, width), start, duty)
                if cost < least:
                    choice, least = start, cost
                if least == 0.0:
                    break
        self._kept = {one[:2]: int(group) for one, group in zip(bundles, choice, strict=True)}
        found: dict[str, list[tuple[int, ...]]] = {name: [] for name in jobs}
        for one, wide, group in zip(bundles, width.tolist(), choice.tolist(), strict=True):
            each = wide // one.flows
            first = group * wide
            found[one.job] += [tuple(range(at, at + each)) for at in range(first, first + wide, each)]
        return {name: tuple(spines) for name, spines in found.items()}


def _bundles(jobs: Mapping[str, Running]) -> Iterator[_Bundle]:
    for name, one in jobs.items():
        rings = one.job.kind.rings
        yield from (_Bundle(name, at, rings) for at in range(0, len(one.flows), rings))


Bundles = tuple[Int64Array, Int64Array, Float64Array, Int64Array]
"""Of each bundle its job; from which rack to which, shape (n, 2); what it adds to each of its links; its spines."""

OnLinks = tuple[Int64Array, Float64Array, Float64Array, Int64Array]
"""Of each link its jobs, what each sends on it, by how much each is slowed down there; and how many they are."""


@jit
def search(bundles: Bundles, choice: Int64Array, duty: Float64Array) -> float:
    """Bundles take other groups of spines, one or two bundles at a time, as long as that makes jobs faster.

    ``choice``, the group of each, is changed. ``duty`` of a job is the part of the time in which it sends.
    """
    owner, ends, _, width = bundles
    n, links = len(owner), 2 * RACKS * SPINES
    on = (np.zeros((links, n), np.int64), np.zeros((links, n)), np.zeros((links, n)), np.zeros(links, np.int64))
    worst = np.zeros(len(duty))
    for one in range(n):
        _add(one, 1.0, bundles, choice, on, duty)
    best = _cost(on, worst)
    for _ in range(_SWEEPS):
        before = best
        for one in range(n):
            _cost(on, worst)
            if worst[owner[one]] == 0.0:  # a job that is not slowed down slows down none
                continue
            kept = choice[one]
            for group in range(SPINES // width[one]):
                if group != choice[one]:
                    _turn(one, group, bundles, choice, on, duty)
                    cost = _cost(on, worst)
                    if cost < best - _LESS:
                        best, kept = cost, group
            _turn(one, kept, bundles, choice, on, duty)
        if best < before - _LESS:
            continue
        for one in range(n):
            _cost(on, worst)
            hurt = worst > 0.0
            for other in range(one + 1, n):
                # Two that meet, and have two groups to choose from, take the other one together.
                if 2 * width[one] != SPINES or 2 * width[other] != SPINES:
                    continue
                if not (hurt[owner[one]] or hurt[owner[other]]):
                    continue
                if ends[one, 0] != ends[other, 0] and ends[one, 1] != ends[other, 1] and owner[one] != owner[other]:
                    continue
                for attempt in range(2):
                    _turn(one, 1 - choice[one], bundles, choice, on, duty)
                    _turn(other, 1 - choice[other], bundles, choice, on, duty)
                    if attempt == 0:
                        cost = _cost(on, worst)
                        if cost < best - _LESS:
                            best = cost
                            break
        if best >= before - _LESS:
            break
    return best


@jit
def _turn(one: int, group: int, bundles: Bundles, choice: Int64Array, on: OnLinks, duty: Float64Array) -> None:
    """A bundle takes another group."""
    if group != choice[one]:
        _add(one, -1.0, bundles, choice, on, duty)
        choice[one] = group
        _add(one, 1.0, bundles, choice, on, duty)


@jit
def _add(one: int, sign: float, bundles: Bundles, choice: Int64Array, on: OnLinks, duty: Float64Array) -> None:
    """A bundle comes to its links, or leaves them."""
    owner, ends, load, width = bundles
    who, loads, _, count = on
    for spine in range(choice[one] * width[one], (choice[one] + 1) * width[one]):
        for side in range(2):
            link = (side * RACKS + ends[one, side]) * SPINES + spine
            at = 0
            while at < count[link] and who[link, at] != owner[one]:
                at += 1
            if at == count[link]:
                who[link, at], loads[link, at] = owner[one], 0.0
                count[link] += 1
            loads[link, at] += sign * load[one]
            if loads[link, at] < _LESS:
                count[link] -= 1
                who[link, at], loads[link, at] = who[link, count[link]], loads[link, count[link]]
            _slow(link, on, duty)


@jit
def _slow(link: int, on: OnLinks, duty: Float64Array) -> None:
    """By how much each job on a link is slowed down there, relative, when all begin at random.

    While it sends, each other one sends with the probability of its duty; what is wanted beyond the capacity is late.
    """
    who, loads, late, count = on
    n = count[link]
    for at in range(n):
        beyond = 0.0
        if loads[link, at] < 1.0 and n <= _CASES and loads[link, :n].sum() > 1.0:
            for case in range(1 << (n - 1)):
                wanted, chance, bit = loads[link, at], 1.0, 0
                for other in range(n):
                    if other == at:
                        continue
                    sends = (case >> bit) & 1
                    bit += 1
                    chance *= duty[who[link, other]] if sends else 1.0 - duty[who[link, other]]
                    wanted += loads[link, other] * sends
                beyond += chance * max(0.0, wanted - 1.0)
        else:  # exact for one that fills the link alone
            wanted = loads[link, at]
            for other in range(n):
                if other != at:
                    wanted += loads[link, other] * duty[who[link, other]]
            beyond = max(0.0, wanted - 1.0)
        late[link, at] = beyond * duty[who[link, at]]


@jit
def _cost(on: OnLinks, worst: Float64Array) -> float:
    """Between the sum of what jobs are slowed down and that of its squares, that is between mean and tail; among
    equal ones what all links add up to. ``worst`` is what each job is slowed down.
    """
    who, _, late, count = on
    worst[:] = 0.0
    added, cost = 0.0, 0.0
    for link in range(len(count)):
        for at in range(count[link]):
            added += late[link, at]
            worst[who[link, at]] = max(worst[who[link, at]], late[link, at])
    for slowed in worst:
        cost += slowed**1.5
    return cost + 1e-4 * added
