"""Answers candidates in parallel, the most promising first, until none can win."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..concurrency import canceling_pool
from ..deadline import FREEING_PER_ANSWERING, Deadline
from ..node_budget import Allowance
from .ranked_candidate import Entry

__all__ = ["Answering", "answer_places"]

FIRST_TOGETHER = 16
"""So many are looked at before it is asked whether the next can win; then twice as many each time."""

FIRST_ACCOUNTED, MOST_ACCOUNTED = 4, 256
"""So many are answered before it is looked what they took."""

MOST_TOGETHER = 8
"""Most candidates that a thread takes at a time."""


@dataclass(frozen=True, slots=True)
class Answering:
    """How candidates are answered, by their places in the problem.

    ``answer(place)`` finds shifts. ``late(place)``, ``outbid(place)`` and ``beyond(place)`` say what is known without
    them, where there was no time for any, where enough others are sure to be as good, and where others took all nodes.
    No answer scores more than ``bound(place)``. ``allow(nodes)`` is told what each of the next ones may take, and
    ``cost(entries)`` says what some took that were answered together.
    """

    answer: Callable[[int], Entry]
    late: Callable[[int], Entry]
    outbid: Callable[[int], Entry]
    beyond: Callable[[int], Entry]
    bound: Callable[[int], int]
    allow: Callable[[int | None], None]
    cost: Callable[[Sequence[Entry]], int]


def answer_places(
    places: Iterable[int],
    answering: Answering,
    *,
    top: int | None,
    threads: int,
    deadline: Deadline,
    cancel: npt.NDArray[np.int32],
    progress: Callable[[int], None],
    one_at_least: bool = False,
    nodes: int | None = None,
) -> dict[int, Entry]:
    """The answer of each place.

    Parameters
    ----------
    places : iterable of int
    answering : Answering
    top : int or None
        Stop once so many answers score at least as much as any other can; None: look at all.
    threads : int
        At least 1. Each candidate is answered by itself, and which are looked at depends on bounds and scores alone:
        the answers do not depend on the number of threads.
    deadline : Deadline
        What is not begun by then is late.
    cancel : int32 array, shape (1,)
        Set on any exception: searches under way then end.
    progress : callable
        Called in the calling thread with the number of places done.
    one_at_least : bool
        Do not let the deadline cut off what comes before the first answer that has shifts.
    nodes : int or None
        What all answers may take together; None for no limit. It is looked at after the first ``FIRST_ACCOUNTED``, then
        after twice as many each time, up to ``MOST_ACCOUNTED``, and sooner once they take much.

    Returns
    -------
    dict of int to Entry

    Raises
    ------
    KernelError
        A defect.
    KeyboardInterrupt
        Raised in the calling thread: searches under way are canceled first.
    """
    if deadline.passed() and not one_at_least:
        return {place: answering.late(place) for place in places}
    bounds = {place: answering.bound(place) for place in places}
    rest = sorted(bounds, key=lambda place: (-bounds[place], place))
    answers: dict[int, Entry] = {}
    scores: list[int] = []
    search = deadline.from_now()

    def answer(some: Sequence[int]) -> list[Entry]:
        return [
            answering.answer(place) if search.leaves(FREEING_PER_ANSWERING) else answering.late(place) for place in some
        ]

    allowance = Allowance(nodes, len(bounds))

    def take(place: int, found: Entry) -> None:
        answers[place] = found
        if found.score is not None:
            scores.append(found.score)
        progress(len(answers))

    def look_at(pool: Executor, some: Sequence[int]) -> None:
        size = max(1, min(MOST_TOGETHER, len(some) // (8 * threads)))
        futures = {pool.submit(answer, part): part for k in range(0, len(some), size) if (part := some[k : k + size])}
        for future in as_completed(futures):
            for place, found in zip(futures[future], future.result(), strict=True):  # the first failure ends all
                take(place, found)

    size = FIRST_ACCOUNTED

    def look_at_all(pool: Executor, some: Sequence[int]) -> list[int]:
        """Those for which no nodes were left."""
        nonlocal size
        while some and not allowance.spent:
            answering.allow(allowance.limit(nodes))
            group, some = some[:size], some[size:]
            look_at(pool, group)
            cost = answering.cost([answers[place] for place in group])
            allowance.spend(cost, len(group))
            size = min(MOST_ACCOUNTED, 2 * size) if nodes is None or 16 * cost < nodes else max(1, size // 2)
        return list(some)

    together = FIRST_TOGETHER
    with canceling_pool(threads, "cassini-candidate", cancel) as pool:
        while rest and not (top is not None and _settled(scores, top, bounds[rest[0]])):
            some, rest = rest[:together], rest[together:]
            together *= 2
            while some and one_at_least:
                place = some.pop(0)
                found = pool.submit(answering.answer, place).result()
                one_at_least = not found.answer.shift
                take(place, found)
            rest = look_at_all(pool, some) + rest
            if allowance.spent:
                break
    settled = top is not None and _settled(scores, top, bounds[rest[0]]) if rest else True
    left = answering.outbid if settled else answering.beyond
    return answers | {place: left(place) for place in rest}


def _settled(scores: Sequence[int], top: int, bound: int) -> bool:
    """Whether ``top`` answers are at least as good as anything with this bound."""
    best = heapq.nlargest(top, scores)
    return len(best) == top and best[-1] >= bound
