"""Solves the distinct link problems of a ranking in parallel.

The kernel releases the GIL and keeps no state, so plain threads do. Every problem is solved by itself with a budget
counted in nodes: the answers do not depend on the number of threads. Only a deadline reads a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .kept_property import kept_property
from .link_catalog import LinkProblem
from .prepared_link import LinkAnswer

__all__ = ["Budget", "Deadline", "SolvedLink", "canceling_pool", "solve_problems"]


FIRST_NODES = 300
"""Search nodes every link problem gets before any gets more, where there is a deadline."""


class Deadline:
    """A point in time, or none: ``seconds`` from now on the monotonic clock."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining_s(self) -> float | None:
        """Seconds left, at least 0; None without a deadline."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining_s() == 0.0

    def part(self, share: float) -> Deadline:
        """A deadline of its own after ``share`` of what is left."""
        remaining_s = self.remaining_s()
        return Deadline(None if remaining_s is None else share * remaining_s)


@dataclass(frozen=True, slots=True)
class Budget:
    """What one link and one cyclic block may cost, and how finely they are judged; see ``rank`` for each."""

    node_limit: int | None
    resolution_ms: float
    slack_tolerance: float
    block_node_limit: int | None = None


@dataclass(frozen=True)
class SolvedLink:
    """The answer to a link problem, in the order of its jobs; ``answer`` is None if the deadline came first."""

    answer: LinkAnswer | None
    upper_bound: float

    @kept_property
    def held_places(self) -> tuple[int, ...]:
        """Places of the jobs whose shift matters: all but the free ones. The link has an answer."""
        assert self.answer is not None
        return tuple(np.flatnonzero(~self.answer.free).tolist())


@contextmanager
def canceling_pool(threads: int, name: str, cancel: npt.NDArray[np.int32]) -> Iterator[ThreadPoolExecutor]:
    """A thread pool; on any exception ``cancel`` is set, and what was not begun is dropped."""
    with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:
        try:
            yield pool
        except BaseException:
            # The kernel looks at this now and then; leaving the pool then waits for its threads, not for their answers.
            cancel[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def solve_problems(
    problems: Sequence[LinkProblem],
    budget: Budget,
    *,
    threads: int,
    deadline: Deadline,
    progress: Callable[[int], None],
) -> list[SolvedLink]:
    """Solve every problem once.

    Parameters
    ----------
    problems : sequence of LinkProblem
    budget : Budget
        Of each problem.
    threads : int
        At least 1. The calling thread only waits, so that it can be interrupted.
    deadline : Deadline
        With one, all problems get a few nodes first, so that none is without an answer because another is hard; then
        each that is not proven gets what is left when its turn comes. With nothing left it gets its area bound (F3).
    progress : callable
        Called in the calling thread with the number of problems done, after each few.

    Returns
    -------
    list of SolvedLink
        In the order of ``problems``.

    Raises
    ------
    KernelError
        Memory, or a defect.
    KeyboardInterrupt
        Raised in the calling thread: searches under way are canceled first.
    """
    if not problems:
        return []
    cancel = np.zeros(1, dtype=np.int32)
    solved: dict[int, SolvedLink] = {}
    with canceling_pool(min(threads, len(problems)), "cassini-link", cancel) as pool:
        todo = list(range(len(problems)))
        for limit in _node_limits(budget, deadline):
            stage = replace(budget, node_limit=limit)
            futures = {
                pool.submit(_solve_some, [problems[k] for k in some], stage, deadline, cancel): some
                for some in _shares(todo, threads)
            }
            last = limit == budget.node_limit
            _collect(futures, solved, len(problems) - len(todo) if last else 0, progress)
            todo = [k for k in todo if (answer := solved[k].answer) is not None and answer.stopped_by == "nodes"]
    return [solved[k] for k in range(len(problems))]


def _node_limits(budget: Budget, deadline: Deadline) -> list[int | None]:
    if deadline.remaining_s() is None or (budget.node_limit is not None and budget.node_limit <= FIRST_NODES):
        return [budget.node_limit]
    return [FIRST_NODES, budget.node_limit]


def _shares(todo: Sequence[int], threads: int) -> list[Sequence[int]]:
    """What one thread takes at a time: little enough to keep all busy, enough not to be busy taking."""
    size = max(1, min(32, len(todo) // (8 * threads)))
    return [todo[k : k + size] for k in range(0, len(todo), size)]


def _collect(
    futures: Mapping[Future[list[SolvedLink]], Sequence[int]],
    solved: dict[int, SolvedLink],
    done: int,
    progress: Callable[[int], None],
) -> None:
    for future in as_completed(futures):
        for k, found in zip(futures[future], future.result(), strict=True):  # the first failure ends the ranking
            solved[k] = _better(solved[k], found) if k in solved else found
        done += len(futures[future])
        progress(done)


def _better(first: SolvedLink, second: SolvedLink) -> SolvedLink:
    """The better answer and the lower bound: a deadline can cut the second try before it is as good as the first."""
    if first.answer is None or second.answer is None:
        return second if first.answer is None else first
    answer = max(first.answer, second.answer, key=lambda answer: (answer.score_lower, answer is second.answer))
    return SolvedLink(answer, max(answer.score_lower, min(first.upper_bound, second.upper_bound)))


def _solve_some(
    problems: Sequence[LinkProblem], budget: Budget, deadline: Deadline, cancel: npt.NDArray[np.int32]
) -> list[SolvedLink]:
    return [_solve(problem, budget, deadline, cancel) for problem in problems]


def _solve(problem: LinkProblem, budget: Budget, deadline: Deadline, cancel: npt.NDArray[np.int32]) -> SolvedLink:
    remaining_s = deadline.remaining_s()
    if remaining_s == 0.0:
        return SolvedLink(None, problem.area_bound)
    answer = problem.prepared.solve(
        node_limit=budget.node_limit,
        resolution_ms=budget.resolution_ms,
        slack_tolerance=budget.slack_tolerance,
        deadline_s=remaining_s,
        cancel=cancel,
    )
    return SolvedLink(answer, answer.upper_bound)
