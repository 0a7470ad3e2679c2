"""The arguments of ``rank``, checked."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, get_args

from ..checks import number_between, whole_number
from ..choices import Loops, Order
from ..errors import InputError, shown
from ..joint.loop_policy import LOOP_POLICIES
from ..kernel.search_limits import SearchLimits
from ..links.evaluation_cost import LinkEffort
from ..model import Problem, checked_running_shifts_ms
from ..node_budget import AUTO, NodeLimit, block_limit, link_limit
from ..units import MAX_TICKS, TICKS_PER_MS
from .aggregate import Aggregate, aggregate_named

__all__ = ["DEFAULT_RUNNING_TOLERANCE", "Progress", "RankOptions", "checked_options"]

Progress = Callable[[int, int], None]
"""``progress(done, total)``."""

DEFAULT_RUNNING_TOLERANCE = 0.01
"""A move that costs a job a pace of waiting pays back within 100 iterations."""


@dataclass(frozen=True, slots=True)
class RankOptions:
    """The arguments of ``rank``, checked."""

    loops: Loops
    aggregate: Aggregate
    aggregate_name: str
    order: Order
    top: int | None
    period_tolerance: float
    threads: int
    deadline_s: float | None
    node_limit: NodeLimit
    block_node_limit: NodeLimit
    resolution_ms: float
    slack_tolerance: float
    executor: Executor | None
    progress: Progress
    running_shifts_ms: Mapping[str, float]
    running_tolerance: float

    def limits(self, n_problems: int, n_candidates: int, effort: LinkEffort) -> SearchLimits:
        """What each link problem and each block may cost in a round of this size."""
        return SearchLimits(
            node_limit=link_limit(self.node_limit, n_problems),
            resolution_ms=self.resolution_ms,
            slack_tolerance=self.slack_tolerance,
            block_node_limit=block_limit(self.block_node_limit, n_candidates, with_slack=effort.with_slack),
            max_events=effort.max_events,
            max_levels=effort.max_levels,
            with_slack=effort.with_slack,
        )


def checked_options(
    problem: Any,
    *,
    loops: Any,
    aggregate: Any,
    order: Any,
    top: Any,
    exhaustive: Any,
    period_tolerance: Any,
    threads: Any,
    deadline_s: Any,
    node_limit: Any,
    block_node_limit: Any,
    resolution_ms: Any,
    slack_tolerance: Any,
    executor: Any,
    progress: Any,
    running_shifts_ms: Any,
    running_tolerance: Any,
) -> RankOptions:
    """The arguments of ``rank`` as options; see there for each.

    Raises
    ------
    InputError
        An argument is wrong: which, what was expected, what came.
    """
    if not isinstance(problem, Problem):
        raise InputError(f"problem: expected a Problem, got {shown(problem)}")
    if progress is not None and not callable(progress):
        raise InputError(f"progress: expected None or a callable, got {shown(progress)}")
    if not isinstance(exhaustive, bool):
        raise InputError(f"exhaustive: expected True or False, got {shown(exhaustive)}")
    first = whole_number(top, "top")
    if executor is not None and not isinstance(executor, Executor):
        raise InputError(f"executor: expected None or a concurrent.futures.Executor, got {shown(executor)}")
    return RankOptions(
        loops=_loops(loops),
        aggregate=aggregate_named(aggregate),
        aggregate_name=str(aggregate),
        order=_order(order),
        top=None if exhaustive else first,
        period_tolerance=number_between(period_tolerance, 0, math.inf, "", "period_tolerance"),
        threads=_usable_cpus() if threads is None else whole_number(threads, "threads", words="None or "),
        deadline_s=_seconds(deadline_s),
        node_limit=_node_limit(node_limit, "node_limit"),
        block_node_limit=_node_limit(block_node_limit, "block_node_limit"),
        resolution_ms=number_between(resolution_ms, 0, MAX_TICKS / TICKS_PER_MS, "", "resolution_ms"),
        slack_tolerance=number_between(slack_tolerance, 0, math.inf, "", "slack_tolerance"),
        executor=executor,
        progress=_silent if progress is None else progress,
        running_shifts_ms=_running(running_shifts_ms, problem),
        running_tolerance=number_between(running_tolerance, 0, math.inf, "", "running_tolerance"),
    )


def _running(value: Any, problem: Problem) -> Mapping[str, float]:
    if value is None:
        return problem.running_shifts_ms
    return checked_running_shifts_ms(value, {job.id for job in problem.jobs})


def _loops(loops: Any) -> Loops:
    for name in LOOP_POLICIES:
        if isinstance(loops, str) and loops == name:
            return name
    expected = " or ".join(repr(name) for name in LOOP_POLICIES)
    raise InputError(f"loops: expected {expected}, got {shown(loops)}")


def _order(order: Any) -> Order:
    for name in get_args(Order):
        if isinstance(order, str) and order == name:
            found: Order = name
            return found
    expected = " or ".join(map(repr, get_args(Order)))
    raise InputError(f"order: expected {expected}, got {shown(order)}")


def _seconds(value: Any) -> float | None:
    return None if value is None else number_between(value, 0, math.inf, "", "deadline_s", "None or ")


def _node_limit(value: Any, what: str) -> NodeLimit:
    if value is None:
        return None
    return AUTO if isinstance(value, str) and value == AUTO else whole_number(value, what, words="'auto', None or ")


def _usable_cpus() -> int:
    # Containers and batch systems often lend fewer CPUs than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _silent(done: int, total: int) -> None:
    """Tells nobody."""
