"""F6: iteration times that are nearly commensurate get a common base, by lengthening some of them a little.

Measured iteration times are noisy: 254.7 and 255.2 ms have no stable relative phase, 255.2 twice has one. This module
judges and applies assignments for one link; ``cluster_pacing`` does so for all links of a problem at once.
``pace_choices`` makes the assignments and chooses among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..arrays import Int64Array
from ..checks import number, number_between
from ..errors import refusal, shown
from ..kernel.demand import Demand
from ..kernel.prepared_link import PreparedLink
from ..model import Job, Link, Phase, capacity_of, checked_capacity_gbps, checked_jobs
from ..node_budget import CAREFUL_PACE_NODES, PACE_NODES, PACE_NODES_OF_MANY
from ..results import Harmonized
from ..units import KBPS_PER_GBPS, kbps_from_gbps, ms_from_ticks, ticks_from_ms
from .pace_choices import FEW_JOBS, MAX_ASSIGNMENTS, Times, choose
from .pace_work import PACE_EVENTS, PaceWork, search_work

__all__ = [
    "harmonize",
    "lengthen",
    "loudest_gbps",
    "ticks_of",
]

ROUNDING = 1
"""Ticks by which a phase that ends with the iteration may seem to end later: its start, its duration and the iteration
time are each rounded by half a tick at most."""

SCORES_OF_MANY = 10_000
"""``harmonize`` scores so many / n^2 assignments of n > ``FEW_JOBS`` jobs, at least 16: a search costs n^2 or more."""


def harmonize(
    jobs: Sequence[Job],
    tolerance: float = 0.01,
    *,
    capacity_gbps: float | Link | None = None,
    score: Callable[[Sequence[Job]], float] | None = None,
) -> Harmonized:
    """Lengthen iteration times a little where that lets the jobs keep a stable relative phase (F6).

    For each anchor job ``r`` and ``q = 1 .. 16`` the base is ``g = ceil(T_r / q)``: the anchor takes ``q g``, every
    other job ``ceil(T_j / g) g``, each where that is at most ``(1 + tolerance) T_j``; else a job keeps its own time,
    and an anchor is not tried. Also tried: leaving out any single job, and changing nothing. The best has the highest
    ``score - mean_j(T'_j / T_j - 1)``; among equals (within 1e-9) fewer jobs changed, least maximum lengthening,
    smallest ``q``, ids. The added time is Down at the end of the iteration; nothing is ever shortened.

    Parameters
    ----------
    jobs : sequence of Job
        Unique ids. Jobs without demand take no part and stay as they are.
    tolerance : float
        Largest relative lengthening of a job, at least 0; compared exactly. 0 changes nothing.
    capacity_gbps : float or Link, optional
        Gbit/s of the one link whose best score is ``score``. Default: the largest peak demand of any one job,
        a link on which each job alone just fits.
    score : callable, optional
        Called with the jobs that have demand, ordered by id, some lengthened; returns at most 1, higher is better.
        Default: the score ``solve_link`` reaches on a link of ``capacity_gbps`` within a node limit, which is the
        exact best score for up to four jobs and a good one for more.

    Returns
    -------
    Harmonized
        Jobs in the given order, relative lengthening by id, and the score of the chosen iteration times.

    Raises
    ------
    InputError
        Duplicate ids, a tolerance that is not a finite number of at least 0, a wrong capacity, both
        ``capacity_gbps`` and ``score``, or a ``score`` that returns no finite number.

    Notes
    -----
    Each distinct assignment is scored at most once. Beyond ``FEW_JOBS`` jobs their number is limited
    (``SCORES_OF_MANY``): those that bring most pairs to a common base come first, then least lengthening. Where a
    search is long fewer are scored (``node_budget.PACE_WORK``). The same whatever the order of ``jobs``.

    Examples
    --------
    >>> import cassini_core as cc
    >>> jobs = [cc.Job("a", 254.7, [cc.Phase(0, 114, 50)]), cc.Job("b", 255.2, [cc.Phase(0, 114, 50)])]
    >>> [job.iteration_ms for job in cc.harmonize(jobs)]
    [255.2, 255.2]
    """
    jobs, tolerance = checked_jobs(jobs), number_between(tolerance, 0, math.inf, "", "tolerance")
    if score is not None and capacity_gbps is not None:
        raise refusal("", "capacity_gbps", "capacity_gbps or score", "both")
    if score is not None and not callable(score):
        raise refusal("", "score", "None or a callable", shown(score))
    loud = sorted((job for job in jobs if kbps_from_gbps(loudest_gbps(job)) > 0), key=lambda job: job.id)
    left = MAX_ASSIGNMENTS if len(loud) <= FEW_JOBS else max(16, SCORES_OF_MANY // len(loud) ** 2)

    work = PaceWork()

    def paced(paces: Int64Array) -> list[Job]:
        return [lengthen(job, pace) for job, pace in zip(loud, paces.tolist(), strict=True)]

    def value(paces: Int64Array) -> float:
        nonlocal left
        left -= 1
        return number(score(paced(paces)), "", "score()") if score else kernel(paced(paces), node_limit)

    def careful(paces: Int64Array) -> float:
        return kernel(paced(paces), max(node_limit, min(CAREFUL_PACE_NODES, work.left // 2)))

    kernel = _best_score_on_link(loud, capacity_gbps, work)
    node_limit = PACE_NODES if len(loud) <= 4 else PACE_NODES_OF_MANY
    ceiling = lambda _: 1.0 if left > 0 and work.left > 0 else -math.inf  # noqa: E731
    chosen, reached = choose(Times.of(ticks_of(loud), tolerance), value, ceiling, None if score else careful)
    paces = dict(zip((job.id for job in loud), chosen.paces.tolist(), strict=True))
    natural = dict(zip((job.id for job in jobs), ticks_of(jobs), strict=True))
    lengthening = {job_id: (paces.get(job_id, period) - period) / period for job_id, period in natural.items()}
    return Harmonized(tuple(lengthen(job, paces.get(job.id, natural[job.id])) for job in jobs), lengthening, reached)


def lengthen(job: Job, pace_ticks: int) -> Job:
    """The job with an iteration time of ``pace_ticks``, the added time Down at the end.

    The demand at every instant of the old iteration stays: a phase that wraps past the old end is split there. One that
    passes the end by ``ROUNDING`` or less, as its times are rounded, ends in the added time instead: that much at the
    beginning of the iteration would keep other jobs out of a gap that is free. Returns ``job`` itself if nothing
    changes. Raises InputError for a pace below the iteration time.
    """
    period = ticks_from_ms(job.iteration_ms)
    if pace_ticks < period:
        raise refusal(f"job {shown(job.id)}", "pace", f"at least {period} ticks", f"{pace_ticks}")
    if pace_ticks == period:
        return job
    phases: list[Phase] = []
    for phase in job.phases:
        # A start may round up to the end of the iteration, which is its beginning.
        start, length = ticks_from_ms(phase.start_ms) % period, ticks_from_ms(phase.duration_ms)
        before_end = length if length <= period - start + ROUNDING else period - start
        if length > before_end:
            phases.append(Phase(0.0, ms_from_ticks(length - before_end), phase.gbps))
        phases.append(Phase(ms_from_ticks(start), ms_from_ticks(before_end), phase.gbps))
    return Job(job.id, ms_from_ticks(pace_ticks), tuple(phases))


# Checks and small things.


def ticks_of(jobs: Sequence[Job]) -> list[int]:
    return [ticks_from_ms(job.iteration_ms) for job in jobs]


def loudest_gbps(job: Job) -> float:
    """Largest rate of a phase that lasts; 0 if there is none."""
    return max((phase.gbps for phase in job.phases if ticks_from_ms(phase.duration_ms) > 0), default=0.0)


def _best_score_on_link(
    loud: Sequence[Job], capacity_gbps: float | Link | None, work: PaceWork
) -> Callable[[Sequence[Job], int], float]:
    if capacity_gbps is not None:
        capacity = checked_capacity_gbps(capacity_of(capacity_gbps), "harmonize", "capacity_gbps")
    else:
        capacity = max((Demand.of(job).peak() for job in loud), default=KBPS_PER_GBPS) / KBPS_PER_GBPS

    def score(jobs: Sequence[Job], node_limit: int) -> float:
        if not jobs:
            return 1.0
        link = PreparedLink.from_jobs(jobs, capacity)
        answer = link.solve(node_limit=node_limit, with_slack=False, max_events=PACE_EVENTS)
        work.count_search(search_work(link, answer))
        return answer.score_lower

    return score
