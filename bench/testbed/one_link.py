"""Jobs on one link: what they take side by side, let be or held by the product's agent at what it arranged.

The whole of the product is in between: ``dispatch.arrange`` finds margins, common paces and shifts from profiles and
from iteration times measured alone; the agent's controller holds them. Nothing is told to it that it would not know.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.schedule import MS_NS, Schedule
from cassini_core.arrays import Float64Array
from cassini_core.simulation.holding import AgentHold, Grid, Hold
from cassini_core.simulation.jitter import factors
from cassini_core.simulation.network import NetworkSimulation
from cassini_core.simulation.records import Loads

__all__ = ["HOLDINGS", "LINK", "Course", "Holding", "arranged", "run_beside"]

LINK = "link"

Holding = Literal["none", "agent", "paper's rule"]
HOLDINGS: tuple[Holding, ...] = get_args(Holding)
"""``none``: jobs begin at random phases and run freely. ``agent``: the agent's controller. ``paper's rule``: the same
paces and shifts, corrected where a start is late by more than 5 % of the iteration time (section 5.7)."""

_LATE = 0.05  # the paper, section 5.7
_MEASURED = 512
"""Iterations alone that margins are taken from."""

_KIND = "lognormal"
"""Shape of jitter: computing is late by more than it is early. Published step times are too few to show one."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """How a job fared after the warm-up.

    Attributes
    ----------
    iteration_ms : float64 array
        Of each iteration, what it waited included.
    communication_ms : float64 array
        Of each iteration what is left of it without waiting and computing.
    adjusted_per_minute : float
    loads : Loads
        What it sent on the link, from the beginning.
    """

    iteration_ms: Float64Array
    communication_ms: Float64Array
    adjusted_per_minute: float
    loads: Loads


def arranged(
    jobs: Sequence[cc.Job], capacity_gbps: float, jitter_share: float, seed: int, longer: float = 1.0
) -> dispatch.Plan:
    """What the product arranges for jobs on one link: schedules of those that are held, and why others are not.

    With ``longer`` it is told iteration times so many times as long: to see what longer paces would do.
    """
    jobs = [cc.Job(job.id, round(job.iteration_ms * longer, 6), job.phases) for job in jobs]
    candidate = cc.Candidate("beside", {job.id: {LINK: 1.0} for job in jobs})
    problem = cc.Problem(jobs, [cc.Link(LINK, capacity_gbps)], [candidate])
    measured = {}
    for job in jobs:
        drawn = itertools.islice(_factors(job, jitter_share, f"alone, {seed}"), _MEASURED)
        down_ms = _down_ms(job)
        measured[job.id] = [round((job.iteration_ms + down_ms * (f - 1)) * MS_NS) for f in drawn]
    return dispatch.arrange(problem, measured=measured).plan(epoch_ns=0)


def run_beside(
    jobs: Sequence[cc.Job],
    holding: Holding,
    *,
    capacity_gbps: float,
    jitter_share: float,
    seed: int,
    seconds: float,
    warm_s: float = 30.0,
    longer: float = 1.0,
    phases_ms: Mapping[str, float] | None = None,
) -> dict[str, Course]:
    """Run jobs side by side.

    Parameters
    ----------
    jobs : sequence of Job
    holding : {"none", "agent", "paper's rule"}
        See :data:`HOLDINGS`.
    capacity_gbps : float
        Of the link that all share.
    jitter_share : float
        Standard deviation of computing times, relative.
    seed : int
        Of phases and jitter.
    seconds, warm_s : float
        Time that is simulated; from when on it counts.
    longer : float
        See :func:`arranged`.
    phases_ms : mapping of str to float, optional
        When each begins; else at random within its iteration time.
    """
    rng = random.Random(f"phases, {seed}")
    capacities = {LINK: capacity_gbps, **{f"{LINK} of {job.id}": 1e6 for job in jobs}}  # the latter to see each load
    simulation = NetworkSimulation(capacities, watched=list(capacities))
    holds: Mapping[str, Hold] = {}
    if holding != "none":
        holds = _holds(arranged(jobs, capacity_gbps, jitter_share, seed, longer).schedules, holding)
    for job in jobs:
        begin_ms = rng.random() * job.iteration_ms
        simulation.add(
            job,
            {LINK: 1.0, f"{LINK} of {job.id}": 1.0},
            start_ms=begin_ms if phases_ms is None else phases_ms[job.id],
            hold=holds.get(job.id),
            factors=_factors(job, jitter_share, f"{seed}"),
        )
    simulation.run(1e3 * warm_s)
    before = simulation.adjusted()
    simulation.run(1e3 * seconds)
    adjusted, loads, iterations = simulation.adjusted(), simulation.take_loads(), simulation.take_iterations()
    found = {}
    for job in jobs:
        one = iterations[job.id]
        drawn = itertools.islice(_factors(job, jitter_share, f"{seed}"), len(one.end_ms))
        computed_ms = _down_ms(job) * np.fromiter(drawn, dtype=np.float64)
        counts = one.came_ms >= 1e3 * warm_s
        found[job.id] = Course(
            one.length_ms[counts],
            (one.end_ms - one.start_ms - computed_ms)[counts],
            60.0 * (adjusted[job.id] - before[job.id]) / (seconds - warm_s),
            loads[f"{LINK} of {job.id}"],
        )
    return found


def _holds(schedules: Sequence[Schedule], holding: Holding) -> dict[str, Hold]:
    found: dict[str, Hold] = {}
    for one in schedules:
        at_ms, pace_ms, iteration_ms = one.shift_ns / MS_NS, one.pace_ns / MS_NS, one.iteration_ns / MS_NS
        if holding == "agent":
            found[one.job] = AgentHold(
                Grid(at_ms, pace_ms),
                iteration_ms,
                one.hold_ns / MS_NS,
                one.slack_ns / MS_NS,
                gain_ms=one.gain_ns / MS_NS,
            )
        else:
            found[one.job] = Grid(at_ms, pace_ms, _LATE * iteration_ms)
    return found


def _factors(job: cc.Job, share: float, what: str) -> Iterator[float]:
    return factors(_KIND, share, zlib.crc32(f"{job.id}, {what}".encode()))


def _down_ms(job: cc.Job) -> float:
    """All that the simulation stretches by its factors: the iteration without its phases, which do not overlap here."""
    return job.iteration_ms - sum(phase.duration_ms for phase in job.phases)
