"""Where jobs run by the schedules that they have: a ranking that is told so moves few of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import cassini_core as cc

from ..schedule import MS_NS, Schedule

__all__ = ["Running", "with_running_shifts"]


@dataclass(frozen=True, slots=True)
class Running:
    """A problem that says where its jobs run.

    Attributes
    ----------
    problem : Problem
        With ``running_shifts_ms``.
    since_ns : int
        The instant that these count from, on the scheduler's clock: to be handed to ``plan`` or ``apply``.
    """

    problem: cc.Problem
    since_ns: int


def with_running_shifts(problem: cc.Problem, schedules: Mapping[str, Schedule], since_ns: int) -> Running:
    """The problem with the shifts at which jobs are held.

    Parameters
    ----------
    problem : Problem
    schedules : mapping of str to Schedule
        What jobs have, by id, on the scheduler's clock. Those that have expired say nothing.
    since_ns : int
        An instant near to when the answer will take effect: from then on paces may be others.

    Notes
    -----
    A job that is held starts next so long after ``since_ns`` as its shift says.
    """
    running = {}
    for job in problem.jobs:
        one = schedules.get(job.id)
        if one is not None and one.expires_ns > since_ns:
            running[job.id] = (one.epoch_ns + one.shift_ns - since_ns) % one.pace_ns / MS_NS
    return Running(cc.Problem(problem.jobs, problem.links, problem.candidates, running), since_ns)
