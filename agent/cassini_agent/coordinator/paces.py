"""Paces of a component: one exact ratio for all, and what becomes of the shifts.

If each job added its own headroom, their paces would differ a little and their relative phase would be gone within a
few iterations. So the ratio of the paces stays what the ranking made it, and one base carries all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..schedule import Schedule

__all__ = ["common_paces", "from_clear_cut", "ratio_of", "shift_at"]


def ratio_of(paces_ns: Sequence[int]) -> list[int]:
    """The paces in units of their greatest common divisor."""
    base = math.gcd(*paces_ns)
    return [pace // base for pace in paces_ns]


def common_paces(needed: Sequence[int], ratio: Sequence[int]) -> list[int]:
    """The least paces of this ratio that give each job what it needs, ns."""
    base = max(-(-need // count) for need, count in zip(needed, ratio, strict=True))
    return [count * base for count in ratio]


def shift_at(pace_ns: int, schedule: Schedule, turn_ns: int, sends_ns: int) -> int:
    """The shift of a job in the pattern that it is in, at another pace of the same ratio, ns.

    What stays is when it begins to communicate, from the beginning of the pattern on: so what is added to all paces is
    added between the last communication of a pattern and the first of the next. None comes nearer to another where each
    communicates once per iteration, or the pattern begins where none does (``from_clear_cut``). Whole turns, which are
    iterations of others, get longer with the paces.

    Parameters
    ----------
    pace_ns : int
    schedule : Schedule
    turn_ns : int
        By how much the job may turn at the pace of its schedule (``control.phase.turns``).
    sends_ns : int
        From the start of its iteration to that of its communication.
    """
    whole, rest = divmod((schedule.shift_ns + sends_ns) % schedule.pace_ns, turn_ns)
    return (whole * (turn_ns * pace_ns // schedule.pace_ns) + rest - sends_ns) % pace_ns


def from_clear_cut(
    schedules: Mapping[str, Schedule], sending_ns: Mapping[str, tuple[int, int | None]]
) -> tuple[dict[str, Schedule], bool]:
    """The pattern of jobs of one pace from where none is between its first communication and its last.

    There iterations may get longer, and nobody comes nearer to another, however often each communicates in between.

    Parameters
    ----------
    schedules : mapping of str to Schedule
        On one epoch.
    sending_ns : mapping of str to (int, int or None)
        ``JobStatus.sending_ns`` of each.

    Returns
    -------
    dict of str to Schedule
        With shifts that count from there; as they were, where there is no such instant.
    bool
        Whether there is one.
    """
    spans = []
    for job, schedule in schedules.items():
        begin, end = sending_ns[job]
        lasts = schedule.pace_ns if end is None or end < begin else end - begin
        spans.append(((schedule.shift_ns + begin) % schedule.pace_ns, lasts, schedule.pace_ns))
    cuts = [0, *(at for at, _, _ in spans)]
    cut = next((c for c in cuts if all((at - c) % pace + lasts <= pace for at, lasts, pace in spans)), None)
    moved = {job: replace(one, shift_ns=(one.shift_ns - (cut or 0)) % one.pace_ns) for job, one in schedules.items()}
    return moved, cut is not None
