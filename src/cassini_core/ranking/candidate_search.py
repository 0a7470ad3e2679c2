"""How the candidates of a ranking are answered: which way each, and which of them twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ..concurrency import canceling_pool
from ..deadline import Deadline, DeadlinePassed
from ..joint.base_placement import NearAnchor
from ..joint.joint_shifts import solve_jointly
from ..joint.placement_solution import PlacementAnswer, Round, answer_placement, bounds_only
from ..links.route_deltas import READ_TOGETHER
from ..links.shared_links import Placement, SharedLink
from ..node_budget import CANDIDATE_COST, CROSSING_COST, CROSSINGS_OF_A_NODE
from .best_first import Answering, answer_places
from .options import RankOptions
from .ranked_candidate import Entry, bucket, entry_of, unread_entry

__all__ = ["answer_candidates"]

IMPROVED = 8
"""So many of the best large placements are searched once more, everywhere."""


def answer_candidates(
    placements: Sequence[Placement],
    large: Sequence[bool],
    common: Sequence[SharedLink],
    context: Round,
    options: RankOptions,
    deadline: Deadline,
    nodes: int | None = None,
) -> list[Entry]:
    """The entry of each placement, in their order.

    Parameters
    ----------
    placements : sequence of Placement
    large : sequence of bool
        Which are answered by their difference from the common placement.
    common : sequence of SharedLink
        The shared links of their common placement; none where there is no time to begin from there.
    context : Round
    options : RankOptions
    deadline : Deadline
        What was not begun by then has its bound only.
    nodes : int or None
        What all may take together, searches and all else; None for no limit.

    Raises
    ------
    KernelError
        A defect.
    KeyboardInterrupt
        Raised in the calling thread.
    """
    places, jointly = range(len(placements)), options.strategy is solve_jointly
    entry = partial(entry_of, context=context, aggregate=options.aggregate)
    # The common placement is searched in a thread, so that the calling one can be interrupted, and make late entries.
    with canceling_pool(1, "cassini-anchor", context.links.cancel) as pool:
        searched = pool.submit(NearAnchor, context, common) if any(large) and common and not deadline.passed() else None
        late = _late_entries(placements, entry, context, deadline)
        try:
            near = None if searched is None else searched.result()
        except DeadlinePassed:
            near = None

    def answer(place: int) -> Entry:
        if not large[place]:
            return entry(place, answer_placement(placements[place], context, options.strategy))
        return late(place) if near is None else entry(place, near.answer(placements[place]))

    def outbid(place: int) -> Entry:
        why = f"not searched: it cannot beat the first {options.top}"
        return entry(place, bounds_only(placements[place], context, why=why, outbid=True))

    def beyond(place: int) -> Entry:
        why = "not searched: the candidates before it took all search nodes of the ranking"
        return entry(place, bounds_only(placements[place], context, why=why))

    def allow(nodes: int | None) -> None:
        context.nodes_of_candidate = nodes

    def cost(some: Sequence[Entry]) -> int:
        return context.evaluator.new_nodes() + sum(map(own_cost, some))

    def own_cost(one: Entry) -> int:
        crossings = context.flat.count(one.answer.placement.links)
        graph = crossings // CROSSINGS_OF_A_NODE if large[one.place] else CROSSING_COST * crossings
        return one.answer.nodes + CANDIDATE_COST + len(context.flat.jobs) // CROSSINGS_OF_A_NODE + graph

    def bound(place: int) -> int:
        if deadline.remaining_s() is not None:
            return bucket(late(place).candidate.upper_bound)  # made already
        placement = placements[place]
        bounds = context.bound[placement.links]
        return bucket(options.aggregate(bounds, lambda: context.flat.crossings(placement.links, len(placement.placed))))

    run = partial(answer_places, threads=options.threads, deadline=deadline, cancel=context.links.cancel)
    answering = Answering(answer, late, outbid, beyond, bound, allow, cost)
    done, total = len(context.solved), len(context.solved) + len(placements)
    found = run(
        places,
        answering,
        top=options.top if jointly else None,
        progress=lambda more: options.progress(done + more, total),
        one_at_least=deadline.remaining_s() is not None and not all(large),
        nodes=nodes,
    )
    context.nodes_of_candidate = None
    if near is not None:
        scored = {place: one.score for place, one in found.items() if large[place] and one.score is not None}
        # Of equals by id: the order of candidates decides nothing.
        best = sorted(scored, key=lambda place: (-scored[place], placements[place].id))[:IMPROVED]
        improving = replace(
            answering,
            answer=lambda place: _better(found[place], near.improved(found[place].answer), entry),
            late=lambda place: found[place],
        )
        found |= run(best, improving, top=None, progress=lambda more: None)
    return [found[place] for place in places]


def _better(before: Entry, after: PlacementAnswer, entry: Callable[[int, PlacementAnswer], Entry]) -> Entry:
    """The better answer of one placement, with what is proven by either.

    The search looks at the mean: by another aggregate, or by slack, the shifts before may be the better ones.
    """
    answers = (after, before.answer)
    bounds = [one.mean_bound for one in answers if one.mean_bound is not None]
    both = [entry(before.place, replace(one, mean_bound=min(bounds, default=None))) for one in answers]
    return min(both, key=Entry.key)


def _late_entries(
    placements: Sequence[Placement], entry: Callable[[int, PlacementAnswer], Entry], context: Round, deadline: Deadline
) -> Callable[[int], Entry]:
    """What is said of a candidate for which there is no time."""

    def late(place: int) -> Entry:
        return entry(place, bounds_only(placements[place], context, why="no time-shifts: the deadline came first"))

    if deadline.remaining_s() is None:
        return late
    # Made in advance: past the deadline there is no time even for that.
    made: list[Entry] = []
    for place in range(len(placements)):
        if place >= READ_TOGETHER and deadline.passed():
            break
        made.append(late(place))
    return lambda place: made[place] if place < len(made) else unread_entry(place, placements[place])
