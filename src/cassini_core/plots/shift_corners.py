"""Where the score of a link has corners when one job is shifted and the others are held, and what it is there.

The excess is piecewise linear in a shift, with corners where edges meet (docs/method.md, F2). So the score is computed
at all corners, and what lies between them is a straight line.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array
from ..kernel.link_arrays import LinkArrays
from ..kernel.prepared_link import PreparedLink
from ..links.evaluation_cost import link_effort
from ..links.folding import held_repeats
from ..units import ticks_from_ms

__all__ = ["ShiftCorners", "shift_corners"]

MOST_CORNERS = 2**13
"""Of more corners so many are taken, and the line between them is an approximation; of costly links fewer."""

INEXACT_CORNERS = 2**8
"""Corners of a link that has only bounds at the chosen shift: there is no exact line to be had."""

MOST_NODES = 2**24
"""What all evaluations together may cost, by the estimate from above: mostly some seconds, a minute at worst."""

MOST_MEETINGS = 2**22
"""Meetings of edges that are looked for at most; beyond, shifts are taken at equal distances."""


class ShiftCorners(NamedTuple):
    """The score over the shift of one job.

    Attributes
    ----------
    shift : int64 array, shape (n,)
        Ticks, ascending from 0 to ``repeats``: by how much the job starts later than its partner.
    score : float64 array, shape (n,)
    chosen : int
        Which of them is the shift that was given.
    is_free : bool
        No shift of the job matters (F1b); the score is that at a random one.
    is_exact : bool
        No corner is missing and no score is a lower bound only.
    """

    shift: Int64Array
    score: Float64Array
    chosen: int
    is_free: bool
    is_exact: bool


def shift_corners(
    link: PreparedLink, shifts: Int64Array, partner: int, turned: int, resolution_ms: float
) -> ShiftCorners:
    """The corners of the score over the shift of job ``turned``, counted from the shift of job ``partner``.

    A call of the kernel for each corner, at most 8192, and fewer where one takes long: mostly some seconds in all, a
    minute where thousands of corners are costly.
    """
    periods = link.period.tolist()
    held = held_repeats(Counter(periods), ticks_from_ms(resolution_ms))
    is_free = periods[turned] not in held
    # Free jobs are scored at a random phase: their edges meet nothing.
    others = [at for at, period in enumerate(periods) if at != turned and not is_free and period in held]
    repeats = math.lcm(*(math.gcd(periods[turned], periods[at]) for at in others)) if others else periods[turned]
    chosen = int(shifts[turned] - shifts[partner]) % repeats
    meetings, is_exact = _meetings(link, shifts, turned, others, repeats)
    meetings = np.unique((meetings - shifts[partner]) % repeats)
    step = -(-len(meetings) // _most_corners(link, shifts, resolution_ms))
    if step > 1:
        meetings, is_exact = meetings[::step], False
    corners = np.unique(np.concatenate([meetings, np.array([0, chosen])]))
    score = np.empty(len(corners))
    moved = shifts.copy()
    for at, corner in enumerate(corners.tolist()):
        moved[turned] = (shifts[partner] + corner) % periods[turned]
        found = link.evaluate(moved, resolution_ms=resolution_ms, with_slack=False)
        score[at] = found.score_lower
        is_exact = is_exact and found.score_lower == found.score_upper
    here = int(np.searchsorted(corners, chosen))
    return ShiftCorners(np.append(corners, repeats), np.append(score, score[0]), here, is_free, is_exact)


def _most_corners(link: PreparedLink, shifts: Int64Array, resolution_ms: float) -> int:
    """How often the link may be evaluated."""
    found = link.evaluate(shifts, resolution_ms=resolution_ms, with_slack=False)
    if found.score_lower < found.score_upper:
        return INEXACT_CORNERS
    columns = link.period, link.phase_offset, link.phase_start, link.phase_length, link.phase_rate
    arrays = LinkArrays(np.array([0, len(link.period)]), *columns, np.array([link.capacity]))
    nodes = float(link_effort(arrays, np.ones(1, dtype=np.int64), ticks_from_ms(resolution_ms)).nodes[0])
    return int(min(MOST_CORNERS, max(1, MOST_NODES / max(1.0, nodes))))


def _meetings(
    link: PreparedLink, shifts: Int64Array, turned: int, others: list[int], repeats: int
) -> tuple[Int64Array, bool]:
    """Shifts of job ``turned`` at which one of its edges meets one of another job, ticks, and whether these are all."""
    own = _edges(link, turned)
    periods = link.period.tolist()
    places = [np.zeros(0, dtype=np.int64)]
    n_meetings = 0
    for other in others:
        gcd = math.gcd(periods[turned], periods[other])
        edges = (_edges(link, other) + shifts[other]) % gcd
        n_meetings += len(own) * len(edges) * (repeats // gcd)
        if n_meetings > MOST_MEETINGS:
            return np.linspace(0, repeats, MOST_CORNERS, endpoint=False).astype(np.int64), False
        first = np.unique((edges[:, None] - own[None, :]) % gcd)
        places.append((first[:, None] + gcd * np.arange(repeats // gcd, dtype=np.int64)[None, :]).ravel())
    return np.unique(np.concatenate(places)), True


def _edges(link: PreparedLink, job: int) -> Int64Array:
    """Where a job's demand changes, ticks into its iteration."""
    phases = slice(link.phase_offset[job], link.phase_offset[job + 1])
    start = link.phase_start[phases]
    return np.unique(np.concatenate([start, start + link.phase_length[phases]]) % link.period[job])
