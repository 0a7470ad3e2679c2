"""Solves the distinct link problems of a ranking in parallel.

Each call of the kernel solves a chunk of them. It releases the GIL and keeps no state, so plain threads do. Every
problem is solved by itself with a budget counted in nodes: the answers do not depend on the number of threads, nor on
what else is in a chunk. Only a deadline reads a clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..concurrency import canceling_pool
from ..deadline import RETURN_S, Deadline
from ..kept_property import kept_property
from ..kernel.link_arrays import ChunkOptions, LinkChunk, ProblemAnswer
from ..kernel.link_problem import LinkProblem
from ..kernel.search_limits import Budget
from ..node_budget import FIRST_NODES, MANY_EDGES, PHASES_OF_A_NODE, Allowance, smaller
from .executor_runner import Chunk, ChunkRunner
from .solution_cache import LinkStore

__all__ = ["SolvedLink", "solve_problems"]


ACCOUNTED = 1024
"""Problems that are solved before it is looked what they took."""

MOST_LINKS = 128
"""In one call of the kernel, which takes milliseconds then; handing it over costs some 50 microseconds."""

PARTS_AWAY = 64
"""For an executor, which does not say how many workers it has; each part costs it a millisecond or so."""


@dataclass(frozen=True)
class SolvedLink:
    """The answer to a link problem, in the order of its jobs; ``answer`` is None if the deadline came first."""

    answer: ProblemAnswer | None
    upper_bound: float

    @kept_property
    def held_places(self) -> tuple[int, ...]:
        """Places of the jobs whose shift matters: all but the free ones. The link has an answer."""
        assert self.answer is not None
        return tuple(np.flatnonzero(~self.answer.free).tolist())


def solve_problems(
    problems: Sequence[LinkProblem],
    budget: Budget,
    *,
    threads: int,
    deadline: Deadline,
    progress: Callable[[int], None],
    executor: Executor | None = None,
    node_limits: Sequence[int | None] | None = None,
    with_slack: bool = True,
    store: LinkStore | None = None,
    together: int | None = None,
    looks: npt.NDArray[np.float64] | None = None,
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
    executor : Executor, optional
        Solves the chunks instead of threads here; what it loses is solved here. At the deadline it is not waited for.
    node_limits : sequence of (int or None), optional
        One limit per problem instead of ``budget.node_limit``; None for no limit. Problems of one limit are solved
        together: a few different limits cost nothing, one for each problem costs tens of microseconds per problem.
    with_slack : bool
        Without it shifts are as good, but not moved to where slack grows: for callers that need scores and bounds.
    store : LinkStore, optional
        Answers found before, which are not looked for again, and what to add them to. What a deadline cut short is not.
    together : int, optional
        Nodes of all problems together. Where their limits add up to more, they are solved ``ACCOUNTED`` at a time, and
        limits are lowered once those before took too much.
    looks : float64 array, shape (problems,), optional
        What one look at each costs, whatever its limit, nodes.

    Returns
    -------
    list of SolvedLink
        In the order of ``problems``.

    Raises
    ------
    KernelError
        A defect.
    KeyboardInterrupt
        Raised in the calling thread: searches under way are canceled first, and what an executor has not begun.
    """
    if not problems:
        return []
    limits = [budget.node_limit] * len(problems) if node_limits is None else list(node_limits)
    if len(limits) != len(problems):
        raise ValueError(f"node_limits: expected one per problem, {len(problems)}, got {len(limits)}")
    few = limits if deadline.remaining_s() is None else [smaller(limit, FIRST_NODES) for limit in limits]
    area = np.zeros(0) if deadline.remaining_s() is None else LinkChunk.of(problems).area_bounds()
    if deadline.passed():
        return [SolvedLink(None, bound) for bound in area.tolist()]
    questions = _questions(store, problems, budget, with_slack)
    solved: dict[int, SolvedLink] = {}
    ended: set[int] = set()
    missed: set[int] = set()

    def note(k: int, answer: ProblemAnswer | None, limit: int | None) -> None:
        one = SolvedLink(answer, float(area[k]) if answer is None else answer.upper_bound)
        solved[k] = _better(solved[k], one) if k in solved else one
        if limit == limits[k] or not _wants_more(solved[k]):
            ended.add(k)

    def known(places: Sequence[int], within: Sequence[int | None]) -> Sequence[int]:
        """Notes what was found before; the places of what was not."""
        if store is None:
            return places
        found = store.answers.find([questions[k] for k in places], [within[k] for k in places])
        for k, answer in zip(places, found, strict=True):
            if answer is not None:
                note(k, answer, within[k])
        progress(len(ended))
        return [k for k, answer in zip(places, found, strict=True) if answer is None]

    def take(chunk: Chunk, answers: Sequence[ProblemAnswer] | None) -> None:
        limit = chunk.options.node_limit
        if store is not None and answers is not None and _is_early(deadline):
            store.answers.keep([questions[k] for k in chunk.places], limit, [answer.own() for answer in answers])
        for place, k in enumerate(chunk.places):
            note(k, None if answers is None else answers[place], limit)
        progress(len(ended))

    cancel = np.zeros(1, dtype=np.int32)
    threads = min(threads, len(problems))
    with canceling_pool(threads, "cassini-link", cancel) as pool:
        runner = ChunkRunner(pool, threads, cancel, deadline, executor)

        def solve(places: Sequence[int], within: Sequence[int | None]) -> None:
            missed.update(places)
            size = _chunk_size(len(places), threads, executor)
            runner.run(_chunks(problems, places, within, budget, with_slack, size), take)

        def answer(places: Sequence[int]) -> None:
            todo = known(places, limits)
            if few != limits:
                solve(known(todo, few), few)
                todo = [k for k in todo if k not in ended]
            solve(todo, limits)

        if together is None or deadline.remaining_s() is not None or _sum(limits) <= together:
            answer(range(len(problems)))
        else:
            allowance = Allowance(together, len(problems))
            for begin in range(0, len(problems), ACCOUNTED):
                some = range(begin, min(begin + ACCOUNTED, len(problems)))
                for k in some:
                    limits[k] = allowance.limit(limits[k])
                answer(some)
                # What was known counts as if it had been found now: the answer does not depend on what is kept.
                before = 0 if looks is None else int(looks[begin : begin + ACCOUNTED].sum())
                allowance.spend(before + sum(_cost(problems[k], solved[k]) for k in some), len(some))
    if store is not None:
        store.answers.count(hits=len(problems) - len(missed), misses=len(missed))
    return [solved[k] for k in range(len(problems))]


