"""Schedules of simulated jobs on one link, as a scheduler would make them: profile, headroom, harmonize, shifts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

import cassini_core as cc
from cassini_agent.control.headroom import cheapest_headroom, loss_ns, measured_jitter
from cassini_agent.control.phase import late_reach_ns
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule
from cassini_core.results import Harmonized

from .job import JobModel
from .simulated_time import UNIX_NS

__all__ = ["LINK_GBPS", "schedules"]

LINK_GBPS = 50.0
PROFILE = 512
"""Iterations of a job alone that its headroom is taken from."""

TOLERANCE = 0.1
"""By how much a pace may exceed what a job needs by itself."""


def schedules(models: Sequence[JobModel], seed: int, *, headroom: bool = True) -> list[Schedule]:
    """A schedule per job, on a link that each fills when it sends; ``headroom=False`` for paces as short as can be."""
    jitters = [measured_jitter(_profile_ms(model, seed * 1000 + 500 + i)) for i, model in enumerate(models)]
    needed = [jitter.iteration_ns for jitter in jitters]
    if headroom:
        longer = [1.01 * natural for natural in needed]
        first = _solved(models, longer)
        gain = max(0.0, first.score - _at_random(_jobs(models, needed)))
        reach = late_reach_ns(round(first.hold_ms * MS_NS)) / MS_NS
        for i, jitter in enumerate(jitters):
            loss = loss_ns(round(needed[i] * MS_NS), round(gain * needed[i] * MS_NS)) / MS_NS
            needed[i] += cheapest_headroom(jitter.deviation_ns, reach, loss).headroom_ns
    solution = _solved(models, needed)
    paced = _harmonized(models, needed)
    at_random = _at_random(paced.jobs)
    shifts, slack = solution.shifts_ms, solution.slack_ms
    hold_ns = math.floor(solution.hold_ms * MS_NS)
    made = []
    for model, jitter, job in zip(models, jitters, paced.jobs, strict=True):
        pace = round(job.iteration_ms * MS_NS)
        natural = min(round(jitter.iteration_ns * MS_NS), pace)
        made.append(
            Schedule(
                job=model.name,
                component="component",
                version=1,
                epoch_ns=UNIX_NS,
                pace_ns=pace,
                shift_ns=round(shifts.get(model.name, 0.0) * MS_NS) % pace,
                iteration_ns=natural,
                hold_ns=min(hold_ns, pace // 2),
                slack_ns=min(max(hold_ns, math.floor(slack.get(model.name, 0.0) * MS_NS)), pace // 2),
                gain_ns=round(max(0.0, solution.score - at_random) * natural),
                expires_ns=UNIX_NS + 3600 * SECOND_NS,
            )
        )
    return made


def _profile_ms(model: JobModel, seed: int) -> list[float]:
    return list(islice(model.alone_ms(seed), PROFILE))


def _jobs(models: Sequence[JobModel], iteration_ms: Sequence[float]) -> list[cc.Job]:
    return [
        cc.Job(model.name, time, [cc.Phase(model.compute_ms, model.communicate_ms, LINK_GBPS)])
        for model, time in zip(models, iteration_ms, strict=True)
    ]


def _solved(models: Sequence[JobModel], iteration_ms: Sequence[float]) -> cc.LinkSolution:
    return cc.solve_link(_harmonized(models, iteration_ms).jobs, LINK_GBPS)


def _harmonized(models: Sequence[JobModel], iteration_ms: Sequence[float]) -> Harmonized:
    # Headroom of equal jobs differs by some percent with their profiles.
    return cc.harmonize(_jobs(models, iteration_ms), TOLERANCE, capacity_gbps=LINK_GBPS)


def _at_random(jobs: Sequence[cc.Job]) -> float:
    """Expected score at random phases: where no shift can be held, the kernel takes all for free."""
    return cc.solve_link(jobs, LINK_GBPS, resolution_ms=1e6).score
