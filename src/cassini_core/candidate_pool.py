"""Answers candidates in parallel, the most promising first, until none can win."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .link_pool import Deadline, canceling_pool
from .ranked_entries import Entry

__all__ = ["Answering", "answer_places"]

FIRST_TOGETHER = 16
"""So many are looked at before it is asked whether the next can win; then twice as many each time."""


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
        What is not begun by then is late, but for what comes before the first that gets shifts.
    cancel : int32 array, shape (1,)
        Set on any exception: searches under way then end.
    progress : callable
        Called in the calling thread with the number of places done.

    Returns
    -------
    dict of int to Entry

    Raises
    ------
    KernelError
        Memory, or a defect.
    KeyboardInterrupt
        Raised in the calling thread: searches under way are canceled first.
    """
    bounds = {place: answering.bound(place) for place in places}
    rest = sorted(bounds, key=lambda place: (-bounds[place], place))
    answers: dict[int, Entry] = {}
    scores: list[int] = []

    def answer(place: int) -> Entry:
        return answering.late(place) if deadline.passed() else answering.answer(place)

    def look_at(pool: Executor, some: Sequence[int], answer: Callable[[int], Entry]) -> None:
        futures = {pool.submit(answer, place): place for place in some}
        for future in as_completed(futures):
            found = answers[futures[future]] = future.result()  # the first failure ends the ranking
            if found.score is not None:
                scores.append(found.score)
            progress(len(answers))

    together = FIRST_TOGETHER
    nothing_yet = deadline.remaining_s() is not None
    with canceling_pool(threads, "cassini-candidate", cancel) as pool:
        while rest and not (top is not None and _settled(scores, top, bounds[rest[0]])):
            some, rest = rest[:together], rest[together:]
            together *= 2
            while some and nothing_yet:
                place = some.pop(0)
                look_at(pool, [place], answering.answer)
                nothing_yet = not answers[place].answer.shift
            look_at(pool, some, answer)
    return answers | {place: answering.outbid(place) for place in rest}


def _settled(scores: Sequence[int], top: int, bound: int) -> bool:
    """Whether ``top`` answers are at least as good as anything with this bound."""
    best = heapq.nlargest(top, scores)
    return len(best) == top and best[-1] >= bound
