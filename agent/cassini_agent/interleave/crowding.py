"""How much of a link's time its jobs fill: those that it cannot carry all at once must take turns."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import cassini_core as cc

from ..schedule import MS_NS

__all__ = ["filled"]

FULL = 1 + 1e-9
"""Of a link's capacity; more is too much."""


class _Burst(NamedTuple):
    """One burst: its rate as a part of the link's capacity, and for how long it lasts, out of how long."""

    job: str
    share: float
    duration_ns: float
    pace_ns: float


def filled(problem: cc.Problem, link: cc.Link, most_by_two: float = math.inf) -> float:
    """By the bursts that cross a link, in the one placement of the problem; 0 where it carries all of them at once.

    Where it is more than 1, the link carries them at no shifts. What they send is at most what the link carries; of
    those above half of its capacity one is sent after the other; and two that do not fit at once meet anew with each
    iteration of the shorter pace, so both must fit into that. Two that fill more than ``most_by_two`` do not count.
    O(n^2) of n bursts.
    """
    bursts = _bursts(problem, link)
    if len({one.job for one in bursts}) < 2 or sum(one.share for one in bursts) <= FULL:
        return 0.0
    together = sum(min(1.0, one.share) * one.duration_ns / one.pace_ns for one in bursts)
    in_turn = sum(one.duration_ns / one.pace_ns for one in bursts if one.share > FULL / 2)
    by_two = [
        _by_two(one, other)
        for one, other in combinations(bursts, 2)
        if one.job != other.job and one.share + other.share > FULL
    ]
    return max(together, in_turn, *(each for each in by_two if each <= most_by_two))


def _by_two(one: _Burst, other: _Burst) -> float:
    shorter, longer = sorted((one.pace_ns, other.pace_ns))
    if (times := round(longer / shorter)) == 1:
        return one.duration_ns / one.pace_ns + other.duration_ns / other.pace_ns
    return (one.duration_ns + other.duration_ns) / max(shorter, longer / times)


def _bursts(problem: cc.Problem, link: cc.Link) -> list[_Burst]:
    (candidate,) = problem.candidates
    return [
        _Burst(
            job.id,
            phase.gbps * candidate.routes[job.id][link.id] / link.capacity_gbps,
            phase.duration_ms * MS_NS,
            job.iteration_ms * MS_NS,
        )
        for job in problem.jobs
        if link.id in candidate.routes[job.id]
        for phase in job.phases
    ]
