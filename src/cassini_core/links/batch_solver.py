"""Solves the distinct link problems of a ranking in parallel.

Each call of the kernel solves a chunk of them. It releases the GIL and keeps no state, so plain threads do. Every
problem is solved by itself with a budget counted in nodes: the answers do not depend on the number of threads, nor on
what else is in a chunk. Only a deadline reads a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Float64Array, Int64Array
from ..concurrency import canceling_pool
from ..deadline import RETURN_S, Deadline
from ..executor_runner import ExecutorRunner
from ..kernel.link_arrays import LinkAnswers, solve_chunk
from ..kernel.prepared_links import PreparedLinks
from ..kernel.search_limits import SearchLimits
from ..node_budget import FIRST_NODES, MANY_EDGES, NO_LIMIT, PHASES_OF_A_NODE, Allowance
from .solution_cache import LinkStore

__all__ = ["BatchSolver"]

ACCOUNTED = 1024
"""Links that are solved before the nodes that they took are counted."""

MOST_LINKS = 128
"""Most links in one call of the kernel, which then takes milliseconds; handing it over costs some 50 microseconds."""

PARTS_AWAY = 64
"""Parts for an executor, which does not say how many workers it has; each part costs it about a millisecond."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Links that are solved in one call, by their numbers, ascending; ``limits`` are those of each."""

    links: Int64Array
    limits: SearchLimits


_Runner = ExecutorRunner[Chunk, LinkAnswers]


