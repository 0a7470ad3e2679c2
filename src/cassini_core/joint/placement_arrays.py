"""What :mod:`cassini_core.joint.placement_loops` does, in whole arrays: the same arguments, the same bytes.

As fast as compiled loops where a round is small, and what is there without Numba. Evaluations are found in a dictionary
here (:mod:`cassini_core.joint.known_evaluations`).
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array, Rows
from ..units import SCORE_TOLERANCE
from .placement_loops import UNKNOWN

__all__ = ["differ", "judge", "per_job", "stand"]


def stand(
    links: Int64Array,
    shift: Int64Array,
    offset: Int64Array,
    job: Int64Array,
    period: Int64Array,
    expected: Int64Array,
    expected_number: Int64Array,
    to_number: Int64Array,
    to_other: Int64Array,
    to_first: Int64Array,
    to_relative: Int64Array,
) -> int:
    to_first[0] = 0
    if not len(links):
        return 0
    rows = Rows.of(offset, links)
    on_link = job[rows.at]
    ticks = shift[on_link]
    relative = (ticks - np.repeat(ticks[rows.first], rows.size)) % period[on_link]
    apart = np.logical_or.reduceat(relative != expected[rows.at], rows.first)
    to_number[:] = np.where(apart, UNKNOWN, expected_number[links])
    other = np.flatnonzero(apart)
    to_other[: len(other)] = other
    np.cumsum(rows.size[other], out=to_first[1 : len(other) + 1])
    to_relative[: to_first[len(other)]] = relative[np.repeat(apart, rows.size)]
    return len(other)


def judge(
    links: Int64Array,
    number: Int64Array,
    shift: Int64Array,
    offset: Int64Array,
    job: Int64Array,
    period: Int64Array,
    bound: Float64Array,
    held: BoolArray,
    known_lower: Float64Array,
    known_upper: Float64Array,
    known_hold: Int64Array,
    known_first: Int64Array,
    known_slack: Int64Array,
    to_lower: Float64Array,
    to_job: Int64Array,
    to_shift: Int64Array,
    to_slack: Int64Array,
    to_free: BoolArray,
) -> tuple[int, int, bool, bool, float]:
    rows = Rows.of(offset, links)
    on_link = job[rows.at]
    lower = to_lower[:] = known_lower[number]
    slack = period // 2
    np.minimum.at(slack, on_link, known_slack[Rows.of(known_first, number).at])
    is_held, shares = np.zeros((2, len(period)), dtype=np.bool_)
    is_held[on_link[held[rows.at]]] = True
    shares[on_link] = True
    jobs = np.flatnonzero(shares)
    count = len(jobs)
    to_job[:count], to_shift[:count], to_slack[:count], to_free[:count] = jobs, shift[jobs], slack[jobs], ~is_held[jobs]
    return (
        count,
        int(known_hold[number].min()),
        bool((known_upper[number] <= lower).all()),
        bool((lower >= bound[links] - SCORE_TOLERANCE).all()),
        float((slack[jobs] / period[jobs]).min()),
    )


def differ(
    links: Int64Array,
    score: Float64Array,
    jobs: Int64Array,
    shift: Int64Array,
    slack: Int64Array,
    free: BoolArray,
    base_score: Float64Array,
    base_shares: BoolArray,
    base_shift: Int64Array,
    base_slack: Int64Array,
    base_free: BoolArray,
    to_link_at: Int64Array,
    to_gone: Int64Array,
    to_come: Int64Array,
    to_job_at: Int64Array,
) -> tuple[int, int, int, int]:
    shares = np.zeros_like(base_shares)
    shares[jobs] = True
    others = (base_shift[jobs] != shift) | (base_slack[jobs] != slack) | (base_free[jobs] != free)
    some = base_score[links] != score, base_shares & ~shares, shares & ~base_shares, others
    counts = []
    for where, to in zip(some, (to_link_at, to_gone, to_come, to_job_at), strict=True):
        found = where.nonzero()[0]
        to[: len(found)] = found
        counts.append(len(found))
    n_links, n_gone, n_come, n_jobs = counts
    return n_links, n_gone, n_come, n_jobs


def per_job(
    links: Int64Array,
    score: Float64Array,
    offset: Int64Array,
    job: Int64Array,
    narrow_job: Int64Array,
    narrow_score: Float64Array,
    n_placed: int,
    to_worst: Float64Array,
) -> float:
    to_worst[:] = 1.0
    rows = Rows.of(offset, links)
    np.minimum.at(to_worst, job[rows.at], np.repeat(score, rows.size))
    np.minimum.at(to_worst, narrow_job, narrow_score)
    below = to_worst[to_worst < 1.0]  # all others are at 1, as are the jobs without a shared or narrow link
    return math.fsum([*below.tolist(), float(n_placed - len(below))]) / n_placed
