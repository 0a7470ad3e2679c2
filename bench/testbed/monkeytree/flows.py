"""The same jobs with flows that are sent each at a rate of its own, and SGLB, which routes each flow when it begins.

A check of what :mod:`.simulate` assumes: there a job's flows have one rate. Here a flow that has arrived leaves its
links to others, and the iteration ends with the last. SGLB is what MonkeyTree's simulator has: a flow takes one of the
eight spines with the fewest flows, on its links up and down, by its hash; every 10 ms flows whose spine is no longer
among the eight take another one.
"""

from __future__ import annotations

import math
import random

import numpy as np

from cassini_core.arrays import Float64Array, Int64Array
from cassini_core.simulation.jit import jit

from .fabric import RACKS, SPINES, Running

__all__ = ["FlowNetwork"]

SGLB_SPINES, SGLB_MS = SPINES // 2, 10.0
"""Spines that a flow may take, and how often flows take others: ``src/bin/golden_spine.rs`` of the simulator."""

_NONE = -1
Job = tuple[Float64Array, Float64Array, Float64Array, Int64Array, Int64Array]
"""Of each: computing and sending, ms; when it next ends to compute, or its flows within racks do; iterations that are
left (0: no job); whether it sends."""
Flow = tuple[Int64Array, Int64Array, Int64Array, Int64Array, Float64Array, Float64Array, Float64Array]
"""Of each: its job; from and to which rack; its spine; a hash; ms at full rate that are left, and its rate."""


class FlowNetwork:
    """Jobs on the links between racks and spines.

    Parameters
    ----------
    sglb : bool
        Whether flows are routed when they begin; if not they go where they are told.
    seed : int
        Of hashes.

    Attributes
    ----------
    now_ms : float
    """

    def __init__(self, *, sglb: bool = False, seed: int = 0) -> None:
        self.now_ms = 0.0
        self._sglb, self._drawn = sglb, random.Random(f"sglb {seed}")
        self._remap_ms = SGLB_MS if sglb else math.inf
        self._there: dict[str, tuple[Running, Int64Array, Int64Array]] = {}
        self._state: dict[str, tuple[float, int, bool, Float64Array]] = {}
        self._arrays: tuple[Job, Flow] | None = None

    def add(self, name: str, one: Running, spines: tuple[tuple[int, ...], ...]) -> None:
        """A job begins now."""
        self._take_apart()
        if self._sglb and not self._there:
            self._remap_ms = self.now_ms + SGLB_MS
        hashes = np.array([self._drawn.randrange(2**30) for _ in one.flows])
        self._there[name] = one, np.array([over[0] for over in spines]), hashes
        kind, gpus = one.job.kind, one.job.gpus
        self._state[name] = self.now_ms + kind.computing_ms(gpus), one.job.iterations, False, np.zeros(len(one.flows))

    def move(self, name: str, spines: tuple[tuple[int, ...], ...]) -> None:
        """A job's flows take other paths from now on."""
        if not self._sglb:
            self._take_apart()
            one, _, hashes = self._there[name]
            self._there[name] = one, np.array([over[0] for over in spines]), hashes

    def run(self, until_ms: float) -> str | None:
        """Go on until then, or until a job has done all its iterations: that one is gone, and its id returned."""
        if not self._there:
            self.now_ms = until_ms
            return None
        job, flow = self._put_together()
        self.now_ms, self._remap_ms, done = _run(self.now_ms, until_ms, self._remap_ms, job, flow)
        if done == _NONE:
            return None
        name = list(self._there)[done]
        self._take_apart()
        del self._there[name], self._state[name]
        return name

    def _put_together(self) -> tuple[Job, Flow]:
        if self._arrays is None:
            there, state = list(self._there.values()), [self._state[name] for name in self._there]
            kinds = [(one.job.kind, one.job.gpus) for one, _, _ in there]
            count = [len(one.flows) for one, _, _ in there]
            ends = np.array([flow for one, _, _ in there for flow in one.flows]).reshape(-1, 2)
            job = (
                np.array([kind.computing_ms(gpus) for kind, gpus in kinds]),
                np.array([kind.sending_ms(gpus) for kind, gpus in kinds]),
                np.array([one[0] for one in state]),
                np.array([one[1] for one in state]),
                np.array([int(one[2]) for one in state]),
            )
            flow = (
                np.repeat(np.arange(len(there)), count),
                np.ascontiguousarray(ends[:, 0]),
                np.ascontiguousarray(ends[:, 1]),
                np.concatenate([spines for _, spines, _ in there]),
                np.concatenate([hashes for _, _, hashes in there]),
                np.concatenate([one[3] for one in state]),
                np.zeros(sum(count)),
            )
            self._arrays = job, flow
        return self._arrays

    def _take_apart(self) -> None:
        if self._arrays is None:
            return
        (_, _, next_ms, left, sends), (owner, _, _, spine, _, remaining, _) = self._arrays
        for number, (name, (one, _, hashes)) in enumerate(self._there.items()):
            own = owner == number
            self._there[name] = one, spine[own], hashes
            self._state[name] = float(next_ms[number]), int(left[number]), bool(sends[number]), remaining[own]
        self._arrays = None


