"""Every answer that is timed is also checked: its score recomputed, and compared with what is proven elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from cassini_core import Job
from cassini_core.kernel.prepared_link import Evaluation, Int64Array, PreparedLink
from cassini_core.units import kbps_from_gbps, ms_from_ticks, ticks_from_ms

from .cases import Case

CLOSE = 1e-9
MAX_EVENTS = 4_000_000


class Answer(Protocol):
    """What is checked of an answer; fields as in ``cassini_core.kernel.prepared_link.LinkAnswer``."""

    @property
    def shift(self) -> Int64Array: ...
    @property
    def score_lower(self) -> float: ...
    @property
    def score_upper(self) -> float: ...
    @property
    def upper_bound(self) -> float: ...
    @property
    def optimal(self) -> bool: ...


class WrongAnswer(AssertionError):
    """A timed answer is not true."""


def score_on_circle(jobs: Sequence[Job], capacity_gbps: float, shifts_ms: Mapping[str, float]) -> float | None:
    """The score by laying out the whole unified circle; shares nothing with the kernel.

    Returns
    -------
    float or None
        None if the circle has more than ``MAX_EVENTS`` edges or 2**62 ticks.
    """
    periods = [ticks_from_ms(job.iteration_ms) for job in jobs]
    perimeter = math.lcm(*periods)
    if sum(2 * len(j.phases) * (perimeter // t) for j, t in zip(jobs, periods, strict=True)) > MAX_EVENTS:
        return None
    if perimeter >= 2**62:
        return None
    at, change, base = [], [], 0
    for job, period in zip(jobs, periods, strict=True):
        turns = np.arange(perimeter // period, dtype=np.int64) * period
        for phase in job.phases:
            start = (ticks_from_ms(phase.start_ms) + ticks_from_ms(shifts_ms[job.id])) % period
            length, rate = ticks_from_ms(phase.duration_ms), kbps_from_gbps(phase.gbps)
            # A phase that wraps over the end of the iteration is Up at time 0 of the circle.
            base += rate if start + length > period else 0
            at += [turns + start, (turns + start + length) % perimeter]
            change += [np.full(turns.size, rate), np.full(turns.size, -rate)]
            if start + length == period:
                # Its last end, folded to time 0, would be counted before its beginning.
                at[-1][at[-1] == 0] = perimeter
    return _mean_score(at, change, base, perimeter, kbps_from_gbps(capacity_gbps))


def _mean_score(at: list[np.ndarray], change: list[np.ndarray], base: int, perimeter: int, capacity: int) -> float:
    instants = np.concatenate(at) if at else np.empty(0, dtype=np.int64)
    order = np.argsort(instants, kind="stable")
    edges = np.concatenate([[0], instants[order], [perimeter]])
    level = base + np.concatenate([[0], np.cumsum(np.concatenate(change)[order] if change else np.empty(0, int))])
    excess = np.maximum(level - capacity, 0).astype(np.float64) @ np.diff(edges).astype(np.float64)
    return 1.0 - float(excess) / perimeter / capacity


def true_score(case: Case, shifts_ms: Mapping[str, float]) -> float:
    """Exact score of shifts, checked against the whole circle where that can be laid out.

    Beyond the limits of folding it is the certified lower bound.

    Raises
    ------
    WrongAnswer
        The circle scores otherwise.
    """
    problem = PreparedLink.from_jobs(case.jobs, case.capacity_gbps)
    shift = [ticks_from_ms(shifts_ms[job_id]) for job_id in problem.job_ids]
    found = problem.evaluate(shift, resolution_ms=case.resolution_ms, with_slack=False)
    _check_on_circle(case, shifts_ms, found)
    return found.score_lower


def check_answer(case: Case, problem: PreparedLink, answer: Answer) -> None:
    """Raise unless the answer's score is that of its shifts, its bound holds, and a proven optimum is met.

    Raises
    ------
    WrongAnswer
        With the case and both numbers.
    """
    found = problem.evaluate(answer.shift, resolution_ms=case.resolution_ms, with_slack=False)
    _expect(case, "score of the shifts", answer.score_lower, found.score_lower)
    if not answer.score_lower <= answer.upper_bound + CLOSE:
        raise WrongAnswer(f"{case.name}: score {answer.score_lower!r} above its bound {answer.upper_bound!r}")
    if answer.optimal and case.optimal_score is not None:
        _expect(case, "optimum", answer.score_lower, case.optimal_score)
    if case.optimal_score is not None and answer.upper_bound < case.optimal_score - CLOSE:
        raise WrongAnswer(f"{case.name}: bound {answer.upper_bound!r} below the optimum {case.optimal_score!r}")
    shifts = {j: ms_from_ticks(s) for j, s in zip(problem.job_ids, answer.shift.tolist(), strict=True)}
    _check_on_circle(case, shifts, found)


def _check_on_circle(case: Case, shifts_ms: Mapping[str, float], found: Evaluation) -> None:
    # Free jobs are scored as independent phases, which no layout shows.
    laid_out = None if found.free.any() else score_on_circle(case.jobs, case.capacity_gbps, shifts_ms)
    if laid_out is not None and not found.score_lower - CLOSE <= laid_out <= found.score_upper + CLOSE:
        raise WrongAnswer(
            f"{case.name}: the circle scores {laid_out!r}, outside [{found.score_lower!r}, {found.score_upper!r}]"
        )


def _expect(case: Case, what: str, got: float, expected: float) -> None:
    if abs(got - expected) > CLOSE:
        raise WrongAnswer(f"{case.name}: expected the {what} {expected!r}, got {got!r}")
