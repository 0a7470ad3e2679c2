"""Phases on a circle of whole nanoseconds: distance from a grid, and by how much a job may be late or turn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..schedule import Schedule

__all__ = ["late_reach_ns", "lateness", "phase_error", "turns", "wrap"]


def wrap(value_ns: int, turn_ns: int) -> int:
    """``value_ns`` modulo ``turn_ns``, in (-turn/2, turn/2]."""
    rest = value_ns % turn_ns
    return rest - turn_ns if 2 * rest > turn_ns else rest


def phase_error(start_ns: int, schedule: Schedule) -> int:
    """Distance of a start from the nearest grid point, in (-pace/2, pace/2]: negative is early."""
    return wrap(start_ns - schedule.epoch_ns - schedule.shift_ns, schedule.pace_ns)


def lateness(start_ns: int, schedule: Schedule) -> int:
    """Time since the last grid point, in [0, pace)."""
    return (start_ns - schedule.epoch_ns - schedule.shift_ns) % schedule.pace_ns


def late_reach_ns(hold_ns: int) -> int:
    """How late a job's starts may be, ns.

    All jobs may be anywhere within plus or minus the hold. Only relative phase matters, so anywhere from 0 to twice the
    hold does as well; and jobs that wait where they are early are only ever late.
    """
    return 2 * hold_ns


def turns(paces_ns: Sequence[int]) -> list[int]:
    """For each job the time by which it may move without any change to how the jobs meet (F1 of the method).

    ``R_j`` is the least common multiple over the other jobs ``k`` of ``gcd(P_j, P_k)``, and ``P_j`` for a job alone:
    two jobs meet only modulo the greatest common divisor of their paces.
    """
    found = []
    for j, pace in enumerate(paces_ns):
        shared = [math.gcd(pace, other) for k, other in enumerate(paces_ns) if k != j]
        found.append(math.lcm(*shared) if shared else pace)
    return found
