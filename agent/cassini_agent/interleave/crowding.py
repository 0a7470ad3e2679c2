"""How much of a link's time its jobs fill: those that it cannot carry all at once must take turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import cassini_core as cc

from ..schedule import MS_NS

__all__ = ["Burst", "Crowd", "crowds", "uneven_pairs"]

Burst: TypeAlias = tuple[str, int]
"""A job, and which of its phases."""

FULL = 1 + 1e-9
"""Of a link's capacity; more is too much."""


@dataclass(frozen=True, slots=True)
class _Sending:
    """One burst: its rate as a part of the link's capacity, and for how long it lasts, out of how long."""

    share: float
    duration_ns: float
    pace_ns: float


@dataclass(frozen=True, slots=True)
class Crowd:
    """Bursts that are in each other's way.

    Attributes
    ----------
    per_ns : dict
        By burst: how much of what there is it fills with each nanosecond that it lasts.
    filled : float
        By all of them; where it is more than 1, the link carries them at no shifts.
    """

    per_ns: dict[Burst, float]
    filled: float


def crowds(problem: cc.Problem, link: cc.Link) -> list[Crowd]:
    """The crowds of a link, in the one placement of the problem; none where it carries all bursts at once.

    Notes
    -----
    Two kinds. All together: what they send is at most what the link carries. Those of which no two fit at once: they
    send one after the other. O(n^2) of n bursts.
    """
    sending = _sending(problem, link)
    found: list[dict[Burst, float]] = []
    if sum(one.share for one in sending.values()) > FULL:
        found.append({burst: min(1.0, one.share) / one.pace_ns for burst, one in sending.items()})
    cliques = {
        frozenset(
            {quietest}
            | {burst for burst, one in sending.items() if one.share >= least.share and one.share + least.share > FULL}
        )
        for quietest, least in sending.items()
    }
    found += [{burst: 1 / sending[burst].pace_ns for burst in clique} for clique in cliques]
    return [_crowd(per_ns, sending) for per_ns in found if len({job for job, _ in per_ns}) > 1]


def uneven_pairs(problem: cc.Problem, link: cc.Link) -> list[Crowd]:
    """Two that do not fit at once, one of which has several iterations while the other has one.

    They meet anew with each iteration of the shorter pace, so both must fit into that.
    """
    sending, found = _sending(problem, link), []
    for (burst, one), (other, its) in combinations(sending.items(), 2):
        shorter, longer = sorted((one.pace_ns, its.pace_ns))
        if one.share + its.share > FULL and (times := round(longer / shorter)) > 1:
            found.append(_crowd(dict.fromkeys((burst, other), 1 / max(shorter, longer / times)), sending))
    return found


def _sending(problem: cc.Problem, link: cc.Link) -> dict[Burst, _Sending]:
    (candidate,) = problem.candidates
    return {
        (job.id, at): _Sending(
            phase.gbps * candidate.routes[job.id][link.id] / link.capacity_gbps,
            phase.duration_ms * MS_NS,
            job.iteration_ms * MS_NS,
        )
        for job in problem.jobs
        if link.id in candidate.routes[job.id]
        for at, phase in enumerate(job.phases)
    }


def _crowd(per_ns: dict[Burst, float], sending: Mapping[Burst, _Sending]) -> Crowd:
    return Crowd(per_ns, sum(each * sending[burst].duration_ns for burst, each in per_ns.items()))
