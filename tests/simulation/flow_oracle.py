"""Jobs on shared links, step by step and obviously: what the simulator is compared with. Slow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Segment = tuple[float, float]
"""ms, Gbit/s."""


@dataclass
class OracleJob:
    segments: Sequence[Segment]
    route: Mapping[str, float]
    start_ms: float
    anchor_ms: float = 0.0
    pace_ms: float | None = None
    factors: Sequence[float] = ()


def rates(
    wants: Mapping[int, float], routes: Sequence[Mapping[str, float]], capacity: Mapping[str, float]
) -> dict[int, float]:
    """Max-min: raise all rates in steps from one bottleneck to the next."""
    found: dict[int, float] = {}
    left = dict(capacity)
    rising = set(wants)
    while rising:
        weights = {link: sum(routes[job].get(link, 0.0) for job in rising) for link in left}
        limits = [wants[job] for job in rising] + [
            max(0.0, left[link]) / weight for link, weight in weights.items() if weight
        ]
        level = min(limits)
        full = {link for link, weight in weights.items() if weight and left[link] <= level * weight * (1 + 1e-12)}
        done = {job for job in rising if wants[job] <= level * (1 + 1e-12) or full & routes[job].keys()}
        for job in done:
            found[job] = min(level, wants[job])
            for link, multiplier in routes[job].items():
                left[link] -= multiplier * found[job]
        rising -= done
    return found


def iterations(
    jobs: Sequence[OracleJob], capacity: Mapping[str, float], until_ms: float
) -> list[list[tuple[float, float]]]:
    """Start and end of each whole iteration, by job."""
    found: list[list[tuple[float, float]]] = [[] for _ in jobs]
    routes = [job.route for job in jobs]
    segment = [-1] * len(jobs)  # -1: waits
    left = [job.start_ms for job in jobs]  # ms to wait or compute, or Mbit to send
    came = [False] * len(jobs)
    slot: list[int | None] = [None] * len(jobs)
    began = [0.0] * len(jobs)
    now = 0.0
    while True:
        wants = {
            i: job.segments[segment[i]][1]
            for i, job in enumerate(jobs)
            if segment[i] >= 0 and job.segments[segment[i]][1]
        }
        rate = rates(wants, routes, capacity)
        step, first = min((left[i] / rate.get(i, 1.0), i) for i in range(len(jobs)))
        if now + step > until_ms:
            return found
        now += step
        for i in range(len(jobs)):
            left[i] -= step * rate.get(i, 1.0)
        job = jobs[first]
        if segment[first] == -1 and not came[first]:  # it has come to its first iteration
            _wait(first, now, jobs, segment, left, came, slot)
            if left[first] > 0:
                continue
        segment[first] += 1
        if segment[first] == len(job.segments):
            found[first].append((began[first], now))
            _wait(first, now, jobs, segment, left, came, slot)
            if left[first] > 0:
                continue
            segment[first] = 0
        if segment[first] == 0:
            began[first] = now
        length, gbps = job.segments[segment[first]]
        factor = job.factors[len(found[first])] if job.factors else 1.0
        left[first] = length * gbps if gbps else length * factor


def _wait(
    number: int,
    now: float,
    jobs: Sequence[OracleJob],
    segment: list[int],
    left: list[float],
    came: list[bool],
    slot: list[int | None],
) -> None:
    """A job has come to an iteration: until when it waits."""
    job = jobs[number]
    came[number], segment[number], left[number] = True, -1, 0.0
    if job.pace_ms is not None:
        before = slot[number]
        at = math.ceil((now - job.anchor_ms) / job.pace_ms - 1e-9) if before is None else before + 1
        slot[number] = at
        left[number] = max(0.0, job.anchor_ms + at * job.pace_ms - now)
