"""One link: the best shifts of the jobs that share it, and the score of given shifts.

Milliseconds and Gbit/s. :mod:`cassini_core.kernel.prepared_link` is the same in the kernel's units, for callers that
solve many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Int64Array
from ..checks import number
from ..choices import Method
from ..errors import LimitError, refusal, shown
from ..kernel.prepared_link import (
    DEFAULT_RESOLUTION_MS,
    DEFAULT_SLACK_TOLERANCE,
    LinkAnswer,
    PreparedLink,
)
from ..model import Job, Link, capacity_of
from ..node_budget import DEFAULT_NODE_LIMIT
from ..results import LinkSolution
from ..units import SCORE_TOLERANCE, ms_from_ticks, ticks_from_ms

__all__ = ["score_bounds", "score_link", "solve_link"]


def solve_link(
    jobs: Sequence[Job],
    capacity_gbps: float | Link,
    *,
    method: Method = "exact",
    angles: int = 72,
    resolution_ms: float = DEFAULT_RESOLUTION_MS,
    slack_tolerance: float = DEFAULT_SLACK_TOLERANCE,
    node_limit: int | None = DEFAULT_NODE_LIMIT,
    deadline_s: float | None = None,
    multipliers: Mapping[str, float] | None = None,
) -> LinkSolution:
    """Best time-shifts of the jobs on one link, how well they interleave, and the proof.

    Minimises the mean of ``(sum_j b_j(t - s_j) - C)+`` over the unified circle (Table 1 of the paper), by default
    exactly and in continuous time.

    Parameters
    ----------
    jobs : sequence of Job
        At least one, ids unique, at most 1024.
    capacity_gbps : float or Link
        Capacity ``C``, Gbit/s, or the link that has it.
    method : {"exact", "angles"}
        ``"angles"`` is the paper's grid of rotation angles.
    angles : int
        ``|A|`` of ``"angles"``; 72 is the paper's 5 degrees.
    resolution_ms : float
        How precisely a shift can be held, ms. A job whose demand on this link repeats within twice that is free: scored
        at a random phase (F1b). 0 turns this off.
    slack_tolerance : float
        How much the score may drop within ``slack_ms`` and ``hold_ms`` (F5).
    node_limit : int or None
        Search nodes; the answer is reproducible. None: no limit.
    deadline_s : float or None
        Seconds from the call; answers are valid but not reproducible.
    multipliers : mapping of str to float, optional
        Job id to the factor its demand is scaled by.

    Returns
    -------
    LinkSolution

    Raises
    ------
    InputError
        An argument is wrong.
    KernelError
        A defect.
    MemoryError
        There is not enough memory; the process is as it was.

    Notes
    -----
    Cost is exponential in the number of jobs at worst and bounded by the limits; two jobs with one phase each take
    microseconds. Releases the GIL. A long search is interrupted by Ctrl-C within a second.

    Examples
    --------
    >>> import cassini_core as cc
    >>> a = cc.Job("a", 40, [cc.Phase(0, 20, 50)])
    >>> b = cc.Job("b", 40, [cc.Phase(0, 20, 50)])
    >>> solution = cc.solve_link([a, b], cc.Link("up", 50))
    >>> solution.score, solution.optimal, solution.shifts_ms["b"]
    (1.0, True, 20.0)
    >>> solution
    <LinkSolution: score 1 (optimal), 2 jobs, hold 0.2 ms>
    """
    problem = PreparedLink.from_jobs(jobs, capacity_of(capacity_gbps), multipliers)
    answer = problem.solve(
        method=method,
        angles=angles,
        resolution_ms=resolution_ms,
        slack_tolerance=slack_tolerance,
        node_limit=node_limit,
        deadline_s=deadline_s,
    )
    perimeter = math.lcm(*problem.period.tolist())
    return LinkSolution(
        score=answer.score_lower,
        score_is_exact=answer.score_lower == answer.score_upper,
        upper_bound=answer.upper_bound,
        optimal=answer.optimal,
        claimed_score=answer.claimed_score,
        shifts_ms=_by_id(problem, answer.shift),
        slack_ms=_by_id(problem, answer.slack),
        hold_ms=ms_from_ticks(answer.hold),
        free_jobs=tuple(job for job, free in zip(problem.job_ids, answer.free, strict=True) if free),
        perimeter_ms=_perimeter_ms(perimeter),
        nodes=answer.nodes,
        stopped_by=answer.stopped_by,
        resolution_ms=float(resolution_ms) if _might_gain(problem, answer) else None,
    )


def score_bounds(
    jobs: Sequence[Job],
    capacity_gbps: float | Link,
    shifts_ms: Mapping[str, float],
    *,
    resolution_ms: float = DEFAULT_RESOLUTION_MS,
    multipliers: Mapping[str, float] | None = None,
) -> tuple[float, float]:
    """Certified bounds on the score of given shifts; equal wherever the exact score can be computed.

    Parameters are those of :func:`score_link`. Never raises for size.

    Returns
    -------
    (lower, upper) : tuple of float

    Examples
    --------
    >>> import cassini_core as cc
    >>> a = cc.Job("a", 40, [cc.Phase(0, 20, 50)])
    >>> cc.score_bounds([a], 40, {})
    (0.875, 0.875)
    """
    problem = PreparedLink.from_jobs(jobs, capacity_of(capacity_gbps), multipliers)
    shift = _checked_shifts(shifts_ms, problem)
    found = problem.evaluate(shift, resolution_ms=resolution_ms, with_slack=False)
    return found.score_lower, found.score_upper


def score_link(
    jobs: Sequence[Job],
    capacity_gbps: float | Link,
    shifts_ms: Mapping[str, float],
    *,
    resolution_ms: float = DEFAULT_RESOLUTION_MS,
    multipliers: Mapping[str, float] | None = None,
) -> float:
    """Compatibility score ``1 - mean(excess) / C`` of given shifts.

    Parameters
    ----------
    jobs : sequence of Job
        At least one, ids unique.
    capacity_gbps : float or Link
        Gbit/s, or the link that has it.
    shifts_ms : mapping of str to float
        Job id to delay, ms; 0 where absent; any finite number, taken modulo the iteration time.
    resolution_ms : float
        See :func:`solve_link`.
    multipliers : mapping of str to float, optional
        See :func:`solve_link`.

    Returns
    -------
    float
        At most 1, can be negative; within 1e-9 of the true value.

    Raises
    ------
    InputError
        An argument is wrong.
    LimitError
        The exact score is beyond the limits of folding (F1); carries ``lower`` and ``upper``.

    Notes
    -----
    O(events log events) with ``events = sum_j edges_j P'/R_j`` (F1). Releases the GIL.

    Examples
    --------
    >>> import cassini_core as cc
    >>> a = cc.Job("a", 40, [cc.Phase(0, 20, 50)])
    >>> b = cc.Job("b", 40, [cc.Phase(0, 20, 50)])
    >>> cc.score_link([a, b], 50, {"b": 0.0}), cc.score_link([a, b], 50, {"b": 20.0})
    (0.5, 1.0)
    """
    lower, upper = score_bounds(jobs, capacity_gbps, shifts_ms, resolution_ms=resolution_ms, multipliers=multipliers)
    if lower != upper:
        raise LimitError(
            f"score_link: the exact score is beyond the limits of folding; it lies in [{lower!r}, {upper!r}]",
            lower=lower,
            upper=upper,
        )
    return lower


def _checked_shifts(shifts_ms: Mapping[str, float], problem: PreparedLink) -> Int64Array:
    if not isinstance(shifts_ms, Mapping):
        raise refusal("", "shifts_ms", "a mapping of job ids to ms", shown(shifts_ms))
    for job in shifts_ms:
        if job not in problem.job_ids:
            raise refusal("", "shifts_ms", "ids of the jobs", shown(job))
    shift = []
    for job_id, period in zip(problem.job_ids, problem.period.tolist(), strict=True):
        ms = shifts_ms.get(job_id, 0.0)
        if type(ms) is not float or not math.isfinite(ms):  # the usual case needs no place
            ms = number(ms, "", f"shifts_ms[{shown(job_id)}]")
        shift.append(ticks_from_ms(ms) % period)
    return np.array(shift, dtype=np.int64)


def _might_gain(problem: PreparedLink, answer: LinkAnswer) -> bool:
    """Whether shifts that are held more precisely might score more: some job is free, and there is room."""
    phases = np.diff(problem.phase_offset)
    if not answer.free.any() or np.count_nonzero(phases) < 2:
        return False
    share = problem.phase_length / np.repeat(problem.period, phases)  # of the time
    # Demand that on average finds no room is excess at any shifts (F3).
    most = 1.0 - max(0.0, float(share @ problem.phase_rate) - problem.capacity) / problem.capacity
    return bool(answer.upper_bound < most - SCORE_TOLERANCE)


def _by_id(problem: PreparedLink, ticks: Int64Array) -> dict[str, float]:
    return {job: ms_from_ticks(value) for job, value in zip(problem.job_ids, ticks.tolist(), strict=True)}


def _perimeter_ms(ticks: int) -> float:
    try:
        return ms_from_ticks(ticks)
    except OverflowError:  # hundreds of incommensurate jobs: beyond the range of a float
        return math.inf
