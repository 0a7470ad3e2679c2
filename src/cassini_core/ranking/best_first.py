"""Answers candidates in parallel, the most promising first, until none can win."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, Protocol

from ..arrays import Int32Array
from ..concurrency import canceling_pool
from ..deadline import FREEING_PER_ANSWERING, Deadline
from ..joint.base_search import Found
from ..joint.search_away import Ahead
from ..node_budget import Allowance
from .ranked_candidate import Entry, Worth

__all__ = ["BestFirst", "Candidates"]

FIRST_TOGETHER = 16
"""Candidates answered before the search asks whether the next can win; then twice as many each time."""

FIRST_ACCOUNTED, MOST_ACCOUNTED = 4, 256
"""Candidates answered before the search counts their nodes: at first and at most."""

LOOKED_AT_TOGETHER = 64
"""Candidates of which a thread asks at a time what they are worth at most."""

MOST_TOGETHER = 8
"""Most candidates that a thread takes at a time."""


class Candidates(Protocol):
    """What can be asked of candidates, by their numbers."""

    def answer(self, number: int, nodes: int | None, ahead: Found | None) -> Entry:
        """Its answer, found with at most so many search nodes; called in several threads.

        ``ahead`` is what was found by searching ahead, if anything was.
        """

    def search_ahead(
        self, pool: ThreadPoolExecutor, parts: Sequence[Sequence[int]], nodes: int | None, then: Ahead
    ) -> None:
        """Call ``then`` with each part, and with what was found for some or all of its candidates."""

    def late(self, number: int) -> Entry:
        """What is known of it where the deadline came first; called in several threads."""

    def left(self, number: int, *, outbid: bool) -> Entry:
        """What is known of it where enough others are sure to be as good (``outbid``), or took all nodes."""

    def most(self, number: int) -> Worth:
        """None of its answers is worth more; called in several threads."""

    def cost(self, entries: Sequence[Entry]) -> int:
        """Nodes that some answers took, which were found together."""


class BestFirst:
    """Answers candidates in the order of what they are worth at most; is used once.

    Which candidates are answered depends on bounds, scores and counted nodes alone, and each is answered by itself: the
    answers do not depend on the number of threads.

    Parameters
    ----------
    candidates : Candidates
    top : int or None
        Stop once so many answers are worth at least as much as any other can be; None: answer all.
    threads : int
        At least 1.
    deadline : Deadline
        What is not begun by then is late.
    cancel : int32 array, shape (1,)
        Set on any exception: searches under way then end.
    progress : callable
        Called in the calling thread with the number of candidates done.
    one_at_least : bool
        Do not let the deadline cut off what comes before the first answer that has shifts.
    nodes : int or None
        What all answers may take together; None for no limit. They are counted after the first ``FIRST_ACCOUNTED``,
        then after twice as many each time, up to ``MOST_ACCOUNTED``, and sooner once they take much.
    shares : int, optional
        Parts into which candidates that are answered together are divided; 8 for each thread if not given.
    """

    def __init__(
        self,
        candidates: Candidates,
        *,
        top: int | None,
        threads: int,
        deadline: Deadline,
        cancel: Int32Array,
        progress: Callable[[int], None],
        one_at_least: bool = False,
        nodes: int | None = None,
        shares: int | None = None,
    ) -> None:
        self._shares = 8 * threads if shares is None else shares
        self._candidates = candidates
        self._top = top
        self._threads = threads
        self._deadline = deadline
        self._cancel = cancel
        self._progress = progress
        self._one_at_least = one_at_least
        self._nodes = nodes
        self._accounted = FIRST_ACCOUNTED
        self._entries: dict[int, Entry] = {}
        self._worths: list[Worth] = []

    def run(self, n_candidates: int) -> list[Entry]:
        """The entry of each candidate, in the order of their numbers.

        Raises
        ------
        KernelError
            A defect.
        KeyboardInterrupt
            Raised in the calling thread: searches under way are canceled first.
        """
        candidates = self._candidates
        if self._deadline.passed() and not self._one_at_least:
            return [candidates.late(number) for number in range(n_candidates)]
        numbers = range(n_candidates)
        parts = [numbers[k : k + LOOKED_AT_TOGETHER] for k in numbers[::LOOKED_AT_TOGETHER]]
        self._allowance = Allowance(self._nodes, n_candidates)
        together = FIRST_TOGETHER
        with canceling_pool(self._threads, "cassini-candidate", self._cancel) as pool:
            most = [one for part in pool.map(self._most_of_part, parts) for one in part]
            self._search = self._deadline.from_now()
            rest = sorted(numbers, key=most.__getitem__, reverse=True)  # equals stay in their order
            while rest and not self._allowance.spent and not self._settled(most[rest[0]]):
                some, rest = rest[:together], rest[together:]
                together *= 2
                rest = self._answer_some(pool, self._until_first(pool, some)) + rest
        outbid = bool(rest) and self._settled(most[rest[0]])
        self._entries |= {number: candidates.left(number, outbid=outbid) for number in rest}
        return [self._entries[number] for number in numbers]

    def _most_of_part(self, part: Sequence[int]) -> list[Worth]:
        return [self._candidates.most(number) for number in part]

    def _settled(self, most: Worth) -> bool:
        """Whether ``top`` answers are at least as good as anything that is worth no more than this."""
        if self._top is None:
            return False
        best = heapq.nlargest(self._top, self._worths)
        return len(best) == self._top and best[-1] >= most

    def _is_over(self) -> bool:
        """Whether no more answers are begun. What is left is then late at once, without a detour through threads."""
        return not self._one_at_least and not self._search.leaves(FREEING_PER_ANSWERING)

    def _until_first(self, pool: ThreadPoolExecutor, some: list[int]) -> list[int]:
        """Answers one after the other until one has shifts, if that is asked for; those that are left."""
        while some and self._one_at_least:
            number, *some = some
            entry = pool.submit(self._candidates.answer, number, None, None).result()
            found = entry.answer.found
            self._one_at_least = found is None or not len(found.jobs)
            self._take(number, entry)
        return some

    def _answer_some(self, pool: ThreadPoolExecutor, some: list[int]) -> list[int]:
        """Answers candidates as far as there are nodes; those that are left."""
        while some and not self._allowance.spent:
            if self._is_over():
                for number in some:
                    self._take(number, self._candidates.late(number))
                return []
            group, some = some[: self._accounted], some[self._accounted :]
            self._answer_group(pool, group, self._allowance.limit(self._nodes))
            cost = self._candidates.cost([self._entries[number] for number in group])
            self._allowance.spend(cost, len(group))
            cheap = self._nodes is None or 16 * cost < self._nodes
            self._accounted = min(MOST_ACCOUNTED, 2 * self._accounted) if cheap else max(1, self._accounted // 2)
        return some

    def _answer_group(self, pool: ThreadPoolExecutor, group: Sequence[int], nodes: int | None) -> None:
        size = max(1, min(MOST_TOGETHER, len(group) // self._shares))
        parts = [group[k : k + size] for k in range(0, len(group), size)]
        futures: dict[Future[list[Entry]], Sequence[int]] = {}

        def answer(part: Sequence[int], ahead: Mapping[int, Found]) -> Future[Any]:
            future = pool.submit(self._answer_part, part, nodes, ahead)
            futures[future] = part
            return future

        self._candidates.search_ahead(pool, parts, nodes, answer)
        for future in as_completed(futures):
            for number, entry in zip(futures[future], future.result(), strict=True):  # the first failure ends all
                self._take(number, entry)

    def _answer_part(self, part: Sequence[int], nodes: int | None, ahead: Mapping[int, Found]) -> list[Entry]:
        candidates, search = self._candidates, self._search
        return [
            candidates.answer(number, nodes, ahead.get(number))
            if search.leaves(FREEING_PER_ANSWERING)
            else candidates.late(number)
            for number in part
        ]

    def _take(self, number: int, entry: Entry) -> None:
        self._entries[number] = entry
        if entry.worth is not None:
            self._worths.append(entry.worth)
        self._progress(len(self._entries))
