"""A link problem as the kernel takes it, and what the kernel answers: ticks and kbit/s in int64 arrays.

For callers that solve many links; :mod:`cassini_core.links.one_link` wraps this for people.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from ..arrays import Int32Array, Int64Array, int64
from ..checks import number, number_between, whole_number
from ..choices import Method
from ..deadline import LONGEST_S
from ..errors import InputError, KernelError, refusal, shown
from ..model import Job, checked_capacity_gbps, checked_jobs
from ..node_budget import DEFAULT_NODE_LIMIT, UNINTERRUPTED_NODES, smaller
from ..units import KBPS_PER_GBPS, MAX_RATE_KBPS, MAX_TICKS, TICKS_PER_MS, kbps_from_gbps, ticks_from_ms
from . import _kernel
from ._kernel import Evaluation, LinkAnswer

__all__ = [
    "DEFAULT_MAX_EVENTS",
    "DEFAULT_MAX_LEVELS",
    "DEFAULT_RESOLUTION_MS",
    "DEFAULT_SLACK_TOLERANCE",
    "Evaluation",
    "LinkAnswer",
    "PreparedLink",
]

DEFAULT_RESOLUTION_MS = 0.5
DEFAULT_SLACK_TOLERANCE = 0.01
DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS = 2**18, 2**16
MAX_JOBS = 1024
MAX_PHASES = 2**17
MAX_RATE_SUM_KBPS = 2**53
MAX_ANGLES = 2**20

_POLL_S = 0.05


class PreparedLink(_kernel.Link):
    """A link problem as the kernel takes it: int64 ticks and kbit/s. Immutable; safe to share between threads.

    Attributes
    ----------
    job_ids : tuple of str
    period : int64 array, shape (n_jobs,)
        Iteration times, ticks.
    phase_offset : int64 array, shape (n_jobs + 1,)
        Job ``j`` owns phases ``phase_offset[j]`` to ``phase_offset[j + 1] - 1``.
    phase_start, phase_length : int64 array, shape (n_phases,)
        Ticks.
    phase_rate : int64 array, shape (n_phases,)
        kbit/s.
    capacity : int
        kbit/s.
    """

    __slots__ = ("job_ids",)

    def __init__(
        self,
        job_ids: tuple[str, ...],
        period: Int64Array,
        phase_offset: Int64Array,
        phase_start: Int64Array,
        phase_length: Int64Array,
        phase_rate: Int64Array,
        capacity: int,
    ) -> None:
        super().__init__(period, phase_offset, phase_start, phase_length, phase_rate, capacity)
        self.job_ids = job_ids

    @classmethod
    def from_jobs(
        cls, jobs: Sequence[Job], capacity_gbps: float, multipliers: Mapping[str, float] | None = None
    ) -> PreparedLink:
        """Round to ticks and kbit/s, scale by multipliers, drop phases without effect.

        Parameters
        ----------
        jobs : sequence of Job
            At least one, ids unique.
        capacity_gbps : float
            Gbit/s, above 0.
        multipliers : mapping of str to float, optional
            Job id to the factor its demand is scaled by on this link; 1 where absent.

        Raises
        ------
        InputError
            No jobs, duplicate ids, too many jobs or phases, or a demand out of range.
        """
        jobs = checked_jobs(jobs)
        if not 1 <= len(jobs) <= MAX_JOBS:
            raise refusal("", "jobs", f"1 to {MAX_JOBS} jobs", f"{len(jobs)}")
        capacity = kbps_from_gbps(checked_capacity_gbps(capacity_gbps, "", "capacity_gbps"))
        factors = _checked_multipliers(multipliers, jobs)
        offset = [0]
        start: list[int] = []
        length: list[int] = []
        rate: list[int] = []
        periods = [ticks_from_ms(job.iteration_ms) for job in jobs]
        for job, period in zip(jobs, periods, strict=True):
            factor = factors.get(job.id, 1.0)
            for index, phase in enumerate(job.phases):
                ticks = ticks_from_ms(phase.duration_ms)
                gbps = phase.gbps * factor
                # Compared before rounding: kbit/s beyond the range of a float cannot be rounded.
                if gbps > MAX_RATE_KBPS / KBPS_PER_GBPS:
                    most = f"a multiplier that keeps phases[{index}] within {MAX_RATE_KBPS / 1e6!r} Gbit/s"
                    raise refusal("", f"multipliers[{shown(job.id)}]", most, shown(factor))
                kbps = kbps_from_gbps(gbps)
                if ticks > 0 and kbps > 0:
                    start.append(ticks_from_ms(phase.start_ms) % period)
                    length.append(ticks)
                    rate.append(kbps)
            offset.append(len(start))
        if len(start) > MAX_PHASES:
            raise InputError(f"jobs: expected at most {MAX_PHASES} phases on one link, got {len(start)}")
        if sum(rate) > MAX_RATE_SUM_KBPS:
            raise InputError(
                f"jobs: expected demands that sum to at most {MAX_RATE_SUM_KBPS / 1e6!r} Gbit/s, "
                f"got {sum(rate) / 1e6!r}"
            )
        return cls(
            job_ids=tuple(job.id for job in jobs),
            period=int64(periods),
            phase_offset=int64(offset),
            phase_start=int64(start),
            phase_length=int64(length),
            phase_rate=int64(rate),
            capacity=capacity,
        )

    def __len__(self) -> int:
        return len(self.job_ids)

    def solve(
        self,
        *,
        method: Method = "exact",
        angles: int = 72,
        resolution_ms: float = DEFAULT_RESOLUTION_MS,
        slack_tolerance: float = DEFAULT_SLACK_TOLERANCE,
        node_limit: int | None = DEFAULT_NODE_LIMIT,
        deadline_s: float | None = None,
        cancel: Int32Array | None = None,
        with_slack: bool = True,
        max_events: int = DEFAULT_MAX_EVENTS,
    ) -> LinkAnswer:
        """Best shifts; see :func:`solve_link`. ``cancel[0] != 0`` stops the search.

        Without ``with_slack`` optimal shifts are not centred on their plateau and slack and hold are 0: for callers
        that need the score alone. Beyond ``max_events`` of the folded circle (F1) the score is bounded.

        Raises
        ------
        InputError
            An option is out of range.
        KernelError
            Cancelled, or a defect.
        """
        options = _options(method, angles, resolution_ms, slack_tolerance, deadline_s, max_events)
        if node_limit is not None:
            node_limit = whole_number(node_limit, "node_limit", words="None or ")
        if cancel is not None:
            return self._solve_to_the_end(options, node_limit, cancel, with_slack)
        first_limit = smaller(node_limit, UNINTERRUPTED_NODES)
        answer = self._solve_to_the_end(options, first_limit, None, with_slack)
        if answer.stopped_by != "nodes" or first_limit == node_limit:
            return answer
        if threading.current_thread() is not threading.main_thread():
            return self._solve_to_the_end(options, node_limit, None, with_slack)  # Ctrl-C never comes here
        return self._solve_interruptibly(options, node_limit, with_slack)

    def _solve_to_the_end(
        self,
        options: _kernel.Options,
        node_limit: int | None,
        cancel: Int32Array | None,
        with_slack: bool,
    ) -> LinkAnswer:
        answer = self._solve(options, node_limit, cancel, with_slack)
        if answer is None:
            raise KernelError("solve_link: canceled")
        return answer

    def _solve_interruptibly(self, options: _kernel.Options, node_limit: int | None, with_slack: bool) -> LinkAnswer:
        cancel = np.zeros(1, dtype=np.int32)
        outcome: list[LinkAnswer | BaseException] = []

        def work() -> None:
            try:
                outcome.append(self._solve_to_the_end(options, node_limit, cancel, with_slack))
            except BaseException as error:  # handed to the calling thread
                outcome.append(error)

        worker = threading.Thread(target=work, name="cassini-solve", daemon=True)
        worker.start()
        try:
            while worker.is_alive():
                worker.join(_POLL_S)
        finally:
            # On an interrupt the search stops before the arrays it reads can go away.
            cancel[0] = 1
            worker.join()
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    def evaluate(
        self,
        shift: Sequence[int] | Int64Array,
        *,
        resolution_ms: float = DEFAULT_RESOLUTION_MS,
        slack_tolerance: float = DEFAULT_SLACK_TOLERANCE,
        with_slack: bool = True,
    ) -> Evaluation:
        """Score, slack and hold of ``shift`` (ticks, shape (n_jobs,), taken modulo the period).

        Raises
        ------
        InputError
            Wrong shape, or an option out of range.
        """
        options = _options("exact", 72, resolution_ms, slack_tolerance, None)
        ticks = np.ascontiguousarray(shift, dtype=np.int64)
        if ticks.ndim != 1:
            raise InputError(f"shift: expected shape ({len(self)},), got {ticks.shape}")
        return self._evaluate(ticks, options, with_slack)


def _checked_multipliers(multipliers: Mapping[str, float] | None, jobs: Sequence[Job]) -> Mapping[str, float]:
    if multipliers is None:
        return {}
    if not isinstance(multipliers, Mapping):
        raise refusal("", "multipliers", "None or a mapping of job ids to factors", shown(multipliers))
    checked = {}
    known = {job.id for job in jobs}
    for job, factor in multipliers.items():
        if job not in known:
            raise refusal("", "multipliers", "ids of the jobs", shown(job))
        checked[job] = number(factor, "", f"multipliers[{shown(job)}]")
        if checked[job] <= 0:
            raise refusal("", f"multipliers[{shown(job)}]", "a multiplier above 0", shown(factor))
    return checked


def _options(*given: Any) -> _kernel.Options:
    """Kernel options without a node limit; the same few are asked for again and again."""
    try:
        return _kept_options(*given)
    except TypeError:  # a list, for one, has no hash, so it cannot be looked up; it is no option either
        return _kept_options.__wrapped__(*given)


@functools.lru_cache(maxsize=64, typed=True)
def _kept_options(
    method: str,
    angles: int,
    resolution_ms: float,
    slack_tolerance: float,
    deadline_s: float | None,
    max_events: int = DEFAULT_MAX_EVENTS,
    max_levels: int = DEFAULT_MAX_LEVELS,
) -> _kernel.Options:
    if not isinstance(method, str) or method not in get_args(Method):
        raise refusal("", "method", "'exact' or 'angles'", shown(method))
    angles = whole_number(angles, "angles", most=MAX_ANGLES)
    resolution_ms = number_between(resolution_ms, 0, MAX_TICKS / TICKS_PER_MS, "", "resolution_ms")
    slack_tolerance = number_between(slack_tolerance, 0, math.inf, "", "slack_tolerance")
    if deadline_s is not None:
        deadline_s = number_between(deadline_s, 0, math.inf, "", "deadline_s", "None or ")
    return _kernel.Options(
        angles_method=method == "angles",
        angles=angles,
        resolution=ticks_from_ms(resolution_ms),
        slack_tolerance=slack_tolerance,
        # Ten years stand for any longer deadline: the nanoseconds must fit.
        deadline_ns=None if deadline_s is None else round(min(deadline_s, LONGEST_S) * 1e9),
        max_events=max_events,
        max_levels=max_levels,
    )


def kernel_options(
    resolution_ms: float,
    slack_tolerance: float,
    deadline_s: float | None = None,
    max_events: int = DEFAULT_MAX_EVENTS,
    max_levels: int = DEFAULT_MAX_LEVELS,
) -> _kernel.Options:
    """Options of the exact method, without a node limit; :class:`InputError` where one is out of range."""
    return _options("exact", 72, resolution_ms, slack_tolerance, deadline_s, max_events, max_levels)