@jit
def _run(now: float, until: float, remap: float, job: Job, flow: Flow) -> tuple[float, float, int]:
    """To ``until``, or to where a job ends: the time, when flows next take other spines, and the job."""
    computing, sending, next_ms, left, sends = job
    owner, source, target, spine, hashes, remaining, rate = flow
    counts = np.zeros((2, RACKS, SPINES), dtype=np.int64)
    for f in range(len(owner)):
        if remaining[f] > 0.0:
            counts[0, source[f], spine[f]] += 1
            counts[1, target[f], spine[f]] += 1
    sglb = remap < np.inf
    stale = True
    while True:
        for j in range(len(left)):
            if sends[j] == 1 and next_ms[j] == np.inf:
                done = True
                for f in range(len(owner)):
                    done = done and not (owner[f] == j and remaining[f] > 0.0)
                if done:
                    left[j] -= 1
                    sends[j], next_ms[j] = 0, now + computing[j]
                    if left[j] == 0:
                        return now, remap, j
        if stale:
            _share(flow)
            stale = False
        at = min(until, remap)
        for j in range(len(left)):
            at = min(at, next_ms[j])
        for f in range(len(owner)):
            if remaining[f] > 0.0:
                at = min(at, now + remaining[f] / rate[f])
        for f in range(len(owner)):
            if remaining[f] > 0.0:
                remaining[f] -= rate[f] * (at - now)
                if remaining[f] < 1e-6:
                    remaining[f] = 0.0
                    counts[0, source[f], spine[f]] -= 1
                    counts[1, target[f], spine[f]] -= 1
                    stale = True
        now = at
        for j in range(len(left)):
            if next_ms[j] > now:
                continue
            if sends[j] == 0:
                sends[j], next_ms[j] = 1, now + sending[j]  # its flows within racks
                for f in range(len(owner)):
                    if owner[f] == j:
                        if sglb:
                            spine[f] = _least(f, hashes[f], source, target, counts)
                        remaining[f] = sending[j]
                        counts[0, source[f], spine[f]] += 1
                        counts[1, target[f], spine[f]] += 1
                stale = True
            else:
                next_ms[j] = np.inf  # those have arrived
        if now >= remap:
            remap += SGLB_MS
            stale = _remap(flow, counts) or stale
        if now >= until:
            return now, remap, _NONE


@jit
def _rank(spine: int, here: int, there: int, counts: Int64Array) -> int:
    """How many spines come before one: those with fewer flows, and of equal ones the first."""
    own, before = counts[0, here, spine] + counts[1, there, spine], 0
    for other in range(SPINES):
        load = counts[0, here, other] + counts[1, there, other]
        before += load < own or (load == own and other < spine)
    return before


@jit
def _least(f: int, drawn: int, source: Int64Array, target: Int64Array, counts: Int64Array) -> int:
    """The spine that a flow takes."""
    for spine in range(SPINES):
        if _rank(spine, source[f], target[f], counts) == drawn % SGLB_SPINES:
            return spine
    return 0


@jit
def _remap(flow: Flow, counts: Int64Array) -> bool:
    """Flows whose spine is no longer one of the best take another one; whether any does."""
    _, source, target, spine, hashes, remaining, _ = flow
    moving = np.zeros(len(spine), dtype=np.bool_)
    for f in range(len(spine)):
        moving[f] = remaining[f] > 0.0 and _rank(spine[f], source[f], target[f], counts) >= SGLB_SPINES
    for f in range(len(spine)):
        if moving[f]:
            counts[0, source[f], spine[f]] -= 1
            counts[1, target[f], spine[f]] -= 1
            spine[f] = _least(f, hashes[f] // SGLB_SPINES, source, target, counts)
            counts[0, source[f], spine[f]] += 1
            counts[1, target[f], spine[f]] += 1
    return bool(moving.any())


@jit
def _share(flow: Flow) -> None:
    """Max-min fair rates of all flows that are under way, 1 at most (Bertsekas and Gallager, section 6.5.2)."""
    _, source, target, spine, _, remaining, rate = flow
    room, rising = np.ones((2, RACKS, SPINES)), np.zeros((2, RACKS, SPINES))
    count = 0
    for f in range(len(rate)):
        rate[f] = 0.0
        if remaining[f] > 0.0:
            rate[f] = -1.0
            rising[0, source[f], spine[f]] += 1.0
            rising[1, target[f], spine[f]] += 1.0
            count += 1
    while count > 0:
        level = 1.0
        for f in range(len(rate)):
            if rate[f] < 0.0:
                up, down = (0, source[f], spine[f]), (1, target[f], spine[f])
                level = min(level, room[up] / rising[up], room[down] / rising[down])
        fixed = np.zeros(len(rate), dtype=np.bool_)
        for f in range(len(rate)):
            if rate[f] < 0.0:
                up, down = (0, source[f], spine[f]), (1, target[f], spine[f])
                fixed[f] = level == 1.0 or min(room[up] / rising[up], room[down] / rising[down]) <= level * (1 + 1e-9)
        for f in range(len(rate)):
            if fixed[f]:
                rate[f] = level
                count -= 1
                for link in ((0, source[f], spine[f]), (1, target[f], spine[f])):
                    room[link] -= level
                    rising[link] -= 1.0
