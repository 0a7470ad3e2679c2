"""Answers the candidates of a ranking: each by the search that fits its size, and the best large ones twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from ..arrays import Int64Array
from ..concurrency import canceling_pool
from ..deadline import FREEING_PER_ANSWERING, Deadline, DeadlinePassed
from ..joint.base_placement import BasePlacement, Searched
from ..joint.base_search import Found
from ..joint.loop_policy import answer_placement
from ..joint.placement_solution import bounds_only
from ..joint.round import Round
from ..joint.search_away import Ahead, SearchAway
from ..links.batch_solver import PARTS_AWAY
from ..links.placement import Placement
from ..links.route_rows import READ_TOGETHER
from ..node_budget import CANDIDATE_COST, CROSSING_COST, CROSSINGS_OF_A_NODE
from .best_first import BestFirst
from .options import RankOptions
from .ranked_candidate import CandidateMaker, Entry, Worth

__all__ = ["CandidateSearch"]

IMPROVED = 8
"""The number of best large placements that are searched once more, on all their links."""

SETTLED = 32
"""The number of best large placements for which shifts are looked for that move few running jobs."""

_LATE = "no time-shifts: the deadline came first"
_NO_NODES = "the candidates before it took all search nodes of the ranking"


class CandidateSearch:
    """Answers the candidates of a ranking, by their numbers; is used once.

    Parameters
    ----------
    placements : sequence of Placement
    large : sequence of bool
        Which are answered by their difference from the base placement.
    base_links : int64 array
        Indices of the shared links of the base placement; none where there is no time to search it.
    context : Round
    maker : CandidateMaker
    options : RankOptions
    deadline : Deadline
        What was not begun by then has its bound only.
    searched : Searched, optional
        The base placement, if it was searched already.
    """

    def __init__(
        self,
        placements: Sequence[Placement],
        large: Sequence[bool],
        base_links: Int64Array,
        context: Round,
        maker: CandidateMaker,
        options: RankOptions,
        deadline: Deadline,
        searched: Searched | None = None,
    ) -> None:
        self._placements = placements
        self._large = large
        self._base_links = base_links
        self._context = context
        self._maker = maker
        self._options = options
        self._deadline = deadline
        self._has_deadline = deadline.remaining_s() is not None
        self._searched = searched
        self._base: BasePlacement | None = None
        self._away: SearchAway | None = None
        self._late: list[Entry] = []

    def run(self, nodes: int | None) -> list[Entry]:
        """The entry of each candidate, in the order of their numbers.

        Parameters
        ----------
        nodes : int or None
            What all may take together, searches and all else; None for no limit.

        Raises
        ------
        KernelError
            A defect.
        KeyboardInterrupt
            Raised in the calling thread.
        """
        options, cancel = self._options, self._context.links.cancel
        # A thread searches the base placement, so that the calling one can be interrupted, and make late entries.
        with canceling_pool(1, "cassini-base", cancel) as pool:
            wanted = any(self._large) and len(self._base_links) and not self._deadline.passed()
            given = self._context, self._base_links, self._searched
            searched = pool.submit(BasePlacement, *given) if wanted else None
            self._make_late_entries()
            if searched is not None:
                with suppress(DeadlinePassed):
                    self._base = searched.result()
        done, total = len(self._context.solved), len(self._context.solved) + len(self._placements)
        entries = BestFirst(
            self,
            top=options.top if options.loops == "joint" else None,
            threads=options.threads,
            deadline=self._deadline,
            cancel=cancel,
            progress=lambda more: options.progress(done + more, total),
            one_at_least=self._has_deadline and not all(self._large),
            nodes=nodes,
            shares=None if options.executor is None else PARTS_AWAY,
        ).run(len(self._placements))
        if self._base is not None:
            with canceling_pool(options.threads, "cassini-candidate", cancel) as pool:
                self._improve(self._base, entries, pool)
        return entries

    def search_ahead(
        self, pool: ThreadPoolExecutor, parts: Sequence[Sequence[int]], nodes: int | None, then: Ahead
    ) -> None:
        """Have large placements searched by the executor, if there is one."""
        if self._away is None and self._base is not None and self._options.executor is not None:
            self._away = SearchAway(
                self._options.executor,
                self._context,
                self._base.search,
                self._placements,
                pool=pool,
                threads=self._options.threads,
                deadline=self._deadline,
            )
        away, here = [], []
        for part in parts:
            if self._away is not None and all(self._large[number] for number in part):
                away.append(part)
            else:
                here.append(then(part, {}))
        if self._away is not None:
            self._away.run(away, nodes, then, here)

    def answer(self, number: int, nodes: int | None, ahead: Found | None = None) -> Entry:
        """Its answer, found with at most so many search nodes."""
        placement = self._placements[number]
        if not self._large[number]:
            found = answer_placement(placement, self._context, self._options.loops, nodes)
            return self._maker.settled(self._maker.entry(number, found), thorough=True)
        if self._base is None:
            return self.late(number)
        return self._maker.entry(number, self._base.answer(placement, nodes, ahead))

    def late(self, number: int) -> Entry:
        """What is known of a candidate for which there is no time; O(1) where there is a deadline."""
        if number < len(self._late):
            return self._late[number]
        placement = self._placements[number]
        if self._has_deadline:
            return self._maker.late_entry(number, placement)
        return self._without_shifts(number, _LATE)

    def left(self, number: int, *, outbid: bool) -> Entry:
        """What is known of it where enough others are sure to be as good (``outbid``), or took all nodes."""
        why = f"it cannot beat the first {self._options.top}" if outbid else _NO_NODES
        return self._without_shifts(number, f"not searched: {why}", outbid=outbid)

    def most(self, number: int) -> Worth:
        """None of its answers is worth more."""
        if self._has_deadline:
            return self.late(number).most  # made already
        return self._maker.most(number, self._placements[number])

    def cost(self, entries: Sequence[Entry]) -> int:
        """Nodes that some answers took, which were found together: searches, evaluations, and what else took time."""
        return self._context.evaluator.new_nodes() + sum(map(self._own_cost, entries))

    def _own_cost(self, entry: Entry) -> int:
        flat = self._context.flat
        crossings = entry.answer.placement.n_crossings
        graph = crossings // CROSSINGS_OF_A_NODE if self._large[entry.number] else CROSSING_COST * crossings
        return entry.answer.nodes + CANDIDATE_COST + len(flat.jobs) // CROSSINGS_OF_A_NODE + graph

    def _without_shifts(self, number: int, why: str, *, outbid: bool = False) -> Entry:
        return self._maker.entry(number, bounds_only(self._placements[number], self._context, why=why, outbid=outbid))

    def _make_late_entries(self) -> None:
        # Made in advance: past the deadline there is no time even for that.
        if self._has_deadline:
            for number in range(len(self._placements)):
                if number >= READ_TOGETHER and self._deadline.passed():
                    break
                self._late.append(self._without_shifts(number, _LATE))

    def _improve(self, base: BasePlacement, entries: list[Entry], pool: Executor) -> None:
        """Searches the best large placements once more, as far as there is time."""
        best = _best(one.free or one for one in entries if self._large[one.number])
        search = self._deadline.from_now()
        futures = [pool.submit(self._improved, base, entries[number], search) for number in best[:IMPROVED]]
        if self._options.running_shifts_ms:
            others = best[IMPROVED:SETTLED]
            futures += [pool.submit(self._settled_in_time, entries[number], search) for number in others]
        for future in futures:
            entry = future.result()
            entries[entry.number] = entry

    def _settled_in_time(self, before: Entry, search: Deadline) -> Entry:
        return self._maker.settled(before, thorough=False) if search.leaves(FREEING_PER_ANSWERING) else before

    def _improved(self, base: BasePlacement, before: Entry, search: Deadline) -> Entry:
        """The better of two answers of one placement, with what is proven by either.

        The search looks at the mean: by another aggregate, or by slack, the shifts before may be the better ones.
        """
        if not search.leaves(FREEING_PER_ANSWERING):
            return before
        found = (before.free or before).answer
        answers = (base.improved(found), found)
        bound = min((one.mean_bound for one in answers if one.mean_bound is not None), default=None)
        both = [self._maker.entry(before.number, replace(one, mean_bound=bound)) for one in answers]
        best = min(both, key=lambda one: (one.free or one).key())
        return self._maker.settled(best, thorough=True)


def _best(entries: Iterable[Entry]) -> list[int]:
    """The numbers of those with a score, best first; equal scores by id: the order of candidates decides nothing."""
    scored = sorted(
        (-one.worth[0], -one.worth[1], one.candidate.id, one.number) for one in entries if one.worth is not None
    )
    return [number for *_, number in scored]