def _sum(limits: Iterable[int | None]) -> float:
    return sum(math.inf if limit is None else limit for limit in limits)


def _cost(problem: LinkProblem, solved: SolvedLink) -> int:
    """Nodes, which take longer where there are many jobs or edges, and what is done before the first one."""
    assert solved.answer is not None  # there is no deadline
    phases = [len(demand.phases) for demand in problem.demands]
    weight = max(3, len(phases)) * (1 if sum(phases) * max(phases) < MANY_EDGES else 2)
    return weight * solved.answer.nodes // 3 + 2 + sum(phases) // PHASES_OF_A_NODE


def _questions(
    store: LinkStore | None, problems: Sequence[LinkProblem], budget: Budget, with_slack: bool
) -> Sequence[bytes]:
    if store is None:
        return ()
    return store.problem_questions(
        problems, budget.resolution_ms, budget.slack_tolerance, with_slack, budget.max_events, budget.max_levels
    )


def _is_early(deadline: Deadline) -> bool:
    """Whether nothing that is back by now can have been cut by the deadline, not even where it was handed a part."""
    remaining_s = deadline.remaining_s()
    return remaining_s is None or remaining_s > RETURN_S


def _wants_more(solved: SolvedLink) -> bool:
    return solved.answer is not None and solved.answer.stopped_by == "nodes"


def _chunk_size(n_problems: int, threads: int, executor: Executor | None) -> int:
    """What is solved in one call: little enough to keep all busy, enough not to be busy handing over."""
    parts = 16 * threads if executor is None else PARTS_AWAY
    return max(1, min(MOST_LINKS, n_problems // parts))


def _chunks(
    problems: Sequence[LinkProblem],
    todo: Sequence[int],
    limits: Sequence[int | None],
    budget: Budget,
    with_slack: bool,
    size: int,
) -> Iterator[Chunk]:
    by_limit: dict[int | None, list[int]] = {}
    for k in todo:
        by_limit.setdefault(limits[k], []).append(k)
    for limit, places in by_limit.items():
        options = ChunkOptions(
            limit, budget.resolution_ms, budget.slack_tolerance, with_slack, budget.max_events, budget.max_levels
        )
        for begin in range(0, len(places), size):
            some = places[begin : begin + size]
            yield Chunk(some, [problems[k] for k in some], options)


def _better(first: SolvedLink, second: SolvedLink) -> SolvedLink:
    """The better answer and the lower bound: a deadline can cut the second try before it is as good as the first."""
    if first.answer is None or second.answer is None:
        return second if first.answer is None else first
    answer = max(first.answer, second.answer, key=lambda answer: (answer.score_lower, answer is second.answer))
    return SolvedLink(answer, max(answer.score_lower, min(first.upper_bound, second.upper_bound)))
