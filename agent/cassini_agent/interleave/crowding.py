"""How much of a link's time its jobs fill: those that it cannot carry all at once must take turns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

__all__ = ["Crowd", "Sending", "crowds", "uneven_pairs"]

Key = TypeVar("Key", bound=Hashable)

FULL = 1 + 1e-9
"""Of a link's capacity; more is too much."""


@dataclass(frozen=True, slots=True)
class Sending:
    """What one job sends over a link.

    Attributes
    ----------
    share : float
        Its rate, as a part of the link's capacity.
    duration_ns, pace_ns : float
        For how long it sends, out of how long.
    """

    share: float
    duration_ns: float
    pace_ns: float


@dataclass(frozen=True, slots=True)
class Crowd(Generic[Key]):
    """Jobs that are in each other's way.

    Attributes
    ----------
    per_ns : dict
        By job: how much of what there is it fills with each nanosecond that it sends.
    filled : float
        By all of them; where it is more than 1, the link carries them at no shifts.
    """

    per_ns: dict[Key, float]
    filled: float


def crowds(sending: Mapping[Key, Sending]) -> list[Crowd[Key]]:
    """The crowds of a link; none where it carries all of them at once.

    Notes
    -----
    Two kinds. All together: what they send is at most what the link carries. Those of which no two fit at once: they
    send one after the other. O(n^2) of n jobs.
    """
    found: list[dict[Key, float]] = []
    if sum(one.share for one in sending.values()) > FULL:
        found.append({job: min(1.0, one.share) / one.pace_ns for job, one in sending.items()})
    cliques = {
        frozenset(
            {quietest}
            | {job for job, one in sending.items() if one.share >= least.share and one.share + least.share > FULL}
        )
        for quietest, least in sending.items()
    }
    found += [{job: 1 / sending[job].pace_ns for job in clique} for clique in cliques]
    return [_crowd(per_ns, sending) for per_ns in found if len(per_ns) > 1]


def uneven_pairs(sending: Mapping[Key, Sending]) -> list[Crowd[Key]]:
    """Two that do not fit at once, one of which has several iterations while the other has one.

    They meet anew with each iteration of the shorter pace, so both must fit into that.
    """
    found = []
    for (job, one), (other, its) in combinations(sending.items(), 2):
        shorter, longer = sorted((one.pace_ns, its.pace_ns))
        if one.share + its.share > FULL and (times := round(longer / shorter)) > 1:
            found.append(_crowd(dict.fromkeys((job, other), 1 / max(shorter, longer / times)), sending))
    return found


def _crowd(per_ns: dict[Key, float], sending: Mapping[Key, Sending]) -> Crowd[Key]:
    return Crowd(per_ns, sum(each * sending[job].duration_ns for job, each in per_ns.items()))
