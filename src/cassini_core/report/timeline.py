"""What the page's sliders compute with: the demand of each job on each link, in whole nanoseconds and kbit/s."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..formats import printable
from ..kernel.demand import Demand
from ..links.folding import repeats
from ..model import Job
from ..plots.placed_links import PlacedLink
from ..units import kbps_from_gbps, ticks_from_ms

__all__ = ["timeline_data"]

MOST_EVENTS = 20_000
"""Changes of demand over the time after which all repeats; a link with more is not computed exactly in the page."""

MOST_SAMPLES = 200_000
"""Levels that are looked up to fold the jobs of a link."""

MOST_SUMS = 200_000
"""Sums of levels, one of each job, over all of that time."""

MOST_SHOWN_EVENTS = 400
"""Changes of demand that are drawn at once: more cannot be told apart. One iteration of the slowest job is drawn all
the same, if no more than ``MOST_EVENTS`` are in it."""

LONGEST_ITERATIONS = 4
"""How many iterations of the slowest job are drawn at most."""

LARGEST = 2**53 - 1
"""Largest whole number that JavaScript holds exactly."""


class _Asked(NamedTuple):
    """What a job asks of a link; at most so many changes in an iteration, its beginning included; so many levels."""

    demand: Demand
    edges: int
    levels: int

    @classmethod
    def of(cls, job: Job) -> _Asked:
        demand = Demand.of(job)
        return cls(demand, 1 + 2 * len(demand.phases), len(demand.levels().level))


def timeline_data(links: Sequence[PlacedLink], jobs_placed: int) -> dict[str, Any]:
    """The numbers of the page's script, ready for JSON; ``page.js`` says how it reads them. Each demand occurs once.

    Parameters
    ----------
    links
        Of one candidate.
    jobs_placed
        By the candidate; those that are on none of the links included.
    """
    asked_by = functools.cache(_Asked.of)  # most jobs ask the same of many links
    jobs: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    demands: dict[tuple[tuple[int, ...], ...], int] = {}
    found = []
    for link in links:
        asked = [asked_by(job) for job in link.jobs]
        for job, (demand, _, _) in zip(link.jobs, asked, strict=True):
            numbers.setdefault(job.id, len(numbers))
            shift = ticks_from_ms(link.shifts_ms.get(job.id, 0.0)) % demand.period
            jobs[job.id] = {"id": printable(job.id), "period": demand.period, "shift": shift}
        found.append(
            {
                "id": printable(link.id),
                "capacity": kbps_from_gbps(link.capacity_gbps),
                "jobs": [numbers[job.id] for job in link.jobs],
                "demands": [demands.setdefault(one.demand.phases, len(demands)) for one in asked],
                "score": link.score,
                **_repetition(asked, [job.id in link.free_jobs for job in link.jobs]),
            }
        )
    flat = [[number for phase in phases for number in phase] for phases in demands]
    return {"jobs": list(jobs.values()), "demands": flat, "links": found, "jobs_placed": jobs_placed}


def _repetition(asked: Sequence[_Asked], free: Sequence[bool]) -> dict[str, Any]:
    """Per job after what part of a turn its shift makes no difference, 0 if none does; how long all takes to repeat.

    ``turn`` is None where the page cannot compute the mean over it. ``window`` is how long a time is drawn, ``whole``
    whether that is a perimeter.
    """
    periods = [one.demand.period for one in asked]
    repeat_of = repeats(Counter(period for period, is_free in zip(periods, free, strict=True) if not is_free))
    repeat = [0 if is_free else repeat_of[period] for period, is_free in zip(periods, free, strict=True)]
    turn = math.lcm(*(one for one in repeat if one))
    window = _window(periods, [one.edges for one in asked])
    return {
        "repeats": repeat,
        "turn": turn if _is_computable(asked, repeat, turn) else None,
        "window": window,
        "whole": window == math.lcm(*periods),
    }


def _is_computable(asked: Sequence[_Asked], repeat: Sequence[int], turn: int) -> bool:
    turns = [turn // one if one else 1 for one in repeat]
    events = sum(one.edges * number for one, number in zip(asked, turns, strict=True))
    if events > MOST_EVENTS or turn > LARGEST:
        return False
    samples = [one.demand.period // every if every else 1 for one, every in zip(asked, repeat, strict=True)]
    if sum(one.edges * number for one, number in zip(asked, samples, strict=True)) > MOST_SAMPLES:
        return False
    levels = [min(one.levels, n) if every else one.levels for one, n, every in zip(asked, samples, repeat, strict=True)]
    return events * math.prod(levels) <= MOST_SUMS


def _window(periods: Sequence[int], edges: Sequence[int]) -> int:
    """One perimeter where it is short, else a few iterations of the slowest job, fewer where much happens in one.

    Less than one where a browser could not hold what happens in it.
    """
    longest = max(periods)
    wanted = min(math.lcm(*periods), LONGEST_ITERATIONS * longest)
    in_longest = sum(count * longest / period for count, period in zip(edges, periods, strict=True))
    least = min(longest, max(1, int(longest * MOST_EVENTS / in_longest)))
    return max(least, min(wanted, int(longest * MOST_SHOWN_EVENTS / in_longest)))
