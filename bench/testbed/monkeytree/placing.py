"""Where a job is put when it starts: MonkeyTree's rule, and of the places that are as good by it the calmest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from .fabric import RACKS, SPINES, Running
from .jobs import GPUS
from .trace import Arrival

__all__ = ["best_fit", "calmest"]


def best_fit(free: Sequence[int], job: Arrival, there: Mapping[str, Running]) -> list[int]:
    """Where MonkeyTree's scheduler, and that of all it is compared with, puts a job; there is room for it.

    The fullest rack that has room for all of it; if there is none, all that is free in the emptiest, and so on.

    Parameters
    ----------
    free : sequence of int, length RACKS
        Servers.
    job : Arrival
    there : mapping of str to Running
        Not looked at.

    Returns
    -------
    list of int
        The rack of each server.
    """
    servers = job.gpus // GPUS
    fitting = [rack for rack in range(len(free)) if free[rack] >= servers]
    if fitting:
        return [min(fitting, key=lambda rack: free[rack])] * servers
    return _filled(free, sorted(range(len(free)), key=lambda rack: -free[rack]), servers)


def calmest(free: Sequence[int], job: Arrival, there: Mapping[str, Running]) -> list[int]:
    """Of all places in as few racks, all but one of them filled, that after which the fewest flows are expected beyond
    what racks can send at once.
    """
    first = best_fit(free, job, there)
    count = len(set(first))
    if count == 1:
        return first
    senders: list[list[tuple[int, float]]] = [[] for _ in range(RACKS)]
    for one in there.values():
        for rack, flows in Counter(here for here, _ in one.flows).items():
            senders[rack].append((flows, one.job.kind.duty(one.job.gpus)))
    duty, known = job.kind.duty(job.gpus), {}

    def cost(racks: Sequence[int]) -> float:
        added = 0.0
        for rack, flows in Counter(here for here, _ in job.kind.flows(racks)).items():
            if (rack, flows) not in known:
                more = beyond([*senders[rack], (flows, duty)], SPINES)
                known[rack, flows] = more - beyond(senders[rack], SPINES)
            added += known[rack, flows]
        return added

    servers = job.gpus // GPUS
    places = [first]
    for racks in combinations([rack for rack in range(RACKS) if free[rack]], count):
        if sum(free[rack] for rack in racks) >= servers:
            for last in racks:
                others = sum(free[rack] for rack in racks if rack != last)
                if others < servers:
                    order = sorted(racks, key=lambda rack: (rack == last, -free[rack]))
                    places.append(_filled(free, order, servers))
    return min(places, key=cost)


def beyond(senders: Iterable[tuple[int, float]], most: int) -> float:
    """Flows that are expected beyond so many, when each job sends its flows in so large a part of the time."""
    chance = np.ones(1)
    for flows, duty in senders:
        longer = np.zeros(len(chance) + flows)
        longer[: len(chance)] += (1.0 - duty) * chance
        longer[flows:] += duty * chance
        chance = longer
    return float((np.maximum(np.arange(len(chance)) - most, 0) * chance).sum())


def _filled(free: Sequence[int], order: Iterable[int], servers: int) -> list[int]:
    found: list[int] = []
    for rack in order:
        found += [rack] * min(free[rack], servers - len(found))
    return found
