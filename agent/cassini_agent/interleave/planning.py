"""From profiles of jobs that meet to what they are told: the ranking, with headroom for each job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import dispatch
from ..dispatch.arrange import LARGEST_HEADROOM, arrange
from ..dispatch.plan import ALONE
from ..schedule import MS_NS, SECOND_NS, Schedule
from .crowding import filled
from .network import Network
from .profile import Profile

if TYPE_CHECKING:
    import cassini_core as cc

__all__ = ["planned"]

ROOM = 0.04
"""Headroom of jobs that are parted: it brings them to their places, and a little more than was seen may be needed."""

PARTS = 0.98
"""A plan that scores less does not part jobs, and so does not show what they are by themselves. To leave running jobs
where they are may cost half of the rest."""

SLOWEST = 2.0
"""No job is to take so many times as long as it does now because another one is slow."""

FILLED = 0.8
"""So much of a link's time their communication is to fill at most: else they have no room to be late in."""


def planned(
    network: Network,
    profiles: Mapping[str, Profile],
    schedules: Mapping[str, Schedule],
) -> tuple[dispatch.Plan, float | None]:
    """What to tell these jobs, and the score; None where there is nothing to rank. Ranks twelve times at most.

    ``schedules`` are those in force: jobs stay where they are held, where that costs little.
    """
    if len(profiles) < 2:
        return dispatch.Plan((), dict.fromkeys(profiles, ALONE)), None
    plan, score = _ranked(network, profiles, schedules, slowly=False)
    does_part = bool(plan.schedules) and score is not None and score >= PARTS
    if not does_part and any(one.is_for_parting for one in profiles.values()) and _are_alike(profiles):
        # They were seen to send for so long that no shift parts them. At the pace they have there is room.
        slow, its_score = _ranked(network, profiles, schedules, slowly=True)
        if slow.schedules and (not plan.schedules or (its_score or 0.0) > (score or 0.0)):
            plan, score = slow, its_score
    parted = {one.component for one in plan.schedules if profiles[one.job].is_for_parting}
    # Such a pace is too long for jobs that are apart, on purpose: nobody is to judge what it wins.
    told = [replace(one, gain_ns=0) if one.component in parted else one for one in plan.schedules]
    return replace(plan, schedules=tuple(told)), score


def _are_alike(profiles: Mapping[str, Profile]) -> bool:
    """Whether all of them may take as long as the slowest."""
    takes = [one.takes_ns or one.iteration_ns for one in profiles.values()]
    return max(takes) <= SLOWEST * min(takes)


def _ranked(
    network: Network, profiles: Mapping[str, Profile], schedules: Mapping[str, Schedule], *, slowly: bool
) -> tuple[dispatch.Plan, float | None]:
    problem = network.problem(profiles, slowly=slowly)
    headroom, measured = _paces(problem, profiles)
    lead_ns = round(dispatch.LEAD_S * SECOND_NS)
    running = dispatch.with_running_shifts(problem, schedules, time.time_ns() + lead_ns)
    arranged = arrange(running.problem, headroom=headroom, measured=measured)
    plan = arranged.plan(epoch_ns=time.time_ns() + lead_ns, since_ns=running.since_ns)
    best = arranged.ranking.best
    return plan, None if best is None else best.score


def _paces(problem: cc.Problem, profiles: Mapping[str, Profile]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Headroom of the jobs that are to be parted, and uncontrolled times of the others, about what the problem has."""
    headroom, measured = {}, {}
    route = problem.candidates[0].routes
    # No pace makes room for a burst between others that come more often than it lasts.
    most = (1 + LARGEST_HEADROOM) * FILLED
    fills = {link.id: filled(problem, link, most) for link in problem.links}
    for job in problem.jobs:
        known_ns, profile = job.iteration_ms * MS_NS, profiles[job.id]
        if profile.is_for_parting:
            needed = max(1 + ROOM, *(fills[link] / FILLED for link in route[job.id]))
            headroom[job.id] = min(LARGEST_HEADROOM, needed - 1)
        else:
            measured[job.id] = [time - profile.iteration_ns + known_ns for time in profile.times_ns]
    return headroom, measured
