"""Answers the placements of a ranking in parallel, the most promising first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed

from .link_catalog import Placement
from .link_pool import Deadline, canceling_pool
from .shifts import PlacementAnswer, Round, Strategy, answer_placement

__all__ = ["answer_again", "answer_placements"]


def answer_placements(
    placements: Sequence[Placement],
    order: Sequence[int],
    context: Round,
    strategy: Strategy,
    *,
    threads: int,
    deadline: Deadline,
    progress: Callable[[int], None],
) -> list[PlacementAnswer]:
    """The answer of each placement.

    Parameters
    ----------
    placements : sequence of Placement
    order : sequence of int
        In which to look at them; what comes first is not cut off by the deadline.
    context : Round
    strategy : callable
        One of ``loops.STRATEGIES``.
    threads : int
        At least 1. Each placement is answered by itself: the answers do not depend on it.
    deadline : Deadline
        Placements that are not begun by then get their bounds only, but for those up to the first that gets shifts.
    progress : callable
        Called in the calling thread with the number of placements done.

    Returns
    -------
    list of PlacementAnswer
        In the order of ``placements``.

    Raises
    ------
    KernelError
        Memory, or a defect.
    KeyboardInterrupt
        Raised in the calling thread: searches under way are canceled first.
    """
    answers: dict[int, PlacementAnswer] = {}

    def answer(place: int) -> PlacementAnswer:
        return answer_placement(placements[place], context, None if deadline.passed() else strategy)

    with canceling_pool(threads, "cassini-candidate", context.blocks.cancel) as pool:
        rest = list(order)
        while rest and not any(one.shift for one in answers.values()):
            place = rest.pop(0)
            answers[place] = pool.submit(answer_placement, placements[place], context, strategy).result()
            progress(len(answers))
        futures = {pool.submit(answer, place): place for place in rest}
        for future in as_completed(futures):
            answers[futures[future]] = future.result()  # the first failure ends the ranking
            progress(len(answers))
    return [answers[place] for place in range(len(placements))]


def answer_again(
    answers: list[PlacementAnswer],
    places: Sequence[int],
    context: Round,
    strategy_of: Callable[[PlacementAnswer], Strategy],
    *,
    threads: int,
    deadline: Deadline,
) -> None:
    """Replaces the answers at ``places`` by those of another strategy for each, in parallel; not past the deadline.

    Raises
    ------
    KernelError
        Memory, or a defect.
    KeyboardInterrupt
        Raised in the calling thread: searches under way are canceled first.
    """

    def again(place: int) -> PlacementAnswer:
        answer = answers[place]
        return answer if deadline.passed() else answer_placement(answer.placement, context, strategy_of(answer))

    with canceling_pool(threads, "cassini-candidate", context.blocks.cancel) as pool:
        for place, answer in zip(places, pool.map(again, places), strict=True):
            answers[place] = answer
