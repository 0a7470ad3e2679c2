"""Paths chosen for jobs as a whole: a job is as slow as the worst of its links, so what must be shared is shared by few.

A bundle is the flows of a job between two racks, one or eight. It takes spines side by side, for each flow one or more;
which of those groups of spines each bundle takes is found by local search whenever a job comes or goes.
"""

from __future__ import annotations

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
        Paths over which each flow is split evenly: so many queue pairs between two GPUs. With 16, nothing is left to
        be chosen.
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
        kept = np.array([self._kept.get(one[:2], 0) for one in bundles])
        apart = np.where(flows > 1, 0, 5 * ends[:, 0] % options)
        starts = [kept, apart, *(drawn.integers(options) for _ in range(self.starts))]
        if (options == 1).all():
            choice = kept
        else:
            costs = [search(owner, ends, flows / width, width, start, duty) for start in starts]
            choice = starts[int(np.argmin(costs))]
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


@jit
def search(
    owner: Int64Array,  # the job of each bundle
    ends: Int64Array,  # shape (n, 2): from which rack to which
    load: Float64Array,  # of each of its links, when it sends
    width: Int64Array,  # spines that it takes
    choice: Int64Array,  # which of the groups of so many; in and out
    duty: Float64Array,  # of each job: part of the time in which it sends
) -> float:
    """Bundles take other spines, one or two at a time, as long as that makes jobs faster."""
    n, links = len(owner), 2 * RACKS * SPINES
    who, loads = np.zeros((links, n), dtype=np.int64), np.zeros((links, n))
    late, count = np.zeros((links, n)), np.zeros(links, dtype=np.int64)
    worst = np.zeros(len(duty))
    for one in range(n):
        _turn(one, 1.0, owner, ends, load, width, choice, who, loads, late, count, duty)
    best = _cost(who, late, count, worst)
    for _ in range(_SWEEPS):
        before = best
        for one in range(n):
            _cost(who, late, count, worst)
            if worst[owner[one]] == 0.0:  # a job that is not slowed down slows down none
                continue
            kept = choice[one]
            for option in range(SPINES // width[one]):
                if option == kept:
                    continue
                _turn(one, -1.0, owner, ends, load, width, choice, who, loads, late, count, duty)
                choice[one] = option
                _turn(one, 1.0, owner, ends, load, width, choice, who, loads, late, count, duty)
                cost = _cost(who, late, count, worst)
                if cost < best - 1e-9:
                    best, kept = cost, option
            if choice[one] != kept:
                _turn(one, -1.0, owner, ends, load, width, choice, who, loads, late, count, duty)
                choice[one] = kept
                _turn(one, 1.0, owner, ends, load, width, choice, who, loads, late, count, duty)
        if best < before - 1e-9:
            continue
        for one in range(n):
            for other in range(one + 1, n):
                # Two that meet and have two options each change places with whoever is there.
                if 2 * width[one] != SPINES or 2 * width[other] != SPINES:
                    continue
                if ends[one, 0] != ends[other, 0] and ends[one, 1] != ends[other, 1] and owner[one] != owner[other]:
                    continue
                for attempt in range(2):
                    for bundle in (one, other):
                        _turn(bundle, -1.0, owner, ends, load, width, choice, who, loads, late, count, duty)
                        choice[bundle] = 1 - choice[bundle]
                        _turn(bundle, 1.0, owner, ends, load, width, choice, who, loads, late, count, duty)
                    cost = _cost(who, late, count, worst)
                    if attempt == 0 and cost < best - 1e-9:
                        best = cost
                        break
        if best >= before - 1e-9:
            break
    return best


@jit
def _turn(one, sign, owner, ends, load, width, choice, who, loads, late, count, duty):  # type: ignore[no-untyped-def]
    """A bundle comes to its links, or leaves them."""
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
            if loads[link, at] < 1e-9:
                count[link] -= 1
                who[link, at], loads[link, at] = who[link, count[link]], loads[link, count[link]]
            _contention(link, who, loads, late, count, duty)


@jit
def _contention(link, who, loads, late, count, duty):  # type: ignore[no-untyped-def]
    """By how much each job on a link is slowed down there, relative, when all begin at random.

    While it sends, each other one sends with the probability of its duty; what is wanted beyond the capacity is late.
    """
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
def _cost(who, late, count, worst):  # type: ignore[no-untyped-def]
    """Between the sum of what jobs are slowed down and that of its squares, that is between mean and tail; among
    equal ones what all links add up to.
    """
    worst[:] = 0.0
    added = 0.0
    for link in range(len(count)):
        for at in range(count[link]):
            added += late[link, at]
            worst[who[link, at]] = max(worst[who[link, at]], late[link, at])
    return (worst**1.5).sum() + 1e-4 * added