class BatchSolver:
    """Solves every distinct link of a round once.

    Parameters
    ----------
    links : PreparedLinks
    node_limits : int64 array, shape (links,), optional
        Search nodes of each link, ``NO_LIMIT`` for no limit; by default ``links.limits.node_limit``. Links of one limit
        are solved together: a few different limits cost nothing, one for each link costs tens of microseconds per link.
    threads : int
        At least 1. The calling thread only waits, so that it can be interrupted.
    deadline : Deadline
        With one, all links get a few nodes first, so that a hard link leaves no other without an answer. Then each
        link that is not proven gets the time that is left when its turn comes. With no time left it keeps its area
        bound (F3).
    progress : callable
        Called in the calling thread with the number of links done, after each few.
    executor : Executor, optional
        Solves chunks instead of threads of this process; these solve what it loses. At the deadline nobody waits for
        it.
    with_slack : bool
        Without it shifts score the same, but are not moved to where slack grows.
    store : LinkStore, optional
        Answers that are known already. New ones are added, unless a deadline may have cut them short.
    together : int, optional
        Nodes of all links together. Where their limits add up to more, ``ACCOUNTED`` links are solved at a time, and
        the limits of the next ones are lowered once these took too much.
    evaluation_nodes : float64 array, shape (links,), optional
        What evaluating each link once costs, whatever its limit, search nodes.
    first : int
        So many links, the first, are solved before ``after_first`` is called.
    after_first : callable, optional
        Called in one of the threads with the answers, while the other links are solved.
    """

    def __init__(
        self,
        links: PreparedLinks,
        node_limits: Int64Array | None = None,
        *,
        threads: int,
        deadline: Deadline,
        progress: Callable[[int], None],
        executor: Executor | None = None,
        with_slack: bool = True,
        store: LinkStore | None = None,
        together: int | None = None,
        evaluation_nodes: Float64Array | None = None,
        first: int = 0,
        after_first: Callable[[LinkAnswers], None] | None = None,
    ) -> None:
        n_links = len(links.arrays)
        same = NO_LIMIT if links.limits.node_limit is None else links.limits.node_limit
        self._limit = np.full(n_links, same) if node_limits is None else node_limits.copy()
        if len(self._limit) != n_links:
            raise ValueError(f"node_limits: expected one per problem, {n_links}, got {len(self._limit)}")
        self._links = links
        self._limits = replace(links.limits, with_slack=with_slack)
        self._threads = min(threads, n_links)
        self._deadline = deadline
        self._has_deadline = deadline.remaining_s() is not None
        self._progress = progress
        self._executor = executor
        self._store = store
        self._questions = [] if store is None else store.questions(links.arrays, self._limits)
        self._together = together
        self._evaluation_nodes = np.zeros(n_links) if evaluation_nodes is None else evaluation_nodes
        self._answers = LinkAnswers.none_yet(
            links.arrays.job_offset, links.arrays.area_bounds() if self._has_deadline else 0.0
        )
        self._ended = np.zeros(n_links, dtype=np.bool_)
        self._missed = np.zeros(n_links, dtype=np.bool_)
        self._first = first
        self._after_first = after_first

    def solve(self) -> LinkAnswers:
        """The answers of all links.

        Raises
        ------
        KernelError
            A defect.
        KeyboardInterrupt
            Raised in the calling thread: searches under way are canceled first, and what an executor has not begun.
        """
        n_links = len(self._answers)
        if n_links == 0 or self._deadline.passed():
            return self._answers
        with canceling_pool(self._threads, "cassini-link", self._links.cancel) as pool:
            self._pool = pool
            runner = ExecutorRunner(pool, self._threads, self._deadline, self._here, self._away, self._executor)
            asked = float(self._limit.sum(dtype=np.float64))
            if self._together is None or self._has_deadline or asked <= self._together:
                self._answer(np.arange(n_links), runner)
            else:
                self._answer_in_groups(Allowance(self._together, n_links), runner)
        if self._store is not None:
            missed = int(self._missed.sum())
            self._store.answers.count(hits=n_links - missed, misses=missed)
        return self._answers

    def _answer_in_groups(self, allowance: Allowance, runner: _Runner) -> None:
        cost = self._cost()
        for begin in range(0, len(self._answers), ACCOUNTED):
            group = np.arange(begin, min(begin + ACCOUNTED, len(self._answers)))
            self._limit[group] = np.minimum(self._limit[group], allowance.limit(None) or NO_LIMIT)
            self._answer(group, runner)
            # What was known counts as if it had been found now: the answer does not depend on what is kept.
            before = int(self._evaluation_nodes[group].sum())
            allowance.spend(before + int(cost(group).sum()), len(group))

    def _answer(self, links: Int64Array, runner: _Runner) -> None:
        todo = self._unknown(links, self._limit)
        few = np.minimum(self._limit, FIRST_NODES) if self._has_deadline else self._limit
        if (few != self._limit).any():
            self._solve(self._unknown(todo, few), few, runner)
            todo = todo[~self._ended[todo]]
        self._solve(todo, self._limit, runner)

    def _solve(self, links: Int64Array, limit: Int64Array, runner: _Runner) -> None:
        self._missed[links] = True
        runner.run(self._chunks(links, limit), self._take)

    def _chunks(self, links: Int64Array, limit: Int64Array) -> Iterator[Chunk]:
        size = _chunk_size(len(links), self._threads, self._executor)
        for own in sorted(set(limit[links].tolist())):
            limits = replace(self._limits, node_limit=None if own == NO_LIMIT else own)
            group = links[limit[links] == own]
            for begin in range(0, len(group), size):
                yield Chunk(group[begin : begin + size], limits)

    def _here(self, chunk: Chunk) -> LinkAnswers | None:
        return _solve(chunk, self._links, self._deadline)

    def _away(self, chunk: Chunk, seconds: float | None, again: bool) -> tuple[Any, ...]:
        """An executor gets the arrays of the links."""
        return solve_chunk, self._links.arrays.part(chunk.links), chunk.limits, seconds

    def _take(self, chunk: Chunk, found: LinkAnswers | None) -> None:
        if found is not None and self._store is not None and self._is_early():
            questions = [self._questions[link] for link in chunk.links.tolist()]
            self._store.keep(questions, chunk.limits.node_limit, found)
        self._note(chunk.links, found, chunk.limits.node_limit)
        self._progress(int(self._ended.sum()))

    def _is_early(self) -> bool:
        """Whether the deadline cannot have cut what is back by now, even where an executor was given less time."""
        remaining_s = self._deadline.remaining_s()
        return remaining_s is None or remaining_s > RETURN_S

    def _note(self, links: Int64Array, found: LinkAnswers | None, limit: int | None) -> None:
        if found is not None:
            self._answers.take(links, found)
        at_limit = self._limit[links] == (NO_LIMIT if limit is None else limit)
        self._ended[links[at_limit | ~self._answers.want_nodes(links)]] = True
        if self._after_first is not None and self._ended[: self._first].all():
            self._pool.submit(self._after_first, self._answers)
            self._after_first = None

    def _unknown(self, links: Int64Array, limit: Int64Array) -> Int64Array:
        """Take the answers that are known, and return the links that have none."""
        if self._store is None:
            return links
        unknown = []
        for own in sorted(set(limit[links].tolist())):
            group, most = links[limit[links] == own], None if own == NO_LIMIT else own
            known, found = self._store.find([self._questions[link] for link in group.tolist()], most)
            if found is not None:
                self._note(group[known], found, most)
            unknown.append(group[~known])
        self._progress(int(self._ended.sum()))
        return np.sort(np.concatenate(unknown)) if unknown else links

    def _cost(self) -> Callable[[Int64Array], Int64Array]:
        """What solving links took, in nodes: a node takes longer with many jobs or edges, and reading phases counts."""
        arrays = self._links.arrays
        phases = arrays.n_phases()
        weight = np.maximum(3, arrays.n_jobs()) * np.where(phases * arrays.most_phases() < MANY_EDGES, 1, 2)
        before = 2 + phases // PHASES_OF_A_NODE
        return lambda links: weight[links] * self._answers.nodes[links] // 3 + before[links]


def _solve(chunk: Chunk, links: PreparedLinks, deadline: Deadline) -> LinkAnswers | None:
    """Solve a chunk in a thread of this process; None if the deadline came first."""
    if deadline.passed():
        return None
    limits = chunk.limits
    return links.solve(chunk.links, limits.node_limit, with_slack=limits.with_slack, deadline=deadline)


def _chunk_size(n_links: int, threads: int, executor: Executor | None) -> int:
    """Links that are solved in one call: few enough to keep all threads busy, enough to make handing over cheap."""
    parts = 16 * threads if executor is None else PARTS_AWAY
    return max(1, min(MOST_LINKS, n_links // parts))
