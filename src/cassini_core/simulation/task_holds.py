"""What holds the tasks of a scheduler's decision: their grids, and by how much their paces make up for jitter."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from statistics import fmean
from typing import Literal

from cassini_agent.control.headroom import cheapest_headroom, loss_ns
from cassini_agent.control.phase import late_reach_ns
from cassini_agent.schedule import MS_NS

from ..model import Job
from ..ranking.holding import HeldComponent
from ..schedulers.augmented import Decision
from .holding import AgentHold, Grid, Hold
from .jitter import factors

__all__ = ["LEAST_MARGIN", "Held", "Holding", "holds_of"]

Holding = Literal["agent", "grid", "none"]

LEAST_MARGIN = 0.002
"""Of the iteration time, also without jitter: what others hold a task up by is made good, 5 % in 25 iterations."""

_LATE = 0.05
"""Of the iteration time: a start that is later takes the next point (the paper, section 5.7)."""

_SAME_MS = 1e-3
"""Grids that differ by less are one: ranked shifts are whole nanoseconds, and times of a day have rounding errors."""

_PROFILE = 512
"""Iterations that a margin is taken from, as the agent's are from measured ones."""


@dataclass(frozen=True, slots=True)
class Held:
    """How a task is held.

    Attributes
    ----------
    hold : Hold
    grid : Grid
        The hold's.
    shift_ms, pace_ms : float
        Its shift and its pace as schedulers have them, whose paces are without margin, ms.
    """

    hold: Hold
    grid: Grid
    shift_ms: float
    pace_ms: float


def holds_of(
    decision: Decision,
    profiles: Mapping[str, Job],
    before: Mapping[str, Held],
    now_ms: float,
    *,
    holding: Holding,
    margin: float | None,
    jitter: str,
    jitter_share: float,
) -> dict[str, Held]:
    """By task what is to hold it from now on; none for a task that runs free.

    Parameters
    ----------
    decision : Decision
    profiles : mapping of str to Job
        Of the tasks that it places.
    before : mapping of str to Held
        Of those that run where they are and are held. Who keeps shift and pace is held as it is.
    now_ms : float
    holding, margin, jitter, jitter_share
        As in ``ClusterOptions``.

    Notes
    -----
    A component is held if it is worth it (:mod:`cassini_core.ranking.holding`) and its paces, margins included, cost
    its tasks less than interleaving saves them.
    """
    found: dict[str, Held] = {}
    for component in decision.held if holding != "none" else ():
        if component.why_not is not None:
            continue
        alone_ms = {task: profiles[task].iteration_ms for task in component.jobs}
        longer = 1.0 + (_margin(component, profiles, jitter, jitter_share) if margin is None else margin)
        pace_ms = {task: decision.paces_ms.get(task, alone) * longer for task, alone in alone_ms.items()}
        if not component.is_worth(pace_ms, alone_ms):
            continue
        begin_ms = _begin_ms(decision, pace_ms, longer, before, now_ms)
        for task, pace in pace_ms.items():
            shift_ms, known = decision.shifts_ms[task], before.get(task)
            grid = Grid(begin_ms + shift_ms * longer, pace, _LATE * alone_ms[task])
            told_ms = (shift_ms + begin_ms / longer) % (pace / longer)
            stays = known is not None and _is_same_pace(known.pace_ms, pace / longer) and _is_same(known.grid, grid)
            if known is not None and stays:
                grid, told_ms = known.grid, known.shift_ms
            hold: Hold = grid
            if holding == "agent":
                hold_ms, slack_ms = component.hold_ms, decision.slack_ms[task]
                hold = AgentHold(grid, alone_ms[task], hold_ms, slack_ms, component.gain_ms[task])
            made = Held(hold, grid, told_ms, pace / longer)
            found[task] = known if known is not None and stays and _says(known) == _says(made) else made
    return found


def _begin_ms(
    decision: Decision, pace_ms: Mapping[str, float], longer: float, before: Mapping[str, Held], now_ms: float
) -> float:
    """When the pattern of a component begins: with other paces, where those that run and are not moved have come to."""
    running = [task for task in pace_ms if task in before]
    stay = [task for task in running if _apart_ms(decision.shifts_ms[task], before[task]) < _SAME_MS] or running
    if not stay:
        return 0.0
    slowest = max(stay, key=lambda task: (before[task].grid.pace_ms, task))
    grid, told_ms = before[slowest].grid, before[slowest].pace_ms
    if _is_same_pace(grid.pace_ms, pace_ms[slowest]) and _is_same_pace(told_ms, pace_ms[slowest] / longer):
        return 0.0
    passed = math.ceil((now_ms - grid.at_ms) / grid.pace_ms)
    return grid.at_ms + passed * grid.pace_ms - decision.shifts_ms[slowest] * longer


def _apart_ms(shift_ms: float, before: Held) -> float:
    return abs(math.remainder(shift_ms - before.shift_ms, before.pace_ms))


def _says(held: Held) -> tuple[object, ...]:
    """All that the one who holds a task is told."""
    hold = held.hold
    return (hold,) if isinstance(hold, Grid) else (hold.grid, hold.hold_ms, hold.slack_ms, hold.gain_ms)


def _is_same(one: Grid, other: Grid) -> bool:
    apart_ms = abs(math.remainder(one.at_ms - other.at_ms, other.pace_ms))
    return _is_same_pace(one.pace_ms, other.pace_ms) and apart_ms < _SAME_MS


def _is_same_pace(one_ms: float, other_ms: float) -> bool:
    return abs(one_ms - other_ms) < 1e-9 * one_ms


def _margin(component: HeldComponent, profiles: Mapping[str, Job], jitter: str, jitter_share: float) -> float:
    """By how much all paces of a component are longer, relative: one ratio, so that they stay in step."""
    reach_ns = late_reach_ns(round(component.hold_ms * MS_NS))
    found = LEAST_MARGIN
    for task in component.jobs:
        job = profiles[task]
        computing_ms = job.iteration_ms - sum(phase.duration_ms for phase in job.phases)
        spread = jitter_share * max(computing_ms, 0.0) * MS_NS / reach_ns
        iteration_ns = round(job.iteration_ms * MS_NS)
        loss = loss_ns(iteration_ns, round(component.gain_ms[task] * MS_NS)) / reach_ns
        found = max(found, _in_reaches(jitter, _rounded(spread), _rounded(loss)) * reach_ns / iteration_ns)
    return found


def _rounded(value: float) -> float:
    """To two digits, so that few margins are computed."""
    return float(f"{value:.1e}")


@functools.cache
def _in_reaches(kind: str, spread: float, loss: float) -> float:
    """The agent's margin for jitter of this standard deviation; all as parts of how late a job may be."""
    if spread == 0.0:
        return 0.0
    unit = 1e6
    drawn = [(factor - 1.0) * 20.0 for factor in islice(factors(kind, 0.05, 0), _PROFILE)]
    mean = fmean(drawn)
    deviation = [(one - mean) * spread * unit for one in drawn]
    return cheapest_headroom(deviation, unit, loss * unit).headroom_ns / unit
