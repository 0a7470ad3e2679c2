"""Answers candidates in parallel, the most promising first, until none can win."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .deadline import LETTING_GO, Deadline
from .link_pool import canceling_pool
from .ranked_entries import Entry

__all__ = ["Answering", "answer_places"]

FIRST_TOGETHER = 16
"""So many are looked at before it is asked whether the next can win; then twice as many each time."""

MOST_TOGETHER = 8
"""Most candidates that a thread takes at a time."""


@dataclass(frozen=True, slots=True)
class Answering:
    """How candidates are answered, by their places in the problem.

    ``answer(place)`` finds shifts. ``late(place)`` and ``outbid(place)`` say what is known without them, where there
    was no time for any, and where enough others are sure to be as good. No answer scores more than ``bound(place)``.
    """

    answer: Callable[[int], Entry]
    late: Callable[[int], Entry]
    outbid: Callable[[int], Entry]
    bound: Callable[[int], int]


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
        return [answering.answer(place) if search.leaves(0.5 * LETTING_GO) else answering.late(place) for place in some]

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
            look_at(pool, some)
    return answers | {place: answering.outbid(place) for place in rest}


def _settled(scores: Sequence[int], top: int, bound: int) -> bool:
    """Whether ``top`` answers are at least as good as anything with this bound."""
    best = heapq.nlargest(top, scores)
    return len(best) == top and best[-1] >= bound
